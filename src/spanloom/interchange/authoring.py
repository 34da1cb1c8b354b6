"""Make documents in Python without counting offsets: from marked-up text, or words and tags."""

import re
from collections.abc import Sequence

from spanloom.annotation.tag_schemes import OUTSIDE, SCHEMES
from spanloom.document import MAIN, Document, Layer, Span
from spanloom.errors import DocumentError
from spanloom.formats._document_builder import DocumentBuilder

_TOKEN = re.compile(
    r"\\(?P<escaped>[\[\]\\])|(?P<open>\[)|\]\((?P<label>[^()]*)\)|(?P<text>.)", re.S
)


def from_markup(markup: str, *, layer: str = MAIN, name: str = "") -> Document:
    """Return the document of a text with spans marked ``[like this](label)``, as Markdown's links.

    Spans may nest. A backslash makes the ``[``, ``]`` or backslash after it part of the text; a
    ``]`` without a label is text. Raises ``DocumentError`` for a bracket that nothing closes and
    for an empty label.

    >>> document = from_markup("[Ada](person) met [Bob](person).", layer="ner")
    >>> [(span.label, document.text_of(span)) for span in document["ner"].spans]
    [('person', 'Ada'), ('person', 'Bob')]
    """
    text: list[str] = []
    open_brackets: list[tuple[int, int]] = []
    labelled: list[tuple[int, int, str]] = []
    for match in _TOKEN.finditer(markup):
        if match["open"]:
            open_brackets.append((len(text), match.start()))
        elif match["label"] is not None and open_brackets:
            start, _ = open_brackets.pop()
            if not match["label"].strip() or start == len(text):
                raise DocumentError(
                    f"{_where(markup, match.start())}: expected [text](label), got an empty part"
                )
            labelled.append((start, len(text), match["label"]))
        else:
            text += match["escaped"] or match[0]
    if open_brackets:
        where = _where(markup, open_brackets[-1][1])
        raise DocumentError(rf"{where}: no ](label) closes this bracket; \[ is the sign itself")
    labelled.sort(key=lambda span: (span[0], -span[1]))
    spans = tuple(
        Span(f"T{number}", label, ((start, end),))
        for number, (start, end, label) in enumerate(labelled, 1)
    )
    return Document("".join(text), (Layer(layer, spans),), name)


def from_words(
    words: Sequence[str], tags: Sequence[str] | None = None, *, layer: str = MAIN, name: str = ""
) -> Document:
    """Return the document of one sentence, given its words and a tag for each.

    Tags are BIO, IOB1, BIOES or BILOU, as ``B-person``; None means no annotation. Words are joined
    by blanks and kept as the document's own. Raises ``DocumentError`` where there is not one tag
    per word, or a tag is not ``O`` or a letter and a label.

    >>> document = from_words(["Ada", "Lovelace", "met", "Bob"], ["B-per", "I-per", "O", "B-per"])
    >>> [document.text_of(span) for span in document["main"].spans]
    ['Ada Lovelace', 'Bob']
    """
    builder = DocumentBuilder(name)
    builder.sentence(list(words))
    if tags is None:
        return builder.build()
    if len(tags) != len(words):
        raise DocumentError(f"expected a tag for each of {len(words)} words, got {len(tags)}")
    for tag in tags:
        if tag != OUTSIDE and not re.fullmatch(r"[BIOESLU]-.*\S.*", tag):
            raise DocumentError(f"expected O or a letter of BIOESLU and a label, got {tag!r:.60}")
    builder.layer(layer)
    for start, end, label in SCHEMES["BIO"].decode(tags):
        builder.add_word_span(layer, label, start, end)
    return builder.build()


def _where(markup: str, offset: int) -> str:
    """Return a place in a text as line and column, both from 1."""
    line = markup.count("\n", 0, offset) + 1
    return f"line {line}, column {offset - markup.rfind(chr(10), 0, offset)}"
