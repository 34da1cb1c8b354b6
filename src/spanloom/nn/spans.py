"""Span representations and scores (SpanRel, section 3, equations 3 and 4), factorised.

A span is ``z = [content; u_start; u_end; width]``, content being a self-attention average over its
words; where asked for, the words outside both ends stand in it too, as in parsers that score spans
between fenceposts (Stern et al. 2017, section 3). The first layer of every perceptron over ``z`` is
linear, so it is applied to words once, and a span only adds four rows: its start's, its end's, a
difference of prefix sums, its width's.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from spanloom.cancellation import checkpoint
from spanloom.nn.attributes import Slots
from spanloom.nn.mlp import Readout
from spanloom.nn.rows import take

_CHUNK = 2_048  # candidates scored at a time where no gradient is kept: what a cache holds
_SPARSE = 8  # where fewer than one word in so many starts a span of a width, gathering is cheaper
_CLAMP = 10.0  # attention scores; e^-20 is still exact in the prefix sums' double precision


class SpanAttention(nn.Module):
    """One unnormalised attention weight a word, shared by all that reads spans."""

    def __init__(self, dim: int) -> None:
        """``dim`` is the words' vector size."""
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, words: Float[Tensor, "word dim"]) -> Float[Tensor, "word 1"]:
        """Return positive weights."""
        weights: Tensor = self.score(words).float().clamp(-_CLAMP, _CLAMP).exp()
        return weights


@dataclass(frozen=True, slots=True)
class Tables:
    """What each word says as the first, as the last and as one of a span, and how much it weighs.

    Made once a text, whatever the number of spans.
    """

    first: Float[Tensor, "word size"]
    last: Float[Tensor, "word size"]
    contents: Float[Tensor, "word size"]
    weights: Float[Tensor, "word 1"]


class SpanLinear(nn.Module):
    """A linear layer over ``z``, computed without ever building ``z``."""

    def __init__(self, dim: int, size: int, widths: int, *, outside: bool = False) -> None:
        """``widths`` is the widest span with a width vector of its own; wider ones share it.

        With ``outside`` the words before and after are read, at the edge of a sentence a vector
        that says so.
        """
        super().__init__()
        self.words = nn.Linear(dim, 3 * size)
        self.width = nn.Embedding(widths, size)
        nn.init.normal_(self.width.weight, std=0.02)
        self.around = nn.Linear(dim, 2 * size, bias=False) if outside else None
        self.edges = nn.Parameter(torch.zeros(2, size)) if outside else None

    def forward(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        bounds: Int[Tensor, "span 2"],
        beside: Int[Tensor, "word 2"] | None = None,
    ) -> Float[Tensor, "span size"]:
        """``bounds`` are ``[start, end)`` rows of ``words``, never empty.

        ``beside`` has the rows of the words before and after each, -1 at a sentence's edge.
        """
        return self.gatherer(self.tables(words, weights, beside))(bounds)

    def tables(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        beside: Int[Tensor, "word 2"] | None = None,
    ) -> Tables:
        """Return what spans are made of; ``beside`` as in ``forward``."""
        first, last, contents = self.words(words).float().chunk(3, dim=-1)
        if self.around is not None and self.edges is not None:
            assert beside is not None, "a layer that reads outside was not told what is there"
            before, after = self.around(words).float().chunk(2, dim=-1)
            edge_before, edge_after = self.edges[:, None]
            first = first + take(torch.cat([edge_before, before]), beside[:, 0] + 1)
            last = last + take(torch.cat([edge_after, after]), beside[:, 1] + 1)
        return Tables(first, last, contents, weights)

    def gatherer(
        self, tables: Tables
    ) -> Callable[[Int[Tensor, "span 2"]], Float[Tensor, "span size"]]:
        """Return what makes of bounds what ``forward`` does; sums of contents are made now."""
        inside = sums(tables.contents, tables.weights)

        def gather(bounds: Int[Tensor, "span 2"]) -> Float[Tensor, "span size"]:
            start, end = bounds.unbind(-1)
            width = (end - start - 1).clamp(max=self.width.num_embeddings - 1)
            ends = take(tables.first, start) + take(tables.last, end - 1)
            joined: Tensor = ends + means(inside, bounds) + self.width(width)
            return joined

        return gather

    def every(
        self, tables: Tables, starts: Sequence[Int[Tensor, " _"]]
    ) -> Iterator[Float[Tensor, "_ size"]]:
        """Yield what ``forward`` makes of all spans of one width, for widths 1, 2, … in turn.

        ``starts`` holds, for each width, where such spans start. Sums of contents grow by one word
        a width, so nothing is gathered but the rows that are kept.
        """
        first, last = tables.first, tables.last
        weighted = inside = tables.contents * tables.weights
        totals = tables.weights
        for extra, start in enumerate(starts):
            if extra:
                inside = inside[:-1] + weighted[extra:]
                totals = totals[:-1] + tables.weights[extra:]
            here = first[: len(first) - extra] + last[extra:] + inside / totals
            width = self.width.weight[min(extra, len(self.width.weight) - 1)]
            yield take(here + width, start)

    def blocks(
        self, tables: Tables, starts: Sequence[Int[Tensor, " _"]]
    ) -> Iterator[Float[Tensor, "_ size"]]:
        """Yield all spans in pieces: width after width, those of rare widths gathered."""
        dense = next(
            (row for row, each in enumerate(starts) if _SPARSE * len(each) < len(tables.first)),
            len(starts),
        )
        yield from self.every(tables, starts[:dense])
        if dense < len(starts):
            start = torch.cat(list(starts[dense:]))
            sizes = torch.tensor([len(each) for each in starts[dense:]], device=start.device)
            wide = torch.arange(dense + 1, len(starts) + 1, device=start.device)
            bounds = torch.stack([start, start + wide.repeat_interleave(sizes)], dim=1)
            yield from map(self.gatherer(tables), _chunks(bounds))


def _chunks(bounds: Int[Tensor, "span 2"]) -> Sequence[Int[Tensor, "_ 2"]]:
    """All bounds where gradients are kept, else as many at a time as a cache holds."""
    return (bounds,) if torch.is_grad_enabled() else bounds.split(_CHUNK)


def sums(
    values: Float[Tensor, "word dim"], weights: Float[Tensor, "word 1"]
) -> Float[Tensor, "place more"]:
    """Return prefix sums of weighted values and of weights.

    Double precision, because a difference of prefix sums cancels.
    """
    rows = torch.cat([values * weights, weights], dim=-1).double()
    return torch.cat([rows.new_zeros(1, rows.shape[1]), rows.cumsum(0)])


def means(table: Float[Tensor, "place more"], bounds: Int[Tensor, "n 2"]) -> Float[Tensor, "n dim"]:
    """Return the mean over each ``[start, end)`` from prefix sums; zero where that is empty."""
    inside = take(table, bounds[:, 1]) - take(table, bounds[:, 0])
    total = inside[:, -1:]
    return (inside[:, :-1] / total.masked_fill(total == 0, 1.0)).float()


class SpanScorer(nn.Module):
    """Label scores of candidate spans; column 0 is NEG_SPAN. Attributes' columns follow."""

    def __init__(
        self,
        dim: int,
        *,
        labels: int,
        widths: int,
        size: int,
        dropout: float,
        slots: Slots = Slots(),
        outside: bool = False,
    ) -> None:
        """``labels`` counts NEG_SPAN too; ``slots`` are attributes, whose scores stand behind.

        With ``outside`` the words before and after a span are read.
        """
        super().__init__()
        self.labels, self.slots = labels, slots
        self.first = SpanLinear(dim, size, widths, outside=outside)
        self.readout = Readout(size, labels + slots.columns, dropout)

    def forward(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        starts: Sequence[Int[Tensor, " _"]],
        beside: Int[Tensor, "word 2"] | None = None,
    ) -> Float[Tensor, "span label"]:
        """Return unnormalised scores of the spans of width 1, then 2, …: see ``SpanLinear.every``.

        Where no gradient is kept a few widths are scored at a time, so that memory stays bounded.
        """
        scores, held, rows = [], [], 0
        for block in self.first.blocks(self.first.tables(words, weights, beside), starts):
            checkpoint()
            held.append(block)
            rows += len(block)
            if rows >= _CHUNK and not torch.is_grad_enabled():
                scores.append(self.readout(torch.cat(held)))
                held, rows = [], 0
        if held:
            scores.append(self.readout(torch.cat(held)))
        return torch.cat(scores).float()

    def some(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        bounds: Int[Tensor, "span 2"],
        beside: Int[Tensor, "word 2"] | None = None,
    ) -> Float[Tensor, "span label"]:
        """Score spans of any bounds, a chunk at a time where no gradient is kept."""
        gather = self.first.gatherer(self.first.tables(words, weights, beside))
        scores = [self.readout(gather(each)) for each in _chunks(bounds)]
        return torch.cat(scores).float()


class Gate(nn.Module):
    """How likely anything stands at a span, by a linear layer over ``z`` alone: a cheap look.

    The ``ratio`` times n likeliest spans of a sentence are worth scoring in full (as mentions are
    pruned by ends alone in Kirstain et al. 2021, section 3); with ``whole`` the sentence itself is,
    however it looks.
    """

    def __init__(self, dim: int, *, widths: int, ratio: float, whole: bool = False) -> None:
        """``widths`` is the widest span with a bias of its own."""
        super().__init__()
        self.linear = SpanLinear(dim, 1, widths)
        self.ratio, self.whole = ratio, whole

    def forward(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        starts: Sequence[Int[Tensor, " _"]],
    ) -> Float[Tensor, " span"]:
        """Return the log odds of the spans of width 1, then 2, …"""
        every = self.linear.blocks(self.linear.tables(words, weights), starts)
        return torch.cat(list(every))[:, 0]
