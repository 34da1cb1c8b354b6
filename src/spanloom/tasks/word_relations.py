"""Relations between words: several labels a pair, no spans needed (HMTL, relation extraction).

A relation stands between the last words of its arguments, in one sentence (Sanh et al. 2019,
"Relation Extraction"). Without given spans what is written are spans of one word and the relations
between them; with them, relations between the given spans that end in those words. Events are
trigger spans with relations to their arguments, as in ``relations``.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from spanloom.annotation.events import EventScheme, collect, project, restore
from spanloom.config.options import Options
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import MAIN, Argument, Document, Event, Layer, Relation, Span
from spanloom.metrics.report import score_triples
from spanloom.nn.word_relations import WordPairs
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    Metrics,
    NewId,
    TaskSetup,
    TaskType,
    TrainDocuments,
)
from spanloom.tasks._coverage import partial_coverage_notes
from spanloom.tasks._spans import number_spans, within
from spanloom.tensors import Batch, HeadInputs, Losses
from spanloom.tokenization import Bounds

Link = tuple[int, int, str, float]  # head and tail in words of an instance, label, probability

_SAMPLE = Document(
    "Mix the warm buffer .\nAdd 5 ml water .",
    (
        Layer(
            MAIN,
            number_spans(
                ("Action", 0, 3),
                ("Modifier", 8, 12),
                ("Reagent", 4, 19),
                ("Action", 22, 25),
                ("Amount", 26, 30),
                ("Reagent", 31, 36),
            ),
            (
                Relation("R1", "Mod-Link", "T3", "T2"),
                Relation("R2", "Has", "T3", "T2"),
                Relation("R3", "Measure", "T6", "T5"),
            ),
            (
                Event("E1", "Action", "T1", (Argument("Acts-on", "T3"),)),
                Event("E2", "Action", "T4", (Argument("Acts-on", "T6"),)),
            ),
        ),
    ),
    "sample",
)


class WordPairOptions(Options):
    """Options of relations between words."""

    hidden_size: int = Field(128, ge=8, le=4096, description="units of the hidden layer")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")
    threshold: float = Field(0.5, gt=0, lt=1, description="probability from which a label is given")
    gold_spans: bool = Field(False, description="spans are given, only relations are predicted")
    word_label: str = Field(
        "word", min_length=1, description="label of the words it writes where none are given"
    )


@dataclass(frozen=True, slots=True)
class WordPairGold:
    """A document's gold: sorted ``(head, tail, label)`` in words, and the last words of spans.

    ``skipped`` counts the relations that are left out, by reason.
    """

    pairs: tuple[tuple[int, int, int], ...]
    last_words: tuple[int, ...]
    skipped: Counter[str]

    def __len__(self) -> int:
        """Return the number of relations to learn from."""
        return len(self.pairs)


@dataclass(frozen=True, slots=True)
class PairTargets:
    """Gold relations ``(head, tail, label)`` in a batch's words, and the candidate words.

    Both ascend.
    """

    pairs: Int[Tensor, "relation 3"]
    candidates: Int[Tensor, " candidate"]

    def to(self, device: torch.device) -> "PairTargets":
        """Return the same targets on another device."""
        return PairTargets(self.pairs.to(device), self.candidates.to(device))


@dataclass(frozen=True, slots=True)
class WordRelationsTask(LayerTask):
    """Relations of ``labels``; ``events`` has those that are arguments of events.

    ``bias`` is added to the scores of all labels of all pairs: dev chooses it, and with it the
    probability from which a label is given.
    """

    options: WordPairOptions
    labels: tuple[str, ...]
    events: EventScheme
    bias: float = 0.0

    measure = Metrics(
        ("relation_f1",),
        score_triples,
        lambda report: {"relation_f1": report.relations.micro.f1},
    )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Its own layer, if gold spans are input."""
        return (self.layer,) if self.options.gold_spans else ()

    loss_names = ("relation",)

    @property
    def decisions(self) -> Mapping[str, str]:
        """Whether a pair has a label."""
        return {"relation": "relation_f1"}

    def with_gold_inputs(self) -> "WordRelationsTask":
        """Return the task that is given the spans of its layer."""
        return replace(self, options=self.options.model_copy(update={"gold_spans": True}))

    def build_head(self, spec: HeadInputSpec) -> WordPairs:
        """Build the head; "none" is no label."""
        return WordPairs(
            spec.word_dim,
            num_labels=len(self.labels),
            hidden_size=self.options.hidden_size,
            dropout=self.options.dropout,
        )

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> WordPairGold:
        """Express a layer over words: a span is represented by its last word."""
        layer = document[self.layer]
        word_ending_at = {end: word for word, (_, end) in enumerate(tokenized.words)}
        word_of = {
            span.id: word_ending_at[span.end] for span in layer.spans if span.end in word_ending_at
        }
        starts = [start for start, _ in tokenized.sentences]
        label_to_id = {label: index for index, label in enumerate(self.labels)}
        pairs: set[tuple[int, int, int]] = set()
        skipped: Counter[str] = Counter()
        for relation in project(layer, self.events)[1]:
            head, tail = word_of.get(relation.head), word_of.get(relation.tail)
            if head is None or tail is None:
                skipped["whose ends are no words"] += 1
            elif relation.label not in label_to_id:
                skipped["of unknown labels"] += 1
            elif bisect_right(starts, head) != bisect_right(starts, tail):
                skipped["across sentences"] += 1
            else:
                pairs.add((head, tail, label_to_id[relation.label]))
        return WordPairGold(tuple(sorted(pairs)), tuple(sorted(set(word_of.values()))), skipped)

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, WordPairGold],
    ) -> list[str]:
        """Report the number of relations to learn from, and of those left out."""
        return partial_coverage_notes(self.name, "relation", train, full_sentences, gold)

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, WordPairGold]
    ) -> PairTargets:
        """Collate the gold relations and candidate words of a batch of instances."""
        pairs: list[tuple[int, int, int]] = []
        candidates: list[int] = []
        bases = accumulate((len(instance.tokens) for instance in instances), initial=0)
        for base, instance in zip(bases, instances, strict=False):
            document_gold, size, shift = (
                gold[instance.document],
                len(instance.tokens),
                base - instance.first_word,
            )
            # an instance is whole sentences, so both ends of a relation are in it
            for head, tail, label in within(
                document_gold.pairs, (instance.first_word,), (instance.first_word + size,)
            ):
                pairs.append((head + shift, tail + shift, label))
            if self.options.gold_spans:
                candidates += [
                    end + shift
                    for end in within(
                        document_gold.last_words, instance.first_word, instance.first_word + size
                    )
                ]
            else:
                candidates += range(base, base + size)
        rows = torch.tensor(pairs, dtype=torch.long).reshape(-1, 3)
        return PairTargets(rows, torch.tensor(candidates, dtype=torch.long))

    def loss(
        self, head: WordPairs, vectors: HeadInputs, batch: Batch, targets: PairTargets
    ) -> Losses:
        """Return the binary cross-entropy of all labels of all pairs."""
        return {
            "relation": head.loss(
                vectors.word_vectors, batch.sentences, targets.candidates, targets.pairs
            )
        }

    def predict(
        self,
        head: WordPairs,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: PairTargets | None,
    ) -> Iterator[list[Link]]:
        """Yield labels above the threshold, between all words or the last words of given spans."""
        words = vectors.word_vectors
        candidates = (
            torch.arange(len(words), device=words.device) if given is None else given.candidates
        )
        bases = list(accumulate((len(instance.tokens) for instance in instances), initial=0))
        links: list[list[Link]] = [[] for _ in instances]
        for part in head.best(
            words, batch.sentences, candidates, self.options.threshold, self.bias
        ):
            columns = part.pairs.tolist(), part.labels.tolist(), part.scores.tolist()
            for (head_word, tail_word), label, prob in zip(*columns, strict=True):
                index = bisect_right(bases, head_word) - 1
                ends = head_word - bases[index], tail_word - bases[index]
                links[index].append((*ends, self.labels[label], prob))
        yield from links

    def to_layer(
        self, document: Document, predictions: Sequence[tuple[Instance, list[Link]]], new_id: NewId
    ) -> Layer:
        """Return a layer of relations and of the spans that they connect."""
        links = [
            (instance.words[head], instance.words[tail], label, prob)
            for instance, instance_links in predictions
            for head, tail, label, prob in instance_links
        ]
        if self.options.gold_spans:
            given = document[self.layer].spans
            spans = [Span(new_id("T"), span.label, span.fragments, span.score) for span in given]
            scheme = self.events
        else:
            words = sorted({word for link in links for word in link[:2]})
            spans = [Span(new_id("T"), self.options.word_label, (word,)) for word in words]
            scheme = EventScheme()
        span_ending_at = _by_end(spans)
        relations = [
            Relation("", label, span_ending_at[head[1]], span_ending_at[tail[1]], score=prob)
            for head, tail, label, prob in sorted(links)
        ]
        layer = restore(spans, relations, scheme, self.layer, new_id)
        relations = [replace(relation, id=new_id("R")) for relation in layer.relations]
        return replace(layer, relations=tuple(relations))

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of relations that train did not have."""
        return _labels([document[self.layer] for document in documents]) - set(self.labels)


def _by_end(spans: Iterable[Span]) -> dict[int, str]:
    """Return the id of the span that ends at each offset: the widest, of those the first."""
    span_at: dict[int, str] = {}
    for span in sorted(spans, key=lambda span: span.start):
        span_at.setdefault(span.end, span.id)
    return span_at


def _labels(layers: Sequence[Layer]) -> set[str]:
    scheme = collect(layers)
    return {relation.label for layer in layers for relation in project(layer, scheme)[1]}


def _infer_vocabulary(
    options: WordPairOptions, layer: str, train: TrainDocuments
) -> dict[str, Any]:
    layers = [document[layer] for document, _ in train]
    scheme = collect(layers)
    return {
        "labels": sorted(_labels(layers)),
        "trigger_labels": sorted(scheme.trigger_labels),
        "roles": sorted(scheme.roles),
        "role_relations": sorted(scheme.relations),
    }


def _build(setup: TaskSetup[WordPairOptions]) -> WordRelationsTask:
    named = (
        frozenset(setup.vocabulary[key]) for key in ("trigger_labels", "roles", "role_relations")
    )
    labels = tuple(setup.vocabulary["labels"])
    return WordRelationsTask(
        setup.name,
        setup.layer,
        InstanceReader(SentenceReader()),
        setup.options,
        labels,
        EventScheme(*named),
        setup.bias("relation"),
    )


KIND = TaskType(WordPairOptions, _infer_vocabulary, _build, _SAMPLE, family="word-pairs")
