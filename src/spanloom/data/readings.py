"""What a task reads of a document: its sentences, the whole of it, a query and it, choices and it.

Tasks of equal readings are served by one pass of the encoder (DESIGN: one pass a key).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Protocol, runtime_checkable

from spanloom.data.units import Cut, Ids, Prompt, Sizes, Unit, task_token, unit, units
from spanloom.data.windows import pack
from spanloom.words import Bounds

Cutter = Callable[[str], Prompt]  # words and pieces of a text that stands in no document
_BETWEEN = 1  # special pieces between a prompt and a text


@runtime_checkable
class Shape(Protocol):
    """How a document becomes units; equal shapes make equal units."""

    def units(self, document: int, cut: Cut, sizes: Sizes, cutter: Cutter) -> Iterator[Unit]:
        """Yield the units of a document; ``document`` is its row."""

    def shortened(self, cut: Cut, window: int) -> int:
        """Count the texts of which the first words alone are read, as others are read with them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a task reads.

    The token of the task of number ``token`` stands before each sentence, which is then read alone
    (TE⊕Enc): a word with learnt vectors of its own.
    ``pages`` is how many windows make a unit in training; in use a unit is what memory allows.
    """

    shape: Shape
    token: int | None = None
    pages: int = 1

    @property
    def key(self) -> tuple[Shape, int | None]:
        """What decides the vectors: one encoder pass for each different key."""
        return self.shape, self.token

    def units(self, document: int, cut: Cut, sizes: Sizes, cutter: Cutter) -> Iterator[Unit]:
        """Yield the units of a document; ``document`` is its row."""
        if self.token is None:
            yield from self.shape.units(document, cut, sizes, cutter)
            return
        token = task_token(self.token)
        left = max(1, sizes.window - sum(map(len, token.pieces)) - _BETWEEN)
        alone = replace(sizes, window=left, unit=left, apart=True)
        for each in self.shape.units(document, cut, alone, cutter):
            yield replace(each, prompt=_joined(token, each.prompt))


@dataclass(frozen=True, slots=True)
class Sentences:
    """Whole sentences, as many as a window holds: what most tasks read."""

    def units(self, document: int, cut: Cut, sizes: Sizes, cutter: Cutter) -> Iterator[Unit]:
        """Yield units of whole sentences."""
        return units(document, cut, sizes)

    def shortened(self, cut: Cut, window: int) -> int:
        """All of a text is read."""
        return 0


@dataclass(frozen=True, slots=True)
class Whole:
    """A document with a vector of what opens it; of two parts the first is read as a prompt."""

    def units(self, document: int, cut: Cut, sizes: Sizes, cutter: Cutter) -> Iterator[Unit]:
        """Yield one unit."""
        (a, b), (c, d) = cut.parts or ((0, 0), (0, len(cut.words)))
        text = _part(cut, c, d)
        ahead = Prompt(cut.forms[a:b], cut.pieces[a:b])
        yield replace(_whole(document, text, ahead, sizes), first=c, opening=True)

    def shortened(self, cut: Cut, window: int) -> int:
        """Of two parts the first may be too long."""
        a, b = cut.parts[0] if cut.parts else (0, 0)
        return int(not _fits(cut.pieces[a:b], window))


@dataclass(frozen=True, slots=True)
class Asking:
    """Each query of a document with the whole of it, and a vector of what opens both."""

    def units(self, document: int, cut: Cut, sizes: Sizes, cutter: Cutter) -> Iterator[Unit]:
        """Yield one unit a query."""
        for row, query in enumerate(cut.queries):
            yield replace(_whole(document, cut, query, sizes), opening=True, query=row)

    def shortened(self, cut: Cut, window: int) -> int:
        """Queries may be too long."""
        return sum(not _fits(query.pieces, window) for query in cut.queries)


@dataclass(frozen=True, slots=True)
class Choosing:
    """All choices as the text from which one is extracted (SpEx, section 3.1).

    A document is read as the prompt; of two parts the first stands before the choices, and the
    second is the prompt. One that is too long for a window makes several units.
    """

    choices: tuple[str, ...]

    def units(self, document: int, cut: Cut, sizes: Sizes, cutter: Cutter) -> Iterator[Unit]:
        """Yield a unit for each stretch of the prompt."""
        (a, b), (c, d) = cut.parts or ((0, 0), (0, len(cut.words)))
        said = [cutter(choice) for choice in self.choices]
        ends = accumulate((len(each.forms) for each in said), initial=b - a)
        bounds = tuple(pairwise(ends))
        text = (*cut.forms[a:b], *chain.from_iterable(each.forms for each in said))
        pieces = (*cut.pieces[a:b], *chain.from_iterable(each.pieces for each in said))
        room = max(1, sizes.window // 2, sizes.window - sum(map(len, pieces)) - _BETWEEN)
        for first, last in pack(list(map(len, cut.pieces[c:d])), room) or [(0, 0)]:
            read = slice(c + first, c + last)
            # one word may have more pieces than there is room for: its first ones are read
            ahead = Prompt(cut.forms[read], tuple(ids[:room] for ids in cut.pieces[read]))
            every = ((0, len(text)),)
            made = Unit(document, a, cut.words[a:b], text, pieces, every, every, ahead)
            yield replace(made, opening=True, choices=bounds)

    def shortened(self, cut: Cut, window: int) -> int:
        """A text too long for a window makes several units."""
        return 0


def _whole(document: int, cut: Cut, prompt: Prompt, sizes: Sizes) -> Unit:
    """One unit of all sentences, packed into windows that have room for the prompt too."""
    kept = _shortened(prompt, sizes.window)
    lengths = [sum(map(len, cut.pieces[a:b])) for a, b in cut.sentences]
    ahead = sum(map(len, kept.pieces)) + _BETWEEN if kept.pieces else 0
    windows = pack(lengths, 1 if sizes.apart else sizes.window - ahead)
    if not windows:
        return Unit(document, 0, (), (), (), (), (), kept)
    return replace(unit(document, cut, windows, sizes), prompt=kept)


def _part(cut: Cut, first: int, last: int) -> Cut:
    """The words of a part, with the sentences they make."""
    inside: list[Bounds] = []
    for start, end in cut.sentences:
        a, b = max(start, first), min(end, last)
        if a < b:
            inside.append((a - first, b - first))
    words, forms, pieces = cut.words[first:last], cut.forms[first:last], cut.pieces[first:last]
    inner = frozenset(word - first for word in cut.inner if first < word < last)
    return Cut(words, forms, pieces, tuple(inside), inner=inner)


def _shortened(prompt: Prompt, window: int) -> Prompt:
    """The words of a prompt that have room before a text."""
    if _fits(prompt.pieces, window):
        return prompt
    ends = accumulate(map(len, prompt.pieces))
    kept = sum(end <= window // 2 for end in ends)
    return Prompt(prompt.forms[:kept], prompt.pieces[:kept])


def _fits(pieces: Ids, window: int) -> bool:
    """Whether all words of a prompt have room before a text."""
    return sum(map(len, pieces)) <= window // 2


def _joined(first: Prompt, second: Prompt) -> Prompt:
    return Prompt(first.forms + second.forms, first.pieces + second.pieces, first.token)
