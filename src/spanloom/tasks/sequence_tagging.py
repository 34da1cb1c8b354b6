"""Labelled spans as one tag per word, decoded by a CRF (Changpinyo et al. 2018, section 2).

So are named entities and mentions in HMTL (Sanh et al. 2019). Spans are flat and stay in their
sentence; with the scheme ``none`` every word has a label of its own: parts of speech. Tasks that
share a head share the union of their tags, and each decodes to its own.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
from spanloom.document import MAIN, Document, Layer
from spanloom.nn.initialization import INITIALIZERS, Initialization
from spanloom.nn.tags import Tagger, TagRules
from spanloom.tasks._base import HeadInputSpec, Measure, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._coverage import partial_coverage_notes
from spanloom.tasks._spans import SPAN_ROW, InstancePrediction, Labels, number_spans, word_bounds
from spanloom.tasks._tag_measure import TagMeasure
from spanloom.tasks._word_task import SPAN_F1, WordTask
from spanloom.tensors import Batch, HeadInputs, Losses
from spanloom.tokenization import Bounds

_SAMPLE = Document(
    "Ada Lovelace met Bob in London .\nShe left the old town hall .",
    (
        Layer(
            MAIN,
            number_spans(
                ("person", 0, 12),
                ("person", 17, 20),
                ("place", 24, 30),
                ("place", 46, 59),
            ),
        ),
    ),
    "sample",
)


class TagOptions(Options):
    """Options of sequence tagging."""

    scheme: Literal["BIO", "IOB1", "BIOES", "BILOU", "none"] = Field(
        "BIOES", description="how spans are spelt; none: each word has a label, as parts of speech"
    )
    crf: bool = Field(True, description="whether the tags of a sentence are chosen together")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")
    initialization: Initialization = Field(
        "default", description="start values of its weights: default | xavier"
    )
    transition_l2: float = Field(
        0.0, ge=0, description="weight of the squared transitions beside a sentence's loss"
    )
    metric: Literal["span_f1", "changpinyo"] = Field(
        "span_f1", description="the main metric: F1 of spans, or of tags as their paper counts them"
    )
    label_metrics: tuple[str, ...] = Field(
        (), description="labels whose F1 is a metric, too, beside changpinyo"
    )


@dataclass(frozen=True, slots=True)
class TagGold:
    """A document's gold: one tag id of the head per word, and the number of spans they encode.

    ``skipped`` counts the spans that are left out, by reason.
    """

    tags: tuple[int, ...]
    spans: int
    skipped: Counter[str]

    def __len__(self) -> int:
        """Return the number of spans to learn from."""
        return self.spans


@dataclass(frozen=True, slots=True)
class SequenceTaggingTask(WordTask):
    """Spans of ``labels``, encoded by ``scheme``; ``sets`` are the head's labels, by scheme."""

    scheme: Scheme
    sets: tuple[tuple[str, tuple[str, ...]], ...]

    loss_names = ("tags",)

    @property
    def measure(self) -> Measure:
        """The metrics of spans, or those of tags with those of spans beside."""
        if self.options.metric == "span_f1":
            return SPAN_F1
        return TagMeasure(self.scheme, self.options.label_metrics)

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags of the head, "O" first: its own and those of the tasks that share the head."""
        tags = (tag for name, labels in self.sets for tag in SCHEMES[name].tags(labels))
        return tuple(dict.fromkeys(tags))

    def written_vocabulary(self, vocabulary: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the labels, which the vocabulary has by scheme, as those of spans."""
        return {"span_labels": self.labels}

    def build_head(self, spec: HeadInputSpec) -> Tagger:
        """Build the tagger; it allows the tag transitions that any of its schemes allows."""
        schemes = tuple((SCHEMES[name], labels) for name, labels in self.sets)
        head = Tagger(
            spec.word_dim,
            rules=tag_rules(self.tags, schemes),
            dropout=self.options.dropout,
            crf=self.options.crf,
            transition_l2=self.options.transition_l2,
        )
        INITIALIZERS[self.options.initialization](head)
        return head

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> TagGold:
        """Encode a layer; of overlapping spans the earlier is kept, of equal starts the longer."""
        kept, skipped = self._flat_spans(document[self.layer], tokenized)
        tag_to_id = {tag: index for index, tag in enumerate(self.tags)}
        tags = [tag_to_id[OUTSIDE]] * len(tokenized.words)
        starts = [start for start, _ in tokenized.sentences]
        by_sentence: dict[int, list[Tagged]] = {}
        for start, end, label in kept:
            sentence = bisect_right(starts, start) - 1
            span = start - starts[sentence], end - starts[sentence], label
            by_sentence.setdefault(sentence, []).append(span)
        for sentence, spans in by_sentence.items():
            a, b = tokenized.sentences[sentence]
            tags[a:b] = [tag_to_id[tag] for tag in self.scheme.encode(spans, b - a)]
        return TagGold(tuple(tags), len(kept), skipped)

    def _flat_spans(
        self, layer: Layer, tokenized: TokenizedDocument
    ) -> tuple[list[Tagged], Counter[str]]:
        """Return the spans that tags can encode, in words, and the number of others by reason."""
        bounds = word_bounds(layer, tokenized.words)
        on_words = [span for span in layer.spans if span.id in bounds]
        skipped = Counter({"off word borders or in pieces": len(layer.spans) - len(on_words)})
        ends = [end for _, end in tokenized.sentences]
        kept: list[Tagged] = []
        for span in sorted(on_words, key=lambda span: (bounds[span.id][0], -bounds[span.id][1])):
            start, end = bounds[span.id]
            if reason := self._reason_to_skip((start, end), span.label, ends):
                skipped[reason] += 1
            elif kept and start < kept[-1][1]:
                skipped["overlapping others"] += 1
            else:
                kept.append((start, end, span.label))
        return kept, skipped

    def _reason_to_skip(self, bounds: Bounds, label: str, ends: Sequence[int]) -> str:
        """Return the reason why no tags can encode a span; empty if tags can."""
        start, end = bounds
        if end > ends[bisect_right(ends, start)]:
            return "across sentences"
        if label not in self.labels:
            return "of labels that are none of its own"
        if isinstance(self.scheme, Plain) and end - start > 1:
            return "of several words"
        return ""

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, TagGold],
    ) -> list[str]:
        """Report the number of spans to learn from, and of those that tags cannot encode."""
        return partial_coverage_notes(self.name, "span", train, full_sentences, gold)

    def collate_targets(self, instances: Sequence[Instance], gold: Mapping[int, TagGold]) -> Tensor:
        """Return the tag of each word of a batch."""
        tags = [
            tag
            for instance in instances
            for tag in gold[instance.document].tags[
                instance.first_word : instance.first_word + len(instance.tokens)
            ]
        ]
        return torch.tensor(tags, dtype=torch.long)

    def loss(
        self, head: Tagger, vectors: HeadInputs, batch: Batch, targets: Int[Tensor, " word"]
    ) -> Losses:
        """Return the negative log-likelihood of the gold tags."""
        return {"tags": head.loss(vectors.word_vectors, batch.sentences, targets)}

    def predict(
        self,
        head: Tagger,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: None,
    ) -> Iterator[InstancePrediction]:
        """Decode the task's own tags; a span's probability is the lowest of its words'."""
        words, tags = vectors.word_vectors, self.tags
        own_tags = set(self.scheme.tags(self.labels))
        is_own = torch.tensor([tag in own_tags for tag in tags], device=words.device)
        rules = tag_rules(tags, ((self.scheme, self.labels),))
        ids, probs = (x.tolist() for x in head.best(words, batch.sentences, is_own, rules))
        names = [tags[id] for id in ids]
        labels = Labels(self.labels)
        label_to_id = {label: id for id, label in enumerate(self.labels, 1)}
        base = 0
        for instance in instances:
            spans = [
                (
                    a + start,
                    a + end,
                    label_to_id[label],
                    min(probs[base + a + start : base + a + end]),
                )
                for a, b in instance.sentences
                for start, end, label in self.scheme.decode(names[base + a : base + b])
            ]
            yield InstancePrediction(labels, np.array(spans, SPAN_ROW))
            base += len(instance.tokens)


@lru_cache(maxsize=64)  # they have as many entries as there are pairs of tags
def tag_rules(
    tags: tuple[str, ...], schemes: tuple[tuple[Scheme, tuple[str, ...]], ...]
) -> TagRules:
    """Return what any of some schemes allows for its labels, by index among all tags of a head."""
    tag_to_id = {tag: index for index, tag in enumerate(tags)}
    with torch.device("cpu"):  # they are kept, and whoever asks first may build on the meta device
        starts, ends = torch.zeros(2, len(tags), dtype=torch.bool)
        follow = torch.zeros(len(tags), len(tags), dtype=torch.bool)
        for scheme, labels in schemes:
            own_tags = scheme.tags(labels)
            ids = torch.tensor([tag_to_id[tag] for tag in own_tags])
            first, after, last = map(torch.tensor, scheme.allowed_transitions(own_tags))
            starts[ids] |= first
            follow[ids[:, None], ids] |= after
            ends[ids] |= last
    return TagRules(starts, follow, ends)


def _infer_vocabulary(options: TagOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    """Return the labels by scheme; "O" is no label of plain tags."""
    labels = {span.label for document, _ in train for span in document[layer].spans}
    if isinstance(SCHEMES[options.scheme], Plain):
        labels.discard(OUTSIDE)
    return {options.scheme: sorted(labels)}


def _merge_vocabularies(collected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge labels by scheme; a head may have tags of several schemes."""
    by_scheme: dict[str, set[str]] = {}
    for vocabulary in collected:
        for scheme, labels in vocabulary.items():
            by_scheme.setdefault(scheme, set()).update(labels)
    return {scheme: sorted(by_scheme[scheme]) for scheme in sorted(by_scheme)}


def _build(setup: TaskSetup[TagOptions]) -> SequenceTaggingTask:
    ((scheme, labels),) = setup.vocabulary.items()
    sets = tuple(
        (scheme_name, tuple(setup.shared_vocabulary[scheme_name]))
        for scheme_name in setup.shared_vocabulary
    )
    reading = InstanceReader(SentenceReader())
    return SequenceTaggingTask(
        setup.name, setup.layer, reading, setup.options, tuple(labels), SCHEMES[scheme], sets
    )


KIND = TaskType(
    TagOptions,
    _infer_vocabulary,
    _build,
    _SAMPLE,
    family="tags",
    merge_vocabularies=_merge_vocabularies,
)
