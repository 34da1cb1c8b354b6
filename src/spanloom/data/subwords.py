"""Words to word pieces, for any tokenizer of the Hugging Face ``tokenizers`` library."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from tokenizers import Encoding, Tokenizer

from spanloom.data.running_text import RunningText, begins_text, running_text, word_keys
from spanloom.data.tokenizer_file import is_panic
from spanloom.errors import ModelError

_CACHED_WORDS = 200_000
_CACHED_LENGTH = 64  # characters; longer words are rarely seen twice

Ids = tuple[int, ...]
Word = TypeVar("Word", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SubwordTokenizer:
    """A tokenizer and the special pieces around a text.

    Each word is cut by itself, so no piece ever belongs to two words and words seen before cost one
    look-up. Where ``running`` says so a word has other pieces with a blank before it than without.
    A word the tokenizer makes nothing of (a control character) gets ``unknown``; ``mask`` stands
    for what a model is to guess.
    """

    tokenizer: Tokenizer
    prefix: Ids
    suffix: Ids
    padding: int
    unknown: int
    mask: int
    running: RunningText | None = None
    _seen: dict[Any, Ids] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, words: Sequence[str]) -> list[Ids]:
        """Return the piece ids of each word as a text by itself, never empty.

        Raises ``ModelError`` where the tokenizer fails.
        """
        return self._known(words, self._cut, len)

    def within(self, text: str, words: Sequence[tuple[int, int]]) -> list[Ids]:
        """Return the piece ids of words, given by their bounds, as they are within their text.

        Where a tokenizer would make one piece of what two words share, each is cut by itself.
        Raises ``ModelError`` where the tokenizer fails.
        """
        if self.running is None:
            return self([text[start:end] for start, end in words])
        return self._known(self.running.keys(text, words), self._cut_within, _length)

    def _known(
        self,
        words: Sequence[Word],
        cut: Callable[[list[Word]], list[Ids]],
        length: Callable[[Word], int],
    ) -> list[Ids]:
        """Look words up, and cut those that were not seen before."""
        known = {word: ids for word in set(words) if (ids := self._seen.get(word))}
        new = list(dict.fromkeys(word for word in words if word not in known))
        if new:
            made = dict(zip(new, cut(new), strict=True))
            known |= made
            self._remember({w: ids for w, ids in made.items() if length(w) <= _CACHED_LENGTH})
        return [known[word] for word in words]

    def _remember(self, cut: dict[Any, Ids]) -> None:
        if len(self._seen) + len(cut) > _CACHED_WORDS:
            self._seen.clear()
        self._seen.update(islice(cut.items(), _CACHED_WORDS))

    def _cut(self, words: list[str]) -> list[Ids]:
        whole = [[_encodable(word)] for word in words]
        encodings = _encoded(self.tokenizer, whole, pretokenized=True)
        return [tuple(encoding.ids) or (self.unknown,) for encoding in encodings]

    def _cut_within(self, words: list[tuple[str, str]]) -> list[Ids]:
        assert self.running is not None, "words are cut within a text where that differs"
        first = [word for word in words if begins_text(word)]
        found = dict(zip(first, self([word for _, word in first]), strict=True))
        for blank, tokenizer in ((True, self.running.spaced), (False, self.running.glued)):
            some = [word for word in words if not begins_text(word) and bool(word[0]) == blank]
            texts = [_encodable(blanks + word) for blanks, word in some]
            for word, encoding in zip(some, _encoded(tokenizer, texts), strict=True):
                found[word] = word_keys(encoding, word[0]) or (self.unknown,)
        return [found[word] for word in words]


def subword_tokenizer(
    tokenizer: Tokenizer, *, padding: int, unknown: int, mask: int
) -> SubwordTokenizer:
    """Find out by itself which special pieces the tokenizer puts before and after a text.

    Raises ``ModelError`` where the tokenizer fails.
    """
    tokenizer.no_truncation()
    tokenizer.no_padding()
    (bare,) = _encoded(tokenizer, ["a"])
    (full,) = _encoded(tokenizer, ["a"], special=True)
    start = next((i for i, special in enumerate(full.special_tokens_mask) if not special), 0)
    end = start + len(bare.ids)
    around = tuple(full.ids[:start]), tuple(full.ids[end:])
    return SubwordTokenizer(tokenizer, *around, padding, unknown, mask, running_text(tokenizer))


def _encoded(
    tokenizer: Tokenizer,
    texts: list[str] | list[list[str]],
    *,
    pretokenized: bool = False,
    special: bool = False,
) -> list[Encoding]:
    """Have the library cut texts: the one place where it does."""
    try:
        found: list[Encoding] = tokenizer.encode_batch(
            texts, is_pretokenized=pretokenized, add_special_tokens=special
        )
    except BaseException as error:  # it raises bare exceptions, and panics, which are none at all
        if isinstance(error, Exception) or is_panic(error):
            first = next(iter(str(error).splitlines()), "")
            raise ModelError(f"the tokenizer failed: {first:.200}") from error
        raise
    return found


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # no lone surrogates


def _length(word: tuple[str, str]) -> int:
    return len(word[1])
