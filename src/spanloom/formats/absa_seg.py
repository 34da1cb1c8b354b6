"""Aspects of SemEval-2014 as three lines each (``.xml.seg``), in which test polarities circulate.

::

    The $T$ was cold , the wine was n't .
    soup
    -1

The sentence with ``$T$`` in the place of a term, the term, its polarity: 1, 0 or -1. Terms of
polarity ``conflict`` are left out. Items in a row whose sentences, with their terms, are the same
are one document: raw text, layer ``aspects``. ``forms.aspects`` puts polarities into the XML.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spanloom.config.options import Options
from spanloom.document import Document, Fragment
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._lines import lines
from spanloom.formats._names import Names, numbered
from spanloom.formats._regained import missing
from spanloom.forms.aspects import ASPECTS

_HOLE = "$T$"
_POLARITY = {"1": "positive", "0": "neutral", "-1": "negative"}
_NUMBER = {label: number for number, label in _POLARITY.items()}


class _Item(NamedTuple):
    """A term: the whole text, its characters, its polarity."""

    text: str
    place: Fragment
    label: str


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield a document a sentence; raises ``FormatError``: path, line, what was expected."""
    names, count = Names(), 0
    same: list[_Item] = []
    for item in _items(text, path):
        if same and same[0].text != item.text:
            count += 1
            yield _document(same, names, count)
            same = []
        same.append(item)
    if same:
        yield _document(same, names, count + 1)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return three lines a term; a sentence without terms has none."""
    return "".join(line + "\n" for each in documents for line in _written(each))


def _items(text: str, path: str) -> Iterator[_Item]:
    """Yield the terms; blank lines at the end of the file are none."""
    found = list(lines(text.rstrip("\r\n")))
    if not text.strip():
        return
    for row in range(0, len(found), 3):
        if row + 3 > len(found):
            problem = f"expected a sentence, a term, a polarity, got {len(found) - row} lines"
            raise FormatError(path, found[row].number, problem)
        sentence, term, polarity = found[row : row + 3]
        before, hole, after = sentence.text.partition(_HOLE)
        if not hole or _HOLE in after:
            problem = f"expected a sentence with one $T$, got {sentence.text!r:.60}"
            raise FormatError(path, sentence.number, problem)
        if polarity.text not in _POLARITY:
            problem = f"expected one of {', '.join(_POLARITY)}, got {polarity.text!r:.60}"
            raise FormatError(path, polarity.number, problem)
        place = len(before), len(before) + len(term.text)
        yield _Item(before + term.text + after, place, _POLARITY[polarity.text])


def _document(same: Sequence[_Item], names: Names, number: int) -> Document:
    """Return the document of a sentence."""
    made = names.making(numbered(number))
    made.raw(same[0].text)
    for each in same:
        made.span(ASPECTS, each.label, each.place)
    return made.done()


def _written(document: Document) -> Iterator[str]:
    """Yield the lines of a document; line breaks become blanks."""
    text = re.sub(r"[\r\n]", " ", document.text)
    for span in document[ASPECTS].spans if document.has(ASPECTS) else ():
        before, after = text[: span.start], text[span.end :]
        whole = before + _HOLE + after
        if len(span.fragments) == 1 and span.label in _NUMBER and whole.count(_HOLE) == 1:
            yield whole
            yield text[span.start : span.end]
            yield _NUMBER[span.label]


def _lost(document: Document, options: Options) -> Losses:
    """Count all but terms without gaps that are positive, neutral or negative."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the first three lines."""
    return re.match(r"[^\n]*\$T\$[^\n]*\n[^\n]*\n(1|0|-1)\r?(\n|$)", head) is not None


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".seg",),
    "The $T$ was cold , the wine was n't .\nsoup\n-1\n"
    "The soup was cold , the $T$ was n't .\nwine\n1\n"
    "$T$ and more\nprice (lunch)\n0\n",
)
