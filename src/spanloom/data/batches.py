"""Units to batches: the one place where text becomes tensors."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain

import torch

from spanloom.data.pieces import Pieces
from spanloom.data.units import Unit
from spanloom.data.windows import slices
from spanloom.tensors import Batch


def collate(units: Sequence[Unit], pieces: Pieces, limit: int) -> Batch:
    """Lay the units' words flat, one after another, and their pieces in windows of one size.

    ``limit`` is pieces a window without the special ones; a longer unit is read in overlapping
    windows.
    """
    starts = [0, *accumulate(len(unit.forms) for unit in units)]
    sentences = [
        (base + a, base + b)
        for base, unit in zip(starts, units, strict=False)
        for a, b in unit.sentences
    ]
    windows, rows = _windows(units, pieces, limit)
    width = max(map(len, windows))
    ids = torch.tensor([window + [pieces.padding] * (width - len(window)) for window in windows])
    lengths = torch.tensor([len(window) for window in windows])
    counts = torch.tensor([len(cut) for unit in units for cut in unit.pieces])
    return Batch(
        words=tuple(chain.from_iterable(unit.forms for unit in units)),
        sentences=torch.tensor(sentences).reshape(-1, 2),
        units=torch.tensor(list(zip(starts, starts[1:], strict=False))),
        ids=ids,
        mask=torch.arange(width)[None] < lengths[:, None],
        piece_row=torch.tensor([window * width + place for window, place in rows]),
        piece_word=torch.arange(len(counts)).repeat_interleave(counts),
    )


def _windows(
    units: Sequence[Unit], pieces: Pieces, limit: int
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Return the windows' ids, and for each piece in reading order (window, place in it)."""
    windows: list[list[int]] = []
    rows: list[tuple[int, int]] = []
    for unit in units:
        ids = list(chain.from_iterable(unit.pieces))
        for part in slices(len(ids), limit):
            shift = len(pieces.prefix) - part.start
            rows += [(len(windows), place + shift) for place in range(part.keep, part.stop)]
            windows.append([*pieces.prefix, *ids[part.start : part.end], *pieces.suffix])
    return windows, rows


def by_length(units: Iterable[Unit], words: int, *, window: int) -> Iterator[list[Unit]]:
    """Group units of like length into batches of at most ``words`` words and half of it padding.

    Sorting happens inside the iterable given, so a stream is cut into stretches by its caller. A
    unit read in overlapping windows counts twice; one over the budget makes a batch by itself.
    """
    group: list[Unit] = []
    cost = real = widest = 0
    for unit in sorted(units, key=lambda unit: (-unit.length, unit.document, unit.first)):
        share = len(unit.forms) * (1 if unit.length <= window else 2)
        length = min(unit.length, window)
        sparse = (len(group) + 1) * widest > 2 * (real + length)
        if group and (cost + share > words or sparse):
            yield group
            group, cost, real = [], 0, 0
        widest = widest if group else length
        group.append(unit)
        cost += share
        real += length
    if group:
        yield group
