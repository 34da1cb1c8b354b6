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

from spanloom.data.readings import Reading, Sentences
from spanloom.data.units import Cut, Unit
from spanloom.document import MAIN, Document, Fragment, Layer, Span
from spanloom.forms import chains
from spanloom.forms.trees import category
from spanloom.long_sentences import LONGEST
from spanloom.metrics.constituents import score
from spanloom.nn.candidates import neighbours
from spanloom.nn.span_relation import SpanRelation, View, in_order
from spanloom.structs import cky
from spanloom.tasks._base import Figures, Fresh, Kind, Train
from spanloom.tasks._inventory import collect_inventory, inventory
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import Found, Gold, in_parts, labelled, spans_and_relations
from spanloom.tasks.pos import WordOptions
from spanloom.tensors import Chosen
from spanloom.words import Bounds

Decoder = Callable[[np.ndarray], list[Bounds]]
_CANDIDATES = 1 << 19  # scored at a time, of whole sentences

_SAMPLE = Document(
    "She wrote long letters .\nBob slept .",
    (
        Layer(
            MAIN,
            labelled(
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
    functions: bool = Field(
        False, description="learn NP-SBJ-1 as itself; else as NP, which is all that evalb compares"
    )
    around: bool = Field(False, description="the words before and after a span are read with it")
    gate: float | None = Field(
        None, gt=0, description="score in full only so many times n spans, the likeliest at a look"
    )


@dataclass(frozen=True, slots=True)
class ConstituencyTask(SpanRelationTask):
    """Spans of every width, of which those are chosen that make the best tree."""

    decode: Decoder = cky.best
    functions: bool = False

    def gold(self, document: Document, cut: Cut) -> Gold:
        """Express a layer over words, unary chains as one label."""
        layer = _chains(document[self.layer], functions=self.functions)
        return SpanRelationTask.gold(self, document.with_layer(layer), cut)

    def remarks(
        self, train: Train, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, Gold]
    ) -> list[str]:
        """Say what is learnt, unary chains counted once."""
        trees = _chained(train, self.layer, functions=self.functions)
        return SpanRelationTask.remarks(self, trees, whole, gold)

    @property
    def rooted(self) -> bool:
        """A tree has a root."""
        return True

    def spans(self, head: SpanRelation, view: View) -> tuple[Chosen, Float[Tensor, "kept type"]]:
        """Choose the best tree of each sentence, some sentences at a time."""
        made = [(first, SpanRelationTask.spans(self, head, some)) for first, some in _some(view)]
        if len(made) == 1:
            return made[0][1]
        chosen = Chosen(
            torch.cat([each.bounds + first for first, (each, _) in made]),
            torch.cat([each.labels for _, (each, _) in made]),
            torch.cat([each.scores for _, (each, _) in made]),
        )
        return chosen, torch.cat([types for _, (_, types) in made])

    def select(
        self,
        head: SpanRelation,
        view: View,
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
        return in_order(bounds, kept.to(bounds.device))

    @property
    def watched(self) -> tuple[str, ...]:
        """The name of ``figures``."""
        return ("evalb",)

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Any:
        """Score brackets as evalb does: ``metrics.constituents.Report``."""
        return score(gold, predicted, self.layer)

    def every_figure(self, report: Any) -> Figures:
        """Return F1 of brackets."""
        return {"evalb": report.brackets.micro.f1}

    def unknown(self, documents: Sequence[Document]) -> set[str]:
        """Return labels of chains that train did not have."""
        known = {*self.inventory.spans}
        trees = (_chains(each[self.layer], functions=self.functions) for each in documents)
        return {span.label for tree in trees for span in tree.spans} - known

    def write(self, document: Document, found: Sequence[tuple[Unit, Found]], fresh: Fresh) -> Layer:
        """Make a layer of what was predicted, the outer of two spans first.

        The trees of a long sentence's parts stand below one node, called as most of their roots.
        """
        spans, _ = spans_and_relations(found, lambda letter: "")
        spans += _over(spans, in_parts(found))
        spans.sort(key=lambda span: (span.start, -span.end))
        made = [
            replace(span, id=fresh("T"), label=label)
            for span in spans
            for label in chains.parted(span.label)
        ]
        return Layer(self.layer, tuple(made))


def _some(view: View) -> Iterator[tuple[int, View]]:
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
        yield first, View(*inside, runs, runs, neighbours(runs))


def _over(spans: Sequence[Span], sentences: Sequence[Sequence[Fragment]]) -> list[Span]:
    """The nodes above the trees of the parts of some sentences, given in characters."""
    top: dict[Fragment, str] = {}
    for span in spans:
        top.setdefault((span.start, span.end), chains.parted(span.label)[0])
    made = []
    for parts in sentences:
        names = Counter(top[part] for part in parts)
        whole = parts[0][0], parts[-1][1]
        made.append(Span("", names.most_common(1)[0][0], (whole,)))
    return made


def _chained(train: Train, layer: str, *, functions: bool) -> Train:
    """The documents with unary chains as one span, those without the layer as they are."""
    return [
        (
            each.with_layer(_chains(each[layer], functions=functions)) if each.has(layer) else each,
            cut,
        )
        for each, cut in train
    ]


def _chains(layer: Layer, *, functions: bool) -> Layer:
    """A layer with unary chains as one span, labels with or without functions and numbers."""
    if not functions:
        plain = tuple(replace(span, label=category(span.label)) for span in layer.spans)
        layer = replace(layer, spans=plain)
    return chains.joined(layer)


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


_DECODERS: dict[str, Decoder] = {"cky": cky.best, "greedy": cky.top_down}


def _collect(options: BracketOptions, layer: str, train: Train) -> dict[str, Any]:
    trees = _chained(train, layer, functions=options.functions)
    found = collect_inventory(options.spans(), layer, trees, relations=False)
    return replace(found, nested=True, width=LONGEST).to_dict()


def _make(
    name: str,
    layer: str,
    options: BracketOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> ConstituencyTask:
    every = {"width": None, "nested": True, "negatives": "all"}
    own = {"around": options.around, "gate": options.gate}
    spans = options.spans().model_copy(update={**every, **own})
    learnt = inventory(collected)
    learnt = replace(learnt, spans=tuple(map(chains.named, learnt.spans)))
    return ConstituencyTask(
        name,
        layer,
        Reading(Sentences()),
        spans,
        learnt,
        decode=_DECODERS[options.decoder],
        functions=options.functions,
    )


KIND = Kind(BracketOptions, _collect, _make, _SAMPLE)
