"""Units to batches: the one place where text becomes tensors."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, repeat

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from spanloom.data.instances import Ids, Instance
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.windows import Window, strided_windows
from spanloom.tensors import Batch, PromptLayout
from spanloom.tokenization import Bounds

Owners = npt.NDArray[np.int64]  # the word that each piece of a run belongs to
_NO_WORD = -1  # owns special pieces, and those that are read beside a unit


def collate(units: Sequence[Instance], pieces: SubwordTokenizer, limit: int) -> Batch:
    """Lay the units' words flat, one after another, and their pieces in windows of one size.

    ``limit`` is pieces a window without the special ones; a longer sentence is read in overlapping
    windows. A unit's prompt is read before its text, in each of its windows.
    """
    windows = _Windows(pieces, limit)
    for unit in units:
        windows.add(unit)
    ids, mask = windows.padded()
    starts = list(accumulate((len(unit.tokens) for unit in units), initial=0))
    rows, words = windows.places(ids.shape[1])
    return Batch(
        words=tuple(chain.from_iterable(_read(unit) for unit in units)),
        sentences=_bounds(_shifted(starts, [unit.sentences for unit in units])),
        windows=_bounds(_shifted(starts, [unit.windows for unit in units])),
        instances=_bounds(list(zip(starts, starts[1:], strict=False))),
        input_ids=ids,
        attention_mask=mask,
        piece_index=rows,
        piece_to_word=words,
        position_to_word=windows.words_read(ids.shape[1]),
        token_type_ids=windows.segments(ids.shape[1]),
        prompt_layout=_prompt_layout(units),
        task_tokens=_tokens(units),
    )


@dataclass(slots=True)
class _Windows:
    """Windows under way, and where the pieces of each word read stand in them.

    ``runs`` are pieces side by side: their window, the first one's place in it, the words they
    belong to; those ``beside`` are read for context alone. ``ahead`` counts what stands before a
    text that has a prompt.
    """

    special: SubwordTokenizer
    limit: int
    ids: list[list[int]] = field(default_factory=list)
    ahead: list[int] = field(default_factory=list)
    runs: list[tuple[int, int, Owners]] = field(default_factory=list)
    beside: list[tuple[int, int, Owners]] = field(default_factory=list)
    words: int = 0

    def add(self, unit: Instance) -> None:
        """Make the windows of a unit: its prompt, if any, before each stretch of its text."""
        opening = np.full(int(unit.wants_cls), self.words)
        asked = _owners(self.words + unit.wants_cls, unit.prompt.pieces)
        prompt = list(chain.from_iterable(unit.prompt.pieces))
        head = [*self.special.prefix, *prompt, *(self.special.suffix if prompt else ())]
        text = self.words + unit.wants_cls + len(unit.prompt.pieces)
        room = max(1, self.limit - len(head) + len(self.special.prefix))
        contexts = unit.windows or ((0, 0),)
        for (a, b), (left, right) in zip(
            contexts, unit.window_context or repeat(((), ())), strict=False
        ):
            own = _owners(text + a, unit.pieces[a:b])
            owners = _between(len(left), own, len(right))
            ids = [*left, *chain.from_iterable(unit.pieces[a:b]), *right]
            for part in _kept(strided_windows(len(ids), room), len(left), len(left) + len(own)):
                window = len(self.ids)
                before = part.keep_start - part.start + len(head)
                self.runs += [
                    (window, 0, opening),
                    (window, len(self.special.prefix), asked),
                    (window, before, owners[part.keep_start : part.keep_end]),
                ]
                self.beside += [
                    (window, len(head), owners[part.start : part.keep_start]),
                    (
                        window,
                        part.keep_end - part.start + len(head),
                        owners[part.keep_end : part.end],
                    ),
                ]
                self.ids.append([*head, *ids[part.start : part.end], *self.special.suffix])
                self.ahead.append(len(head) if prompt else 0)
        self.words = text + len(unit.pieces)

    def padded(self) -> tuple[Tensor, Tensor]:
        """Return ids and mask, ``window seq``."""
        width = max(map(len, self.ids), default=1)
        rows = [window + [self.special.padding] * (width - len(window)) for window in self.ids]
        lengths = torch.tensor([len(window) for window in self.ids])
        return torch.tensor(rows), torch.arange(width)[None] < lengths[:, None]

    def places(self, width: int) -> tuple[Tensor, Tensor]:
        """Return each piece's place in the flat ids, and its word; words ascend."""
        runs = [(window * width + place, owners) for window, place, owners in self.runs]
        rows = np.concatenate([np.arange(at, at + len(owners)) for at, owners in runs])
        words = np.concatenate([owners for _, owners in runs])
        order = np.argsort(words, kind="stable")
        return torch.from_numpy(rows[order]), torch.from_numpy(words[order])

    def words_read(self, width: int) -> Tensor:
        """Return the word of the piece at each place, ``window seq``; -1 for special pieces."""
        found = np.full((max(1, len(self.ids)), width), _NO_WORD)
        for window, place, owners in (*self.runs, *self.beside):
            found[window, place : place + len(owners)] = owners
        return torch.from_numpy(found)

    def segments(self, width: int) -> Tensor | None:
        """Return 1 for what follows a prompt, ``window seq``; None where there is no prompt."""
        if not any(self.ahead):
            return None
        ahead = torch.tensor(self.ahead)[:, None]
        return ((torch.arange(width)[None] >= ahead) & (ahead > 0)).long()


def _kept(parts: Sequence[Window], first: int, end: int) -> Iterator[Window]:
    """Yield the slices that keep pieces of ``[first, end)``, and keep no others."""
    for part in parts:
        keep, stop = max(part.keep_start, first), min(part.keep_end, end)
        if keep < stop or first == end:
            yield Window(part.start, part.end, min(keep, stop), stop)


def _between(left: int, own: Owners, right: int) -> Owners:
    """The owners of some pieces with those that are read beside them."""
    if not left and not right:
        return own
    return np.pad(own, (left, right), constant_values=_NO_WORD)


def _owners(first: int, pieces: Ids) -> Owners:
    """The word of each piece; words count on from ``first``."""
    counts = [len(word) for word in pieces]
    return np.repeat(np.arange(first, first + len(counts)), counts)


def _read(unit: Instance) -> tuple[str, ...]:
    """All words that are read; an opening has no form."""
    return (*([""] * unit.wants_cls), *unit.prompt.tokens, *unit.tokens)


def _tokens(units: Sequence[Instance]) -> Tensor | None:
    """Say for each word that is read whose token it is, -1 for those that are none."""
    if all(unit.prompt.task_number is None for unit in units):
        return None
    found: list[int] = []
    for unit in units:
        rest = len(unit.prompt.tokens) + len(unit.tokens)
        found += [-1] * (unit.wants_cls + rest)
        if unit.prompt.task_number is not None:
            found[-rest] = unit.prompt.task_number
    return torch.tensor(found)


def _prompt_layout(units: Sequence[Instance]) -> PromptLayout | None:
    """Say which words are text, where others are read too."""
    ahead = [unit.wants_cls + len(unit.prompt.tokens) for unit in units]
    if not any(ahead):
        return None
    sizes = [extra + len(unit.tokens) for extra, unit in zip(ahead, units, strict=True)]
    starts = list(accumulate(sizes, initial=0))
    text = [
        torch.arange(start + extra, start + size)
        for start, extra, size in zip(starts, ahead, sizes, strict=False)
    ]
    opened = all(unit.wants_cls for unit in units)
    return PromptLayout(
        text_rows=torch.cat(text),
        cls_rows=torch.tensor(starts[:-1]) if opened else None,
        sentences=_bounds(_runs(starts, ahead, [unit.sentences for unit in units])),
        windows=_bounds(_runs(starts, ahead, [unit.windows for unit in units])),
    )


def _runs(
    starts: Sequence[int], ahead: Sequence[int], inner: Sequence[tuple[Bounds, ...]]
) -> list[Bounds]:
    """Runs of words read: what stands before a text runs with the first stretch of it."""
    found: list[Bounds] = []
    for start, extra, bounds in zip(starts, ahead, inner, strict=False):
        first, *rest = bounds or ((0, 0),)
        found.append((start, start + extra + first[1]))
        found += [(start + extra + a, start + extra + b) for a, b in rest]
    return found


def _shifted(starts: Sequence[int], inner: Sequence[tuple[Bounds, ...]]) -> list[Bounds]:
    pairs = zip(starts, inner, strict=False)
    return [(start + a, start + b) for start, bounds in pairs for a, b in bounds]


def _bounds(pairs: Sequence[Bounds]) -> Tensor:
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)


def split_instances(batch: Batch) -> Iterator[Batch]:
    """Yield the batch of each unit by itself, its windows as wide as before; no prompt may stand.

    Each unit has a word at least.
    """
    assert batch.prompt_layout is None, "a batch that reads more than its text cannot be parted"
    width = batch.input_ids.shape[1]
    for start, end in batch.instances.tolist():
        first, last = torch.searchsorted(batch.piece_to_word, torch.tensor([start, end])).tolist()
        row, word = batch.piece_index[first:last], batch.piece_to_word[first:last]
        top, bottom = int(row[0]) // width, int(row[-1]) // width + 1
        all_of_it = torch.tensor([[0, end - start]])
        yield Batch(
            batch.words[start:end],
            all_of_it,
            all_of_it,
            all_of_it,
            batch.input_ids[top:bottom],
            batch.attention_mask[top:bottom],
            row - top * width,
            word - start,
            (batch.position_to_word[top:bottom] - start).clamp(min=-1),
        )


def bucket_by_length(
    units: Iterable[Instance], words: int, *, window: int
) -> Iterator[list[Instance]]:
    """Group units of like length into batches of at most ``words`` words and half of it padding.

    Sorting happens inside the iterable given, so a stream is cut into stretches by its caller. A
    sentence read in overlapping windows counts twice, words of a prompt as others do; a unit over
    the budget makes a batch by itself.
    """
    group: list[Instance] = []
    cost = real = rows = widest = 0
    for unit in sorted(units, key=_order):
        contexts = max(1, len(unit.windows))
        overlap = 2 if unit.window_context or (contexts == 1 and unit.num_pieces > window) else 1
        share = len(unit.tokens) * overlap + len(unit.prompt.tokens) * contexts
        length = min(unit.num_pieces, window * contexts)
        sparse = (rows + contexts) * widest > 2 * (real + length)
        if group and (cost + share > words or sparse):
            yield group
            group, cost, real, rows = [], 0, 0, 0
        widest = widest if group else min(length, window)
        group.append(unit)
        cost += share
        real += length
        rows += contexts
    if group:
        yield group


def _order(unit: Instance) -> tuple[int, int, int, int]:
    return (-unit.num_pieces, unit.document, unit.first_word, unit.query)
