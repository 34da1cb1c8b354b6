"""Pair scores (SpanRel, section 3): a perceptron over ``[zj; zk; zj * zk]`` and more."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.cancellation import checkpoint
from spanloom.nn.attributes import Slots
from spanloom.nn.mlp import Readout
from spanloom.nn.rows import take
from spanloom.nn.spans import SpanLinear, means, sums
from spanloom.tensors import Told

_EDGES = (1, 2, 3, 4, 5, 8, 16, 32, 64)  # words between two spans: where a new bucket begins


@dataclass(frozen=True, slots=True)
class Beside:
    """What pairs read beside their two ends.

    ``between``: the words between them, of little use where spans are far apart. ``voices``:
    whether one speaker says both. ``genres``: how many there are, an unknown one counted; 0: none.
    """

    between: bool = True
    voices: bool = False
    genres: int = 0


_VOICES = 3  # nobody knows, the same speaker, two


class PairScorer(nn.Module):
    """Label scores of ordered pairs of spans; column 0 is NEG_REL.

    ``types`` are span label probabilities, which say what the two ends are. The distance is signed:
    words between the spans, negative where the head stands right of the tail. ``between`` is the
    mean of the words from one span to the other.
    """

    def __init__(
        self,
        dim: int,
        *,
        types: int,
        labels: int,
        widths: int,
        size: int,
        dropout: float,
        slots: Slots = Slots(),
        beside: Beside = Beside(),
    ) -> None:
        """``types`` is the number of span labels, ``labels`` of pair labels, "none" counted.

        ``slots`` are attributes of pairs, whose scores stand behind those of labels.
        """
        super().__init__()
        self.labels, self.slots = labels, slots
        self.head = SpanLinear(dim, size, widths)
        self.tail = SpanLinear(dim, size, widths)
        self.head_type = nn.Linear(types, size, bias=False)
        self.tail_type = nn.Linear(types, size, bias=False)
        self.product = nn.Linear(size, size, bias=False)
        self.between = nn.Linear(dim, size, bias=False) if beside.between else None
        self.voices = nn.Embedding(_VOICES, size) if beside.voices else None
        self.genres = nn.Embedding(beside.genres, size) if beside.genres else None
        self.distance = nn.Embedding(2 * len(_EDGES) + 3, size)
        nn.init.normal_(self.distance.weight, std=0.02)
        self.readout = Readout(size, labels + slots.columns, dropout)

    def ends(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        bounds: Int[Tensor, "span 2"],
        types: Float[Tensor, "span type"],
    ) -> tuple[Float[Tensor, "span size"], Float[Tensor, "span size"]]:
        """Return each span's vector as a head and as a tail: computed once a span, not a pair."""
        head = self.head(words, weights, bounds) + self.head_type(types).float()
        tail = self.tail(words, weights, bounds) + self.tail_type(types).float()
        return head, tail

    def forward(
        self,
        heads: Float[Tensor, "span size"],
        tails: Float[Tensor, "span size"],
        between: Float[Tensor, "place more"] | None,
        bounds: Int[Tensor, "span 2"],
        pairs: Int[Tensor, "pair 2"],
        told: Told | None = None,
    ) -> Float[Tensor, "pair label"]:
        """``pairs`` are rows ``(head, tail)`` of ``bounds``; ``between`` is ``context(words)``."""
        head, tail = take(heads, pairs[:, 0]), take(tails, pairs[:, 1])
        gap, distance = self._gap(bounds, pairs)
        first = head + tail + self.product(head * tail).float() + self.distance(distance)
        if between is not None:
            first = first + means(between, gap)
        if told is not None:
            first = first + self._known(told, bounds[pairs[:, 0], 0], bounds[pairs[:, 1], 0])
        scores: Tensor = self.readout(first).float()
        return scores

    def _known(
        self, told: Told, head: Int[Tensor, " pair"], tail: Int[Tensor, " pair"]
    ) -> Float[Tensor, "pair size"] | float:
        """What voices and genre say of pairs whose ends begin with these words."""
        known: Float[Tensor, "pair size"] | float = 0.0
        if self.voices is not None:
            one, two = told.voices[head], told.voices[tail]
            kind = torch.where(one == two, 1, 2).masked_fill((one == 0) | (two == 0), 0)
            known = known + self.voices(kind)
        return known if self.genres is None else known + self.genres(told.genres[head])

    def context(self, words: Float[Tensor, "word dim"]) -> Float[Tensor, "place more"] | None:
        """Return sums of what words say that stand between two spans, if they may say anything.

        Made once a text, whatever the number of pairs.
        """
        if self.between is None:
            return None
        said = self.between(words).float()
        return sums(said, said.new_ones(len(said), 1))

    def _gap(
        self, bounds: Int[Tensor, "span 2"], pairs: Int[Tensor, "pair 2"]
    ) -> tuple[Int[Tensor, "pair 2"], Int[Tensor, " pair"]]:
        """Return the words between the two spans (empty where they touch) and a signed bucket."""
        (a, b), (c, d) = bounds[pairs[:, 0]].unbind(-1), bounds[pairs[:, 1]].unbind(-1)
        right = c >= b
        left = a >= d
        start = torch.where(right, b, torch.where(left, d, a))
        end = torch.where(right, c, torch.where(left, a, a))
        edges = torch.tensor(_EDGES, device=bounds.device)
        bucket = 1 + torch.bucketize(end - start, edges, right=True)
        signed = torch.where(right, bucket, torch.where(left, -bucket, 0))
        return torch.stack([start, end], dim=1), signed + len(_EDGES) + 1


@runtime_checkable
class PairLoss(Protocol):
    """A summed loss of pair scores."""

    def __call__(
        self,
        scores: Float[Tensor, "pair label"],
        target: Int[Tensor, " pair"],
        owner: Int[Tensor, " pair"],
    ) -> Float[Tensor, ""]:
        """``owner`` is what chooses a pair, if anything; ``target`` is 0 for what is none."""


def label_loss(
    scores: Float[Tensor, "pair label"],
    target: Int[Tensor, " pair"],
    owner: Int[Tensor, " pair"],
) -> Float[Tensor, ""]:
    """Return the cross-entropy of every pair's label, "none" counted (SpanRel, pairwise loss)."""
    return F.cross_entropy(scores, target, reduction="sum")


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which ordered pairs ``(head, tail)`` of the spans of a group are scored.

    ``left`` asks for heads that stand before the tail, at most ``nearest`` spans before it: what an
    antecedent is. ``itself`` pairs each span with itself too: a root is its own head. With
    ``mentions`` a pair's scores count how likely both ends are spans at all. A pair is chosen by
    its tail, with ``one`` by its group: a sentence that has exactly one relation.
    """

    left: bool = False
    nearest: int | None = None
    itself: bool = False
    mentions: bool = False
    one: bool = False
    loss: PairLoss = label_loss

    def owner(
        self, pairs: Int[Tensor, "pair 2"], group: Int[Tensor, " span"]
    ) -> Int[Tensor, " pair"]:
        """Return what chooses each pair: its tail, or the group of its ends."""
        return group[pairs[:, 0]] if self.one else pairs[:, 1]

    def square(
        self, group: Int[Tensor, " span"], able: Bool[Tensor, " span"] | None = None
    ) -> Int[Tensor, "pair 2"]:
        """List all pairs, by head; ``group`` is sorted, ``able`` says which spans may be heads."""
        parts = list(self.squares(group, len(group) ** 2, able))
        return torch.cat(parts) if parts else group.new_zeros(0, 2)

    def squares(
        self, group: Int[Tensor, " span"], most: int, able: Bool[Tensor, " span"] | None = None
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield the pairs of ``square`` in order, at most about ``most`` at a time: whole heads."""
        row = torch.arange(len(group), device=group.device)
        start, end = _ends(group)
        if self.left:
            start = row + 1
            end = end if self.nearest is None else torch.minimum(end, start + self.nearest)
        if able is not None:
            end = torch.where(able, end, start)
        for pairs in _rows(start, end - start, most):
            yield pairs if self.left or self.itself else pairs[pairs[:, 0] != pairs[:, 1]]

    def by_tail(self, group: Int[Tensor, " span"], most: int) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield the pairs of ``square`` with whole tails together."""
        row = torch.arange(len(group), device=group.device)
        start, end = _ends(group)
        if self.left:
            start = start if self.nearest is None else torch.maximum(start, row - self.nearest)
            end = row
        for pairs in _rows(start, end - start, most):
            kept = pairs if self.left or self.itself else pairs[pairs[:, 0] != pairs[:, 1]]
            yield kept.flip(1)


def _ends(group: Int[Tensor, " span"]) -> tuple[Int[Tensor, " span"], Int[Tensor, " span"]]:
    """The first row of each row's group, and one past its last."""
    _, counts = torch.unique_consecutive(group, return_counts=True)
    last = counts.cumsum(0)
    return (last - counts).repeat_interleave(counts), last.repeat_interleave(counts)


def _rows(
    start: Int[Tensor, " row"], size: Int[Tensor, " row"], most: int
) -> Iterator[Int[Tensor, "_ 2"]]:
    """Yield each row with the ``size`` rows from ``start``, about ``most`` pairs at a time."""
    ends = size.cumsum(0)
    first = 0
    while first < len(size):
        checkpoint()
        limit = int(ends[first] - size[first]) + most
        stop = max(first + 1, int(torch.searchsorted(ends, limit, right=True)))
        sizes = size[first:stop]
        row = torch.arange(first, stop, device=size.device).repeat_interleave(sizes)
        begin = (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
        step = torch.arange(len(row), device=size.device) - begin
        yield torch.stack([row, start[first:stop].repeat_interleave(sizes) + step], dim=1)
        first = stop
