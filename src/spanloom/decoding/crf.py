"""Linear-chain CRF over given scores (Lafferty et al. 2001): partition, marginals, best path.

The score of a path of tags is the sum of its start, its words' emissions, the transitions between
them and its end. All four functions are exact. Forward and backward passes run on probabilities in
double precision, scaled at each word (Rabiner 1989, section V.A), so that a step is one matrix
product; the gradient has a closed form, and autograd records nothing. If numbers underflow, which
takes scores hundreds apart, the two passes disagree, and the sums are computed in log space.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

_TOLERANCE = 1e-8  # relative; rounding alone leaves 1e-12 over a thousand words
_FLOOR = -1e8  # replaces minus infinity where differences are taken
_CELLS = 1 << 18  # scores of (sequence, tag, tag) compared at a time: they stay in the cache


@dataclass(frozen=True, slots=True)
class LinearChain:
    """Scores of a batch of sequences, padded on the right; values in the padding are not read.

    ``transitions[i, j]`` is the score of tag ``j`` after tag ``i``. A score that forbids is -inf or
    very low (-1e4). A sequence of length 0 has one path, the empty one, whose score is 0.
    """

    emissions: Float[Tensor, "seq word tag"]
    lengths: Int[Tensor, " seq"]
    transitions: Float[Tensor, "tag tag"]
    starts: Float[Tensor, " tag"]
    ends: Float[Tensor, " tag"]

    def word_mask(self) -> Bool[Tensor, "seq word"]:
        """Return the mask of words (sequence, word), False in the padding."""
        positions = torch.arange(self.emissions.shape[1], device=self.lengths.device)
        return positions < self.lengths[:, None]


def log_partition(chain: LinearChain) -> Float[Tensor, " seq"]:
    """Return the logarithm of the sum over all paths of exp(score), with its gradient.

    It is -inf, and its gradient 0, where every path is forbidden by -inf.
    """
    passes = _run_passes(chain)
    if passes is None:
        return _log_space_partition(chain).to(chain.emissions.dtype)
    scores = (chain.emissions, chain.transitions, chain.starts, chain.ends)
    apply: Callable[..., Tensor] = _ClosedFormPartition.apply  # torch gives it no types
    return apply(*scores, passes)


def path_score(chain: LinearChain, tags: Int[Tensor, "seq word"]) -> Float[Tensor, " seq"]:
    """Return the scores of given paths, with their gradient; tags in the padding are not read."""
    is_word = chain.word_mask()
    tags = tags.masked_fill(~is_word, 0)
    emissions = chain.emissions.gather(2, tags[:, :, None])[:, :, 0]
    tag_pairs = (tags[:, :-1] * len(chain.starts) + tags[:, 1:]).flatten()
    transitions = chain.transitions.flatten().gather(0, tag_pairs).view(len(tags), -1)
    last_tag = tags.gather(1, (chain.lengths - 1).clamp(min=0)[:, None])[:, 0]
    ends = chain.starts.gather(0, tags[:, 0]) + chain.ends.gather(0, last_tag)
    emission_sum = torch.where(is_word, emissions, 0).sum(1)
    transition_sum = torch.where(is_word[:, 1:], transitions, 0).sum(1)
    return emission_sum + transition_sum + torch.where(chain.lengths > 0, ends, 0)


def marginals(chain: LinearChain) -> Float[Tensor, "seq word tag"]:
    """Return the probability of each tag at each word, 0 in the padding; no gradient.

    It is also 0 where every path is forbidden by -inf.
    """
    passes = _run_passes(chain)
    if passes is None:
        return _autograd_marginals(chain)
    padded = torch.zeros_like(chain.emissions).flatten(0, 1)
    probs = passes.tag_probs().to(padded.dtype)
    return padded.index_copy_(0, passes.order.cell, probs).view_as(chain.emissions)


@torch.no_grad()
def viterbi(chain: LinearChain) -> tuple[Int[Tensor, "seq word"], Float[Tensor, " seq"]]:
    """Return the best path of each sequence (0 in the padding) and its score (Viterbi 1967)."""
    chunk_size = max(1, _CELLS // len(chain.starts) ** 2)
    order = chain.lengths.argsort(descending=True, stable=True)
    tags = torch.zeros(chain.emissions.shape[:2], dtype=torch.long, device=order.device)
    scores = chain.emissions.new_zeros(len(order))
    for indices in order.split(chunk_size):
        chunk = replace(chain, emissions=chain.emissions[indices], lengths=chain.lengths[indices])
        tags[indices], scores[indices] = _viterbi_chunk(chunk)
    return tags, scores


def _viterbi_chunk(chain: LinearChain) -> tuple[Int[Tensor, "seq word"], Float[Tensor, " seq"]]:
    """Return the best paths and their scores; sequences are ordered longest first.

    The forward pass stores only the best scores, no backpointers: the backward pass recomputes the
    previous tag for the one tag that is on the path, a small part of the work.
    """
    sizes = [size for size in chain.word_mask().sum(0).tolist() if size]
    transitions_into = chain.transitions.T.contiguous()
    best = chain.emissions.clone()
    best[:, 0] += chain.starts
    sums = best.new_empty(len(best), *transitions_into.shape)
    for word, size in enumerate(sizes[1:], 1):
        torch.add(best[:size, word - 1, None], transitions_into, out=sums[:size])
        best[:size, word] += sums[:size].amax(2)
    tags = torch.zeros(best.shape[:2], dtype=torch.long, device=best.device)
    final = chain.ends + _last_word(best, chain.lengths)
    scores, tag = final.max(1)
    for word in range(len(sizes) - 1, -1, -1):
        size = sizes[word]
        if word + 1 < len(sizes):
            longer = sizes[word + 1]
            tag[:longer] = (best[:longer, word] + transitions_into[tag[:longer]]).argmax(1)
        tags[:size, word] = tag[:size]
    return tags, torch.where(chain.lengths > 0, scores, 0)


def _last_word(
    values: Float[Tensor, "seq word tag"], lengths: Int[Tensor, " seq"]
) -> Float[Tensor, "seq tag"]:
    """Return each sequence's values at its last word."""
    index = (lengths - 1).clamp(min=0)
    return values[torch.arange(len(values), device=values.device), index]


@dataclass(frozen=True, slots=True)
class _TimeMajorOrder:
    """The words of all sequences without padding, all first words, all second ones, and so on.

    Longer sequences come first, so each step is a slice; ``sizes`` are the steps' lengths. ``cell``
    is each row's index in the flattened padded batch, ``seq`` its sequence, ``before`` the row of
    the previous word (for rows after the first step). ``first`` and ``last`` are the rows of the
    first and the last word of each sequence that has words.
    """

    sizes: list[int]
    cell: Int[Tensor, " row"]
    seq: Int[Tensor, " row"]
    before: Int[Tensor, " next"]
    first: Int[Tensor, " some"]
    last: Int[Tensor, " some"]


def _time_major(chain: LinearChain) -> _TimeMajorOrder:
    order = chain.lengths.argsort(descending=True, stable=True)
    is_word = chain.word_mask()[order]
    step_sizes = is_word.sum(0)
    word, rank = is_word.T.nonzero(as_tuple=True)
    row = torch.arange(len(word), device=word.device)
    seq = order[rank]
    last = (chain.lengths[seq] == word + 1).nonzero()[:, 0]
    sizes = [size for size in step_sizes.tolist() if size]
    num_first = sizes[0] if sizes else 0
    before = row[num_first:] - step_sizes[word[num_first:] - 1]
    cell = seq * is_word.shape[1] + word
    return _TimeMajorOrder(sizes, cell, seq, before, row[:num_first], last)


@dataclass(frozen=True, slots=True)
class _Passes:
    """Results of the forward and backward passes, rows in ``order``, in double precision.

    ``forward`` is the probability of each tag given the words up to its own. ``backward`` is scaled
    such that ``forward * backward`` sums to ``mass``, which is constant over a sequence.
    ``emitted`` is ``backward`` times the scaled emission of the word: the probabilities of the word
    and all after it, before the transition into it. ``log_partition`` is that of each sequence.
    """

    order: _TimeMajorOrder
    transitions: Float[Tensor, "tag tag"]
    forward: Float[Tensor, "row tag"]
    backward: Float[Tensor, "row tag"]
    emitted: Float[Tensor, "row tag"]
    mass: Float[Tensor, "row 1"]
    log_partition: Float[Tensor, " seq"]

    def tag_probs(self) -> Float[Tensor, "row tag"]:
        """Return the probability of each tag at each word."""
        return self.forward * self.backward / self.mass

    def expected_transitions(self, weight: Float[Tensor, "row 1"]) -> Float[Tensor, "tag tag"]:
        """Return the expected count of each transition, weighted by the word it leads to."""
        emitted = self.emitted * (weight / self.mass)
        before = self.forward.index_select(0, self.order.before)
        return self.transitions * (before.T @ emitted[len(self.order.first) :])


@torch.no_grad()
def _run_passes(chain: LinearChain) -> _Passes | None:
    """Run both passes; return None if numbers underflowed, so that the passes disagree."""
    order = _time_major(chain)
    flat = chain.emissions.flatten(0, 1).index_select(0, order.cell)
    emissions, transitions = flat.double().exp_(), chain.transitions.double().exp()
    starts, ends = chain.starts.double().exp(), chain.ends.double().exp()
    forward, scale = _run_forward(emissions, transitions, starts, order.sizes)
    emitted = emissions.div_(scale)
    backward = _run_backward(emitted, transitions, ends, order.sizes)
    mass = (forward * backward).sum(1, keepdim=True)
    final_mass = mass.new_ones(len(chain.lengths))
    final_mass.index_copy_(0, order.seq[order.last], mass[order.last, 0])
    log_partition = final_mass.log().index_add_(0, order.seq, scale[:, 0].log())
    expected_mass = final_mass[order.seq]
    is_close = (mass[:, 0] - expected_mass).abs() <= _TOLERANCE * expected_mass
    if not bool(is_close.all() & log_partition.isfinite().all()):
        return None
    return _Passes(order, transitions, forward, backward, emitted, mass, log_partition)


def _run_forward(
    emissions: Float[Tensor, "row tag"],
    transitions: Float[Tensor, "tag tag"],
    starts: Float[Tensor, " tag"],
    sizes: list[int],
) -> tuple[Float[Tensor, "row tag"], Float[Tensor, "row 1"]]:
    """Return the tags' probabilities given the words so far, and each row's scaling factor."""
    forward, scale = torch.empty_like(emissions), emissions.new_empty(len(emissions), 1)
    steps = zip(forward.split(sizes), emissions.split(sizes), scale.split(sizes), strict=True)
    previous = None
    for current, emission, sums in steps:
        if previous is None:
            torch.mul(emission, starts, out=current)
        else:
            torch.mm(previous[: len(current)], transitions, out=current)
            current *= emission
        torch.sum(current, 1, keepdim=True, out=sums)
        current /= sums
        previous = current
    return forward, scale


def _run_backward(
    emissions: Float[Tensor, "row tag"],
    transitions: Float[Tensor, "tag tag"],
    ends: Float[Tensor, " tag"],
    sizes: list[int],
) -> Float[Tensor, "row tag"]:
    """Return the probabilities of all words after each one; multiply ``emissions`` by them."""
    backward = ends.repeat(len(emissions), 1)
    steps = list(zip(backward.split(sizes), emissions.split(sizes), strict=True))
    for step in range(len(steps) - 1, -1, -1):
        current, emission = steps[step]
        emission *= current
        if step:
            torch.mm(emission, transitions.T, out=steps[step - 1][0][: len(emission)])
    return backward


class _ClosedFormPartition(torch.autograd.Function):
    """The log-partition; its gradient is the expected count of each tag and transition."""

    @staticmethod
    def forward(
        ctx: Any,
        emissions: Float[Tensor, "seq word tag"],
        transitions: Float[Tensor, "tag tag"],
        starts: Float[Tensor, " tag"],
        ends: Float[Tensor, " tag"],
        passes: _Passes,
    ) -> Float[Tensor, " seq"]:
        """Return the log-partition that the passes computed."""
        ctx.passes, ctx.shape = passes, emissions.shape
        ctx.dtypes = [scores.dtype for scores in (emissions, transitions, starts, ends)]
        return passes.log_partition.to(emissions.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, " seq"]) -> tuple[Tensor | None, ...]:
        """Return expected counts, each sequence's weighted by its gradient."""
        passes: _Passes = ctx.passes
        order = passes.order
        weight = grad.double()[order.seq, None]
        tag_counts = passes.tag_probs() * weight
        padded = tag_counts.new_zeros(*ctx.shape, dtype=ctx.dtypes[0]).flatten(0, 1)
        padded.index_copy_(0, order.cell, tag_counts.to(padded.dtype))
        transitions = passes.expected_transitions(weight)
        starts, ends = tag_counts[order.first].sum(0), tag_counts[order.last].sum(0)
        counts = zip((transitions, starts, ends), ctx.dtypes[1:], strict=True)
        return padded.view(ctx.shape), *(count.to(dtype) for count, dtype in counts), None


def _log_space_partition(chain: LinearChain) -> Float[Tensor, " seq"]:
    """Return the log-partition by logsumexp, slow but without underflow; double precision.

    Autograd records it.
    """
    is_word = chain.word_mask()
    emissions = torch.where(is_word[:, :, None], chain.emissions, 0).double().clamp(min=_FLOOR)
    transitions = chain.transitions.double().clamp(min=_FLOOR)
    starts, ends = chain.starts.double().clamp(min=_FLOOR), chain.ends.double().clamp(min=_FLOOR)
    state = starts + emissions[:, 0]
    for word in range(1, emissions.shape[1]):
        next_state = torch.logsumexp(state[:, :, None] + transitions, 1) + emissions[:, word]
        state = torch.where(is_word[:, word, None], next_state, state)
    total = torch.logsumexp(state + ends, 1)
    total = torch.where(total < _FLOOR / 2, -torch.inf, total)
    return torch.where(chain.lengths > 0, total, 0)


def _autograd_marginals(chain: LinearChain) -> Float[Tensor, "seq word tag"]:
    """Return the marginals as the gradient of the log-partition by the emissions."""
    with torch.inference_mode(False), torch.enable_grad():
        scores = (chain.emissions, chain.transitions, chain.starts, chain.ends)
        copies = [tensor.detach().clone() for tensor in scores]
        emissions = copies[0].requires_grad_()
        total = _log_space_partition(LinearChain(emissions, chain.lengths.clone(), *copies[1:]))
        (probs,) = torch.autograd.grad(total.sum(), emissions)
    return probs
