"""Documents cut into units: what the encoder reads at once, with the way back to characters."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.data.pieces import Pieces
from spanloom.data.windows import pack
from spanloom.words import Bounds, Words


@dataclass(frozen=True, slots=True)
class Unit:
    """Some whole sentences of one document.

    ``words`` are character bounds in the document; ``sentences`` bounds in this unit's words;
    ``first`` is the index of its first word among the document's words.
    """

    document: int
    first: int
    words: tuple[Bounds, ...]
    forms: tuple[str, ...]
    pieces: tuple[tuple[int, ...], ...]
    sentences: tuple[Bounds, ...]

    @property
    def length(self) -> int:
        """How many pieces it has, special pieces apart."""
        return sum(map(len, self.pieces))


@dataclass(frozen=True, slots=True)
class Cut:
    """A document's words, their forms and pieces, and its sentences as bounds in words."""

    words: tuple[Bounds, ...]
    forms: tuple[str, ...]
    pieces: tuple[tuple[int, ...], ...]
    sentences: tuple[Bounds, ...]


def cut(text: str, split: Callable[[str], Words], pieces: Pieces) -> Cut:
    """Split a text into words, sentences and pieces."""
    found = split(text)
    forms = tuple(text[a:b] for a, b in found.words)
    return Cut(found.words, forms, tuple(pieces(forms)), found.sentences)


def units(document: int, cut: Cut, limit: int, draw: random.Random | None = None) -> Iterator[Unit]:
    """Cut a document into units of whole sentences of at most ``limit`` pieces.

    With ``draw`` each unit's limit is drawn anew between an eighth and the whole, so that training
    sees short and long contexts.
    """
    lengths = [sum(map(len, cut.pieces[a:b])) for a, b in cut.sentences]
    for first, last in _groups(lengths, limit, draw):
        a, b = cut.sentences[first][0], cut.sentences[last - 1][1]
        inner = tuple((start - a, end - a) for start, end in cut.sentences[first:last])
        yield Unit(document, a, cut.words[a:b], cut.forms[a:b], cut.pieces[a:b], inner)


def _groups(
    lengths: Sequence[int], limit: int, draw: random.Random | None
) -> Iterator[tuple[int, int]]:
    if draw is None:
        yield from pack(lengths, limit)
        return
    first = 0
    while first < len(lengths):
        drawn = draw.randint(max(1, limit // 8), limit)
        # a sentence has a piece at least, so no more than this many can fit
        size = pack(lengths[first : first + drawn], drawn)[0][1]
        yield first, first + size
        first += size


def shorten(sentences: Sequence[Bounds], longest: int) -> list[Bounds]:
    """Cut sentences of over ``longest`` words into parts of that many.

    Training needs such a bound; the caller reports what it costs.
    """
    return [
        (start, min(start + longest, end))
        for first, end in sentences
        for start in range(first, end, longest)
    ]
