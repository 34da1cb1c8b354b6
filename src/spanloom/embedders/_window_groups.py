"""Windows of similar length, which an encoder reads together with little padding."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from spanloom.tensors import Batch

_CPU_PIECES = 1_280  # pieces encoded at once on a CPU without gradients
_GPU_PIECES = 16_384  # on a GPU, padding included


class WindowGroup(NamedTuple):
    """Rows of a batch's windows, and the length of the longest in pieces."""

    windows: Int[Tensor, " some"]
    longest: int

    def positions(self, batch: Batch) -> Int[Tensor, "some longest"]:
        """Return the positions of the windows' pieces among those of all windows."""
        steps = torch.arange(self.longest, device=self.windows.device)
        return self.windows[:, None] * batch.input_ids.shape[1] + steps

    def mask(self, batch: Batch) -> Int[Tensor, "some longest"]:
        """Return 1 for pieces, 0 for padding."""
        return batch.attention_mask[self.windows, : self.longest].long()  # DeBERTa computes with it


def all_windows(batch: Batch) -> WindowGroup:
    """Return all windows of a batch as one group."""
    windows, longest = batch.input_ids.shape
    return WindowGroup(torch.arange(windows, device=batch.input_ids.device), longest)


def group_by_length(
    lengths: Int[Tensor, " window"], min_filled: float = 0.8
) -> Iterator[WindowGroup]:
    """Yield groups of windows of similar length, longest first.

    A window has at least ``min_filled`` times as many pieces as the longest of its group.

    Without gradients, a group is one window or has a bounded number of pieces: on a CPU as many as
    its cache holds between two layers.
    """
    sorted_lengths, order = lengths.sort(descending=True, stable=True)
    sizes = sorted_lengths.tolist()
    max_pieces = _GPU_PIECES if lengths.is_cuda else _CPU_PIECES
    if torch.is_grad_enabled():
        max_pieces = sum(sizes)
    first = 0
    for i in range(1, len(sizes) + 1):
        is_end = i == len(sizes)
        is_full = not is_end and (i + 1 - first) * sizes[first] > max(max_pieces, sizes[first])
        if is_end or is_full or sizes[i] < min_filled * sizes[first]:
            yield WindowGroup(order[first:i], sizes[first])
            first = i
