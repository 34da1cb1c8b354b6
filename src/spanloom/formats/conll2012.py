r"""CoNLL-2012: everything OntoNotes says of a document, in columns.

::

    #begin document (nw/a); part 000
    nw/a  0  0  Ada   NNP  (TOP(S(NP*)  -    -   -  Bob  (PERSON)  (ARG0*)  (0)
    nw/a  0  1  flew  VBD  (VP*))       fly  01  1  Bob  *         (V*)     -

    #end document

| column | document |
|---|---|
| 1, 2, 3 | name, part (in meta), number; what does not follow is an attribute ``column1``… |
| 4, 5 | words, layer ``xpos`` |
| 6, 11 | layers ``constituency``, outermost first on the same words, and ``entities`` |
| 7, 8, 9 | attributes of the word: ``lemma``, ``frameset``, ``sense`` |
| 10 | attribute ``speaker`` of the sentence; of words, where one sentence has several |
| 12 to the last but one | layer ``srl`` (``_propositions``), predicates labelled ``fly.01`` |
| the last | layer ``coreference`` (``_clusters``) |

A column of arguments belongs to the frameset of its number; where these are not as many, to the
word with which its V begins. A tab or blanks part the cells; how many blanks there are, or whether
``(PERSON)`` had its star, is not kept. (Pradhan et al., 2012)
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Attribute, Document
from spanloom.errors import FormatError
from spanloom.formats import _clusters, _constituents
from spanloom.formats._base import Format, Losses
from spanloom.formats._conll_documents import (
    BLANK,
    BLANK_NAME,
    SEPARATOR,
    TAB,
    Section,
    cut,
    document_cell,
    fits,
    header,
    opening,
    part,
    sections,
    separator_of,
    spelt,
)
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._propositions import LAYER as SRL
from spanloom.formats._propositions import VERB, annotate, propositions
from spanloom.formats._regained import missing
from spanloom.formats._word_labels import XPOS, label, labels
from spanloom.forms.props import Argument, Proposition, PropsError, arguments, column
from spanloom.forms.voices import SPEAKER

ENTITIES = "entities"
LEMMA, FRAMESET, SENSE = "lemma", "frameset", "sense"
NOTHING = "-"

_COLUMNS = "document, part, number, word, tag, parse, lemma, frameset, sense, speaker, entities"
_WORD, _POS, _PARSE, _LEMMA, _FRAMESET, _SENSE, _SPEAKER, _NAMED, _FIRST = range(3, 12)
_VALUES = {LEMMA: _LEMMA, FRAMESET: _FRAMESET, SENSE: _SENSE, SPEAKER: _SPEAKER}
_PLACES = {"column1": 0, "column2": 1, "column3": 2}

_ALONE = re.compile(r"(\([^\s()*]+)(\*?)\)")
_BRACKET = re.compile(r"[^\s()*]+")
_SENSE_ID = re.compile(r"(\S+)\.([^\s.]+)")


@dataclass(frozen=True, slots=True)
class _Block:
    """The rows of a sentence, which have as many cells each, and their lines."""

    lines: Sequence[Line]
    rows: Sequence[Sequence[str]]
    path: str

    def cells(self, at: int) -> list[str]:
        """Return a column."""
        return [row[at] for row in self.rows]

    def brackets(self, cells: Sequence[str]) -> tuple[Argument, ...]:
        """Return what a column brackets; raises ``FormatError``."""
        try:
            return arguments(cells)
        except PropsError as error:
            line = self.lines[error.word].number
            raise FormatError(self.path, line, error.problem) from error


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents, a part one; raises ``FormatError``: path, line, what was expected."""
    names, separator = Names(), separator_of(text)
    for number, section in enumerate(sections(text, path), 1):
        if section.part is None:
            problem = "expected #begin document (NAME); part 000, got no part"
            raise FormatError(path, section.line, problem)
        making = section.making(names, number)
        if separator == BLANK:
            making.meta.append((SEPARATOR, BLANK_NAME))
        for layer in (WORDS, SENTENCES, ENTITIES, SRL):
            making.layer(layer)
        blocks = [_block(each, separator, path) for each in section.sentences]
        for block in blocks:
            _read(making, block, section, separator)
        marks = [cell for block in blocks for cell in block.cells(-1)]
        lines = [line.number for each in section.sentences for line in each]
        _clusters.annotate(making, marks, lines, _style(separator), path)
        yield making.done()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the rows; what would be cut into two cells (a blank in a word) is written ``_``."""
    pieces: list[str] = []
    for each in documents:
        separator = BLANK if dict(each.meta).get(SEPARATOR) == BLANK_NAME else TAB
        pieces += _Columns(each, Laid(each), separator).lines()
    return "".join(line + "\n" for line in pieces)


def _style(separator: str) -> _clusters.Style:
    """Return how clusters are spelt."""
    return _clusters.Style(0, lambda cell: bool(cell.strip()) and fits(cell, separator))


def _block(lines: Sequence[Line], separator: str, path: str) -> _Block:
    """Return the cells of a sentence."""
    rows: list[list[str]] = []
    for line in lines:
        cells = cut(line, separator)
        width = len(rows[0]) if rows else max(_FIRST + 1, len(cells))
        if len(cells) != width:
            names = f"{_COLUMNS}, one a predicate, coreference"
            expected = "as in the first row" if rows else f"or more ({names})"
            problem = f"expected {width} columns {expected}, got {len(cells)}"
            raise FormatError(path, line.number, problem)
        for at, cell in enumerate(cells):
            if not cell.strip() or (at in (_LEMMA, _FRAMESET) and cell.split() != [cell]):
                problem = f"expected a value without blanks in column {at + 1}, got {cell!r:.60}"
                raise FormatError(path, line.number, problem)
        rows.append(cells)
    return _Block(lines, rows, path)


def _read(making: Making, block: _Block, section: Section, separator: str) -> None:
    """Add a sentence and all that its rows say but coreference."""
    words = making.sentence(block.cells(_WORD))
    label(making, XPOS, words.start, block.cells(_POS), NOTHING)
    for start, end, name in block.brackets(block.cells(_PARSE)):
        making.over(_constituents.LAYER, name, words.start + start, words.start + end)
    named = [_ALONE.sub(r"\1*)", cell) for cell in block.cells(_NAMED)]
    for start, end, name in block.brackets(named):
        making.over(ENTITIES, name, words.start + start, words.start + end)
    annotate(making, words.start, _props(block), plain=False)
    _say(making, words, block, section, separator)


def _say(making: Making, words: range, block: _Block, section: Section, separator: str) -> None:
    """Add what rows say as attributes."""
    speakers = {*block.cells(_SPEAKER)}
    spoken = {SPEAKER: _SPEAKER} if len(speakers) == 1 else {}
    if spoken and speakers != {NOTHING}:
        making.attribute(SENTENCES, SPEAKER, making.sentences[-1], *speakers)
    for number, (word, row) in enumerate(zip(words, block.rows, strict=True)):
        told = _told(section.name, section.part or "0", number, separator)
        for at, (cell, usual) in enumerate(zip(row, told, strict=False)):
            if cell != usual:
                making.attribute(WORDS, f"column{at + 1}", making.words[word], cell)
        for name, at in _VALUES.items():
            if name not in spoken and row[at] != NOTHING:
                making.attribute(WORDS, name, making.words[word], row[at])


def _told(name: str, number_of_part: str, number: int, separator: str) -> list[str]:
    """Return the cells that say where a word stands."""
    return [document_cell(name, separator), str(int(number_of_part)), str(number)]


def _props(block: _Block) -> list[Proposition]:
    """Return the propositions of a sentence."""
    width = len(block.rows[0])
    every = [block.brackets(block.cells(at)) for at in range(_FIRST, width - 1)]
    places = [at for at, cell in enumerate(block.cells(_FRAMESET)) if cell != NOTHING]
    if len(places) != len(every):
        places = _verbs(every)
    if -1 in places or sorted({*places}) != places:
        problem = "expected as many framesets as columns of arguments, or in each of those a V"
        problem = f"{problem}, one behind another, got {len(every)} columns"
        raise FormatError(block.path, block.lines[0].number, problem)
    senses = [_sense(block.rows[at][_LEMMA], block.rows[at][_FRAMESET]) for at in places]
    return [Proposition(*each) for each in zip(places, senses, every, strict=True)]


def _verbs(columns: Iterable[Iterable[Argument]]) -> list[int]:
    """Return with which word the first V of each column begins, -1 where there is none."""
    return [next((a.start for a in each if a.label == VERB), -1) for each in columns]


def _sense(lemma: str, frameset: str) -> str:
    """Return what a predicate is labelled."""
    if frameset != NOTHING:
        return f"{lemma}.{frameset}"
    return lemma if lemma != NOTHING else VERB


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a document says, column by column, and of its sentences one by one."""

    document: Document
    laid: Laid
    separator: str

    def lines(self) -> Iterator[str]:
        """Yield the lines of the document."""
        laid = self.laid
        tags = labels(laid, XPOS, lambda each: spelt(each, self.separator) == each, NOTHING)
        brackets = _bracketed(laid, _constituents.LAYER), _bracketed(laid, ENTITIES)
        props = propositions(laid), propositions(laid, usual=True)
        marks = _clusters.cells(laid, _style(self.separator))
        words, about = laid.values(WORDS), laid.values(SENTENCES)
        yield header(self.document, parted=True)
        for number, (first, end) in enumerate(laid.words.sentences):
            spoken = {a.label: a.value for a in about.get(number, ()) if a.label == SPEAKER}
            rows = [
                self._row(word - first, spoken, words.get(word, ())) for word in range(first, end)
            ]
            _fill(rows, _WORD, [spelt(form, self.separator) for form in laid.forms[first:end]])
            _fill(rows, _POS, tags[number])
            _fill(rows, _PARSE, column(brackets[0][number], end - first))
            names = column(brackets[1][number], end - first)
            _fill(rows, _NAMED, [_ALONE.sub(r"\1)", cell) for cell in names])
            for each in _predicated(rows, props[0][number], props[1][number]):
                for row, cell in zip(rows, column(each.arguments, end - first), strict=True):
                    row.append(cell)
            for row, mark in zip(rows, marks[first:end], strict=True):
                yield self.separator.join([*row, mark])
            yield ""
        yield "#end document"

    def _row(
        self, place: int, spoken: Mapping[str, str | None], said: Iterable[Attribute]
    ) -> list[str]:
        """Return the row of a word: what attributes say, other cells still silent."""
        values = {**spoken, **{each.label: each.value for each in said}}
        told = _told(own(self.document), part(self.document), place, self.separator)
        row = [*told, *[NOTHING] * (_FIRST - len(told))]
        for name, at in {**_PLACES, **_VALUES}.items():
            value = values.get(name) or ""
            fine = spelt(value, self.separator) == value and (at or not value.startswith("#"))
            if fine and (at not in (_LEMMA, _FRAMESET) or value.split() == [value]):
                row[at] = value
        return row


def _fill(rows: Sequence[list[str]], at: int, cells: Sequence[str]) -> None:
    """Put a column into the rows."""
    for row, cell in zip(rows, cells, strict=True):
        row[at] = cell


def _bracketed(laid: Laid, layer: str) -> list[list[Argument]]:
    """Return the spans of a layer that brackets can hold, by sentence: those that nest."""
    found: list[list[Argument]] = []
    for spans in laid.by_sentence(layer)[0]:
        kept: list[Argument] = []
        ends: list[int] = []
        for start, end, span in sorted(spans, key=lambda each: (each[0], -each[1])):
            while ends and ends[-1] <= start:
                ends.pop()
            if _BRACKET.fullmatch(span.label) and (not ends or end <= ends[-1]):
                ends.append(end)
                kept.append(Argument(start, end, span.label))
        found.append(kept)
    return found


def _predicated(
    rows: Sequence[list[str]], props: Sequence[Proposition], usual: Sequence[Proposition]
) -> Sequence[Proposition]:
    """Put lemmas and framesets into the rows of predicates; return what has a column each.

    Where not all predicates have framesets, or others do, each column has to say whose it is: by a
    V that begins with that word.
    """
    names, words = _names(rows, props), [each.word for each in props]
    if _framed(names) != words:
        if _verbs(each.arguments for each in props) != words:
            props, names, words = usual, _names(rows, usual), [each.word for each in usual]
        if len(_framed(names)) == len(words) and _framed(names) != words:
            names = [(a, b if at in words else NOTHING) for at, (a, b) in enumerate(names)]
    for row, (lemma, frameset) in zip(rows, names, strict=True):
        row[_LEMMA], row[_FRAMESET] = lemma, frameset
    return props


def _framed(names: Sequence[tuple[str, str]]) -> list[int]:
    """Return which words have a frameset."""
    return [at for at, (_, frameset) in enumerate(names) if frameset != NOTHING]


def _names(rows: Sequence[Sequence[str]], props: Iterable[Proposition]) -> list[tuple[str, str]]:
    """Return lemmas and framesets of words, of predicates those that make their labels."""
    names = [(row[_LEMMA], row[_FRAMESET]) for row in rows]
    for each in props:
        if _sense(*names[each.word]) != each.sense:
            found = _SENSE_ID.fullmatch(each.sense)
            names[each.word] = (found[1], found[2]) if found else (each.sense, NOTHING)
    return names


def _lost(document: Document, options: Options) -> Losses:
    """Count what is not there when it is read again."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the line that begins a document and a first row with a parse."""
    begun = opening(head)
    return begun is not None and len(begun) > _FIRST and "*" in begun[_PARSE]


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
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
