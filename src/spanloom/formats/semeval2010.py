"""SemEval-2010 task 8: a sentence with two marked entities, and how they are related.

::

    1→"The <e1>dome</e1> of the <e2>temple</e2> is golden."
    Component-Whole(e1,e2)
    Comment:

→ is a tab; a blank line ends an item. ``(e1,e2)`` is a relation from e1 to e2, ``(e2,e1)`` one from
e2 to e1; relations without direction (``Other``) go from e1 to e2. A file without answers has the
sentences alone. (Hendrickx et al., 2010)

A document is a sentence: raw text, spans ``e1`` and ``e2`` and the relation in layer ``entities``;
what follows ``Comment:`` stands in ``meta``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import Document, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._lines import Line, lines
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing

LAYER = "entities"
COMMENT = "comment"

_ENDS = ("e1", "e2")
_SENTENCE = re.compile(r'([^\t\s](?:[^\t]*[^\t\s])?)\t"(.*)"')
_TAG = re.compile(r"<(/?)(e[12])>")
_LABEL = re.compile(r"[^\s](?:[^\t\n]*[^\s])?")
_DIRECTED = re.compile(rf"({_LABEL.pattern})\((e1,e2|e2,e1)\)")


class SemEval2010Options(Options):
    """How relations and lines are spelt."""

    undirected: tuple[str, ...] = Field(
        default=("Other",), description="relations without a direction; they go from e1 to e2"
    )
    crlf: bool = Field(
        default=True, description="whether a written line ends in CR LF, as in the release"
    )


def loads(
    text: str, *, path: str = "<string>", options: SemEval2010Options = SemEval2010Options()
) -> Iterator[Document]:
    """Yield a document a sentence; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    for item in _items(text, path):
        number, said, sentence = item[0].number, *_parted(item[0], path)
        made = names.making(said)
        plain, bounds = _untagged(sentence, path, number)
        made.raw(plain)
        made.layer(LAYER)
        ends = {name: made.span(LAYER, name, bounds[name]) for name in _ENDS if name in bounds}
        if len(item) > 1:
            _relate(made, ends, item[1], path, options)
        if len(item) > 2:
            _comment(made, item[2], path)
        yield made.done()


def dumps(
    documents: Iterable[Document], *, options: SemEval2010Options = SemEval2010Options()
) -> str:
    """Return the items; of a document without a relation the sentence alone."""
    end = "\r\n" if options.crlf else "\n"
    return "".join(line + end for each in documents for line in _item(each, options))


def _items(text: str, path: str) -> Iterator[list[Line]]:
    """Yield the lines of each item: a sentence, its relation, its comment; the last two if any."""
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


def _parted(line: Line, path: str) -> tuple[str, str]:
    """Return the number of a sentence and what stands between its quotes."""
    match = _SENTENCE.fullmatch(line.text)
    if match is None:
        raise FormatError(path, line.number, f"expected a sentence, got {line.text!r:.60}")
    return match[1], match[2]


def _untagged(sentence: str, path: str, number: int) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return the text without tags, and the characters between each pair of them."""
    pieces: list[str] = []
    places: dict[str, int] = {}  # tag -> character
    last = size = 0
    for match in _TAG.finditer(sentence):
        pieces.append(sentence[last : match.start()])
        size, last = size + match.start() - last, match.end()
        opens = f"<{match[2]}>"
        if match[0] in places or (match[1] and opens not in places):
            problem = f"expected {opens} and </{match[2]}> once each, in that order"
            raise FormatError(path, number, f"{problem}, got {match[0]}")
        places[match[0]] = size
    for name in _ENDS:
        if f"<{name}>" in places and f"</{name}>" not in places:
            raise FormatError(path, number, f"expected </{name}> after <{name}>, got none")
    bounds = {
        name: (places[f"<{name}>"], places[f"</{name}>"]) for name in _ENDS if f"<{name}>" in places
    }
    return "".join([*pieces, sentence[last:]]), bounds


def _relate(
    made: Making, ends: dict[str, str], line: Line, path: str, options: SemEval2010Options
) -> None:
    """Add the relation of a line."""
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
    made.relation(LAYER, label, ends[head], ends[tail])


def _comment(made: Making, line: Line, path: str) -> None:
    """Keep what a line says after ``Comment:``."""
    if not line.text.startswith("Comment:"):
        raise FormatError(path, line.number, f"expected Comment:, got {line.text!r:.60}")
    said = line.text.removeprefix("Comment:")
    if said:
        made.meta.append((COMMENT, said))


def _item(document: Document, options: SemEval2010Options) -> Iterator[str]:
    """Yield the lines of a document."""
    spans = document[LAYER].spans if document.has(LAYER) else ()
    ends: dict[str, Span] = {}
    for span in spans:
        if span.label in _ENDS and len(span.fragments) == 1:
            ends.setdefault(span.label, span)
    yield f'{" ".join(own(document).split()) or "_"}\t"{_tagged(document.text, ends)}"'
    said = _relation(document, ends, options) if len(ends) == len(_ENDS) else None
    if said is not None:
        yield said
        yield "Comment:" + dict(document.meta).get(COMMENT, "").replace("\n", " ")
        yield ""


def _tagged(text: str, ends: Mapping[str, Span]) -> str:
    """Return a text on one line with its tags; what only looks like a tag gets a blank."""
    tags: list[tuple[int, int, int, str]] = []  # character, then what stands first there
    for name, span in ends.items():
        width = span.end - span.start
        tags.append((span.start, 1 + bool(width), -width, f"<{name}>"))
        tags.append((span.end, not width, max(1, width), f"</{name}>"))
    pieces: list[str] = []
    last = 0
    for place, *_, tag in sorted(tags):
        pieces += [_TAG.sub(r"< \1\2>", text[last:place]), tag]
        last = place
    return "".join([*pieces, _TAG.sub(r"< \1\2>", text[last:])]).replace("\n", " ")


def _relation(
    document: Document, ends: Mapping[str, Span], options: SemEval2010Options
) -> str | None:
    """Return the first relation between both ends that can be spelt."""
    names = {span.id: name for name, span in ends.items()}
    for each in document[LAYER].relations:
        head, tail = names.get(each.head), names.get(each.tail)
        if head is None or tail is None or head == tail:
            continue
        if each.label in options.undirected and head == _ENDS[0] and _LABEL.fullmatch(each.label):
            return each.label
        if each.label not in options.undirected and _LABEL.fullmatch(each.label):
            return f"{each.label}({head},{tail})"
    return None


def _lost(document: Document, options: SemEval2010Options) -> Losses:
    """Count all but one pair of entities and its relation."""
    again = loads(dumps([document], options=options), options=options)
    return missing(document, again)


def _looks(head: str, name: str) -> bool:
    """Tell by a first sentence with its tags."""
    return re.match(r'\s*\d+\t"[^\n]*<e1>[^\n]*</e1>[^\n]*"\r?(\n|$)', head) is not None


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".txt",),
    '1\t"The <e1>dome</e1> of the <e2>temple</e2> is golden."\r\nComponent-Whole(e1,e2)\r\n'
    "Comment: seen from outside\r\n\r\n"
    '2\t"A <e1>child</e1> drew the <e2>sea</e2>."\r\nOther\r\nComment:\r\n\r\n'
    '3\t"The <e1>wine</e1> comes from <e2>grapes</e2>."\r\n',
    SemEval2010Options,
)
