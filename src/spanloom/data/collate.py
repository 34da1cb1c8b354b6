"""Collate instances into batches: here, text becomes tensors."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, repeat, starmap

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from spanloom.data.instances import Instance
from spanloom.data.piece_columns import Pieces, flat_pieces, piece_counts
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.windows import Window, strided_windows
from spanloom.tensors import Batch, PromptLayout
from spanloom.tokenization import Bounds

WordIndices = npt.NDArray[np.int64]  # the word of each piece of a run
PieceIds = npt.NDArray[np.int64]
_NO_WORD = -1  # of special pieces, and of context outside an instance
_NONE: WordIndices = np.zeros(0, np.int64)


def collate(instances: Sequence[Instance], tokenizer: SubwordTokenizer, limit: int) -> Batch:
    """Concatenate the words of instances, and pad their windows of pieces to one size.

    ``limit`` is pieces per window without special ones; a longer sentence gets overlapping windows.
    An instance's prompt precedes its text in each of its windows, or follows it there. Of two parts
    the second has token type 1.
    """
    windows = _Windows(tokenizer, limit)
    for instance in instances:
        windows.add(instance)
    ids, mask = windows.pad()
    starts = list(accumulate((len(instance.tokens) for instance in instances), initial=0))
    piece_index, piece_to_word = windows.pieces(ids.shape[1])
    return Batch(
        words=tuple(chain.from_iterable(_words(instance) for instance in instances)),
        sentences=_bounds(_shift(starts, [instance.sentences for instance in instances])),
        windows=_bounds(_shift(starts, [instance.windows for instance in instances])),
        instances=_bounds(list(zip(starts, starts[1:], strict=False))),
        input_ids=ids,
        attention_mask=mask,
        piece_index=piece_index,
        piece_to_word=piece_to_word,
        position_to_word=windows.words_at(ids.shape[1]),
        token_type_ids=windows.token_types(ids.shape[1]),
        prompt_layout=_prompt_layout(instances),
        task_tokens=_task_tokens(instances),
        corpora=_corpora(instances),
    )


@dataclass(slots=True)
class _Windows:
    """Windows under construction, and the positions of words in them.

    ``runs`` are adjacent pieces: their window, the position of the first, their words; those of
    ``context`` are only context. ``first_sizes`` are the pieces of the first of two parts, special
    ones included, 0 where there is one part.
    """

    tokenizer: SubwordTokenizer
    limit: int
    ids: list[PieceIds] = field(default_factory=list)
    first_sizes: list[int] = field(default_factory=list)
    runs: list[tuple[int, int, WordIndices]] = field(default_factory=list)
    context: list[tuple[int, int, WordIndices]] = field(default_factory=list)
    num_words: int = 0

    def add(self, instance: Instance) -> None:
        """Add the windows of an instance, each with its prompt, if any."""
        layout = _InstanceLayout.of(instance, self.num_words, self.tokenizer)
        room = max(1, self.limit - len(layout.before) - len(layout.after))
        prefix, suffix = self.tokenizer.prefix, self.tokenizer.suffix
        offset = len(prefix) + len(layout.before)
        bounds = instance.windows or ((0, 0),)
        for (a, b), (left, right) in zip(
            bounds, instance.window_context or repeat(((), ())), strict=False
        ):
            pieces = instance.pieces[a:b]
            inner = _word_indices(layout.text_word + a, pieces)
            words = _pad_context(len(left), inner, len(right))
            ids = _concatenate(left, flat_pieces(pieces), right)
            for part in _clip(strided_windows(len(ids), room), len(left), len(left) + len(inner)):
                window, end = len(self.ids), offset + part.end - part.start
                keep_start = part.keep_start - part.start + offset
                keep_end = part.keep_end - part.start + offset
                prompt_position = end + len(suffix) if layout.after else len(prefix)
                last = end + len(layout.after) + len(suffix) - 1
                self.runs += [
                    (window, 0 if prefix else last, layout.cls),
                    (window, prompt_position, layout.prompt),
                    (window, keep_start, words[part.keep_start : part.keep_end]),
                ]
                self.context += [
                    (window, offset, words[part.start : part.keep_start]),
                    (window, keep_end, words[part.keep_end : part.end]),
                ]
                text = ids[part.start : part.end]
                self.ids.append(
                    _concatenate((*prefix, *layout.before), text, (*layout.after, *suffix))
                )
                first_size = end + len(suffix) if layout.after else offset
                self.first_sizes.append(first_size if len(layout.prompt) else 0)
        self.num_words += layout.num_words

    def pad(self) -> tuple[Tensor, Tensor]:
        """Return input ids and attention mask, both (window, seq)."""
        lengths = np.fromiter(map(len, self.ids), np.int64)
        width = int(lengths.max(initial=1))
        mask = np.arange(width) < lengths[:, None]
        ids = np.full(mask.shape, self.tokenizer.padding)
        ids[mask] = np.concatenate([_NONE, *self.ids])
        return torch.from_numpy(ids), torch.from_numpy(mask)

    def pieces(self, width: int) -> tuple[Tensor, Tensor]:
        """Return the index of each piece in the flat ids, and its word; words ascend."""
        runs = [(window * width + position, words) for window, position, words in self.runs]
        indices = np.concatenate([np.arange(first, first + len(words)) for first, words in runs])
        words = np.concatenate([words for _, words in runs])
        order = np.argsort(words, kind="stable")
        return torch.from_numpy(indices[order]), torch.from_numpy(words[order])

    def words_at(self, width: int) -> Tensor:
        """Return the word at each position, (window, seq); -1 for special pieces."""
        words_at = np.full((max(1, len(self.ids)), width), _NO_WORD)
        for window, position, words in (*self.runs, *self.context):
            words_at[window, position : position + len(words)] = words
        return torch.from_numpy(words_at)

    def token_types(self, width: int) -> Tensor | None:
        """Return 1 for the second of two parts, (window, seq); None without any prompt."""
        if not any(self.first_sizes):
            return None
        sizes = torch.tensor(self.first_sizes)[:, None]
        return ((torch.arange(width)[None] >= sizes) & (sizes > 0)).long()


@dataclass(frozen=True, slots=True)
class _InstanceLayout:
    """What stands around the text of an instance: ``[CLS]``, the prompt and its separator.

    ``cls`` and ``prompt`` are the words of pieces; ``text_word`` is the first word of the text;
    ``before`` and ``after`` are the pieces read before and after the text, besides those that every
    window has.
    """

    cls: WordIndices
    prompt: WordIndices
    text_word: int
    before: list[int]
    after: list[int]
    num_words: int

    @classmethod
    def of(cls, instance: Instance, first: int, tokenizer: SubwordTokenizer) -> "_InstanceLayout":
        """Return the layout of an instance whose words are numbered from ``first``."""
        if not instance.prompt.pieces and not instance.wants_cls:
            return cls(_NONE, _NONE, first, [], [], len(instance.pieces))
        prompt, separator = instance.prompt, list(tokenizer.suffix)
        pieces = flat_pieces(prompt.pieces).tolist()
        start = first + instance.wants_cls
        num_prompt, num_text = len(prompt.pieces), len(instance.pieces)
        text_word, prompt_word = (
            (start, start + num_text) if prompt.after_text else (start + num_prompt, start)
        )
        return cls(
            np.full(int(instance.wants_cls), first),
            _word_indices(prompt_word, prompt.pieces),
            text_word,
            [*pieces, *separator] if pieces and not prompt.after_text else [],
            [*separator, *pieces] if pieces and prompt.after_text else [],
            instance.wants_cls + num_prompt + num_text,
        )


def _clip(windows: Sequence[Window], first: int, end: int) -> Iterator[Window]:
    """Yield the windows that keep pieces of ``[first, end)``, without keeping others."""
    for window in windows:
        keep_start, keep_end = max(window.keep_start, first), min(window.keep_end, end)
        if keep_start < keep_end or first == end:
            yield Window(window.start, window.end, min(keep_start, keep_end), keep_end)


def _concatenate(before: Sequence[int], pieces: PieceIds, after: Sequence[int]) -> PieceIds:
    if not before and not after:
        return pieces
    return np.concatenate([np.array(before, np.int64), pieces, np.array(after, np.int64)])


def _pad_context(left: int, words: WordIndices, right: int) -> WordIndices:
    """Return the words of pieces with the numbers of context pieces around them."""
    if not left and not right:
        return words
    return np.pad(words, (left, right), constant_values=_NO_WORD)


def _word_indices(first: int, pieces: Pieces) -> WordIndices:
    """Return the word of each piece; words are numbered from ``first``."""
    return np.arange(first, first + len(pieces)).repeat(piece_counts(pieces))


def _words(instance: Instance) -> tuple[str, ...]:
    """Return all words of an instance; that of ``[CLS]`` is empty."""
    parts = (instance.prompt.tokens, instance.tokens)
    first, second = parts[::-1] if instance.prompt.after_text else parts
    return (*([""] * instance.wants_cls), *first, *second)


def _task_tokens(instances: Sequence[Instance]) -> Tensor | None:
    """Return the task number of each word that is a task token, -1 for others."""
    if all(instance.prompt.task_number is None for instance in instances):
        return None
    numbers: list[int] = []
    for instance in instances:
        num_words = len(instance.prompt.tokens) + len(instance.tokens)
        first = len(numbers) + instance.wants_cls
        first += len(instance.tokens) if instance.prompt.after_text else 0
        numbers += [-1] * (instance.wants_cls + num_words)
        if instance.prompt.task_number is not None:
            numbers[first] = instance.prompt.task_number
    return torch.tensor(numbers)


def _corpora(instances: Sequence[Instance]) -> tuple[str, ...]:
    """Return the corpus of each instance; () if none has one."""
    corpora = tuple(instance.corpus for instance in instances)
    return corpora if any(corpora) else ()


def _prompt_layout(instances: Sequence[Instance]) -> PromptLayout | None:
    """Return the layout of instances with prompts or ``[CLS]``, None for plain text."""
    extras = [_words_around(instance) for instance in instances]
    if not any(map(any, extras)):
        return None
    sizes = [
        before + len(instance.tokens) + after
        for (before, after), instance in zip(extras, instances, strict=True)
    ]
    starts = list(accumulate(sizes, initial=0))
    text = [
        torch.arange(start + before, start + size - after)
        for start, (before, after), size in zip(starts, extras, sizes, strict=False)
    ]
    all_want_cls = all(instance.wants_cls for instance in instances)
    document = starmap(_document_rows, zip(starts, extras, instances, strict=False))
    return PromptLayout(
        text_rows=torch.cat(text),
        document_rows=torch.tensor([*chain.from_iterable(document)], dtype=torch.long),
        cls_rows=torch.tensor(starts[:-1]) if all_want_cls else None,
        sentences=_bounds(
            _level_runs(starts, extras, [instance.sentences for instance in instances])
        ),
        windows=_bounds(_level_runs(starts, extras, [instance.windows for instance in instances])),
    )


def _document_rows(start: int, around: Bounds, instance: Instance) -> Iterator[int]:
    """Yield the indices of the words of the document, among those that begin at ``start``."""
    before, _ = around
    yield from range(start + before, start + before + len(instance.words))
    prompt = instance.prompt
    if prompt.of_document:
        first = before + len(instance.tokens) if prompt.after_text else int(instance.wants_cls)
        is_task_token = prompt.task_number is not None
        yield from range(start + first + is_task_token, start + first + len(prompt.tokens))


def _words_around(instance: Instance) -> tuple[int, int]:
    """Return how many words are read before the text, ``[CLS]`` included, and after it."""
    size, is_after = len(instance.prompt.tokens), instance.prompt.after_text
    return instance.wants_cls + size * (not is_after), size * is_after


def _level_runs(
    starts: Sequence[int],
    extras: Sequence[tuple[int, int]],
    inner: Sequence[tuple[Bounds, ...]],
) -> list[Bounds]:
    """Return runs of words; the run of an instance that is next to its prompt includes it."""
    runs: list[Bounds] = []
    for start, (before, after), bounds in zip(starts, extras, inner, strict=False):
        own = [(start + before + a, start + before + b) for a, b in bounds or ((0, 0),)]
        own[0] = start, own[0][1]
        own[-1] = own[-1][0], own[-1][1] + after
        runs += own
    return runs


def _shift(starts: Sequence[int], inner: Sequence[tuple[Bounds, ...]]) -> list[Bounds]:
    pairs = zip(starts, inner, strict=False)
    return [(start + a, start + b) for start, bounds in pairs for a, b in bounds]


def _bounds(pairs: Sequence[Bounds]) -> Tensor:
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)


def bucket_by_length(
    instances: Iterable[Instance], words: int, *, window: int
) -> Iterator[list[Instance]]:
    """Yield groups of instances of similar length, of at most ``words`` words and half padding.

    All instances are sorted, so callers split a stream into parts. A sentence in overlapping
    windows counts twice, and the words of a prompt count; an instance over the budget is a group of
    its own.
    """
    group: list[Instance] = []
    cost = num_pieces = num_windows = widest = 0
    for instance in sorted(instances, key=_order):
        windows = max(1, len(instance.windows))
        overlap = (
            2 if instance.window_context or (windows == 1 and instance.num_pieces > window) else 1
        )
        instance_cost = len(instance.tokens) * overlap + len(instance.prompt.tokens) * windows
        length = min(instance.num_pieces, window * windows)
        is_sparse = (num_windows + windows) * widest > 2 * (num_pieces + length)
        if group and (cost + instance_cost > words or is_sparse):
            yield group
            group, cost, num_pieces, num_windows = [], 0, 0, 0
        widest = widest if group else min(length, window)
        group.append(instance)
        cost += instance_cost
        num_pieces += length
        num_windows += windows
    if group:
        yield group


def _order(instance: Instance) -> tuple[int, int, int, int]:
    return (-instance.num_pieces, instance.document, instance.first_word, instance.query)
