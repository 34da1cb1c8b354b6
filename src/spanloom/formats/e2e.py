"""Aspect terms as tags in a line: the sentence, ``####``, its words with their tags.

::

    The staff wasn't bad.####The=O staff=T-POS was=O n't=O bad=O .=O

``T-POS``, ``T-NEG``, ``T-NEU`` mark the words of a term and what is said of it; neighbours of one
tag are one term. (The files of E2E-TBSA; Li et al., 2019.)

A document is a line: the sentence with the words at their places in it, where they are found there
with nothing but blanks and signs between them; else the words, and the sentence is the attribute
``text``. Terms are spans of layer ``aspects``. Blank lines are not kept.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line, lines
from spanloom.formats._making import Making
from spanloom.formats._names import numbered
from spanloom.formats._regained import missing
from spanloom.formats._tagged import apart, respelt, written
from spanloom.forms.subsequence import found_in
from spanloom.forms.tag_schemes import OUTSIDE, Prefixed, Tagged

LAYER = "aspects"
TEXT = "text"  # what a sentence is in the file, where words are not found in it
_PARTING = "####"
_TERMS = Prefixed("T", "T", "T", "T")
_BREAK = re.compile(r"[ \n]")
_LABEL = re.compile(r"[^\s=]+")
_TAG = re.compile(rf"{OUTSIDE}|T-{_LABEL.pattern}")
_LINE = re.compile(r"[^\n]*?####[^ \n]+=(?:O|T-[A-Z]+)(?: [^ \n]+=(?:O|T-[A-Z]+))*")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError`` for a line that is not as above."""
    said = (line for line in lines(text) if line.text.strip())
    for number, line in enumerate(said, 1):
        making = Making(numbered(number))
        for layer in (WORDS, SENTENCES, LAYER):
            making.layer(layer)
        _read(making, line, path)
        yield making.done()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return a line for each sentence."""
    return "".join(line + "\n" for each in documents for line in _written(each))


def _read(making: Making, line: Line, path: str) -> None:
    """Add the sentence of a line."""
    sentence, parting, rest = line.text.partition(_PARTING)
    if not parting:
        problem = f"expected a sentence, {_PARTING} and its words, got {line.text!r:.60}"
        raise FormatError(path, line.number, problem)
    words, tags = [], []
    for cell in rest.split(" "):
        word, equals, tag = cell.rpartition("=")
        if not equals or not word.strip() or not _TAG.fullmatch(tag):
            problem = f"expected WORD=O or WORD=T-LABEL, got {cell!r:.60}"
            raise FormatError(path, line.number, problem)
        words.append(word)
        tags.append(tag)
    places = found_in(sentence, words)
    if places is None:
        making.sentence(words)
        making.attribute(SENTENCES, TEXT, making.sentences[-1], sentence)
    else:
        making.given(sentence, places)
    for start, end, label in _TERMS.decode(tags):
        making.over(LAYER, label, start, end)


def _written(document: Document) -> Iterator[str]:
    """Yield the lines of a document."""
    laid = Laid(document)
    texts = {
        at: a.value for at, each in laid.values(SENTENCES).items() for a in each if a.label == TEXT
    }
    found = apart(laid, LAYER, _spells)
    for number, (first, end) in enumerate(laid.words.sentences):
        words = [written(form, _BREAK) for form in laid.forms[first:end]]
        tags = respelt(_TERMS, found[number], [None] * len(words))
        cells = (f"{word}={tag}" for word, tag in zip(words, tags, strict=True))
        text = texts.get(number)
        if text is None or not _sayable(text) or found_in(text, words) is not None:
            text = _raw(laid, number, words)
        yield text + _PARTING + " ".join(cells)


def _raw(laid: Laid, number: int, words: Sequence[str]) -> str:
    """Return the sentence as it stands in the text; if that cannot be said, its words."""
    text = laid.document.text
    if len(laid.words.sentences) > 1:
        first, end = laid.words.sentences[number]
        text = text[laid.words.words[first][0] : laid.words.words[end - 1][1]]
    return text if _sayable(text) else " ".join(words).replace(_PARTING, "#") + " "


def _sayable(text: str) -> bool:
    """Whether a sentence can stand before the words."""
    return "\n" not in text and _PARTING not in text and not text.endswith("#")


def _spells(span: Tagged) -> bool:
    """Whether a tag can hold the label of a span."""
    return _LABEL.fullmatch(span[2]) is not None


def _lost(document: Document, options: Options) -> Losses:
    """Count what is not there when it is read again."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the first line."""
    first = head.lstrip().split("\n", 1)[0].rstrip()
    return _PARTING in first and _LINE.match(first) is not None


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".e2e", ".txt"),
    "The staff wasn't bad.####The=O staff=T-POS was=O n't=O bad=O .=O\n"
    'Nice (big) screen - the "best" one...####'
    "Nice=O big=O screen=T-NEU the=O best=O one=O .=O\n"
    "See apple.com = fine food bar####See=O applecom=O ==O fine=O food=T-NEG bar=T-NEG\n",
)
