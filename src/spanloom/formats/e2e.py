"""Read and write aspect terms as tags in a line: the sentence, ``####``, its words with tags.

::

    The staff wasn't bad.####The=O staff=T-POS was=O n't=O bad=O .=O

``T-POS``, ``T-NEG``, ``T-NEU`` mark the words of a term and its polarity; neighbours with the same
tag are one term. (The files of E2E-TBSA; Li et al., 2019.)

A document is a line: the sentence with the words at their offsets, if they are found in it with
only blanks and punctuation between them; else the words, and the sentence is the attribute
``text``. Terms are spans of layer ``aspects``. Blank lines are not kept.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from spanloom.annotation.tag_schemes import OUTSIDE, Prefixed, Tagged
from spanloom.annotation.word_index import find_words
from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, default_name
from spanloom.formats._text import Line, lines
from spanloom.formats._word_view import WordView, encodable_spans, format_cell, format_tags

LAYER = "aspects"
TEXT = "text"  # attribute: the sentence in the file if the words are not found in it
_PARTING = "####"
_PARTINGS = re.compile(f"{_PARTING}#*")
_TERMS = Prefixed("T", "T", "T", "T")
_BREAK = re.compile(r"[ \n]")
_LABEL = re.compile(r"[^\s=]+")
_TAG = re.compile(rf"{OUTSIDE}|T-{_LABEL.pattern}")
_TAGGED = re.compile(r"[^ \n]+=(?:O|T-[A-Z]+)(?: [^ \n]+=(?:O|T-[A-Z]+))*")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError`` for a line in another format."""
    filled_lines = (line for line in lines(text) if line.text.strip())
    for number, line in enumerate(filled_lines, 1):
        builder = DocumentBuilder(default_name(number))
        for layer in (WORDS, SENTENCES, LAYER):
            builder.layer(layer)
        _add_sentence(builder, line, path)
        yield builder.build()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return one line per sentence."""
    return "".join(line + "\n" for document in documents for line in _format_document(document))


def _add_sentence(builder: DocumentBuilder, line: Line, path: str) -> None:
    """Add the sentence of a line; raises ``FormatError``."""
    sentence, separator, tagged_words = line.text.partition(_PARTING)
    if not separator:
        problem = f"expected a sentence, {_PARTING} and its words, got {line.text!r:.60}"
        raise FormatError(path, line.number, problem)
    words, tags = [], []
    for cell in tagged_words.split(" "):
        word, equals, tag = cell.rpartition("=")
        if not equals or not word.strip() or not _TAG.fullmatch(tag):
            problem = f"expected WORD=O or WORD=T-LABEL, got {cell!r:.60}"
            raise FormatError(path, line.number, problem)
        words.append(word)
        tags.append(tag)
    bounds = find_words(sentence, words)
    if bounds is None:
        builder.sentence(words)
        builder.attribute(SENTENCES, TEXT, builder.sentences[-1], sentence)
    else:
        builder.add_pretokenized(sentence, bounds)
    for start, end, label in _TERMS.decode(tags):
        builder.add_word_span(LAYER, label, start, end)


def _format_document(document: Document) -> Iterator[str]:
    """Yield the lines of a document."""
    view = WordView(document)
    texts = {
        number: a.value
        for number, attributes in view.values(SENTENCES).items()
        for a in attributes
        if a.label == TEXT
    }
    spans_by_sentence = encodable_spans(view, LAYER, _is_writable_label)
    for number, (first, end) in enumerate(view.words.sentences):
        words = [format_cell(form, _BREAK) for form in view.tokens[first:end]]
        tags = format_tags(_TERMS, spans_by_sentence[number], [None] * len(words))
        cells = (f"{word}={tag}" for word, tag in zip(words, tags, strict=True))
        text = texts.get(number)
        if text is None or not _is_writable_text(text) or find_words(text, words) is not None:
            text = _original_text(view, number, words)
        yield text + _PARTING + " ".join(cells)


def _original_text(view: WordView, number: int, words: Sequence[str]) -> str:
    """Return the original sentence; if it cannot be written, its words."""
    text = view.document.text
    if len(view.words.sentences) > 1:
        first, end = view.words.sentences[number]
        text = text[view.words.words[first][0] : view.words.words[end - 1][1]]
    return text if _is_writable_text(text) else _PARTINGS.sub("#", " ".join(words)) + " "


def _is_writable_text(text: str) -> bool:
    """Tell whether a sentence can be written before the words."""
    return "\n" not in text and _PARTING not in text and not text.endswith("#")


def _is_writable_label(span: Tagged) -> bool:
    """Tell whether a tag can hold the label of a span."""
    return _LABEL.fullmatch(span[2]) is not None


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the first line."""
    first_line = head.lstrip().split("\n", 1)[0].rstrip()
    return _TAGGED.match(first_line.partition(_PARTING)[2]) is not None


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".e2e", ".txt"),
    "The staff wasn't bad.####The=O staff=T-POS was=O n't=O bad=O .=O\n"
    'Nice (big) screen - the "best" one...####'
    "Nice=O big=O screen=T-NEU the=O best=O one=O .=O\n"
    "See apple.com = fine food bar####See=O applecom=O ==O fine=O food=T-NEG bar=T-NEG\n",
)
