"""Constituency trees: labels of all spans, and the tree they make (SpanRel, table 2).

Of several labels on the same words the first is the outermost: a unary chain.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.annotation import unary_chains
from spanloom.annotation.trees import category
from spanloom.annotation_ids import IdGenerator
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding import cky
from spanloom.document import MAIN, Document, Fragment, Layer, Span
from spanloom.long_sentences import LONGEST
from spanloom.metrics.constituents import score
from spanloom.nn.candidates import neighbors
from spanloom.nn.span_relation import SpanInputs, SpanRelation, text_order
from spanloom.tasks._base import MetricValues, NewId, TaskType, TrainDocuments
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import (
    InstancePrediction,
    SpanGold,
    expand_labels,
    fragments_of_long_sentences,
    number_spans,
    spans_and_relations,
)
from spanloom.tasks._vocabulary import infer_span_vocabulary, read_vocabulary
from spanloom.tasks.pos import WordOptions
from spanloom.tensors import PredictedSpans
from spanloom.tokenization import Bounds

Decoder = Callable[[np.ndarray], list[Bounds]]
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


class BracketOptions(WordOptions):
    """Options of constituency trees."""

    decoder: Literal["cky", "greedy"] = Field(
        "cky", description="cky (the best tree) | greedy (from the top down, as in the paper)"
    )
    function_tags: bool = Field(
        False, description="learn NP-SBJ-1 as itself; else as NP, which is all that evalb compares"
    )
    boundary_context: bool = Field(
        False, description="the words before and after a span are read with it"
    )
    coarse_spans_per_word: float | None = Field(
        None, gt=0, description="score in full only so many times n spans, the likeliest at a look"
    )


@dataclass(frozen=True, slots=True)
class ConstituencyTask(SpanRelationTask):
    """Spans of every width, of which those are chosen that make the best tree."""

    decode: Decoder = cky.cky_decode
    functions: bool = False

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> SpanGold:
        """Express a layer over words, unary chains as one label."""
        layer = _chains(document[self.layer], functions=self.functions)
        return SpanRelationTask.encode_gold(self, document.with_layer(layer), cut)

    def coverage_notes(
        self, train: TrainDocuments, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, SpanGold]
    ) -> list[str]:
        """Say what is learnt, unary chains counted once."""
        trees = _chained(train, self.layer, functions=self.functions)
        return SpanRelationTask.coverage_notes(self, trees, whole, gold)

    @property
    def sentences_are_spans(self) -> bool:
        """A tree has a root."""
        return True

    def predict_spans(
        self, head: SpanRelation, view: SpanInputs
    ) -> tuple[PredictedSpans, Float[Tensor, "kept type"]]:
        """Choose the best tree of each sentence, some sentences at a time."""
        made = [
            (first, SpanRelationTask.predict_spans(self, head, some)) for first, some in _some(view)
        ]
        if len(made) == 1:
            return made[0][1]
        chosen = PredictedSpans(
            torch.cat([each.bounds + first for first, (each, _) in made]),
            torch.cat([each.labels for _, (each, _) in made]),
            torch.cat([each.scores for _, (each, _) in made]),
        )
        return chosen, torch.cat([types for _, (_, types) in made])

    def select_spans(
        self,
        head: SpanRelation,
        view: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        scores: Float[Tensor, "span label"],
    ) -> Int[Tensor, " kept"]:
        """Rows of the tree of each sentence, in the order of the text."""
        gain = (scores[:, 1:].amax(-1) - scores[:, 0]).cpu().double().numpy()
        spans = bounds.cpu().numpy()
        kept = torch.zeros(len(spans), dtype=torch.bool)
        for rows in _sentences(spans):
            first = spans[rows, 0].min()
            n = spans[rows, 1].max() - first
            table = np.full((n, n + 1), -np.inf)
            place = np.full((n, n + 1), -1)
            at = spans[rows, 0] - first, spans[rows, 1] - first
            table[at], place[at] = gain[rows], rows
            chosen = [place[start, end] for start, end in self.decode(table)]
            kept[[int(row) for row in chosen if row >= 0]] = True
        return text_order(bounds, kept.to(bounds.device))

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The name of ``figures``."""
        return ("evalb",)

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Any:
        """Score brackets as evalb does: ``metrics.constituents.Report``."""
        return score(gold, predicted, self.layer)

    def all_metrics(self, report: Any) -> MetricValues:
        """Return F1 of brackets."""
        return {"evalb": report.brackets.micro.f1}

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of chains that train did not have."""
        known = {*self.vocabulary.spans}
        trees = (_chains(each[self.layer], functions=self.functions) for each in documents)
        return {span.label for tree in trees for span in tree.spans} - known

    def to_layer(
        self, document: Document, found: Sequence[tuple[Instance, InstancePrediction]], fresh: NewId
    ) -> Layer:
        """Make a layer of what was predicted, the outer of two spans first.

        The trees of a long sentence's parts stand below one node, called as most of their roots.
        """
        spans, _ = spans_and_relations(found, IdGenerator())
        roots = _over(spans, fragments_of_long_sentences(found))
        expanded = expand_labels(spans, roots, unary_chains.expand_unary, fresh)
        return Layer(self.layer, expanded)


def _some(view: SpanInputs) -> Iterator[tuple[int, SpanInputs]]:
    """Yield stretches of whole sentences of some ``_CANDIDATES`` spans, with their first word."""
    lengths = view.sentences[:, 1] - view.sentences[:, 0]
    stretch = ((lengths * (lengths + 1) // 2).cumsum(0) - 1) // _CANDIDATES
    sizes = stretch.unique_consecutive(return_counts=True)[1].tolist()
    if len(sizes) < 2:
        yield 0, view
        return
    for sentences in view.sentences.split(sizes):
        first, end = int(sentences[0, 0]), int(sentences[-1, 1])
        runs = sentences - first
        inside = view.words[first:end], view.weights[first:end]
        yield first, SpanInputs(*inside, runs, runs, neighbors(runs))


def _over(spans: Sequence[Span], sentences: Sequence[Sequence[Fragment]]) -> list[Span]:
    """The nodes above the trees of the parts of some sentences, given in characters."""
    if not sentences:
        return []
    wanted = {part for parts in sentences for part in parts}
    top: dict[Fragment, str] = {}
    for span in spans:
        if (span.start, span.end) in wanted:
            top.setdefault((span.start, span.end), unary_chains.expand_unary(span.label)[0])
    made = []
    for parts in sentences:
        names = Counter(top[part] for part in parts)
        whole = parts[0][0], parts[-1][1]
        made.append(Span("", names.most_common(1)[0][0], (whole,)))
    return made


def _chained(train: TrainDocuments, layer: str, *, functions: bool) -> TrainDocuments:
    """The documents with unary chains as one span, those without the layer as they are."""
    return [
        (
            each.with_layer(_chains(each[layer], functions=functions))
            if each.has_layer(layer)
            else each,
            cut,
        )
        for each, cut in train
    ]


def _chains(layer: Layer, *, functions: bool) -> Layer:
    """A layer with unary chains as one span, labels with or without functions and numbers."""
    if not functions:
        plain = tuple(replace(span, label=category(span.label)) for span in layer.spans)
        layer = replace(layer, spans=plain)
    return unary_chains.collapse_unary(layer)


def _sentences(spans: Int[np.ndarray, "span 2"]) -> list[Int[np.ndarray, " _"]]:
    """Group the rows of all spans by sentence: no span joins two of them."""
    if not len(spans):
        return []
    words = int(spans[:, 1].max())
    joined = np.zeros(words + 1, dtype=bool)
    joined[spans[spans[:, 1] - spans[:, 0] > 1, 0] + 1] = True  # spans of two words join them
    sentence = np.cumsum(~joined[:words])[spans[:, 0]]
    order = np.argsort(sentence, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(sentence[order])) + 1)


_DECODERS: dict[str, Decoder] = {"cky": cky.cky_decode, "greedy": cky.top_down}


def _infer_vocabulary(options: BracketOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    trees = _chained(train, layer, functions=options.function_tags)
    found = infer_span_vocabulary(options.predict_spans(), layer, trees, relations=False)
    return replace(found, nested=True, max_span_width=LONGEST).to_dict()


def _build(
    name: str,
    layer: str,
    options: BracketOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> ConstituencyTask:
    every = {"max_span_width": None, "nested": True, "hard_negatives_per_word": "all"}
    own = {
        "boundary_context": options.boundary_context,
        "coarse_spans_per_word": options.coarse_spans_per_word,
    }
    spans = options.predict_spans().model_copy(update={**every, **own})
    learnt = read_vocabulary(collected)
    learnt = replace(learnt, spans=tuple(map(unary_chains.named, learnt.spans)))
    return ConstituencyTask(
        name,
        layer,
        InstanceReader(SentenceReader()),
        spans,
        learnt,
        decode=_DECODERS[options.decoder],
        functions=options.function_tags,
    )


KIND = TaskType(BracketOptions, _infer_vocabulary, _build, _SAMPLE)
