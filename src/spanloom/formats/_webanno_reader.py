"""Read the lines of a WebAnno TSV 3 file into a document."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Document
from spanloom.formats._document_builder import DocumentBuilder, default_name
from spanloom.formats._text import Line, errors_at
from spanloom.formats._utf16 import UnitOffsets, num_units
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
    SLOT,
    TEXT,
    TOKEN,
    Type,
    items,
    parse_type,
    unescape,
)
from spanloom.formats._webanno_text import Gaps, SentencePlacer

_ROW = re.compile(r"([0-9]{1,9}-[0-9]{1,9})(\.[0-9]{1,9})?\t([0-9]{1,9})-([0-9]{1,9})\t(.*)")
_REFERENCE = re.compile(r"([0-9]+-[0-9]+(?:\.[0-9]+)?)(?:\[([0-9]{1,9})_([0-9]{1,9})\])?")
_PLACE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


@dataclass(slots=True)
class _Row:
    """A word or a part of one: its name (``1-2``), bounds in UTF-16 units, form and cells."""

    line: int
    name: str
    is_part: bool
    start: int
    end: int
    form: str
    cells: list[str]


@dataclass(slots=True)
class _Sentence:
    line: int
    lines: list[str]
    notes: list[str] = field(default_factory=list)
    rows: list[_Row] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its lines as one text."""
        return "\n".join(self.lines)


@dataclass(slots=True)
class _Annotation:
    """An annotation of a type: values, indices of its rows, number (0: none), and id."""

    type_: Type
    values: list[str]
    rows: list[int]
    line: int
    number: int = 0
    id: str = ""


def read_document(block: Sequence[Line], number: int, path: str, gaps: Gaps) -> Document:
    """Return the document of some lines; raises ``FormatError`` with the line."""
    reader = _Reader(path, DocumentBuilder(default_name(number)))
    for line in block:
        with errors_at(path, line.number):
            reader.add_line(line)
    return reader.build(block[0].number, gaps)


class _Reader:
    """Collects the lines of a document, then builds it."""

    def __init__(self, path: str, builder: DocumentBuilder) -> None:
        """Begin without lines."""
        self.path, self.builder = path, builder
        self.types: list[Type] = []
        self.header: list[str] = []
        self.sentences: list[_Sentence] = []
        self.notes: list[str] = []

    def add_line(self, line: Line) -> None:
        """Add a line; raises ``ValueError``."""
        text = line.text
        if text.startswith(TEXT):
            added = unescape(text.removeprefix(TEXT))
            if self.sentences and not self.sentences[-1].rows and not self.notes:
                self.sentences[-1].lines.append(added)
            else:
                self.sentences.append(_Sentence(line.number, [added], self.notes))
                self.notes = []
        elif text.startswith("#") and not _ROW.match(text):
            self._add_comment(text)
        elif text.strip():
            if not self.sentences:
                raise ValueError(f"expected {TEXT} before the first word, got {text:.60}")
            self.sentences[-1].rows.append(self._parse_row(line))

    def _add_comment(self, text: str) -> None:
        if self.sentences:
            self.notes.append(text[1:])
            return
        type_ = parse_type(text)
        if type_ is not None:
            self.types.append(type_)
        self.header.append(text)

    def _parse_row(self, line: Line) -> _Row:
        match = _ROW.fullmatch(line.text)
        if match is None:
            raise ValueError(f"expected SENTENCE-WORD, START-END and a word, got {line.text:.60}")
        name, part, start, end, rest = match.groups()
        form, *cells = rest.split("\t")
        if cells and not cells[-1]:
            cells.pop()
        num_columns = sum(type_.columns for type_ in self.types)
        if len(cells) != num_columns:
            raise ValueError(f"expected {num_columns} columns after the word, got {len(cells)}")
        is_part = part is not None
        return _Row(line.number, name + (part or ""), is_part, int(start), int(end), form, cells)

    def build(self, first_line: int, gaps: Gaps) -> Document:
        """Return the document; raises ``FormatError``."""
        with errors_at(self.path, first_line):
            if self.header and self.header[0].startswith(FORMAT):
                self.builder.meta.append((META, "\n".join(self.header)))
            text = self._build_text(gaps)
            offsets = UnitOffsets(text)
            self.builder.add_text(text)
            for layer in (WORDS, SENTENCES, *(type_.layer for type_ in self.types)):
                self.builder.layer(layer)
        rows = [row for sentence in self.sentences for row in sentence.rows]
        bounds = [self._bounds(row, text, offsets) for row in rows]
        first = 0
        for sentence in self.sentences:
            last = first + len(sentence.rows)
            self._add_words(sentence, bounds[first:last])
            first = last
        annotations, relations = self._collect(rows)
        self._add_annotations(annotations, relations, rows, bounds)
        with errors_at(self.path, first_line):
            return self.builder.build()

    def _build_text(self, gaps: Gaps) -> str:
        """Return the text, the sentences at the offsets of their words."""
        placer = SentencePlacer(gaps)
        for sentence in self.sentences:
            start = None
            if sentence.rows:
                before = sentence.text.find(unescape(sentence.rows[0].form))
                start = sentence.rows[0].start - num_units(sentence.text[: max(0, before)])
            with errors_at(self.path, sentence.line):
                placer.add(sentence.text, start)
        return placer.text()

    def _bounds(self, row: _Row, text: str, offsets: UnitOffsets) -> tuple[int, int]:
        """Return the characters of a row; raises ``FormatError`` if they are not its form."""
        with errors_at(self.path, row.line):
            start, end = offsets.point(row.start), offsets.point(row.end)
            covered = text[start:end] if 0 <= start <= end else ""
            is_empty = row.is_part and 0 <= start == end
            if covered not in (row.form, unescape(row.form)) or not (covered or is_empty):
                raise ValueError(
                    f"expected {row.form!r:.40} at {row.start}-{row.end}, the text "
                    f"has {covered!r:.40}"
                )
            return start, end

    def _add_words(self, sentence: _Sentence, bounds: Sequence[tuple[int, int]]) -> None:
        words = [bound for row, bound in zip(sentence.rows, bounds, strict=True) if not row.is_part]
        with errors_at(self.path, sentence.line):
            for word in words:
                self.builder.span(WORDS, WORD, word)
            if not words:
                return
            span = self.builder.span(SENTENCES, SENTENCE, (words[0][0], words[-1][1]))
            for note in sentence.notes:
                key, _, value = note.partition("=")
                self.builder.attribute(SENTENCES, key.strip() or NULL, span, value)

    def _collect(self, rows: Sequence[_Row]) -> tuple[list[_Annotation], list[_Annotation]]:
        """Return spans with all their rows, and relations with the row of their target."""
        spans: list[_Annotation] = []
        numbered: dict[tuple[str, int], _Annotation] = {}
        relations: list[_Annotation] = []
        for index, row in enumerate(rows):
            with errors_at(self.path, row.line):
                for type_, values, number in _stacked(self.types, row.cells):
                    known = numbered.get((type_.name, number)) if number else None
                    annotation = known or _Annotation(type_, values, [], row.line, number)
                    annotation.rows.append(index)
                    if number:
                        numbered[type_.name, number] = annotation
                    if known is None:
                        (relations if type_.mark == RELATION else spans).append(annotation)
        return spans, relations

    def _add_annotations(
        self,
        spans: Sequence[_Annotation],
        relations: Sequence[_Annotation],
        rows: Sequence[_Row],
        bounds: Sequence[tuple[int, int]],
    ) -> None:
        """Add spans, chains and relations."""
        words = [*accumulate((0 if row.is_part else n for n, row in enumerate(rows)), max)]
        ends = _Ends({row.name: bound for row, bound in zip(rows, bounds, strict=True)})
        chains: dict[tuple[Type, int], list[tuple[int, str, str]]] = {}
        for span in spans:
            with errors_at(self.path, span.line):
                fragments = _fragments(span.rows, words, bounds)
                span.id = self.builder.span(
                    span.type_.layer, span.type_.label(span.values), *fragments
                )
                if span.type_.mark == CHAIN:
                    label, chain, order = _link(span.values[0])
                    chains.setdefault((span.type_, chain), []).append((order, span.id, label))
                else:
                    self._add_features(span)
                for row in span.rows:
                    ends.add(span, rows[row].name)
        for (type_, _), mentions in chains.items():
            self._add_chain(type_, sorted(mentions))
        for relation in relations:
            with errors_at(self.path, relation.line):
                *relation.values, reference = relation.values
                tail, head = ends.of(self.builder, relation, rows[relation.rows[0]].name, reference)
                layer, label = relation.type_.layer, relation.type_.label(relation.values)
                relation.id = self.builder.relation(layer, label, head, tail)
                self._add_features(relation)
                siblings = {
                    type_.name
                    for type_ in self.types
                    if type_.mark == RELATION and type_.layer == layer
                }
                if len(siblings) > 1:
                    name = relation.type_.short_name
                    self.builder.attribute(layer, RELATION_TYPE, relation.id, name)

    def _add_chain(self, type_: Type, mentions: Sequence[tuple[int, str, str]]) -> None:
        """Add the links of a chain; a label that the last mention has leads nowhere."""
        for (_, before, label), (_, mention, _) in pairwise(mentions):
            self.builder.relation(type_.layer, COREF if label == NULL else label, mention, before)
        _, last, label = mentions[-1]
        if label != NULL:
            self.builder.attribute(type_.layer, type_.features[0], last, label)

    def _add_features(self, annotation: _Annotation) -> None:
        """Add the features that are no label as attributes."""
        type_ = annotation.type_
        for name, value in zip(type_.features, annotation.values, strict=False):
            if value != NULL and name != type_.label_feature:
                self.builder.attribute(type_.layer, name, annotation.id, unescape(value))


class _Ends:
    """The spans that relations refer to by row and number."""

    def __init__(self, bounds: Mapping[str, tuple[int, int]]) -> None:
        """``bounds`` are the characters of rows by name."""
        self._bounds = bounds
        self._numbered: dict[tuple[str, int], str] = {}
        self._at_row: dict[tuple[str, str], str] = {}

    def add(self, span: _Annotation, row: str) -> None:
        """Add a span at one of its rows."""
        self._numbered[span.type_.name, span.number] = span.id
        self._at_row.setdefault((span.type_.name, row), span.id)

    def of(
        self, builder: DocumentBuilder, relation: _Annotation, row: str, reference: str
    ) -> tuple[str, str]:
        """Return target and source of a relation; raises ``ValueError`` for one that is missing."""
        match = _REFERENCE.fullmatch(reference)
        if match is None:
            raise ValueError(f"expected a word such as 1-2 or 1-2[3_4], got {reference:.60}")
        source, target = int(match[2] or 0), int(match[3] or 0)
        return (
            self._end(builder, relation.type_, row, target),
            self._end(builder, relation.type_, match[1], source),
        )

    def _end(self, builder: DocumentBuilder, type_: Type, row: str, number: int) -> str:
        if number and (type_.base, number) in self._numbered:
            return self._numbered[type_.base, number]
        if not number and (type_.base, row) in self._at_row:
            return self._at_row[type_.base, row]
        if number or row not in self._bounds:
            place = f"{row}[{number}]" if number else row
            raise ValueError(f"expected an annotation {type_.base} at {place}, found none")
        # relations between words, which are no annotations
        span = builder.span(type_.layer, TOKEN, self._bounds[row])
        self._at_row[type_.base, row] = span
        return span


def _stacked(types: Sequence[Type], cells: Sequence[str]) -> Iterator[tuple[Type, list[str], int]]:
    """Yield the annotations of a row: values as they are written, and number; ``ValueError``."""
    first = 0
    for type_ in types:
        columns = cells[first : first + type_.columns]
        first += type_.columns
        if all(column == ABSENT for column in columns):
            continue
        if type_.mark == RELATION:  # a reference is no value with a number
            columns, references = columns[:-1], columns[-1].split("|")
            parts = [[(reference, 0) for reference in references]]
        else:
            parts = []
        parts = [*_values(type_, columns), *parts]
        if len({len(part) for part in parts}) != 1:
            raise ValueError(
                f"{type_.short_name}: expected as many annotations in each column, "
                f"got {' '.join(cells):.60}"
            )
        for values in zip(*parts, strict=True):
            numbers = {number for _, number in values} - {0}
            if len(numbers) > 1:
                raise ValueError(f"{type_.short_name}: expected one number, got {sorted(numbers)}")
            yield type_, [value for value, _ in values], next(iter(numbers), 0)


def _values(type_: Type, columns: Sequence[str]) -> Iterator[list[tuple[str, int]]]:
    """Yield the values of each column, with the numbers of annotations.

    A number behind the target of a slot is that of the target; that of the annotation with the slot
    follows it, if its role has one, too.
    """
    roles: list[tuple[str, int]] = []
    for row, column in enumerate(columns):
        values = list(items(column))
        is_slot = row in type_.slot_columns
        if is_slot and not type_.features[row].startswith(SLOT):
            targets = column.split("|")
            if len(targets) == len(roles):
                numbers = [number for _, number in roles]
                pairs = zip(targets, numbers, strict=True)
                values = [(cell.removesuffix(f"[{n}]") if n else cell, n) for cell, n in pairs]
        elif is_slot:
            values = roles = [(NULL if value == ABSENT else value, n) for value, n in values]
        yield values


def _link(value: str) -> tuple[str, int, int]:
    """Return label, chain and place of a link (``coref->1-2``); raises ``ValueError``."""
    label, arrow, place = value.rpartition(LINK)
    match = _PLACE.fullmatch(place)
    if not arrow or match is None:
        raise ValueError(f"expected a link such as coref->1-2, got {value:.60}")
    return (label if label == NULL else unescape(label)), int(match[1]), int(match[2])


def _fragments(
    indices: Sequence[int], words: Sequence[int], bounds: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the fragments that rows make, one where nothing but blanks lies between.

    ``words`` has the row of the word of each row: its own, unless it is a part of a word.
    """
    fragments: list[tuple[int, int]] = []
    previous = 0
    for index in indices:
        start, end = bounds[index]
        if fragments and _follows(bounds, words, previous, index):
            fragments[-1] = fragments[-1][0], max(end, fragments[-1][1])
        else:
            fragments.append((start, end))
        previous = index
    return fragments


def _follows(
    bounds: Sequence[tuple[int, int]], words: Sequence[int], previous: int, index: int
) -> bool:
    """Return whether nothing but blanks lies between two rows."""
    before, word = words[previous], words[index]
    if before == word:
        return bounds[previous][1] == bounds[index][0]
    is_next = all(words[row] in (before, word) for row in range(before, word))
    at_border = bounds[previous][1] == bounds[before][1] and bounds[index][0] == bounds[word][0]
    return is_next and at_border
