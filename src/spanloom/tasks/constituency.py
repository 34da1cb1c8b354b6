"""Constituency trees: labels of all spans, and the tree they make (SpanRel, table 2).

Of several labels on the same words the first is the outermost: a unary chain.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from spanloom.annotation import unary_chains
from spanloom.annotation.trees import category
from spanloom.annotation_ids import IdGenerator
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance
from spanloom.decoding.span_selection import cky_decode, top_down
from spanloom.document import MAIN, Document, Fragment, Layer, Span
from spanloom.long_sentences import LONGEST
from spanloom.metrics.constituents import score
from spanloom.nn.candidates import ScoredSpans, neighbors, text_order
from spanloom.nn.losses import SpanLoss, all_spans_loss
from spanloom.nn.span_decoding import SpanPairDecoder
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.spans import SpanInputs
from spanloom.nn.tree_losses import tree_crf_loss, tree_margin_loss
from spanloom.tasks._base import MetricValues, NewId, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._document_prediction import (
    expand_labels,
    fragments_of_long_sentences,
    spans_and_relations,
)
from spanloom.tasks._span_parts import GoldSpans, HeadParts, SpanMetrics, prepare_layers
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import InstancePrediction, number_spans
from spanloom.tasks._vocabulary import (
    SpanHeadOptions,
    SpanOptions,
    Vocabulary,
    infer_span_vocabulary,
    read_vocabulary,
)
from spanloom.tensors import PredictedRelations, PredictedSpans, SpanTargets
from spanloom.tokenization import Bounds

TreeSearch = Callable[[np.ndarray], list[Bounds]]
_CANDIDATES = 1 << 19  # scored at a time, of whole sentences

_SAMPLE = Document(
    "She wrote long letters .\nBob slept .",
    (
        Layer(
            MAIN,
            number_spans(
                ("S", 0, 24),
                ("NP", 0, 3),
                ("VP", 4, 22),
                ("NP", 10, 22),
                ("TOP", 25, 36),
                ("S", 25, 36),
                ("NP", 25, 28),
                ("VP", 29, 34),
            ),
        ),
    ),
    "sample",
)


class BracketOptions(SpanHeadOptions):
    """Options of constituency trees."""

    decoder: Literal["cky", "greedy"] = Field(
        "cky", description="cky (the best tree) | greedy (from the top down, as in the paper)"
    )
    loss: Literal["independent", "max-margin", "inside"] = Field(
        "independent",
        description="independent (each span by itself) | max-margin (the best wrong tree against "
        "gold) | inside (gold's probability among all trees)",
    )
    function_tags: bool = Field(
        False, description="learn NP-SBJ-1 as itself; else as NP, which is all that evalb compares"
    )
    boundary_context: bool = Field(
        False, description="the words before and after a span are read with it"
    )
    coarse_spans_per_word: float | None = Field(
        None,
        gt=0,
        description="coarse-to-fine: spans per word that are scored in full, chosen by a linear "
        "score; null: all",
    )


@dataclass(frozen=True, slots=True)
class GoldTrees(GoldSpans):
    """Constituents, each unary chain one label, with or without function tags."""

    function_tags: bool

    def prepare(self, layer: Layer) -> Layer:
        """Return the layer with unary chains as one span."""
        if not self.function_tags:
            plain = tuple(replace(span, label=category(span.label)) for span in layer.spans)
            layer = replace(layer, spans=plain)
        return unary_chains.collapse_unary(layer)

    def label_parts(self, label: str) -> Sequence[str]:
        """Return the labels of a chain, as trees are written: without empty ones."""
        return unary_chains.expand_unary(unary_chains.drop_empty_labels(label))

    def unseen_labels(self, layers: Sequence[Layer], vocabulary: Vocabulary) -> set[str]:
        """Return labels of chains that train did not have."""
        trees = (self.prepare(layer) for layer in layers)
        return {span.label for tree in trees for span in tree.spans} - {*vocabulary.spans}


class TreeMetrics(SpanMetrics):
    """F1 of brackets, as evalb counts them."""

    def compute(self, gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Any:
        """Score brackets: a ``metrics.constituents.Report``."""
        return score(gold, predicted, layer)

    def values(self, report: Any) -> MetricValues:
        """Return F1 of brackets."""
        return {"evalb": report.evalb.micro.f1}


@dataclass(frozen=True, slots=True)
class TreeSpans:
    """Select the spans of the best tree of each sentence."""

    decode: TreeSearch

    def __call__(self, spans: ScoredSpans) -> Int[Tensor, " kept"]:
        """Return the indices of the trees' spans, in text order."""
        margin = spans.margin.cpu().double().numpy()
        bounds, runs = spans.bounds.cpu().numpy(), spans.runs.cpu().numpy()
        kept = torch.zeros(len(bounds), dtype=torch.bool)
        sentence = np.searchsorted(runs[:, 1], bounds[:, 0], side="right")
        order = np.argsort(sentence, kind="stable")
        for index in np.split(order, np.flatnonzero(np.diff(sentence[order])) + 1):
            if not len(index):
                continue
            first, end = runs[sentence[index[0]]]
            n = end - first
            chart, index_at = np.full((n, n + 1), -np.inf), np.full((n, n + 1), -1)
            cells = bounds[index, 0] - first, bounds[index, 1] - first
            chart[cells], index_at[cells] = margin[index], index
            selected = [index_at[start, end] for start, end in self.decode(chart)]
            kept[[int(span) for span in selected if span >= 0]] = True
        return text_order(spans.bounds, kept.to(spans.bounds.device))


@dataclass(frozen=True, slots=True)
class TreeDecoder:
    """Decode a limited number of candidates at a time, in whole sentences."""

    decoder: SpanPairDecoder

    def __call__(
        self, head: SpanRelation, inputs: SpanInputs, given: SpanTargets | None
    ) -> tuple[PredictedSpans, PredictedRelations]:
        """Return the spans of all trees."""
        blocks = []
        for first, block in _blocks(inputs):
            spans, _ = self.decoder(head, block, None)
            blocks.append(replace(spans, bounds=spans.bounds + first))
        if len(blocks) == 1:
            return blocks[0], PredictedRelations()
        values = {
            field.name: torch.cat([getattr(block, field.name) for block in blocks])
            for field in fields(PredictedSpans)
        }
        return PredictedSpans(**values), PredictedRelations()


@dataclass(frozen=True, slots=True)
class ConstituencyTask(SpanRelationTask):
    """Constituency trees as spans of every width."""

    @property
    def soft_labels(self) -> tuple[str, ...] | None:
        """The labels of spans, if each is learnt by itself: else scores are parts of a tree's."""
        return self.vocabulary.spans if self.parts.span_loss is all_spans_loss else None

    def to_layer(
        self,
        document: Document,
        predictions: Sequence[tuple[Instance, InstancePrediction]],
        new_id: NewId,
    ) -> Layer:
        """Return a layer of the predictions, the outer of two spans first.

        The trees of a long sentence's parts get one node above them, with the label that most of
        their roots have.
        """
        spans, _ = spans_and_relations(predictions, IdGenerator())
        roots = _part_parents(spans, fragments_of_long_sentences(predictions))
        expanded = expand_labels(spans, roots, unary_chains.expand_unary, new_id)
        return Layer(self.layer, expanded)


def _blocks(inputs: SpanInputs) -> Iterator[tuple[int, SpanInputs]]:
    """Yield blocks of whole sentences of about ``_CANDIDATES`` spans, with their first word."""
    lengths = inputs.sentences[:, 1] - inputs.sentences[:, 0]
    block = ((lengths * (lengths + 1) // 2).cumsum(0) - 1) // _CANDIDATES
    sizes = block.unique_consecutive(return_counts=True)[1].tolist()
    if len(sizes) < 2:
        yield 0, inputs
        return
    for sentences in inputs.sentences.split(sizes):
        first, end = int(sentences[0, 0]), int(sentences[-1, 1])
        runs = sentences - first
        words, weights = inputs.words[first:end], inputs.weights[first:end]
        tokens = None if inputs.tokens is None else inputs.tokens[first:end]
        shared = None if inputs.shared is None else inputs.shared.within(first, end)
        parts = neighbors(runs), inputs.features, tokens, shared
        yield first, SpanInputs(words, weights, runs, runs, *parts)


def _part_parents(spans: Sequence[Span], sentences: Sequence[Sequence[Fragment]]) -> list[Span]:
    """Return the nodes above the trees of the parts of some sentences, given in characters."""
    if not sentences:
        return []
    splits = {part for parts in sentences for part in parts}
    top: dict[Fragment, str] = {}
    for span in spans:
        if (span.start, span.end) in splits:
            top.setdefault((span.start, span.end), unary_chains.expand_unary(span.label)[0])
    added = []
    for parts in sentences:
        names = Counter(top[part] for part in parts)
        sentence = parts[0][0], parts[-1][1]
        added.append(Span("", names.most_common(1)[0][0], (sentence,)))
    return added


_SEARCHES: dict[str, TreeSearch] = {"cky": cky_decode, "greedy": top_down}
_LOSSES: dict[str, SpanLoss] = {
    "independent": all_spans_loss,
    "max-margin": tree_margin_loss,
    "inside": tree_crf_loss,
}


def _infer_vocabulary(options: BracketOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    trees = prepare_layers(train, layer, GoldTrees(options.function_tags).prepare)
    limits = SpanOptions.model_validate({"max_span_width": LONGEST, "nested": True})
    return infer_span_vocabulary(limits, layer, trees, relations=False).to_dict()


def _build(setup: TaskSetup[BracketOptions]) -> ConstituencyTask:
    options = setup.options
    vocabulary = read_vocabulary(setup.vocabulary)
    labels = tuple(map(unary_chains.drop_empty_labels, vocabulary.spans))
    parts = HeadParts(
        options=options,
        boundary_context=options.boundary_context,
        coarse_spans_per_word=options.coarse_spans_per_word,
        keep_sentences=True,
        span_loss=_LOSSES[options.loss],
    )
    return ConstituencyTask(
        setup.name,
        setup.layer,
        InstanceReader(SentenceReader()),
        replace(vocabulary, spans=labels),
        parts,
        TreeDecoder(
            SpanPairDecoder(TreeSpans(_SEARCHES[options.decoder]), bias=setup.bias("span"))
        ),
        GoldTrees(options.function_tags),
        TreeMetrics(("evalb",)),
        decisions={"span": "evalb"},
    )


KIND = TaskType(BracketOptions, _infer_vocabulary, _build, _SAMPLE, scores_spans=True)
