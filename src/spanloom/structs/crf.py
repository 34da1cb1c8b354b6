"""Linear-chain CRF over given scores (Lafferty et al. 2001): all paths, one path, the best path.

A path of tags scores its start, its words' emissions, the transitions between them and its end. All
four functions are exact. The sums over paths run on probabilities in double precision, scaled at
each word (Rabiner 1989, section V.A), so that a step is one matrix product; the gradient is known
in closed form and nothing is recorded for it. Should numbers underflow, which takes scores that lie
hundreds apart, the passes from left and right disagree, and logarithms are summed instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

_AGREED = 1e-8  # relative; rounding alone leaves 1e-12 over a thousand words
_FLOOR = -1e8  # stands for minus infinity where differences are taken
_CELLS = 1 << 18  # scores of (sequence, tag, tag) compared at a time: they stay in the cache


@dataclass(frozen=True, slots=True)
class Chain:
    """The scores of some sequences, padded on the right; what the padding holds is not read.

    ``transitions[i, j]`` is for tag ``j`` after tag ``i``. A score that forbids is -inf or very low
    (-1e4). A sequence of length 0 has one path, the empty one, which scores 0.
    """

    emissions: Float[Tensor, "seq word tag"]
    lengths: Int[Tensor, " seq"]
    transitions: Float[Tensor, "tag tag"]
    starts: Float[Tensor, " tag"]
    ends: Float[Tensor, " tag"]

    def seen(self) -> Bool[Tensor, "seq word"]:
        """Return which places hold words."""
        places = torch.arange(self.emissions.shape[1], device=self.lengths.device)
        return places < self.lengths[:, None]


def log_partition(chain: Chain) -> Float[Tensor, " seq"]:
    """Return the logarithm of the sum over all paths of exp(score), with its gradient.

    It is -inf, and its gradient 0, where every path is forbidden by -inf.
    """
    passes = _passes(chain)
    if passes is None:
        return _in_logarithms(chain).to(chain.emissions.dtype)
    scores = (chain.emissions, chain.transitions, chain.starts, chain.ends)
    closed: Callable[..., Tensor] = _Closed.apply  # torch gives it no types
    return closed(*scores, passes)


def score(chain: Chain, tags: Int[Tensor, "seq word"]) -> Float[Tensor, " seq"]:
    """Return the scores of given paths, with their gradient; tags in the padding are not read."""
    seen = chain.seen()
    tags = tags.masked_fill(~seen, 0)
    words = chain.emissions.gather(2, tags[:, :, None])[:, :, 0]
    steps = (tags[:, :-1] * len(chain.starts) + tags[:, 1:]).flatten()
    moves = chain.transitions.flatten().gather(0, steps).view(len(tags), -1)
    last = tags.gather(1, (chain.lengths - 1).clamp(min=0)[:, None])[:, 0]
    edges = chain.starts.gather(0, tags[:, 0]) + chain.ends.gather(0, last)
    inside = torch.where(seen, words, 0).sum(1) + torch.where(seen[:, 1:], moves, 0).sum(1)
    return inside + torch.where(chain.lengths > 0, edges, 0)


def marginals(chain: Chain) -> Float[Tensor, "seq word tag"]:
    """Return the probability of each tag at each word, 0 in the padding; no gradient.

    Where every path is forbidden by -inf it is 0 as well.
    """
    passes = _passes(chain)
    if passes is None:
        return _by_gradient(chain)
    spread = torch.zeros_like(chain.emissions).flatten(0, 1)
    share = passes.tags().to(spread.dtype)
    return spread.index_copy_(0, passes.order.cell, share).view_as(chain.emissions)


@torch.no_grad()
def best(chain: Chain) -> tuple[Int[Tensor, "seq word"], Float[Tensor, " seq"]]:
    """Return the best path of each sequence (0 in the padding) and its score (Viterbi 1967)."""
    block = max(1, _CELLS // len(chain.starts) ** 2)
    order = chain.lengths.argsort(descending=True, stable=True)
    tags = torch.zeros(chain.emissions.shape[:2], dtype=torch.long, device=order.device)
    scores = chain.emissions.new_zeros(len(order))
    for rows in order.split(block):
        part = replace(chain, emissions=chain.emissions[rows], lengths=chain.lengths[rows])
        tags[rows], scores[rows] = _viterbi(part)
    return tags, scores


def _viterbi(chain: Chain) -> tuple[Int[Tensor, "seq word"], Float[Tensor, " seq"]]:
    """The best paths of a few sequences, longest first.

    Only the best scores are kept on the way; which tag they came from is found again on the way
    back, for the one tag that was chosen, which is a tag's share of the work.
    """
    sizes = [size for size in chain.seen().sum(0).tolist() if size]
    into = chain.transitions.T.contiguous()
    states = chain.emissions.clone()
    states[:, 0] += chain.starts
    sums = states.new_empty(len(states), *into.shape)
    for word, size in enumerate(sizes[1:], 1):
        torch.add(states[:size, word - 1, None], into, out=sums[:size])
        states[:size, word] += sums[:size].amax(2)
    tags = torch.zeros(states.shape[:2], dtype=torch.long, device=states.device)
    final = chain.ends + _last(states, chain.lengths)
    scores, here = final.max(1)
    for word in range(len(sizes) - 1, -1, -1):
        size = sizes[word]
        if word + 1 < len(sizes):
            on = sizes[word + 1]
            here[:on] = (states[:on, word] + into[here[:on]]).argmax(1)
        tags[:size, word] = here[:size]
    return tags, torch.where(chain.lengths > 0, scores, 0)


def _last(
    rows: Float[Tensor, "seq word tag"], lengths: Int[Tensor, " seq"]
) -> Float[Tensor, "seq tag"]:
    """Each sequence's row at its last word."""
    place = (lengths - 1).clamp(min=0)
    return rows[torch.arange(len(rows), device=rows.device), place]


@dataclass(frozen=True, slots=True)
class _Order:
    """The words of all sequences, word by word and longest sequence first: steps are slices.

    ``cell`` is each row's place in the flattened padding, ``seq`` its sequence, ``before`` the row
    of the word before (rows after the first step), ``first`` and ``last`` the rows where each
    sequence of at least one word begins and ends.
    """

    sizes: list[int]
    cell: Int[Tensor, " row"]
    seq: Int[Tensor, " row"]
    before: Int[Tensor, " next"]
    first: Int[Tensor, " some"]
    last: Int[Tensor, " some"]


def _order(chain: Chain) -> _Order:
    order = chain.lengths.argsort(descending=True, stable=True)
    seen = chain.seen()[order]
    steps = seen.sum(0)
    word, rank = seen.T.nonzero(as_tuple=True)
    row = torch.arange(len(word), device=word.device)
    seq = order[rank]
    last = (chain.lengths[seq] == word + 1).nonzero()[:, 0]
    sizes = [size for size in steps.tolist() if size]
    head = sizes[0] if sizes else 0
    before = row[head:] - steps[word[head:] - 1]
    return _Order(sizes, seq * seen.shape[1] + word, seq, before, row[:head], last)


@dataclass(frozen=True, slots=True)
class _Passes:
    """What both passes found, rows in ``order``, in double precision.

    ``left`` is the share of each tag given the words up to there; ``right`` such that
    ``left * right`` sums to ``mass``, which is one number a sequence; ``onward`` the probabilities
    of the word and all after it, before the step from the word before.
    """

    order: _Order
    steps: Float[Tensor, "tag tag"]
    left: Float[Tensor, "row tag"]
    right: Float[Tensor, "row tag"]
    onward: Float[Tensor, "row tag"]
    mass: Float[Tensor, "row 1"]
    total: Float[Tensor, " seq"]

    def tags(self) -> Float[Tensor, "row tag"]:
        """Return the probability of each tag at each word."""
        return self.left * self.right / self.mass

    def moves(self, weight: Float[Tensor, "row 1"]) -> Float[Tensor, "tag tag"]:
        """Return the expected number of each transition, each word's weighed."""
        later = self.onward * (weight / self.mass)
        before = self.left.index_select(0, self.order.before)
        return self.steps * (before.T @ later[len(self.order.first) :])


@torch.no_grad()
def _passes(chain: Chain) -> _Passes | None:
    """Run both passes; None where numbers underflowed, so that they do not agree."""
    order = _order(chain)
    flat = chain.emissions.flatten(0, 1).index_select(0, order.cell)
    words, steps = flat.double().exp_(), chain.transitions.double().exp()
    starts, ends = chain.starts.double().exp(), chain.ends.double().exp()
    left, scale = _from_left(words, steps, starts, order.sizes)
    onward = words.div_(scale)
    right = _from_right(onward, steps, ends, order.sizes)
    mass = (left * right).sum(1, keepdim=True)
    final = mass.new_ones(len(chain.lengths))
    final.index_copy_(0, order.seq[order.last], mass[order.last, 0])
    total = final.log().index_add_(0, order.seq, scale[:, 0].log())
    close = (mass[:, 0] - final[order.seq]).abs() <= _AGREED * final[order.seq]
    if not bool(close.all() & total.isfinite().all()):
        return None
    return _Passes(order, steps, left, right, onward, mass, total)


def _from_left(
    words: Float[Tensor, "row tag"],
    steps: Float[Tensor, "tag tag"],
    starts: Float[Tensor, " tag"],
    sizes: list[int],
) -> tuple[Float[Tensor, "row tag"], Float[Tensor, "row 1"]]:
    """Shares of the tags given the words so far, and what each row was divided by."""
    left, scale = torch.empty_like(words), words.new_empty(len(words), 1)
    before = None
    for here, word, sums in zip(*(each.split(sizes) for each in (left, words, scale)), strict=True):
        if before is None:
            torch.mul(word, starts, out=here)
        else:
            torch.mm(before[: len(here)], steps, out=here)
            here *= word
        torch.sum(here, 1, keepdim=True, out=sums)
        here /= sums
        before = here
    return left, scale


def _from_right(
    words: Float[Tensor, "row tag"],
    steps: Float[Tensor, "tag tag"],
    ends: Float[Tensor, " tag"],
    sizes: list[int],
) -> Float[Tensor, "row tag"]:
    """Probabilities of what follows each word; turns ``words`` into those times their own."""
    right = ends.repeat(len(words), 1)
    blocks = list(zip(right.split(sizes), words.split(sizes), strict=True))
    for place in range(len(blocks) - 1, -1, -1):
        here, word = blocks[place]
        word *= here
        if place:
            torch.mm(word, steps.T, out=blocks[place - 1][0][: len(word)])
    return right


class _Closed(torch.autograd.Function):
    """The logarithm of the partition, whose gradient is the expected number of each thing."""

    @staticmethod
    def forward(
        ctx: Any,
        emissions: Float[Tensor, "seq word tag"],
        transitions: Float[Tensor, "tag tag"],
        starts: Float[Tensor, " tag"],
        ends: Float[Tensor, " tag"],
        passes: _Passes,
    ) -> Float[Tensor, " seq"]:
        """Return what the passes found."""
        ctx.passes, ctx.shape = passes, emissions.shape
        ctx.types = [each.dtype for each in (emissions, transitions, starts, ends)]
        return passes.total.to(emissions.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, " seq"]) -> tuple[Tensor | None, ...]:
        """Weigh each sequence's expectations."""
        passes: _Passes = ctx.passes
        order = passes.order
        weight = grad.double()[order.seq, None]
        tags = passes.tags() * weight
        spread = tags.new_zeros(*ctx.shape, dtype=ctx.types[0]).flatten(0, 1)
        spread.index_copy_(0, order.cell, tags.to(spread.dtype))
        sums = passes.moves(weight), tags[order.first].sum(0), tags[order.last].sum(0)
        rest = (each.to(kind) for each, kind in zip(sums, ctx.types[1:], strict=True))
        return spread.view(ctx.shape), *rest, None


def _in_logarithms(chain: Chain) -> Float[Tensor, " seq"]:
    """The slow and sure way, recorded for the gradient; double precision."""
    seen = chain.seen()
    emissions = torch.where(seen[:, :, None], chain.emissions, 0).double().clamp(min=_FLOOR)
    rest = (chain.transitions, chain.starts, chain.ends)
    transitions, starts, ends = (each.double().clamp(min=_FLOOR) for each in rest)
    state = starts + emissions[:, 0]
    for word in range(1, emissions.shape[1]):
        on = torch.logsumexp(state[:, :, None] + transitions, 1) + emissions[:, word]
        state = torch.where(seen[:, word, None], on, state)
    total = torch.logsumexp(state + ends, 1)
    total = torch.where(total < _FLOOR / 2, -torch.inf, total)
    return torch.where(chain.lengths > 0, total, 0)


def _by_gradient(chain: Chain) -> Float[Tensor, "seq word tag"]:
    """Marginals as the gradient of the partition by the emissions."""
    with torch.inference_mode(False), torch.enable_grad():
        scores = (chain.emissions, chain.transitions, chain.starts, chain.ends)
        copies = [each.detach().clone() for each in scores]
        emissions = copies[0].requires_grad_()
        total = _in_logarithms(Chain(emissions, chain.lengths.clone(), *copies[1:]))
        (found,) = torch.autograd.grad(total.sum(), emissions)
    return found
