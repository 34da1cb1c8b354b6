"""Documents as sentences of CoNLL-U: comments and rows, from words, text and layers.

What a document says that no cell can hold is passed over.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spanloom.document import SENTENCES, WORDS, Attribute, Document, Span
from spanloom.formats._laid import Laid
from spanloom.formats._names import numbered, own
from spanloom.formats._universal import (
    COLUMNS,
    DEPREL,
    DEPS,
    FEATS,
    FORM,
    GLUED,
    HEAD,
    ID,
    LEMMA,
    MISC,
    NAMES,
    NEWDOC_ID,
    NONE,
    SENT_ID,
    TEXT,
    TOKENS,
    UNMARKED,
    UPOS,
    XPOS,
    comment,
    joined,
    newdoc_of,
)

_BREAKS = str.maketrans("\t\n\r", "   ")
_LINE_BREAKS = str.maketrans("\n\r", "  ")  # a comment may have tabs

Cells = list[str]


@dataclass(frozen=True, slots=True)
class Block:
    """A sentence to be written; ``before`` are the rows between its words, by the next word.

    ``told`` are items of MISC that text and layers tell, ``further`` the cells after MISC, both by
    the id of a node.
    """

    text: str
    comments: list[tuple[str, str | None]]
    words: list[Cells]
    before: dict[int, list[Cells]] = field(default_factory=dict)
    told: dict[str, dict[str, str]] = field(default_factory=dict)
    further: dict[str, Cells] = field(default_factory=dict)

    def nodes(self) -> list[Cells]:
        """Return words and empty nodes, as they stand."""
        return [row for row in self.rows() if "-" not in row[ID]]

    def rows(self) -> Iterator[Cells]:
        """Yield all rows in order."""
        for place in range(len(self.words) + 1):
            yield from self.before.get(place, ())
            yield from self.words[place : place + 1]

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines, with ``width`` columns after MISC."""
        yield from (spelt(*each) for each in self.comments)
        for row in self.rows():
            items = [] if row[MISC] == NONE else row[MISC].split("|")
            row[MISC] = joined(items, self.told.get(row[ID], {}))
            yield "\t".join([*row, *self.further.get(row[ID], [NONE] * width)])


def spelt(key: str, value: str | None) -> str:
    """Return a comment's line."""
    if key == "#":
        return f"#{value or ''}".translate(_LINE_BREAKS)
    return (f"# {key}" if value is None else f"# {key} = {value}").translate(_LINE_BREAKS)


def fits(value: str | None) -> bool:
    """Whether a cell can hold that."""
    return value not in (None, "", NONE) and value.translate(_BREAKS) == value


def blocks(laid: Laid) -> list[Block]:
    """Return the sentences of a document with everything but what further formats add."""
    found = _bare(laid)
    _add_tokens(found, laid)
    _add_arcs(found, laid)
    _add_graph(found, laid)
    for number, block in enumerate(found):
        _glue(block, laid.spaces(laid.words.sentences[number]))
    return found


def mark(found: Sequence[tuple[Document, list[Block]]], complete: bool) -> None:
    """Add the comments that part documents; ``complete``: and those that sentences lack."""
    number = 0
    plain = []
    for document, many in found:
        plain.append(len(many) == 1 and _is_its_sentence(document, many[0], number + 1))
        number += len(many)
    for place, (document, many) in enumerate(found):
        name = own(document) or numbered(place + 1)
        first = place == 0 and UNMARKED in document.meta
        if many and not all(plain) and not first and not _marked(many[0]):
            many[0].comments.insert(0, (NEWDOC_ID, name))
        for nth, block in enumerate(many if complete else (), 1):
            keys = {key for key, _ in block.comments}
            if SENT_ID not in keys:
                block.comments.append((SENT_ID, f"{name}-{nth}"))
            if TEXT not in keys:
                block.comments.append((TEXT, block.text))


def row_of(laid: Laid) -> dict[str, int]:
    """Return which word each span of one word is, by its id, over all layers."""
    starts = {bounds: row for row, bounds in enumerate(laid.words.words)}
    found = {}
    for layer in laid.document.layers:
        for span in layer.spans:
            row = starts.get(span.fragments[0])
            if row is not None and len(span.fragments) == 1:
                found[span.id] = row
    return found


def after(laid: Laid, places: list[tuple[int, int]], start: int) -> tuple[int, int]:
    """Return the sentence of a place in the text, and how many of its words end before it."""
    bounds = laid.words.words
    done = bisect_right(bounds, start, key=lambda each: each[1])
    if done < len(places) and places[done][1] == 0 and bounds[done][0] == start:
        return places[done]
    if done == 0:
        return 0, 0
    number, word = places[done - 1]
    return number, word + 1


def places_of(laid: Laid) -> list[tuple[int, int]]:
    """Return the sentence of each word, and which of its words it is."""
    many = enumerate(laid.words.sentences)
    return [(number, row) for number, (first, end) in many for row in range(end - first)]


def attributes_of(document: Document, layer: str) -> Mapping[str, list[Attribute]]:
    """Return a layer's attributes by what they are about."""
    found: dict[str, list[Attribute]] = {}
    for each in document[layer].attributes if document.has(layer) else ():
        found.setdefault(each.target, []).append(each)
    return found


def _is_its_sentence(document: Document, block: Block, number: int) -> bool:
    """Whether a document of one sentence has the name that it gets where nothing parts any."""
    said = next((value for key, value in block.comments if key == SENT_ID), None)
    return not _marked(block) and own(document) in ("", said or numbered(number))


def _marked(block: Block) -> bool:
    return any(newdoc_of(each) is not None for each in block.comments)


def _bare(laid: Laid) -> list[Block]:
    """Return blocks with comments, and words with forms, their own attributes and tags."""
    words, sentences = laid.values(WORDS), laid.values(SENTENCES)
    numbers = laid.numbers
    layer = laid.document[SENTENCES].spans if numbers else ()
    spans = {numbers[span.id]: span for span in layer if span.id in numbers}
    tags = {column: _tags(laid, NAMES[column]) for column in (UPOS, XPOS)}
    found = []
    for number, (first, end) in enumerate(laid.words.sentences):
        text = _text(laid, first, end, spans.get(number))
        comments = [_comment(each, text) for each in sentences.get(number, ())]
        block = Block(text, [each for each in comments if comment(spelt(*each)[1:]) == each], [])
        for row in range(first, end):
            cells = _cells(str(row - first + 1), laid.forms[row])
            _fill(cells, words.get(row, ()), (LEMMA, FEATS, DEPREL, MISC))
            for column, tagged in tags.items():
                cells[column] = tagged.get(row, NONE)
            block.words.append(cells)
        found.append(block)
    return found


def _comment(said: Attribute, text: str) -> tuple[str, str | None]:
    """Return a sentence's attribute as a comment; one of its text has no value of its own."""
    own = said.label == TEXT and said.value is None
    return said.label, text if own else said.value


def _text(laid: Laid, first: int, end: int, span: Span | None) -> str:
    """Return the text of a sentence: what its span holds, at least from first to last word."""
    start, stop = laid.words.words[first][0], laid.words.words[end - 1][1]
    if span:
        start, stop = min(start, span.start), max(stop, span.end)
    return laid.document.text[start:stop].translate(_LINE_BREAKS)


def _tags(laid: Laid, layer: str) -> dict[int, str]:
    """Return the first label of each word that a layer has."""
    found: dict[int, str] = {}
    if laid.document.has(layer):
        rows = row_of(laid)
        for span in laid.document[layer].spans:
            if span.id in rows and fits(span.label):
                found.setdefault(rows[span.id], span.label)
    return found


def _cells(number: str, form: str) -> Cells:
    """Return a row of nothing but an id and a form."""
    cells = [NONE] * len(COLUMNS)
    cells[ID], cells[FORM] = number, form.translate(_BREAKS) or NONE
    return cells


def _fill(cells: Cells, said: Iterable[Attribute], columns: Iterable[int]) -> None:
    """Write attributes into the cells that they are called after, the first of each."""
    places = {NAMES[column]: column for column in columns}
    for each in said:
        column = places.pop(each.label, None)
        if column is not None and each.value is not None and fits(each.value):
            cells[column] = each.value


def _add_tokens(found: list[Block], laid: Laid) -> None:
    """Add the rows of tokens over words; of two that share a word the first stays."""
    by_target = attributes_of(laid.document, TOKENS)
    for block, spans in zip(found, laid.by_sentence(TOKENS)[0], strict=True):
        done = 0
        for first, end, span in sorted(spans, key=lambda each: each[:2]):
            if first >= done:
                cells = _cells(f"{first + 1}-{end}", laid.document.cover(span))
                _fill(cells, by_target.get(span.id, ()), range(FORM, MISC + 1))
                block.before.setdefault(first, []).append(cells)
                done = end


def _add_arcs(found: list[Block], laid: Laid) -> None:
    """Add heads and what they are called: a word has one head, the first that is said."""
    if not laid.document.has("dependency"):
        return
    rows, places = row_of(laid), places_of(laid)
    for each in laid.document["dependency"].relations:
        if each.head not in rows or each.tail not in rows or not fits(each.label + "."):
            continue
        number, head = places[rows[each.head]]
        other, tail = places[rows[each.tail]]
        cells = found[other].words[tail]
        if number == other and cells[HEAD] == NONE and each.label:
            cells[HEAD] = "0" if head == tail else str(head + 1)
            cells[DEPREL] = each.label


def _add_graph(found: list[Block], laid: Laid) -> None:
    """Add empty nodes and enhanced heads, these in the order of their layer."""
    if not laid.document.has("enhanced"):
        return
    places = places_of(laid)
    nodes = {key: places[row] for key, row in row_of(laid).items()}
    rows = {key: (number, found[number].words[word]) for key, (number, word) in nodes.items()}
    by_target = attributes_of(laid.document, "enhanced")
    for key, (_, cells) in rows.items():
        _fill(cells, by_target.get(key, ()), (DEPS,))
    rows |= _empty(found, laid, by_target)
    for block in found:
        heads = {"0", *(cells[ID] for cells in block.nodes())}
        for cells in block.nodes():
            edges = (item.partition(":") for item in cells[DEPS].split("|"))
            if not all(head in heads and label for head, _, label in edges):
                cells[DEPS] = NONE
    for each in laid.document["enhanced"].relations:
        if each.head not in rows or each.tail not in rows:
            continue
        (number, head), (other, cells) = rows[each.head], rows[each.tail]
        if number == other and fits(each.label + ".") and each.label and "|" not in each.label:
            before = "" if cells[DEPS] == NONE else f"{cells[DEPS]}|"
            cells[DEPS] = f"{before}{'0' if head is cells else head[ID]}:{each.label}"


def _empty(
    found: list[Block], laid: Laid, by_target: Mapping[str, list[Attribute]]
) -> dict[str, tuple[int, Cells]]:
    """Add the rows of empty nodes; return each with its sentence, by the id of its span."""
    places = places_of(laid)
    made = {}
    for span in laid.document["enhanced"].spans if found else ():
        if span.start < span.end:
            continue
        number, word = after(laid, places, span.start)
        rows = found[number].before.setdefault(word, [])
        many = sum("." in row[ID] for row in rows)
        cells = _cells(f"{word}.{many + 1}", NONE)
        _fill(cells, by_target.get(span.id, ()), range(FORM, MISC + 1))
        rows.insert(many, cells)  # before a token
        made[span.id] = number, cells
    return made


def _glue(block: Block, spaces: list[bool]) -> None:
    """Say of each token, and of each word that is none's, whether no blank follows."""
    before = block.before.items()
    over = {place: row for place, rows in before for row in rows if "-" in row[ID]}
    number = 0
    while number < len(block.words):
        row = over.get(number, block.words[number])
        end = int(row[ID].partition("-")[2] or number + 1)
        if end < len(block.words) and not spaces[end - 1]:
            block.told.setdefault(row[ID], {})[GLUED[0]] = GLUED[1]
        number = end
