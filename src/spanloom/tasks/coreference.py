"""Coreference: mentions, each of which chooses an antecedent or none (SpanRel, table 2; HMTL).

A layer has mentions, and relations or equivalences between those that mean the same: whatever they
connect is a cluster. What is written are relations from each mention to its antecedent. Clusters
are measured as CoNLL-2012 does (``metrics.clusters``).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.annotation.attributes import genre, speakers
from spanloom.annotation.connected_spans import connected_spans
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding.span_selection import greedy_non_crossing
from spanloom.document import MAIN, Document, Layer, Relation, Span
from spanloom.metrics.clusters import score
from spanloom.nn.head_selection import HeadSelectionLoss
from spanloom.nn.pairs import PairFeatures, PairGenerator
from spanloom.nn.span_relation import Pruner, SpanInputs, SpanRelation, text_order
from spanloom.tasks._base import TaskType, TrainDocuments, labels_of
from spanloom.tasks._span_relation import SpanRelationTask, predict_heads
from spanloom.tasks._spans import SpanGold, collate_gold
from spanloom.tasks._vocabulary import SpanOptions, infer_span_vocabulary, read_vocabulary
from spanloom.tensors import (
    Batch,
    CorefFeatures,
    HeadInputs,
    PredictedRelations,
    PredictedSpans,
    SpanTargets,
)
from spanloom.tokenization import Bounds

_ALONE = 0.01  # of train's mentions: where fewer stand alone, none is predicted to
_USUAL = "coref"  # what links are called where train has equivalences alone

_SAMPLE = Document(
    "Ada met Bob .\nShe saw him there .\nBob slept .",
    (
        Layer(
            MAIN,
            (
                Span("T1", "mention", ((0, 3),)),
                Span("T2", "mention", ((8, 11),)),
                Span("T3", "mention", ((14, 17),)),
                Span("T4", "mention", ((22, 25),)),
                Span("T5", "mention", ((34, 37),)),
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


class MentionOptions(SpanOptions):
    """Options of coreference."""

    spanrel_limits: ClassVar[Mapping[str, float]] = {"max_span_width": 10, "spans_per_word": 0.4}

    spans_per_word: float = Field(
        0.4, gt=0, description="mentions kept, times the document's words"
    )
    max_antecedents: int = Field(
        50, ge=1, le=1000, description="antecedents looked at, before a mention"
    )
    add_mention_scores: bool = Field(
        True, description="a link's score counts how sure both mentions are"
    )
    max_training_windows: int = Field(
        4, ge=1, le=64, description="windows that training reads at once"
    )
    gold_mentions: bool = Field(False, description="gold mentions are given, links are predicted")
    speakers: bool = Field(True, description="whether to read who speaks, where train says that")
    genre_field: int | None = Field(
        None, ge=0, le=20, description="which part of a document's name, by _ and /, is its genre"
    )


@dataclass(frozen=True, slots=True)
class MentionGold(SpanGold):
    """Mentions and links, and of each word who says it: a number within the document, 0 unknown."""

    speaker_ids: tuple[int, ...] = ()
    genre_id: int = 0


@dataclass(frozen=True, slots=True)
class MentionTargets(SpanTargets):
    """Mentions and links of a batch, and what is told beside its words."""

    features: CorefFeatures | None = None

    def to(self, device: torch.device) -> "MentionTargets":
        """Return the same targets on another device."""
        told = None if self.features is None else self.features.to(device)
        return MentionTargets.of(SpanTargets.to(self, device), told)

    @classmethod
    def of(cls, plain: SpanTargets, told: CorefFeatures | None) -> "MentionTargets":
        """Return plain targets with what is told."""
        values = plain.attribute_values, plain.pair_attribute_values
        return cls(plain.bounds, plain.labels, plain.pairs, *values, plain.label_mask, told)


@dataclass(frozen=True, slots=True)
class CoreferenceTask(SpanRelationTask):
    """Mentions of a whole unit; each chooses among those before it."""

    links_to: PairGenerator = PairGenerator()
    singletons: bool = True
    use_speakers: bool = False
    genre_field: int | None = None
    genres: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``DataError`` also where links have no name."""
        SpanRelationTask.__post_init__(self)
        labels_of(self.name, self.vocabulary.relations)

    @property
    def pair_generator(self) -> PairGenerator:
        """Each mention with the nearest before it."""
        return self.links_to

    @property
    def pair_features(self) -> PairFeatures:
        """Mentions are far apart, so that nothing is read between them."""
        genres = 0 if self.genre_field is None else 1 + len(self.genres)
        return PairFeatures(
            context_between=False, same_speaker=self.use_speakers, num_genres=genres
        )

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("conll_f1", "muc", "b_cubed", "ceaf_e", "span_f1", "conll_f1_singletons")

    def gold_pairs(
        self, layer: Layer, where: Mapping[str, int]
    ) -> dict[tuple[int, int], tuple[int, str]]:
        """All earlier mentions of a cluster are right; pairs are (antecedent, mention)."""
        pairs: dict[tuple[int, int], tuple[int, str]] = {}
        for cluster in connected_spans(layer):
            rows = sorted({where[key] for key in cluster if key in where})
            pairs |= dict.fromkeys(combinations(rows, 2), (1, ""))
        return pairs

    def coverage_notes(
        self, train: TrainDocuments, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, SpanGold]
    ) -> list[str]:
        """Say how much there is to learn from; links may cross sentences."""
        mentions = sum(len(each.spans) for each in gold.values())
        links = sum(len(each.pairs) for each in gold.values())
        counts = f"{len(gold)} documents, {mentions} mentions, {links} pairs that mean the same"
        return [f"{self.name}: {counts}"]

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> MentionGold:
        """Express a layer over words, with who says these, and the document's genre."""
        found = SpanRelationTask.encode_gold(self, document, cut)
        return self._beside(document, cut, found)

    def encode_given(self, document: Document, cut: TokenizedDocument) -> MentionGold | None:
        """Express what is known beside words, and mentions where these are given."""
        if self.inputs:
            return self.encode_gold(self.without_gold(document), cut)
        return self._beside(document, cut, SpanGold()) if self.use_speakers or self.genres else None

    def _beside(self, document: Document, cut: TokenizedDocument, found: SpanGold) -> MentionGold:
        said = speakers(document, cut.words) if self.use_speakers else ()
        numbers = {name: row for row, name in enumerate(dict.fromkeys(("", *said)))}
        kind = "" if self.genre_field is None else genre(document.name, self.genre_field)
        row = self.genres.index(kind) + 1 if kind in self.genres else 0
        mentions = (
            found.spans,
            found.pairs,
            found.attribute_values,
            found.pair_attribute_values,
            found.annotated_labels,
        )
        return MentionGold(*mentions, tuple(numbers[each] for each in said), row)

    def collate_targets(self, units: Sequence[Instance], gold: Mapping[int, Any]) -> MentionTargets:
        """Lay the gold of some units flat, as ``collate`` lays their words."""
        own = [(gold[unit.document], unit.first_word, len(unit.tokens)) for unit in units]
        voices = [
            v for each, first, n in own for v in each.speaker_ids[first : first + n] or (0,) * n
        ]
        genres = [each.genre_id for each, _, n in own for _ in range(n)]
        told = CorefFeatures(
            torch.tensor(voices, dtype=torch.long), torch.tensor(genres, dtype=torch.long)
        )
        known = self.use_speakers or self.genres
        return MentionTargets.of(collate_gold(units, gold), told if known else None)

    def span_inputs(
        self, head: SpanRelation, vectors: HeadInputs, batch: Batch, targets: SpanTargets | None
    ) -> SpanInputs:
        """Return what the head reads, with what is told beside words."""
        plain = SpanRelationTask.span_inputs(self, head, vectors, batch, targets)
        return replace(plain, features=getattr(targets, "features", None))

    def pair_groups(self, batch: Batch) -> Int[Tensor, "run 2"]:
        """Return the units: links cross sentences."""
        return batch.instances

    def select_spans(
        self,
        head: SpanRelation,
        view: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """Rows of the K likeliest mentions of a unit that do not cross; antecedents decide."""
        rows = text_order(bounds, head.keep(scores, bounds, view.pair_groups))
        gain = scores[rows, 1:].amax(-1) - scores[rows, 0]
        fit = greedy_non_crossing([(a, b) for a, b in bounds[rows].tolist()], gain.tolist())
        return rows[torch.tensor(fit, dtype=torch.long, device=rows.device)]

    def predict_relations(
        self,
        head: SpanRelation,
        view: SpanInputs,
        chosen: PredictedSpans,
        types: Float[Tensor, "kept type"],
    ) -> tuple[PredictedSpans, PredictedRelations]:
        """Return mentions and their antecedents; a mention alone stays where train has such."""
        found = self.label_pairs(head, view, chosen, types)
        needed = (types[:, 1:].amax(-1) > types[:, 0]) & (self.singletons or self.gold_given)
        needed[found.pairs.flatten()] = True
        place = needed.cumsum(0) - 1
        return chosen.select(needed), replace(found, pairs=place[found.pairs])

    def label_pairs(
        self,
        head: SpanRelation,
        view: SpanInputs,
        chosen: PredictedSpans,
        types: Float[Tensor, "kept type"],
    ) -> PredictedRelations:
        """Let each mention choose an antecedent; a link leads from it to that."""
        found = predict_heads(head, view, chosen, types, self.filter_pairs)
        return replace(found, pairs=found.pairs.flip(1))

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Any:
        """Score clusters, whoever was linked to whom, and mentions: ``metrics.clusters.Report``."""
        return score(gold, predicted, self.layer)

    def metrics(self, report: Any) -> dict[str, float]:
        """Return the CoNLL average first, what it is the mean of, and others."""
        found: dict[str, float] = report.metrics()
        return found

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of mentions that train did not have; how links are called is no matter."""
        spans = {span.label for each in documents for span in each[self.layer].spans}
        return spans - set(self.vocabulary.spans)


def _infer_vocabulary(options: MentionOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    found = infer_span_vocabulary(options, layer, train, relations=False)
    clustered = sum(len(cluster) for each, _ in train for cluster in connected_spans(each[layer]))
    mentions = sum(len(each[layer].spans) for each, _ in train)
    names = Counter(each.label for document, _ in train for each in document[layer].relations)
    usual = names.most_common(1)[0][0] if names else _USUAL
    alone = mentions - clustered > _ALONE * mentions
    return {
        **replace(found, relations=(usual,)).to_dict(),
        "singletons": alone,
        "speakers": options.speakers and any(any(speakers(*each)) for each in _words(train)),
        "genres": _genres(options.genre_field, train),
    }


def _words(train: TrainDocuments) -> Iterator[tuple[Document, Sequence[Bounds]]]:
    return ((document, cut.words) for document, cut in train)


def _genres(part: int | None, train: TrainDocuments) -> list[str]:
    names = () if part is None else (genre(document.name, part) for document, _ in train)
    return sorted({name for name in names if name})


def _build(
    name: str,
    layer: str,
    options: MentionOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> CoreferenceTask:
    return CoreferenceTask(
        name,
        layer,
        InstanceReader(SentenceReader(), max_windows=options.max_training_windows),
        options,
        read_vocabulary(collected),
        Pruner(options.spans_per_word),
        options.gold_mentions,
        links_to=PairGenerator(
            antecedents_only=True,
            max_antecedents=options.max_antecedents,
            add_mention_scores=options.add_mention_scores,
            loss=HeadSelectionLoss(dummy=True),
        ),
        singletons=bool(collected["singletons"]),
        use_speakers=bool(collected["speakers"]),
        genre_field=options.genre_field,
        genres=tuple(collected["genres"]),
    )


KIND = TaskType(MentionOptions, _infer_vocabulary, _build, _SAMPLE)
