"""Words to word pieces, for any tokenizer of the Hugging Face ``tokenizers`` library."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from tokenizers import Tokenizer

_CACHED_WORDS = 200_000
_CACHED_LENGTH = 64  # characters; longer words are rarely seen twice


@dataclass(frozen=True, slots=True)
class Pieces:
    """A tokenizer and the special pieces around a text.

    Each word is cut by itself, so no piece ever belongs to two words and words seen before cost one
    look-up. A word the tokenizer makes nothing of (a control character) gets ``unknown``; ``mask``
    stands for what a model is to guess.
    """

    tokenizer: Tokenizer
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    padding: int
    unknown: int
    mask: int
    _seen: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the piece ids of each word, never empty."""
        known = {word: ids for word in set(words) if (ids := self._seen.get(word))}
        new = list(dict.fromkeys(word for word in words if word not in known))
        if new:
            cut = dict(zip(new, self._cut(new), strict=True))
            known |= cut
            self._remember({w: ids for w, ids in cut.items() if len(w) <= _CACHED_LENGTH})
        return [known[word] for word in words]

    def _remember(self, cut: dict[str, tuple[int, ...]]) -> None:
        if len(self._seen) + len(cut) > _CACHED_WORDS:
            self._seen.clear()
        self._seen.update(islice(cut.items(), _CACHED_WORDS))

    def _cut(self, words: list[str]) -> list[tuple[int, ...]]:
        whole = [[word.encode("utf-8", "replace").decode()] for word in words]  # no lone surrogates
        encodings = self.tokenizer.encode_batch(
            whole, is_pretokenized=True, add_special_tokens=False
        )
        return [tuple(encoding.ids) or (self.unknown,) for encoding in encodings]


def pieces(tokenizer: Tokenizer, *, padding: int, unknown: int, mask: int) -> Pieces:
    """Find out by itself which special pieces the tokenizer puts before and after a text."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    full = tokenizer.encode("a", add_special_tokens=True)
    start = next((i for i, special in enumerate(full.special_tokens_mask) if not special), 0)
    end = start + len(bare)
    return Pieces(tokenizer, tuple(full.ids[:start]), tuple(full.ids[end:]), padding, unknown, mask)
