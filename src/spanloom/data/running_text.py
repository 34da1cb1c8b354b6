"""Tokenizers that cut a word otherwise with a blank before it than without.

Byte-level tokenizers (GPT-2's, RoBERTa's) and those of SentencePiece write the blank before a word
into its first piece: ``the Ġbuffer Ġis``. Some put a blank before a text, too; within a text that
would be wrong wherever a word is glued to the one before it: ``buffer|.``.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken, Encoding, Tokenizer, normalizers, pre_tokenizers

_BLANKS = 32  # characters of white space before a word that are looked at: the last ones
_WRITES_BLANKS = {"ByteLevel", "Metaspace", "Prepend"}
_STRIPS = {"WhitespaceSplit"}  # splits, but not before a sign

State = dict[str, Any]
Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunningText:
    """One vocabulary with what belongs before words ``spaced`` from, or ``glued`` to, others."""

    spaced: Tokenizer
    glued: Tokenizer

    def keys(self, text: str, words: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
        """Return the white space before each word, and the word; for none but the first "^".

        Words that are equal here have the same pieces.
        """
        found, before = [], 0
        for start, end in words:
            gap = text[before:start] if before < start else ""
            if gap and not gap.isspace():  # words that were given may leave some of a text out
                gap = gap[len(gap.rstrip()) :]
            found.append((gap[-_BLANKS:] if start else _OPENS, text[start:end]))
            before = end
        return found


_OPENS = "^"  # in the place of white space: the word opens its text


def begins_text(key: tuple[str, str]) -> bool:
    """Whether a word stands at the very start of its text."""
    return key[0] == _OPENS


def running_text(tokenizer: Tokenizer) -> RunningText | None:
    """Return tokenizers for words within a text; None where what stands before changes nothing."""
    normalizer, pre = _state(tokenizer.normalizer), _state(tokenizer.pre_tokenizer)
    if not _WRITES_BLANKS & {*_kinds(normalizer), *_kinds(pre)}:
        return None
    apart = _changed(normalizer, lambda part: None if part["type"] == "Prepend" else part)
    spaced = _beside(tokenizer, apart, pre)
    kinds = _kinds(pre)
    splits = kinds[: next((row for row, kind in enumerate(kinds) if kind in _WRITES_BLANKS), 0)]
    if set(splits) - _STRIPS - {"Sequence"} and _prefixed(pre):
        return RunningText(spaced, spaced)  # each part that was split off is put a blank before
    return RunningText(spaced, _beside(tokenizer, apart, _changed(pre, _unprefixed)))


def word_keys(encoding: Encoding, blanks: str) -> Ids:
    """Return the pieces of a word that was cut with the white space before it.

    White space by itself is no part of a word, but for a blank that is cut with it.
    """
    before = len(blanks)
    if not before:
        return tuple(encoding.ids)
    rows = list(zip(encoding.ids, encoding.offsets, encoding.word_ids, strict=True))
    runs = {run for _, (_, end), run in rows if end > before}
    blank = blanks[-1] == " "
    return tuple(
        piece
        for piece, (start, end), run in rows
        if end > before or (blank and run in runs and end == before and start >= before - 1)
    )


def _state(part: Any) -> State | None:
    """What a file says of a part of a tokenizer."""
    if part is None:
        return None
    said: State = json.loads(part.__getstate__())
    return said


def _kinds(said: State | None) -> list[str]:
    """The kinds of a part and of those inside it, in order."""
    if said is None:
        return []
    inner = said.get("normalizers") or said.get("pretokenizers") or []
    return [said["type"], *(kind for each in inner for kind in _kinds(each))]


def _prefixed(said: State | None) -> bool:
    """Whether it puts a blank before what is split off."""
    return _changed(said, _unprefixed) != said


def _unprefixed(part: State) -> State:
    if part["type"] == "ByteLevel":
        return part | {"add_prefix_space": False}
    return part | {"prepend_scheme": "never"} if part["type"] == "Metaspace" else part


def _changed(said: State | None, change: Callable[[State], State | None]) -> State | None:
    """A part with each part inside it changed, or left out where ``change`` returns None."""
    if said is None:
        return None
    for inner in ("normalizers", "pretokenizers"):
        if inner in said:
            made = (_changed(each, change) for each in said[inner])
            return said | {inner: [each for each in made if each is not None]}
    return change(said)


def _beside(tokenizer: Tokenizer, normalizer: State | None, pre: State | None) -> Tokenizer:
    """A tokenizer with the same vocabulary, which is not copied, and other parts before it."""
    made = Tokenizer(tokenizer.model)
    if normalizer is not None:
        made.normalizer = _restored(normalizers.Sequence([]), normalizer)
    if pre is not None:
        made.pre_tokenizer = _restored(pre_tokenizers.Sequence([]), pre)
    added: list[tuple[int, AddedToken]] = sorted(tokenizer.get_added_tokens_decoder().items())
    for _, each in added:  # one by one: in this order they have the same numbers
        (made.add_special_tokens if each.special else made.add_tokens)([each])
    return made


def _restored(shell: Any, said: State) -> Any:
    shell.__setstate__(json.dumps(said).encode())
    return shell
