"""Write a document as the lines of a WebAnno TSV 3 file."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby

from spanloom.document import SENTENCES, WORDS, Document, Fragment, Layer, Relation, Span
from spanloom.formats._webanno_schema import (
    ABSENT,
    CHAIN,
    COREF,
    FORMAT,
    LINK,
    META,
    NULL,
    RELATION,
    RELATION_TYPE,
    TEXT,
    TOKEN,
    Type,
    attributes_of,
    escape,
    escape_text,
    parse_type,
    types_of,
)


@dataclass(slots=True)
class _Row:
    """A word or a part of one, with the annotations of each type."""

    name: str
    start: int
    end: int
    spans: dict[int, list[str]] = field(default_factory=dict)  # ids by type
    relations: dict[int, list[str]] = field(default_factory=dict)


def write_document(document: Document) -> str:
    """Return the lines of a document."""
    header = dict(document.meta).get(META, f"{FORMAT}.3").split("\n")
    header = [line if (type_ := _type(line)) is None else type_.line() for line in header]
    types = [type_ for line in header if (type_ := _type(line))]
    more = types_of(document, types)
    writer = _Writer(document, [*types, *more])
    lines = [*header, *(type_.line() for type_ in more), "", *writer.lines()]
    return "\n".join(lines) + "\n"


def _type(line: str) -> Type | None:
    """Return the type of a header line, without slots, which refer to other rows' numbers."""
    try:
        type_ = parse_type(line)
    except ValueError:
        return None
    return None if type_ is None else type_.without_slots()


class _Writer:
    """Lays the annotations of a document on its words."""

    def __init__(self, document: Document, types: Sequence[Type]) -> None:
        """``types`` are the columns."""
        self.document, self.types = document, types
        self.layers = {layer.name: layer for layer in document.layers}
        self.attributes = {name: attributes_of(layer) for name, layer in self.layers.items()}
        self.spans = {span.id: span for layer in document.layers for span in layer.spans}
        self.relations = {one.id: one for layer in document.layers for one in layer.relations}
        self.sentences = _sentences(document)
        self.words = [word for _, words in self.sentences for word in words]
        self.word_ends = [end for _, end in self.words]
        self.parts: dict[int, set[tuple[int, int]]] = {}
        self.links = {
            row: _links(self._layer(type_), self._last_labels(type_))
            for row, type_ in enumerate(types)
            if type_.mark == CHAIN
        }
        units = {
            (row, span.id): self._units(span)
            for row, type_ in enumerate(types)
            if type_.mark != RELATION
            for span in self._layer(type_).spans
        }
        self.rows = self._rows()
        self.word_rows = {(row.start, row.end): row for row in self.rows if "." not in row.name}
        row_at = {(row.start, row.end, "." in row.name): row for row in self.rows}
        self.rows_of: dict[tuple[int, str], list[_Row]] = {}
        for (row, id), places in units.items():
            self.rows_of[row, id] = [row_at[place] for place in places]
            for place in places:
                row_at[place].spans.setdefault(row, []).append(id)
        self.numbers = self._numbers()
        self._place_relations()

    def _last_labels(self, type_: Type) -> dict[str, str]:
        """Return the labels of links that lead nowhere, by the last mentions of chains."""
        attributes = self.attributes.get(type_.layer, {})
        name = type_.features[0] if type_.features else ""
        return {id: values[name] for id, values in attributes.items() if values.get(name)}

    def _layer(self, type_: Type) -> Layer:
        return self.layers.get(type_.layer, Layer(type_.layer))

    def _units(self, span: Span) -> list[tuple[int, int, bool]]:
        """Return bounds of the words a span covers, and of parts of words; notes the parts."""
        units = []
        for start, end in _joined(span.fragments):
            word = bisect_right(self.word_ends, start)
            while word < len(self.words) and self.words[word][0] < end:
                a, b = self.words[word]
                part = max(a, start), min(b, end)
                if part != (a, b):
                    self.parts.setdefault(word, set()).add(part)
                units.append((*part, part != (a, b)))
                word += 1
        return units

    def _rows(self) -> list[_Row]:
        """Return the rows of all words and their parts."""
        rows: list[_Row] = []
        index = 0
        for number, (_, words) in enumerate(self.sentences, 1):
            for position, (start, end) in enumerate(words, 1):
                name = f"{number}-{position}"
                rows.append(_Row(name, start, end))
                parts = sorted(self.parts.get(index, ()))
                rows += (_Row(f"{name}.{n}", *part) for n, part in enumerate(parts, 1))
                index += 1
        return rows

    def _numbers(self) -> dict[tuple[int, str], int]:
        """Return the numbers of annotations that several rows, or several on one row, need."""
        numbers: dict[tuple[int, str], int] = {}
        for row in self.rows:
            for type_, ids in sorted(row.spans.items()):
                for id in ids:
                    if len(ids) > 1 or len(self.rows_of[type_, id]) > 1:
                        numbers.setdefault((type_, id), len(numbers) + 1)
        return numbers

    def _place_relations(self) -> None:
        """Put each relation on the first row of its target."""
        for index, type_ in enumerate(self.types):
            if type_.mark != RELATION:
                continue
            siblings = [t for t in self.types if t.mark == RELATION and t.layer == type_.layer]
            for relation in self._layer(type_).relations:
                values = self.attributes[type_.layer].get(relation.id, {})
                chosen = values.get(RELATION_TYPE, siblings[0].short_name)
                rows = self._end_rows(type_, relation.tail), self._end_rows(type_, relation.head)
                if chosen == type_.short_name and all(rows):
                    rows[0][0].relations.setdefault(index, []).append(relation.id)

    def _base(self, type_: Type) -> int | None:
        """Return the column of the type of a relation's ends; None for words."""
        names = [other.name if other.mark != RELATION else "" for other in self.types]
        return names.index(type_.base) if type_.base in names else None

    def _end_rows(self, type_: Type, id: str) -> list[_Row]:
        """Return the rows of an end of a relation."""
        base = self._base(type_)
        if base is not None:
            return self.rows_of.get((base, id), [])
        span = self.spans.get(id)
        if span is None or span.label != TOKEN:
            return []
        row = self.word_rows.get(span.fragments[0])
        return [] if row is None else [row]

    def lines(self) -> Iterator[str]:
        """Yield the lines of all sentences."""
        text = self.document.text
        units = [0, *accumulate(1 + (character > "\uffff") for character in text)]
        notes = self.attributes.get(SENTENCES, {})
        by_sentence = groupby(self.rows, lambda row: row.name.partition("-")[0])
        for (id, words), (_, rows) in zip(self.sentences, by_sentence, strict=True):
            yield ""
            yield from (f"#{key}={escape_text(value)}" for key, value in notes.get(id, {}).items())
            yield TEXT + escape_text(text[words[0][0] : words[-1][1]])
            for row in rows:
                form = escape_text(text[row.start : row.end])
                bounds = f"{units[row.start]}-{units[row.end]}"
                yield "\t".join([row.name, bounds, form, *self._cells(row), ""])

    def _cells(self, row: _Row) -> Iterator[str]:
        """Yield the cells of a row."""
        for index, type_ in enumerate(self.types):
            if type_.mark == RELATION:
                written = [self._relation(type_, index, id) for id in row.relations.get(index, ())]
            else:
                written = [self._span(index, id) for id in row.spans.get(index, ())]
            columns = zip(*written, strict=True) if written else [[ABSENT]] * type_.columns
            yield from ("|".join(column) for column in columns)

    def _span(self, index: int, id: str) -> list[str]:
        """Return the values of a span, each with its number."""
        type_ = self.types[index]
        span = self.spans[id]
        number = self.numbers.get((index, id))
        suffix = "" if number is None else f"[{number}]"
        values = self._values(type_, span)
        if type_.mark == CHAIN:
            values[0] = self.links[index][id]
        return [value + suffix for value in values]

    def _relation(self, type_: Type, index: int, id: str) -> list[str]:
        """Return the values of a relation, and the reference to its source."""
        relation = self.relations[id]
        base = self._base(type_)
        numbers = [
            0 if base is None else self.numbers.get((base, end), 0)
            for end in (relation.head, relation.tail)
        ]
        suffix = f"[{numbers[0]}_{numbers[1]}]" if any(numbers) else ""
        head = self._end_rows(type_, relation.head)[0].name
        return [*self._values(type_, relation)[: type_.columns - 1], head + suffix]

    def _values(self, type_: Type, annotation: Span | Relation) -> list[str]:
        """Return the features of an annotation as they are written."""
        values = dict(self.attributes[type_.layer].get(annotation.id, {}))
        if type_.label_feature is not None and annotation.label != type_.short_name:
            values[type_.label_feature] = annotation.label
        features = type_.features or ("",)
        return [escape(values[name]) if values.get(name) else NULL for name in features]


def _sentences(document: Document) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return the sentences that have words: id of the span, and bounds of the words."""
    if not document.has_layer(WORDS):
        return []
    words = sorted({(w.start, w.end) for w in document[WORDS].spans if w.start < w.end})
    given = document.layer_or_empty(SENTENCES).spans
    spans = sorted(given, key=lambda span: span.start)
    starts = [span.start for span in spans]
    by_sentence: dict[int, list[tuple[int, int]]] = {}
    for word in words:
        by_sentence.setdefault(max(0, bisect_right(starts, word[0]) - 1), []).append(word)
    return [(spans[row].id if spans else "", words) for row, words in by_sentence.items()]


def _joined(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Return fragments in the order of the text; those that touch as one, without empty ones."""
    joined: list[Fragment] = []
    for start, end in sorted(fragments):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], end
        elif start < end:
            joined.append((start, end))
    return joined


def _links(layer: Layer, last_labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return the link of each mention: label, chain and place (``coref->1-2``)."""
    before = {relation.head: relation for relation in reversed(layer.relations)}
    after = {relation.tail: relation for relation in before.values()}
    mentions = [span.id for span in layer.spans]
    firsts = [id for id in mentions if id not in before]
    links: dict[str, str] = {}
    for chain, first in enumerate([*firsts, *mentions], 1):  # circles have no first mention
        mention, place = first, 1
        while mention not in links:
            relation = after.get(mention)
            label = relation.label if relation else last_labels.get(mention, COREF)
            written = NULL if label == COREF else escape(label)
            links[mention] = f"{written}{LINK}{chain}-{place}"
            mention, place = relation.head if relation else mention, place + 1
    return links
