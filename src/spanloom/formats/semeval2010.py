"""Read and write SemEval-2010 task 8: a sentence with two marked entities and their relation.

::

    1→"The <e1>dome</e1> of the <e2>temple</e2> is golden."
    Component-Whole(e1,e2)
    Comment:

→ is a tab; a blank line ends an item. ``(e1,e2)`` is a relation from e1 to e2, ``(e2,e1)`` one from
e2 to e1; relations without direction (``Other``) go from e1 to e2. A file without answers has the
sentences alone. (Hendrickx et al., 2010)

A document is a sentence: raw text, spans ``e1`` and ``e2`` and the relation in layer ``entities``;
the text after ``Comment:`` is kept in ``meta``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import Document, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._text import Line, lines

LAYER = "entities"
COMMENT = "comment"

_ENDS = ("e1", "e2")
_SENTENCE = re.compile(r'([^\t\s](?:[^\t]*[^\t\s])?)\t"(.*)"')
_TAG = re.compile(r"<(/?)(e[12])>")
_LABEL = re.compile(r"[^\s](?:[^\t\n]*[^\s])?")
_DIRECTED = re.compile(rf"({_LABEL.pattern})\((e1,e2|e2,e1)\)")


class SemEval2010Options(Options):
    """Options: how relations and lines are written."""

    undirected: tuple[str, ...] = Field(
        default=("Other",), description="relations without a direction; they go from e1 to e2"
    )
    crlf: bool = Field(
        default=True, description="whether a written line ends in CR LF, as in the release"
    )


def loads(
    text: str, *, path: str = "<string>", options: SemEval2010Options = SemEval2010Options()
) -> Iterator[Document]:
    """Yield one document per sentence; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    for item in _split_items(text, path):
        number, item_id, sentence = item[0].number, *_split_sentence(item[0], path)
        builder = names.making(item_id)
        text_without_tags, bounds = _remove_tags(sentence, path, number)
        builder.add_text(text_without_tags)
        builder.layer(LAYER)
        ends = {name: builder.span(LAYER, name, bounds[name]) for name in _ENDS if name in bounds}
        if len(item) > 1:
            _add_relation(builder, ends, item[1], path, options)
        if len(item) > 2:
            _add_comment(builder, item[2], path)
        yield builder.build()


def dumps(
    documents: Iterable[Document], *, options: SemEval2010Options = SemEval2010Options()
) -> str:
    """Return the items; a document without a relation is only its sentence."""
    end = "\r\n" if options.crlf else "\n"
    return "".join(line + end for document in documents for line in _format_item(document, options))


def _split_items(text: str, path: str) -> Iterator[list[Line]]:
    """Yield the lines of each item: a sentence, its relation and its comment if present."""
    item: list[Line] = []
    for line in lines(text):
        if not line.text.strip():
            continue
        if _SENTENCE.fullmatch(line.text):
            if item:
                yield item
            item = []
        elif not item:
            problem = f'expected a number, a tab and "a sentence", got {line.text!r:.60}'
            raise FormatError(path, line.number, problem)
        elif len(item) == 3:
            problem = f"expected a blank line or a sentence, got {line.text!r:.60}"
            raise FormatError(path, line.number, problem)
        item.append(line)
    if item:
        yield item


def _split_sentence(line: Line, path: str) -> tuple[str, str]:
    """Return the number of a sentence and the text between its quotes."""
    match = _SENTENCE.fullmatch(line.text)
    if match is None:
        raise FormatError(path, line.number, f"expected a sentence, got {line.text!r:.60}")
    return match[1], match[2]


def _remove_tags(sentence: str, path: str, number: int) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return the text without tags, and the bounds of each entity; raises ``FormatError``."""
    parts: list[str] = []
    offsets: dict[str, int] = {}  # tag -> character
    end = size = 0
    for match in _TAG.finditer(sentence):
        parts.append(sentence[end : match.start()])
        size, end = size + match.start() - end, match.end()
        opens = f"<{match[2]}>"
        if match[0] in offsets or (match[1] and opens not in offsets):
            problem = f"expected {opens} and </{match[2]}> once each, in that order"
            raise FormatError(path, number, f"{problem}, got {match[0]}")
        offsets[match[0]] = size
    for name in _ENDS:
        if f"<{name}>" in offsets and f"</{name}>" not in offsets:
            raise FormatError(path, number, f"expected </{name}> after <{name}>, got none")
    bounds = {
        name: (offsets[f"<{name}>"], offsets[f"</{name}>"])
        for name in _ENDS
        if f"<{name}>" in offsets
    }
    return "".join([*parts, sentence[end:]]), bounds


def _add_relation(
    builder: DocumentBuilder,
    ends: dict[str, str],
    line: Line,
    path: str,
    options: SemEval2010Options,
) -> None:
    """Add the relation of a line; raises ``FormatError``."""
    match = _DIRECTED.fullmatch(line.text)
    if match and match[1] not in options.undirected:
        label, (head, tail) = match[1], match[2].split(",")
    elif line.text in options.undirected:
        label, (head, tail) = line.text, _ENDS
    else:
        choices = f"LABEL(e1,e2), LABEL(e2,e1) or {', '.join(options.undirected)}"
        raise FormatError(path, line.number, f"expected {choices}, got {line.text!r:.60}")
    if len(ends) < len(_ENDS):
        got = ", ".join(ends) or "none"
        problem = f"expected <e1> and <e2> in the sentence of a relation, got {got}"
        raise FormatError(path, line.number, problem)
    builder.relation(LAYER, label, ends[head], ends[tail])


def _add_comment(builder: DocumentBuilder, line: Line, path: str) -> None:
    """Keep the text after ``Comment:``; raises ``FormatError`` for another line."""
    if not line.text.startswith("Comment:"):
        raise FormatError(path, line.number, f"expected Comment:, got {line.text!r:.60}")
    comment = line.text.removeprefix("Comment:")
    if comment:
        builder.meta.append((COMMENT, comment))


def _format_item(document: Document, options: SemEval2010Options) -> Iterator[str]:
    """Yield the lines of a document."""
    spans = document.layer_or_empty(LAYER).spans
    ends: dict[str, Span] = {}
    for span in spans:
        if span.label in _ENDS and len(span.fragments) == 1:
            ends.setdefault(span.label, span)
    yield f'{" ".join(id_in_file(document).split()) or "_"}\t"{_insert_tags(document.text, ends)}"'
    relation = _format_relation(document, ends, options) if len(ends) == len(_ENDS) else None
    if relation is not None:
        yield relation
        yield "Comment:" + dict(document.meta).get(COMMENT, "").replace("\n", " ")
        yield ""


def _insert_tags(text: str, ends: Mapping[str, Span]) -> str:
    """Return a text on one line with its tags; a blank breaks text that only looks like a tag."""
    tags: list[tuple[int, int, int, str]] = []  # offset, then the order of tags at this offset
    for name, span in ends.items():
        width = span.end - span.start
        tags.append((span.start, 1 + bool(width), -width, f"<{name}>"))
        tags.append((span.end, not width, max(1, width), f"</{name}>"))
    parts: list[str] = []
    end = 0
    for offset, *_, tag in sorted(tags):
        parts += [_TAG.sub(r"< \1\2>", text[end:offset]), tag]
        end = offset
    return "".join([*parts, _TAG.sub(r"< \1\2>", text[end:])]).replace("\n", " ")


def _format_relation(
    document: Document, ends: Mapping[str, Span], options: SemEval2010Options
) -> str | None:
    """Return the first relation between both entities that can be written."""
    names = {span.id: name for name, span in ends.items()}
    for relation in document[LAYER].relations:
        head, tail = names.get(relation.head), names.get(relation.tail)
        if head is None or tail is None or head == tail:
            continue
        if (
            relation.label in options.undirected
            and head == _ENDS[0]
            and _LABEL.fullmatch(relation.label)
        ):
            return relation.label
        if relation.label not in options.undirected and _LABEL.fullmatch(relation.label):
            return f"{relation.label}({head},{tail})"
    return None


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by a first sentence with its tags."""
    return re.match(r'\s*\d+\t"[^\n]*<e1>[^\n]*</e1>[^\n]*"\r?(\n|$)', head) is not None


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".txt",),
    '1\t"The <e1>dome</e1> of the <e2>temple</e2> is golden."\r\nComponent-Whole(e1,e2)\r\n'
    "Comment: seen from outside\r\n\r\n"
    '2\t"A <e1>child</e1> drew the <e2>sea</e2>."\r\nOther\r\nComment:\r\n\r\n'
    '3\t"The <e1>wine</e1> comes from <e2>grapes</e2>."\r\n',
    SemEval2010Options,
)
