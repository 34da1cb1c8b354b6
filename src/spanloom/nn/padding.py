"""Pad or pack runs of the flat word list, for layers that read whole sentences."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from spanloom.cancellation import checkpoint
from spanloom.nn.gather import gather_rows


def padded_groups(
    runs: Int[Tensor, "run 2"], max_words: int, *, max_padding: float = 1
) -> Iterator[tuple[Int[Tensor, "_ _"], Int[Tensor, " _"]]]:
    """Yield groups of runs, longest first: word indices (run, width) and the runs' lengths.

    A group is one run, or several that have at most ``max_words`` words, padding included. At most
    the share ``max_padding`` of a run's row is padding, which repeats the run's first word.
    """
    lengths = runs[:, 1] - runs[:, 0]
    order = lengths.argsort(descending=True, stable=True)[: int((lengths > 0).sum())]
    while len(order):
        checkpoint()
        width = int(lengths[order[0]])
        similar = int((lengths[order] >= width * (1 - max_padding)).sum())
        group, order = order.tensor_split([min(similar, max(1, max_words // width))])
        steps = torch.arange(width, device=lengths.device)
        is_word = steps < lengths[group, None]
        yield runs[group, :1] + torch.where(is_word, steps, 0), lengths[group]


def pad(
    vectors: Float[Tensor, "word dim"], indices: Int[Tensor, "run width"]
) -> Float[Tensor, "run width dim"]:
    """Gather vectors by ``padded_groups`` indices; values in the padding have no meaning."""
    return gather_rows(vectors, indices.flatten()).view(*indices.shape, -1)


def pack(vectors: Float[Tensor, "row dim"], lengths: Int[Tensor, " run"]) -> PackedSequence:
    """Return runs as a recurrent layer reads them: all first vectors, all second ones, …

    ``vectors`` are those of all runs, one run after another. ``lengths`` are on the CPU, at least 1
    each. No padding is built on the way, so one run may be as long as a book among short ones.
    """
    order = lengths.argsort(descending=True, stable=True)
    index, step = _packed_order(lengths, order)
    device = vectors.device
    data = gather_rows(vectors, index.to(device))
    return PackedSequence(data, torch.bincount(step), order.to(device), order.argsort().to(device))


def unpack(packed: PackedSequence, lengths: Int[Tensor, " run"]) -> Float[Tensor, "row dim"]:
    """Invert ``pack``: return the vectors of all runs, one run after another."""
    index, _ = _packed_order(lengths, lengths.argsort(descending=True, stable=True))
    return gather_rows(packed.data, index.argsort().to(packed.data.device))


def _packed_order(
    lengths: Int[Tensor, " run"], order: Int[Tensor, " run"]
) -> tuple[Int[Tensor, " row"], Int[Tensor, " row"]]:
    """Return the indices in the order of packing, and the position in its run of each index."""
    step = torch.arange(int(lengths.sum()))
    step -= (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    rank = order.argsort().repeat_interleave(lengths)
    return (step * len(lengths) + rank).argsort(), step
