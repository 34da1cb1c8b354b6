r"""Read and write CoNLL-2012: all annotations of an OntoNotes document, in columns.

::

    #begin document (nw/a); part 000
    nw/a  0  0  Ada   NNP  (TOP(S(NP*)  -    -   -  Bob  (PERSON)  (ARG0*)  (0)
    nw/a  0  1  flew  VBD  (VP*))       fly  01  1  Bob  *         (V*)     -

    #end document

| column | document |
|---|---|
| 1, 2, 3 | name, part (in meta), number; a cell that differs is an attribute ``column1``… |
| 4, 5 | words, layer ``xpos`` |
| 6, 11 | layers ``constituency``, outermost first on the same words, and ``entities`` |
| 7, 8, 9 | attributes of the word: ``lemma``, ``frameset``, ``sense`` |
| 10 | attribute ``speaker`` of the sentence; of words, where one sentence has several |
| 12 to the last but one | layer ``srl``: predicates (``fly.01``), arguments, a relation per role |
| the last | layer ``coreference``: mentions, each related to the one before it in its cluster |

The n-th column of arguments belongs to the n-th frameset; if their numbers differ, to the word at
which its V begins. A tab or blanks separate the cells; the number of blanks, and whether
``(PERSON)`` had its star, are not kept. (Pradhan et al., 2012)
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spanloom.annotation.attributes import SPEAKER
from spanloom.annotation.props import Argument, Proposition, PropsError, arguments, column
from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Attribute, Document
from spanloom.errors import FormatError
from spanloom.formats import _clusters, _constituents
from spanloom.formats._base import Format
from spanloom.formats._conll_documents import (
    Section,
    document_cell,
    header,
    opening,
    part,
    sections,
)
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._propositions import LAYER as SRL
from spanloom.formats._propositions import VERB, annotate, propositions
from spanloom.formats._text import (
    Line,
    escape_cell,
    fits_cell,
    separator_meta,
    separator_of,
    shared_separator,
    split_row,
)
from spanloom.formats._word_view import XPOS, WordView, label, labels

ENTITIES = "entities"
LEMMA, FRAMESET, SENSE = "lemma", "frameset", "sense"
NOTHING = "-"

_COLUMNS = "document, part, number, word, tag, parse, lemma, frameset, sense, speaker, entities"
_WORD, _POS, _PARSE, _LEMMA, _FRAMESET, _SENSE, _SPEAKER, _ENTITY, _FIRST = range(3, 12)
_VALUES = {LEMMA: _LEMMA, FRAMESET: _FRAMESET, SENSE: _SENSE, SPEAKER: _SPEAKER}
_POSITIONS = {"column1": 0, "column2": 1, "column3": 2}

_CLOSED_BRACKET = re.compile(r"(\([^\s()*]+)(\*?)\)")
_BRACKET = re.compile(r"[^\s()*]+")
_SENSE_ID = re.compile(r"(\S+)\.([^\s.]+)")


@dataclass(frozen=True, slots=True)
class _Block:
    """The rows of a sentence, which have equally many cells, and their lines."""

    lines: Sequence[Line]
    rows: Sequence[Sequence[str]]
    path: str

    def cells(self, index: int) -> list[str]:
        """Return a column."""
        return [row[index] for row in self.rows]

    def brackets(self, cells: Sequence[str]) -> tuple[Argument, ...]:
        """Return the bracketed spans of a column; raises ``FormatError``."""
        try:
            return arguments(cells)
        except PropsError as error:
            line = self.lines[error.word].number
            raise FormatError(self.path, line, error.problem) from error


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield one document per part; raises ``FormatError``: path, line, what was expected."""
    names, separator = Names(), separator_of(text)
    for number, section in enumerate(sections(text, path), 1):
        if section.part is None:
            problem = "expected #begin document (NAME); part 000, got no part"
            raise FormatError(path, section.line, problem)
        builder = section.making(names, number)
        builder.meta += separator_meta(separator)
        for layer in (WORDS, SENTENCES, ENTITIES, SRL):
            builder.layer(layer)
        blocks = [
            _parse_block(sentence_lines, separator, path) for sentence_lines in section.sentences
        ]
        for block in blocks:
            _add_sentence(builder, block, section, separator)
        marks = [cell for block in blocks for cell in block.cells(-1)]
        lines = [line.number for sentence_lines in section.sentences for line in sentence_lines]
        _clusters.annotate(builder, marks, lines, _style(separator), path)
        yield builder.build()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the rows; characters that would split a cell (a blank in a word) are written ``_``."""
    lines: list[str] = []
    documents = list(documents)
    separator = shared_separator(dict(document.meta) for document in documents)
    for document in documents:
        lines += _DocumentRows(document, WordView(document), separator).lines()
    return "".join(line + "\n" for line in lines)


def _style(separator: str) -> _clusters.Style:
    """Return how clusters are written."""
    return _clusters.Style(0, lambda cell: bool(cell.strip()) and fits_cell(cell, separator))


def _parse_block(lines: Sequence[Line], separator: str, path: str) -> _Block:
    """Return the cells of a sentence; raises ``FormatError`` for rows of different widths."""
    rows: list[list[str]] = []
    for line in lines:
        cells = split_row(line, separator)
        width = len(rows[0]) if rows else max(_FIRST + 1, len(cells))
        if len(cells) != width:
            names = f"{_COLUMNS}, one a predicate, coreference"
            expected = "as in the first row" if rows else f"or more ({names})"
            problem = f"expected {width} columns {expected}, got {len(cells)}"
            raise FormatError(path, line.number, problem)
        for index, cell in enumerate(cells):
            if not cell.strip() or (index in (_LEMMA, _FRAMESET) and cell.split() != [cell]):
                problem = f"expected a value without blanks in column {index + 1}, got {cell!r:.60}"
                raise FormatError(path, line.number, problem)
        rows.append(cells)
    return _Block(lines, rows, path)


def _add_sentence(
    builder: DocumentBuilder, block: _Block, section: Section, separator: str
) -> None:
    """Add a sentence and all its annotations but coreference."""
    words = builder.sentence(block.cells(_WORD))
    label(builder, XPOS, words.start, block.cells(_POS), NOTHING)
    for start, end, name in block.brackets(block.cells(_PARSE)):
        builder.add_word_span(_constituents.LAYER, name, words.start + start, words.start + end)
    entity_cells = [_CLOSED_BRACKET.sub(r"\1*)", cell) for cell in block.cells(_ENTITY)]
    for start, end, name in block.brackets(entity_cells):
        builder.add_word_span(ENTITIES, name, words.start + start, words.start + end)
    annotate(builder, words.start, _propositions_of(block), plain_labels=False)
    _add_attributes(builder, words, block, section, separator)


def _add_attributes(
    builder: DocumentBuilder, words: range, block: _Block, section: Section, separator: str
) -> None:
    """Add the cells that are stored as attributes."""
    speakers = {*block.cells(_SPEAKER)}
    sentence_values = {SPEAKER: _SPEAKER} if len(speakers) == 1 else {}
    if sentence_values and speakers != {NOTHING}:
        builder.attribute(SENTENCES, SPEAKER, builder.sentences[-1], *speakers)
    for number, (word, row) in enumerate(zip(words, block.rows, strict=True)):
        expected = _position_cells(section.name, section.part or "0", number, separator)
        for index, (cell, usual) in enumerate(zip(row, expected, strict=False)):
            if cell != usual:
                builder.attribute(WORDS, f"column{index + 1}", builder.words[word], cell)
        for name, index in _VALUES.items():
            if name not in sentence_values and row[index] != NOTHING:
                builder.attribute(WORDS, name, builder.words[word], row[index])


def _position_cells(name: str, number_of_part: str, word_number: int, separator: str) -> list[str]:
    """Return the cells that give the position of a word."""
    return [document_cell(name, separator), str(int(number_of_part)), str(word_number)]


def _propositions_of(block: _Block) -> list[Proposition]:
    """Return the propositions of a sentence; raises ``FormatError`` if no predicates fit."""
    width = len(block.rows[0])
    columns = [block.brackets(block.cells(index)) for index in range(_FIRST, width - 1)]
    predicates = [index for index, cell in enumerate(block.cells(_FRAMESET)) if cell != NOTHING]
    if len(predicates) != len(columns):
        predicates = _verb_starts(columns)
    if -1 in predicates or sorted({*predicates}) != predicates:
        problem = "expected as many framesets as columns of arguments, or in each of those a V"
        problem = f"{problem}, one behind another, got {len(columns)} columns"
        raise FormatError(block.path, block.lines[0].number, problem)
    senses = [
        _predicate_label(block.rows[index][_LEMMA], block.rows[index][_FRAMESET])
        for index in predicates
    ]
    return [Proposition(*parts) for parts in zip(predicates, senses, columns, strict=True)]


def _verb_starts(argument_columns: Iterable[Iterable[Argument]]) -> list[int]:
    """Return the word at which the first V of each column begins, -1 where there is none."""
    return [
        next((a.start for a in argument_column if a.label == VERB), -1)
        for argument_column in argument_columns
    ]


def _predicate_label(lemma: str, frameset: str) -> str:
    """Return the label of a predicate."""
    if frameset != NOTHING:
        return f"{lemma}.{frameset}"
    return lemma if lemma != NOTHING else VERB


@dataclass(frozen=True, slots=True)
class _DocumentRows:
    """The rows of a document, built column by column and sentence by sentence."""

    document: Document
    view: WordView
    separator: str

    def lines(self) -> Iterator[str]:
        """Yield the lines of the document."""
        view = self.view
        tags = labels(view, XPOS, lambda tag: escape_cell(tag, self.separator) == tag, NOTHING)
        brackets = _nested_spans(view, _constituents.LAYER), _nested_spans(view, ENTITIES)
        props_by_sentence = propositions(view), propositions(view, standard_only=True)
        cluster_cells = _clusters.cells(view, _style(self.separator))
        attributes, sentence_attributes = view.values(WORDS), view.values(SENTENCES)
        yield header(self.document, with_part=True)
        for number, (first, end) in enumerate(view.words.sentences):
            speaker = {
                a.label: a.value for a in sentence_attributes.get(number, ()) if a.label == SPEAKER
            }
            rows = [
                self._attribute_cells(word - first, speaker, attributes.get(word, ()))
                for word in range(first, end)
            ]
            _fill_column(
                rows, _WORD, [escape_cell(form, self.separator) for form in view.tokens[first:end]]
            )
            _fill_column(rows, _POS, tags[number])
            _fill_column(rows, _PARSE, column(brackets[0][number], end - first))
            names = column(brackets[1][number], end - first)
            _fill_column(rows, _ENTITY, [_CLOSED_BRACKET.sub(r"\1)", cell) for cell in names])
            for proposition in _fill_predicates(
                rows, props_by_sentence[0][number], props_by_sentence[1][number]
            ):
                for row, cell in zip(rows, column(proposition.arguments, end - first), strict=True):
                    row.append(cell)
            for row, cluster_cell in zip(rows, cluster_cells[first:end], strict=True):
                yield self.separator.join([*row, cluster_cell])
            yield ""
        yield "#end document"

    def _attribute_cells(
        self, number: int, speaker: Mapping[str, str | None], attributes: Iterable[Attribute]
    ) -> list[str]:
        """Return the row of a word with the cells that attributes hold; others are ``-``."""
        values = {**speaker, **{a.label: a.value for a in attributes}}
        position = _position_cells(
            id_in_file(self.document), part(self.document), number, self.separator
        )
        row = [*position, *[NOTHING] * (_FIRST - len(position))]
        for name, index in {**_POSITIONS, **_VALUES}.items():
            value = values.get(name) or ""
            is_valid = escape_cell(value, self.separator) == value and (
                index or not value.startswith("#")
            )
            if is_valid and (index not in (_LEMMA, _FRAMESET) or value.split() == [value]):
                row[index] = value
        return row


def _fill_column(rows: Sequence[list[str]], index: int, cells: Sequence[str]) -> None:
    """Fill one column of the rows."""
    for row, cell in zip(rows, cells, strict=True):
        row[index] = cell


def _nested_spans(view: WordView, layer: str) -> list[list[Argument]]:
    """Return the spans of a layer that brackets can hold, by sentence: those that nest."""
    spans_by_sentence: list[list[Argument]] = []
    for spans in view.by_sentence(layer)[0]:
        nested: list[Argument] = []
        ends: list[int] = []
        for start, end, span in sorted(spans, key=lambda span: (span[0], -span[1])):
            while ends and ends[-1] <= start:
                ends.pop()
            if _BRACKET.fullmatch(span.label) and (not ends or end <= ends[-1]):
                ends.append(end)
                nested.append(Argument(start, end, span.label))
        spans_by_sentence.append(nested)
    return spans_by_sentence


def _fill_predicates(
    rows: Sequence[list[str]], props: Sequence[Proposition], usual: Sequence[Proposition]
) -> Sequence[Proposition]:
    """Fill in lemmas and framesets of predicates; return the propositions that get a column each.

    If not exactly the predicates have framesets, each column must have a V that begins at the
    predicate.
    """
    names, words = _lemmas_and_framesets(rows, props), [proposition.word for proposition in props]
    if _words_with_frameset(names) != words:
        if _verb_starts(proposition.arguments for proposition in props) != words:
            props, names, words = (
                usual,
                _lemmas_and_framesets(rows, usual),
                [proposition.word for proposition in usual],
            )
        if len(_words_with_frameset(names)) == len(words) and _words_with_frameset(names) != words:
            names = [
                (lemma, frameset if index in words else NOTHING)
                for index, (lemma, frameset) in enumerate(names)
            ]
    for row, (lemma, frameset) in zip(rows, names, strict=True):
        row[_LEMMA], row[_FRAMESET] = lemma, frameset
    return props


def _words_with_frameset(names: Sequence[tuple[str, str]]) -> list[int]:
    """Return the words that have a frameset."""
    return [word for word, (_, frameset) in enumerate(names) if frameset != NOTHING]


def _lemmas_and_framesets(
    rows: Sequence[Sequence[str]], props: Iterable[Proposition]
) -> list[tuple[str, str]]:
    """Return lemma and frameset of each word; those of predicates make up their labels."""
    names = [(row[_LEMMA], row[_FRAMESET]) for row in rows]
    for proposition in props:
        if _predicate_label(*names[proposition.word]) != proposition.sense:
            label_match = _SENSE_ID.fullmatch(proposition.sense)
            names[proposition.word] = (
                (label_match[1], label_match[2]) if label_match else (proposition.sense, NOTHING)
            )
    return names


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the line that begins a document and a first row with a parse."""
    first_row = opening(head)
    return first_row is not None and len(first_row) > _FIRST and "*" in first_row[_PARSE]


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".gold_conll", ".conll"),
    "#begin document (nw/a/01); part 000\n"
    "nw/a/01 0 0 He PRP (TOP(S(NP*) - - - Ada * (ARG0*) (ARG0*) (0)\n"
    "nw/a/01 0 1 wanted VBD (VP* want 01 2 Ada * (V*) * -\n"
    "nw/a/01 0 2 New NNP (S(NP* - - - Ada (GPE* (ARG1* * (1\n"
    "nw/a/01 0 3 York NNP *) - - - Ada *) * * 1)\n"
    "nw/a/01 0 4 to TO (VP* - - - Ada * * * -\n"
    "nw/a/01 0 5 look VB (VP* look 05 - Ada * * (V*) -\n"
    "nw/a/01 0 6 up RP (PRT*))))) - - - Ada * *) (C-V*) -\n"
    "nw/a/01 0 7 ! . *)) - - - Ada * * * -\n\n"
    "nw/a/01 0 0 Bob NNP (TOP(FRAG(NP*) - - - Ada (PERSON) (0)\n"
    "nw/a/01 0 1 agreed VBD *)) agree - - Bob * -\n\n"
    "#end document\n#begin document (nw/a/01); part 001\n"
    "nw/a/01 1 0 It XX (TOP(NP(NX*))) - - - - * (b)|(0)\n\n#end document\n",
)
