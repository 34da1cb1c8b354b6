"""Split words into subwords, with any tokenizer of the Hugging Face ``tokenizers`` library.

Byte-level tokenizers (GPT-2, RoBERTa) and those of SentencePiece write the space before a word into
its first piece: ``the Ġbuffer Ġis``. Some also put a space before a text; within a text, that would
be wrong for a word that directly follows another: ``buffer|.``.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import Any, TypeVar

from tokenizers import AddedToken, Encoding, Tokenizer, normalizers, pre_tokenizers

from spanloom.data.piece_columns import Ids
from spanloom.data.tokenizer_file import is_panic
from spanloom.errors import ModelError
from spanloom.tokenization import bounds_array, replace_surrogates

_CACHED_WORDS = 200_000
_CACHED_LENGTH = 64  # characters; longer words are rarely seen twice

Word = TypeVar("Word", bound=Hashable)
_MAX_SPACE = 32  # the last characters of white space before a word that are used
_WRITES_SPACE = {"ByteLevel", "Metaspace", "Prepend"}
_STRIPS = {"WhitespaceSplit"}  # splits, but not before punctuation

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunningText:
    """Tokenizers of one vocabulary: for words after a space, and for words without (``glued``)."""

    spaced: Tokenizer
    glued: Tokenizer

    def keys(self, text: str, words: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
        """Return pairs of the white space before each word ("^" at the start) and the word.

        Words with equal keys have equal pieces.
        """
        keys, before = [], 0
        for start, end in words:
            gap = text[before:start] if before < start else ""
            if gap and not gap.isspace():  # given words may leave out parts of a text
                gap = gap[len(gap.rstrip()) :]
            keys.append((gap[-_MAX_SPACE:] if start else _OPENS, text[start:end]))
            before = end
        return keys


_OPENS = "^"  # instead of white space: the word is the first of its text


def num_ids(tokenizer: Tokenizer) -> int:
    """Return one more than the largest id of a piece: a vocabulary may have gaps."""
    return 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)


def begins_text(key: tuple[str, str]) -> bool:
    """Whether a word is at the start of its text."""
    return key[0] == _OPENS


def running_text(tokenizer: Tokenizer) -> RunningText | None:
    """Return tokenizers for words within a text; None if preceding space changes nothing."""
    normalizer, pre = _state(tokenizer.normalizer), _state(tokenizer.pre_tokenizer)
    if not _WRITES_SPACE & {*_types(normalizer), *_types(pre)}:
        return None
    without_prepend = _map_parts(
        normalizer, lambda part: None if part["type"] == "Prepend" else part
    )
    spaced = _with_parts(tokenizer, without_prepend, pre)
    kinds = _types(pre)
    splits = kinds[: next((row for row, kind in enumerate(kinds) if kind in _WRITES_SPACE), 0)]
    if set(splits) - _STRIPS - {"Sequence"} and _has_prefix(pre):
        return RunningText(spaced, spaced)  # every split part gets a space
    glued = _with_parts(tokenizer, without_prepend, _map_parts(pre, _without_prefix))
    return RunningText(spaced, glued)


def word_pieces(encoding: Encoding, space: str) -> Ids:
    """Return the pieces of a word that was tokenized with the white space before it.

    Pieces of white space alone are left out, except a space that belongs to the word.
    """
    before = len(space)
    if not before:
        return tuple(encoding.ids)
    rows = list(zip(encoding.ids, encoding.offsets, encoding.word_ids, strict=True))
    runs = {run for _, (_, end), run in rows if end > before}
    has_space = space[-1] == " "
    return tuple(
        piece
        for piece, (start, end), run in rows
        if end > before or (has_space and run in runs and end == before and start >= before - 1)
    )


def _state(part: Any) -> State | None:
    """Return the serialised state of a part of a tokenizer."""
    if part is None:
        return None
    state: State = json.loads(part.__getstate__())
    return state


def _types(state: State | None) -> list[str]:
    """Return the types of a part and of its inner parts, in order."""
    if state is None:
        return []
    inner = state.get("normalizers") or state.get("pretokenizers") or []
    return [state["type"], *(name for part in inner for name in _types(part))]


def _has_prefix(state: State | None) -> bool:
    """Whether a pre-tokenizer puts a space before its parts."""
    return _map_parts(state, _without_prefix) != state


def _without_prefix(part: State) -> State:
    if part["type"] == "ByteLevel":
        return part | {"add_prefix_space": False}
    return part | {"prepend_scheme": "never"} if part["type"] == "Metaspace" else part


def _map_parts(state: State | None, change: Callable[[State], State | None]) -> State | None:
    """Return a part with ``change`` applied to its inner parts; None removes one."""
    if state is None:
        return None
    for inner in ("normalizers", "pretokenizers"):
        if inner in state:
            parts = (_map_parts(part, change) for part in state[inner])
            return state | {inner: [part for part in parts if part is not None]}
    return change(state)


def _with_parts(tokenizer: Tokenizer, normalizer: State | None, pre: State | None) -> Tokenizer:
    """Return a tokenizer with the same vocabulary, which is not copied, and other parts."""
    changed = Tokenizer(tokenizer.model)
    if normalizer is not None:
        changed.normalizer = _from_state(normalizers.Sequence([]), normalizer)
    if pre is not None:
        changed.pre_tokenizer = _from_state(pre_tokenizers.Sequence([]), pre)
    added: list[tuple[int, AddedToken]] = sorted(tokenizer.get_added_tokens_decoder().items())
    for _, token in added:  # one by one, in this order, they get the same ids
        (changed.add_special_tokens if token.special else changed.add_tokens)([token])
    return changed


def _from_state(part: Any, state: State) -> Any:
    part.__setstate__(json.dumps(state).encode())
    return part


@dataclass(frozen=True, slots=True)
class SubwordTokenizer:
    """A tokenizer, its special pieces around a text, and the ids of special pieces.

    Each word is tokenized by itself, so no piece belongs to two words and known words cost one
    look-up. With ``running``, a word's pieces depend on the space before it. A word without pieces
    (a control character) gets ``unknown``.
    """

    tokenizer: Tokenizer
    prefix: Ids
    suffix: Ids
    padding: int
    unknown: int
    mask: int
    running: RunningText | None = None
    cache: dict[Any, Ids] = field(default_factory=dict, compare=False, repr=False)

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of all special pieces."""
        added = self.tokenizer.get_added_tokens_decoder().items()
        named = {*self.prefix, *self.suffix, self.padding, self.unknown, self.mask}
        return frozenset(named | {row for row, token in added if token.special})

    def __call__(self, words: Sequence[str]) -> list[Ids]:
        """Return the piece ids of each word as a text of its own, never empty.

        Raises ``ModelError`` if the tokenizer fails.
        """
        return self._look_up(words, self._tokenize, len)

    def within(self, text: str, words: Sequence[tuple[int, int]]) -> list[Ids]:
        """Return the piece ids of words within their text; ``words`` are bounds.

        Raises ``ModelError`` if the tokenizer fails.
        """
        if self.running is None:
            starts, ends = bounds_array(words).T.tolist()  # a list per word would be garbage
            return self([text[start:end] for start, end in zip(starts, ends, strict=True)])
        return self._look_up(self.running.keys(text, words), self._tokenize_within, _length)

    def _look_up(
        self,
        words: Sequence[Word],
        tokenize: Callable[[list[Word]], list[Ids]],
        length: Callable[[Word], int],
    ) -> list[Ids]:
        """Look words up, and tokenize new ones."""
        known = list(map(self.cache.get, words))
        new = list(dict.fromkeys(compress(words, (ids is None for ids in known))))
        tokenized = dict(zip(new, tokenize(new), strict=True)) if new else {}
        self._add({w: ids for w, ids in tokenized.items() if length(w) <= _CACHED_LENGTH})
        return [ids or tokenized[word] for word, ids in zip(words, known, strict=True)]

    def _add(self, pieces: dict[Any, Ids]) -> None:
        if len(self.cache) + len(pieces) > _CACHED_WORDS:
            self.cache.clear()
        self.cache.update(islice(pieces.items(), _CACHED_WORDS))

    def _tokenize(self, words: list[str]) -> list[Ids]:
        texts = [[replace_surrogates(word)] for word in words]
        encodings = _encode(self.tokenizer, texts, pretokenized=True)
        return [tuple(encoding.ids) or (self.unknown,) for encoding in encodings]

    def _tokenize_within(self, words: list[tuple[str, str]]) -> list[Ids]:
        assert self.running is not None, "expected tokenizers for running text"
        first = [word for word in words if begins_text(word)]
        pieces = dict(zip(first, self([word for _, word in first]), strict=True))
        for has_space, tokenizer in ((True, self.running.spaced), (False, self.running.glued)):
            inner = [word for word in words if not begins_text(word) and bool(word[0]) == has_space]
            texts = [replace_surrogates(space + word) for space, word in inner]
            for word, encoding in zip(inner, _encode(tokenizer, texts), strict=True):
                pieces[word] = word_pieces(encoding, word[0]) or (self.unknown,)
        return [pieces[word] for word in words]


def subword_tokenizer(
    tokenizer: Tokenizer, *, padding: int, unknown: int, mask: int
) -> SubwordTokenizer:
    """Return the wrapped tokenizer; its special pieces around a text are determined by example.

    Raises ``ModelError`` if the tokenizer fails.
    """
    tokenizer.no_truncation()
    tokenizer.no_padding()
    (bare,) = _encode(tokenizer, ["a"])
    (full,) = _encode(tokenizer, ["a"], special=True)
    start = next((i for i, special in enumerate(full.special_tokens_mask) if not special), 0)
    end = start + len(bare.ids)
    around = tuple(full.ids[:start]), tuple(full.ids[end:])
    return SubwordTokenizer(tokenizer, *around, padding, unknown, mask, running_text(tokenizer))


def _encode(
    tokenizer: Tokenizer,
    texts: list[str] | list[list[str]],
    *,
    pretokenized: bool = False,
    special: bool = False,
) -> list[Encoding]:
    """Tokenize texts with the library; raises ``ModelError``."""
    try:
        encodings: list[Encoding] = tokenizer.encode_batch(
            texts, is_pretokenized=pretokenized, add_special_tokens=special
        )
    except BaseException as error:  # plain exceptions, and panics, which are no ``Exception``
        if isinstance(error, Exception) or is_panic(error):
            first = next(iter(str(error).splitlines()), "")
            raise ModelError(f"the tokenizer failed: {first:.200}") from error
        raise
    return encodings


def _length(word: tuple[str, str]) -> int:
    return len(word[1])
