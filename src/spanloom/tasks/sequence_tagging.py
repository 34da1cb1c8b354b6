"""Labelled spans as one tag a word, chosen by a CRF (Changpinyo et al. 2018, sections 2 and 3.3).

So are named entities and mentions in HMTL (Sanh et al. 2019). Spans are flat and stay in their
sentence; with the scheme ``none`` every word has a label of its own: parts of speech. Tasks that
share a head share the union of their tags, and each decodes to its own.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from spanloom.annotation.tag_schemes import OUTSIDE, SCHEMES, Plain, Scheme, Tagged
from spanloom.config.options import Options
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.errors import DataError
from spanloom.metrics.report import Report, score
from spanloom.nn.tags import Tagger
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    MetricValues,
    NewId,
    TaskType,
    TrainDocuments,
)
from spanloom.tasks._left_out import coverage_notes
from spanloom.tasks._spans import (
    SPAN_ROW,
    InstancePrediction,
    Labels,
    spans_and_relations,
    word_bounds,
)
from spanloom.tensors import Batch, HeadInputs, Loss
from spanloom.tokenization import Bounds

_SAMPLE = Document(
    "Ada Lovelace met Bob in London .\nShe left the old town hall .",
    (
        Layer(
            MAIN,
            (
                Span("T1", "person", ((0, 12),)),
                Span("T2", "person", ((17, 20),)),
                Span("T3", "place", ((24, 30),)),
                Span("T4", "place", ((46, 59),)),
            ),
        ),
    ),
    "sample",
)


class TagOptions(Options):
    """Options of tags."""

    scheme: Literal["BIO", "IOB1", "BIOES", "BILOU", "none"] = Field(
        "BIOES", description="how spans are spelt; none: each word has a label, as parts of speech"
    )
    crf: bool = Field(True, description="whether the tags of a sentence are chosen together")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")


@dataclass(frozen=True, slots=True)
class TagGold:
    """A document's gold: a row of the head's tags a word, and how many spans they spell.

    ``left`` counts the spans that are left out, by reason.
    """

    tags: tuple[int, ...]
    spans: int
    skipped: Counter[str]

    def __len__(self) -> int:
        """How many spans there are to learn from."""
        return self.spans


@dataclass(frozen=True, slots=True)
class TagTargets:
    """A tag for each of a batch's words."""

    tags: Int[Tensor, " word"]

    def to(self, device: torch.device) -> "TagTargets":
        """Return the same targets on another device."""
        return TagTargets(self.tags.to(device))


@dataclass(frozen=True, slots=True)
class SequenceTaggingTask(LayerTask):
    """Spans of ``labels``, spelt by ``scheme``; ``sets`` are the head's labels, by scheme."""

    options: TagOptions
    scheme: Scheme
    labels: tuple[str, ...]
    sets: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("spans",)

    @property
    def loss_names(self) -> tuple[str, ...]:
        """The tags of whole sentences."""
        return ("tags",)

    @property
    def tags(self) -> list[str]:
        """All tags that the head knows, "O" first: its own, and those it shares the head with."""
        every = (tag for name, labels in self.sets for tag in SCHEMES[name].tags(labels))
        return list(dict.fromkeys(every))

    def build_head(self, ground: HeadInputSpec) -> Tagger:
        """Make the tagger; a step between two tags is allowed where a scheme that has both does."""
        row = {tag: place for place, tag in enumerate(self.tags)}
        starts, ends = torch.zeros(2, len(row), dtype=torch.bool)
        follow = torch.zeros(len(row), len(row), dtype=torch.bool)
        for name, labels in self.sets:
            mine = SCHEMES[name].tags(labels)
            rows = torch.tensor([row[tag] for tag in mine])
            first, after, last = map(torch.tensor, SCHEMES[name].allowed(mine))
            starts[rows] |= first
            follow[rows[:, None], rows] |= after
            ends[rows] |= last
        return Tagger(
            ground.word_dim,
            num_tags=len(row),
            starts=starts,
            follow=follow,
            ends=ends,
            dropout=self.options.dropout,
            crf=self.options.crf,
        )

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> TagGold:
        """Spell a layer; of spans that overlap the earlier stays, of equal starts the longer."""
        kept, left = self._flat(document[self.layer], cut)
        row = {tag: place for place, tag in enumerate(self.tags)}
        tags = [row[OUTSIDE]] * len(cut.words)
        starts = [start for start, _ in cut.sentences]
        inside: dict[int, list[Tagged]] = {}
        for start, end, label in kept:
            home = bisect_right(starts, start) - 1
            inside.setdefault(home, []).append((start - starts[home], end - starts[home], label))
        for home, spans in inside.items():
            a, b = cut.sentences[home]
            tags[a:b] = [row[tag] for tag in self.scheme.encode(spans, b - a)]
        return TagGold(tuple(tags), len(kept), left)

    def _flat(self, layer: Layer, cut: TokenizedDocument) -> tuple[list[Tagged], Counter[str]]:
        """The spans that the scheme can spell side by side, in words; why others are left out."""
        there = word_bounds(layer, cut.words)
        inside = [span for span in layer.spans if span.id in there]
        left = Counter({"off word borders or in pieces": len(layer.spans) - len(inside)})
        ends = [end for _, end in cut.sentences]
        kept: list[Tagged] = []
        for span in sorted(inside, key=lambda span: (there[span.id][0], -there[span.id][1])):
            start, end = there[span.id]
            if why := self._unspelt((start, end), span.label, ends):
                left[why] += 1
            elif kept and start < kept[-1][1]:
                left["overlapping others"] += 1
            else:
                kept.append((start, end, span.label))
        return kept, left

    def _unspelt(self, bounds: Bounds, label: str, ends: Sequence[int]) -> str:
        """Why no tags spell a span of some words; nothing where some do."""
        start, end = bounds
        if end > ends[bisect_right(ends, start)]:
            return "across sentences"
        if label not in self.labels:
            return "of labels that are none of its own"
        if isinstance(self.scheme, Plain) and end - start > 1:
            return "of several words"
        return ""

    def coverage_notes(
        self, train: TrainDocuments, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, TagGold]
    ) -> list[str]:
        """Say how much there is to learn from, and what tags cannot spell."""
        return coverage_notes(self.name, "spans", train, whole, gold)

    def collate_targets(self, units: Sequence[Instance], gold: Mapping[int, TagGold]) -> TagTargets:
        """Lay the tags of some units flat, as ``collate`` lays their words."""
        tags = [
            tag
            for unit in units
            for tag in gold[unit.document].tags[
                unit.first_word : unit.first_word + len(unit.tokens)
            ]
        ]
        return TagTargets(torch.tensor(tags, dtype=torch.long))

    def loss(
        self, head: Tagger, vectors: HeadInputs, batch: Batch, targets: TagTargets
    ) -> dict[str, Loss]:
        """Return the negative log-likelihood of the gold tags."""
        return {"tags": head.loss(vectors.word_vectors, batch.sentences, targets.tags)}

    def predict(
        self,
        head: Tagger,
        vectors: HeadInputs,
        batch: Batch,
        units: Sequence[Instance],
        given: None,
    ) -> Iterator[InstancePrediction]:
        """Choose among the task's own tags; a span is as sure as its least sure word."""
        own = set(self.scheme.tags(self.labels))
        mine = torch.tensor([tag in own for tag in self.tags], device=vectors.word_vectors.device)
        rows, sure = (
            each.tolist() for each in head.best(vectors.word_vectors, batch.sentences, mine)
        )
        names = [self.tags[row] for row in rows]
        labels = Labels(self.labels)
        number = {label: row for row, label in enumerate(self.labels, 1)}
        base = 0
        for unit in units:
            spans = [
                (a + start, a + end, number[label], min(sure[base + a + start : base + a + end]))
                for a, b in unit.sentences
                for start, end, label in self.scheme.decode(names[base + a : base + b])
            ]
            yield InstancePrediction(labels, np.array(spans, SPAN_ROW))
            base += len(unit.tokens)

    def to_layer(
        self, document: Document, found: Sequence[tuple[Instance, InstancePrediction]], fresh: NewId
    ) -> Layer:
        """Make a layer of the spans, in text order."""
        spans, _ = spans_and_relations(found, fresh)
        return Layer(self.layer, spans)

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer."""
        return score(gold, predicted, self.layer)

    def metrics(self, report: Report) -> MetricValues:
        """Return F1 of spans; where every word has one it is the share of words that are right."""
        return {"spans": report.spans.micro.f1}

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of spans that train did not have."""
        labels = {span.label for each in documents for span in each[self.layer].spans}
        return labels - set(self.labels)


def _infer_vocabulary(options: TagOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    """The labels, under their scheme; one that would be the tag of no span is no label."""
    labels = {span.label for document, _ in train for span in document[layer].spans}
    if isinstance(SCHEMES[options.scheme], Plain):
        labels.discard(OUTSIDE)
    return {options.scheme: sorted(labels)}


def _merge_vocabularies(collected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All labels of each scheme; plain tags go with any scheme, two that spell spans do not mix."""
    found: dict[str, set[str]] = {}
    for each in collected:
        for scheme, labels in each.items():
            found.setdefault(scheme, set()).update(labels)
    spelt = sorted(scheme for scheme in found if not isinstance(SCHEMES[scheme], Plain))
    if len(spelt) > 1:
        raise DataError(
            f"tasks that share a head of tags need one scheme (or none), got {' and '.join(spelt)} "
            f"(sharing: heads gives each task its own)"
        )
    return {scheme: sorted(found[scheme]) for scheme in sorted(found)}


def _build(
    name: str,
    layer: str,
    options: TagOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> SequenceTaggingTask:
    ((scheme, labels),) = collected.items()
    sets = tuple((each, tuple(united[each])) for each in united)
    reading = InstanceReader(SentenceReader())
    return SequenceTaggingTask(name, layer, reading, options, SCHEMES[scheme], tuple(labels), sets)


KIND = TaskType(
    TagOptions,
    _infer_vocabulary,
    _build,
    _SAMPLE,
    family="tags",
    merge_vocabularies=_merge_vocabularies,
)
