"""Read and write aspects of SemEval-2014 as three lines per term (``.xml.seg``).

::

    The $T$ was cold , the wine was n't .
    soup
    -1

The lines are the sentence with ``$T$`` in place of a term, the term, and its polarity: 1, 0 or -1.
Terms of polarity ``conflict`` are left out. Consecutive items whose sentences, with their terms,
are equal are one document: raw text, layer ``aspects``. The polarities of the test data circulate
in this form; ``annotation.aspects`` adds them to the XML.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spanloom.annotation.aspects import ASPECTS
from spanloom.config.options import Options
from spanloom.document import Document, Fragment
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import Names, default_name
from spanloom.formats._text import lines

_HOLE = "$T$"
_POLARITY = {"1": "positive", "0": "neutral", "-1": "negative"}
_NUMBER = {label: number for number, label in _POLARITY.items()}


class _Item(NamedTuple):
    """A term: the full text, its character bounds, its polarity."""

    text: str
    bounds: Fragment
    label: str


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield one document per sentence; raises ``FormatError``: path, line, what was expected."""
    names, count = Names(), 0
    items: list[_Item] = []
    for item in _parse_items(text, path):
        if items and items[0].text != item.text:
            count += 1
            yield _build_document(items, names, count)
            items = []
        items.append(item)
    if items:
        yield _build_document(items, names, count + 1)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return three lines per term; a sentence without terms has none."""
    return "".join(line + "\n" for document in documents for line in _format_document(document))


def _parse_items(text: str, path: str) -> Iterator[_Item]:
    """Yield the terms; blank lines at the end of the file are ignored."""
    all_lines = list(lines(text.rstrip("\r\n")))
    if not text.strip():
        return
    for index in range(0, len(all_lines), 3):
        if index + 3 > len(all_lines):
            problem = f"expected a sentence, a term, a polarity, got {len(all_lines) - index} lines"
            raise FormatError(path, all_lines[index].number, problem)
        sentence, term, polarity = all_lines[index : index + 3]
        before, placeholder, after = sentence.text.partition(_HOLE)
        if not placeholder or _HOLE in after:
            problem = f"expected a sentence with one $T$, got {sentence.text!r:.60}"
            raise FormatError(path, sentence.number, problem)
        if polarity.text not in _POLARITY:
            problem = f"expected one of {', '.join(_POLARITY)}, got {polarity.text!r:.60}"
            raise FormatError(path, polarity.number, problem)
        bounds = len(before), len(before) + len(term.text)
        yield _Item(before + term.text + after, bounds, _POLARITY[polarity.text])


def _build_document(items: Sequence[_Item], names: Names, number: int) -> Document:
    """Return the document of a sentence."""
    builder = names.making(default_name(number))
    builder.add_text(items[0].text)
    for item in items:
        builder.span(ASPECTS, item.label, item.bounds)
    return builder.build()


def _format_document(document: Document) -> Iterator[str]:
    """Yield the lines of a document; line breaks become blanks."""
    text = re.sub(r"[\r\n]", " ", document.text)
    for span in document.layer_or_empty(ASPECTS).spans:
        before, after = text[: span.start], text[span.end :]
        sentence = before + _HOLE + after
        if len(span.fragments) == 1 and span.label in _NUMBER and sentence.count(_HOLE) == 1:
            yield sentence
            yield text[span.start : span.end]
            yield _NUMBER[span.label]


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the first three lines."""
    return re.match(r"[^\n]*\$T\$[^\n]*\n[^\n]*\n(1|0|-1)\r?(\n|$)", head) is not None


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".seg",),
    "The $T$ was cold , the wine was n't .\nsoup\n-1\n"
    "The soup was cold , the $T$ was n't .\nwine\n1\n"
    "$T$ and more\nprice (lunch)\n0\n",
)
