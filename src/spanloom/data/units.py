"""Documents cut into units: what a task reads at once, with the way back to characters."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from spanloom.data.pieces import Pieces
from spanloom.data.windows import pack
from spanloom.document import Document
from spanloom.forms.parts import parts
from spanloom.words import Bounds, Words, words_of

Ids = tuple[tuple[int, ...], ...]  # the pieces of some words


@dataclass(frozen=True, slots=True)
class Prompt:
    """Words that are read before a text and stand in no document: a question, a task's token.

    ``token`` is the number of the task whose token the first word is: it has no form, and its piece
    is never looked up.
    """

    forms: tuple[str, ...] = ()
    pieces: Ids = ()
    token: int | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """Some whole sentences of one document, and what is read with them.

    ``words`` are character bounds in the document; ``sentences`` and ``contexts`` (sentences that
    an encoder reads at once) bounds in this unit's words; ``first`` is the index of its first word
    among the document's words. Words beyond ``words`` (``choices``: their bounds) stand in no
    document. ``opening`` asks for a vector of what opens the unit. ``query`` is the row of the
    document's query that ``prompt`` puts.
    """

    document: int
    first: int
    words: tuple[Bounds, ...]
    forms: tuple[str, ...]
    pieces: Ids
    sentences: tuple[Bounds, ...]
    contexts: tuple[Bounds, ...]
    prompt: Prompt = Prompt()
    opening: bool = False
    query: int = 0
    choices: tuple[Bounds, ...] = ()
    length: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Count its pieces once, special pieces apart."""
        ahead = sum(map(len, self.prompt.pieces))
        object.__setattr__(self, "length", ahead + sum(map(len, self.pieces)))


@dataclass(frozen=True, slots=True)
class Cut:
    """A document's words, their forms and pieces, and its sentences as bounds in words.

    ``queries`` are its prompts, ``parts`` the bounds of its two parts in words, if it has any.
    """

    words: tuple[Bounds, ...]
    forms: tuple[str, ...]
    pieces: Ids
    sentences: tuple[Bounds, ...]
    queries: tuple[Prompt, ...] = ()
    parts: tuple[Bounds, ...] = ()


@dataclass(frozen=True, slots=True)
class Sizes:
    """Pieces: ``window`` go through an encoder at once, ``unit`` make a unit (at most).

    With ``draw`` each window's limit is drawn anew between an eighth and the whole, so that
    training sees short and long contexts. With ``apart`` each sentence is a window by itself.
    """

    window: int
    unit: int
    draw: Random | None = None
    apart: bool = False


def task_token(number: int) -> Prompt:
    """Return the word that stands for a task: one piece, in no vocabulary and in no text."""
    return Prompt(("",), ((0,),), number)


def cut(document: Document, split: Callable[[str], Words], pieces: Pieces) -> Cut:
    """Cut a text and its queries into words, given ones if there are any, sentences and pieces."""
    found = words_of(document, split)
    forms = tuple(document.text[a:b] for a, b in found.words)
    prompts = tuple(prompt(query.prompt, split, pieces) for query in document.queries)
    halves = tuple(_inside(span.start, span.end, found.words) for span in parts(document))
    ids = tuple(pieces.within(document.text, found.words))
    return Cut(found.words, forms, ids, found.sentences, prompts, halves)


def prompt(text: str, split: Callable[[str], Words], pieces: Pieces) -> Prompt:
    """Split a text that stands in no document into words and pieces."""
    words = split(text).words
    forms = tuple(text[a:b] for a, b in words)
    return Prompt(forms, tuple(pieces.within(text, words)))


def units(document: int, cut: Cut, sizes: Sizes) -> Iterator[Unit]:
    """Cut a document into units of whole sentences; a sentence over the limits stands alone.

    A unit that is no larger than a window is one window, however small that was drawn.
    """
    lengths = [sum(map(len, cut.pieces[a:b])) for a, b in cut.sentences]
    windows = list(_groups(lengths, 1 if sizes.apart else sizes.window, sizes.draw))
    sums = [sum(lengths[first:last]) for first, last in windows]
    one = [(row, row + 1) for row in range(len(windows))]
    for start, stop in pack(sums, sizes.unit) if sizes.unit > sizes.window else one:
        yield unit(document, cut, windows[start:stop])


def unit(document: int, cut: Cut, windows: Sequence[Bounds]) -> Unit:
    """Make a unit of a document; ``windows`` are bounds in its sentences, without gaps."""
    first, last = windows[0][0], windows[-1][1]
    a, b = cut.sentences[first][0], cut.sentences[last - 1][1]
    inner = tuple((start - a, end - a) for start, end in cut.sentences[first:last])
    contexts = tuple((inner[i - first][0], inner[j - first - 1][1]) for i, j in windows)
    return Unit(document, a, cut.words[a:b], cut.forms[a:b], cut.pieces[a:b], inner, contexts)


def _groups(lengths: Sequence[int], limit: int, draw: Random | None) -> Iterator[tuple[int, int]]:
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


def _inside(start: int, end: int, words: Sequence[Bounds]) -> Bounds:
    """Bounds, in words, of those that lie inside some characters."""
    rows = [row for row, (a, b) in enumerate(words) if start <= a and b <= end]
    return (rows[0], rows[-1] + 1) if rows else (0, 0)


def shorten(sentences: Sequence[Bounds], longest: int) -> list[Bounds]:
    """Cut sentences of over ``longest`` words into parts of that many.

    Training needs such a bound; the caller reports what it costs.
    """
    return [
        (start, min(start + longest, end))
        for first, end in sentences
        for start in range(first, end, longest)
    ]
