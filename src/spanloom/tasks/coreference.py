"""Coreference: mentions, each of which chooses an antecedent or none (SpanRel, table 2; HMTL).

A layer has mentions, and relations or equivalences between those that mean the same: whatever they
connect is a cluster. What is written are relations from each mention to its antecedent. Clusters
are measured as CoNLL-2012 does (``metrics.clusters``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor

from spanloom.annotation.attributes import genre, speakers
from spanloom.annotation.connected_spans import connected_spans
from spanloom.corpora.antecedent_reach import HORIZON, MAX_ANTECEDENTS, SPANS_PER_WORD
from spanloom.data.instance_readers import InstanceReader, SegmentReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding.span_selection import greedy_non_crossing
from spanloom.document import MAIN, Document, Layer, Relation
from spanloom.metrics.clusters import score
from spanloom.nn.antecedents import AntecedentSearch
from spanloom.nn.candidates import Pruner, ScoredSpans
from spanloom.nn.losses import HeadSelectionLoss
from spanloom.nn.pair_generator import PairGenerator
from spanloom.nn.pairs import PairFeatures
from spanloom.nn.span_decoding import (
    KeptSpans,
    RelationBias,
    SelectedHeads,
    SpanPairDecoder,
    TopSpans,
)
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.spans import SpanInputs
from spanloom.quantity import quantity
from spanloom.tasks._base import MetricValues, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._span_parts import (
    PAIR_SCORERS,
    GoldPairs,
    GoldSpans,
    SpanMetrics,
    head_parts,
)
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import SpanGold, collate_gold, number_spans
from spanloom.tasks._vocabulary import (
    PairScorerOptions,
    SpanOptions,
    Vocabulary,
    infer_span_vocabulary,
    labels_of,
    read_vocabulary,
)
from spanloom.tensors import CorefFeatures, PredictedRelations, PredictedSpans, SpanTargets
from spanloom.tokenization import Bounds

_ALONE = 0.01  # of train's mentions: where fewer stand alone, none is predicted to
_USUAL = "coref"  # what links are called where train has equivalences alone

_SAMPLE = Document(
    "Ada met Bob .\nShe saw him there .\nBob slept .",
    (
        Layer(
            MAIN,
            number_spans(
                ("mention", 0, 3),
                ("mention", 8, 11),
                ("mention", 14, 17),
                ("mention", 22, 25),
                ("mention", 34, 37),
            ),
            (
                Relation("R1", "coref", "T3", "T1"),
                Relation("R2", "coref", "T4", "T2"),
                Relation("R3", "coref", "T5", "T4"),
            ),
        ),
    ),
    "sample",
)


class MentionOptions(SpanOptions, PairScorerOptions):
    """Options of coreference."""

    spanrel_limits: ClassVar[Mapping[str, float]] = {"max_span_width": 10, "spans_per_word": 0.4}

    spans_per_word: float = Field(
        SPANS_PER_WORD, gt=0, description="mentions kept, times the document's words"
    )
    antecedents: Literal["nearest", "coarse"] = Field(
        "nearest",
        description="nearest | coarse (the likeliest of the horizon, by a learnt product)",
    )
    max_antecedents: int = Field(
        MAX_ANTECEDENTS, ge=1, le=1000, description="antecedents looked at, before a mention"
    )
    antecedent_horizon: int = Field(
        HORIZON, ge=1, description="mentions that coarse antecedents are chosen from"
    )
    inference_order: int = Field(
        1,
        ge=1,
        le=4,
        description="2 and more: mentions read their likely antecedents, and are linked anew",
    )
    add_mention_scores: bool = Field(
        True, description="a link's score counts how sure both mentions are"
    )
    max_training_windows: int = Field(
        4, ge=1, le=64, description="windows that training reads at once"
    )
    segment: int | None = Field(
        None,
        ge=16,
        description="pieces of the segments that are encoded independently, at most the window; "
        "null: windows, of random sizes in training",
    )
    gold_mentions: bool = Field(False, description="gold mentions are given, links are predicted")
    speakers: bool = Field(True, description="whether to read who speaks, where train says that")
    genre_field: int | None = Field(
        None, ge=0, le=20, description="which part of a document's name, by _ and /, is its genre"
    )

    @model_validator(mode="after")
    def _check_refined(self) -> "MentionOptions":
        if self.inference_order > 1 and self.pair_scorer != "projected":
            raise ValueError(
                f"inference_order {self.inference_order} needs pair_scorer: projected, "
                f"got {self.pair_scorer}"
            )
        return self


@dataclass(frozen=True, slots=True)
class MentionGold:
    """Mentions and links of a document, the speaker id of each word, and the genre id.

    Speaker ids are numbers within the document; 0 is unknown.
    """

    mentions: SpanGold
    speaker_ids: tuple[int, ...] = ()
    genre_id: int = 0

    def __len__(self) -> int:
        """Return the number of mentions to learn from."""
        return len(self.mentions)


@dataclass(frozen=True, slots=True)
class GoldClusters(GoldSpans):
    """Mentions and their clusters: all earlier mentions of a cluster are antecedents."""

    def clusters(
        self, layer: Layer, span_index: Mapping[str, int], num_spans: int
    ) -> tuple[tuple[int, ...], ...]:
        """Return the clusters of each mention: several, where spans on the same words have some."""
        clusters_of: list[dict[int, None]] = [{} for _ in range(num_spans)]
        for number, cluster in enumerate(connected_spans(layer)):
            for id in cluster:
                if id in span_index:
                    clusters_of[span_index[id]][number] = None
        return tuple(map(tuple, clusters_of))

    def pairs(
        self, layer: Layer, span_index: Mapping[str, int], vocabulary: Vocabulary
    ) -> GoldPairs:
        """Return no pairs, as clusters say which there are."""
        return {}

    def unseen_labels(self, layers: Sequence[Layer], vocabulary: Vocabulary) -> set[str]:
        """Return labels of mentions that train did not have; those of links do not matter."""
        return {span.label for layer in layers for span in layer.spans} - {*vocabulary.spans}


@dataclass(frozen=True, slots=True)
class ClusterMetrics(SpanMetrics):
    """The CoNLL average, the metrics that it is the mean of, and F1 of mentions."""

    names: tuple[str, ...] = (
        "conll_f1",
        "muc",
        "b_cubed",
        "ceaf_e",
        "span_f1",
        "conll_f1_singletons",
    )

    def compute(self, gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Any:
        """Score clusters, whichever mentions are linked: a ``metrics.clusters.Report``."""
        return score(gold, predicted, layer)

    def values(self, report: Any) -> MetricValues:
        """Return all metrics of the report."""
        values: MetricValues = report.metrics()
        return values


@dataclass(frozen=True, slots=True)
class NonCrossingMentions:
    """Select the K most probable mentions of a document that do not cross."""

    pruner: Pruner

    def __call__(self, spans: ScoredSpans) -> Int[Tensor, " kept"]:
        """Return the indices of the mentions, in text order."""
        kept = TopSpans(self.pruner)(spans)
        bounds = [(start, end) for start, end in spans.bounds[kept].tolist()]
        selected = greedy_non_crossing(bounds, spans.margin[kept].tolist())
        return kept[torch.tensor(selected, dtype=torch.long, device=kept.device)]


@dataclass(frozen=True, slots=True)
class Antecedents:
    """Let each mention select an antecedent, or none.

    Mentions without a link are dropped unless ``keeps_singletons``, which keeps likely ones, or
    ``keeps_all``. ``bias`` is added to the score of each antecedent, not to that of none.
    """

    keeps_singletons: bool
    bias: float = 0.0
    keeps_all: bool = False

    def __call__(
        self, head: SpanRelation, inputs: SpanInputs, kept: KeptSpans
    ) -> tuple[PredictedSpans, PredictedRelations]:
        """Return mentions, and relations from mentions to antecedents."""
        _, links = SelectedHeads(bias=RelationBias(self.bias))(head, inputs, kept)
        types = kept.types
        is_mention = (types[:, 1:].amax(-1) > types[:, 0]) & self.keeps_singletons | self.keeps_all
        is_mention[links.pairs.flatten()] = True
        index = is_mention.cumsum(0) - 1
        return kept.spans.select(is_mention), replace(links, pairs=index[links.pairs.flip(1)])


@dataclass(frozen=True, slots=True)
class CoreferenceTask(SpanRelationTask):
    """Mentions of whole documents with the speakers and genres that their links depend on."""

    use_speakers: bool = False
    genre_field: int | None = None
    genres: tuple[str, ...] = ()

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, Any],
    ) -> list[str]:
        """Report how much there is to learn from; links may cross sentences."""
        mentions = sum(len(document.mentions.spans) for document in gold.values())
        links = sum(_num_links(document.mentions) for document in gold.values())
        counts = (
            quantity(len(gold), "document"),
            quantity(mentions, "mention"),
            f"{quantity(links, 'pair')} of the same entity",
        )
        return [f"{self.name}: {', '.join(counts)}"]

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> Any:
        """Express a layer over words, with speakers and genre."""
        mentions = self.gold.encode(document, self.layer, tokenized, self.vocabulary)
        return self._with_features(document, tokenized, mentions)

    def encode_given(self, document: Document, tokenized: TokenizedDocument) -> Any:
        """Express speakers and genre, and mentions if these are given; None without any."""
        mentions = SpanRelationTask.encode_given(self, document, tokenized)
        if mentions is not None or self.use_speakers or self.genres:
            return self._with_features(
                document, tokenized, SpanGold() if mentions is None else mentions
            )
        return None

    def with_gold_inputs(self) -> Any:
        """Return the task that is given its mentions, and keeps those that stay alone."""
        task = SpanRelationTask.with_gold_inputs(self)
        if task is self:
            return self
        relate = replace(task.decoder.relate, keeps_all=True)
        return replace(task, decoder=replace(task.decoder, relate=relate))

    def _with_features(
        self, document: Document, tokenized: TokenizedDocument, mentions: SpanGold
    ) -> MentionGold:
        names = speakers(document, tokenized.words) if self.use_speakers else ()
        id_of = {name: id for id, name in enumerate(dict.fromkeys(("", *names)))}
        kind = "" if self.genre_field is None else genre(document.name, self.genre_field)
        genre_id = self.genres.index(kind) + 1 if kind in self.genres else 0
        return MentionGold(mentions, tuple(id_of[name] for name in names), genre_id)

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, Any]
    ) -> SpanTargets:
        """Collate the gold of a batch of instances, with speakers and genres of all words."""
        keys = {instance.document for instance in instances}
        targets = collate_gold(instances, {key: gold[key].mentions for key in keys})
        if not (self.use_speakers or self.genres):
            return targets
        speaker_ids: list[int] = []
        genre_ids: list[int] = []
        for instance in instances:
            document, first, n = gold[instance.document], instance.first_word, len(instance.tokens)
            speaker_ids += document.speaker_ids[first : first + n] or (0,) * n
            genre_ids += [document.genre_id] * n
        features = CorefFeatures(
            torch.tensor(speaker_ids, dtype=torch.long), torch.tensor(genre_ids, dtype=torch.long)
        )
        return replace(targets, features=features)


def _num_links(mentions: SpanGold) -> int:
    """Return how many pairs of mentions are of one cluster."""
    sizes = Counter(cluster for clusters in mentions.clusters for cluster in clusters)
    return sum(comb(size, 2) for size in sizes.values())


def _infer_vocabulary(options: MentionOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    vocabulary = infer_span_vocabulary(options, layer, train, relations=False)
    layers = [document[layer] for document, _ in train]
    clustered = sum(len(cluster) for source in layers for cluster in connected_spans(source))
    mentions = sum(len(source.spans) for source in layers)
    names = Counter(link.label for source in layers for link in source.relations)
    usual = names.most_common(1)[0][0] if names else _USUAL
    alone = mentions - clustered > _ALONE * mentions
    return {
        **replace(vocabulary, relations=(usual,)).to_dict(),
        "singletons": alone,
        "speakers": options.speakers and _has_speakers(train),
        "genres": _genres(options.genre_field, train),
    }


def _has_speakers(train: TrainDocuments) -> bool:
    return any(any(speakers(document, tokenized.words)) for document, tokenized in train)


def _genres(part: int | None, train: TrainDocuments) -> list[str]:
    names = () if part is None else (genre(document.name, part) for document, _ in train)
    return sorted({name for name in names if name})


def _build(setup: TaskSetup[MentionOptions]) -> CoreferenceTask:
    options = setup.options
    vocabulary, pruner = read_vocabulary(setup.vocabulary), Pruner(options.spans_per_word)
    labels_of(setup.name, vocabulary.relations)
    genres = tuple(setup.vocabulary["genres"])
    # mentions are far apart, so pairs do not read the words between them
    features = PairFeatures(
        context_between=False,
        same_speaker=bool(setup.vocabulary["speakers"]),
        num_genres=0 if options.genre_field is None else 1 + len(genres),
        add_mention_scores=options.add_mention_scores,
    )
    search = AntecedentSearch(options.max_antecedents, options.antecedent_horizon)
    reader = SentenceReader() if options.segment is None else SegmentReader(options.segment)
    antecedents = Antecedents(
        bool(setup.vocabulary["singletons"]), setup.bias("antecedent"), options.gold_mentions
    )
    return CoreferenceTask(
        setup.name,
        setup.layer,
        InstanceReader(reader, max_windows=options.max_training_windows),
        vocabulary,
        replace(
            head_parts(options),
            pruner=pruner,
            pair_scorer=PAIR_SCORERS[options.pair_scorer],
            pair_features=features,
            pair_generator=PairGenerator(
                antecedents_only=True, max_antecedents=options.max_antecedents
            ),
            pair_loss=HeadSelectionLoss(dummy=True),
            antecedent_search=search if options.antecedents == "coarse" else None,
            inference_order=options.inference_order,
        ),
        SpanPairDecoder(NonCrossingMentions(pruner), antecedents, options.gold_mentions),
        GoldClusters(),
        ClusterMetrics(),
        is_given=options.gold_mentions,
        gold_spans=options.gold_mentions,
        across_sentences=True,
        can_be_given=True,
        decisions={"antecedent": "conll_f1"},
        use_speakers=bool(setup.vocabulary["speakers"]),
        genre_field=options.genre_field,
        genres=genres,
    )


KIND = TaskType(MentionOptions, _infer_vocabulary, _build, _SAMPLE, scores_spans=True)
