"""Open IE in columns, as supervised-oie has it: a block of words for each extraction.

::

    word_id→word→pred→pred_id→head_pred_id→sent_id→run_id→label
    0→Ada→met→[1]→1→0→0→A0-B
    1→met→met→[1]→1→0→0→P-B
    2→Bob→met→[1]→1→0→0→A1-B

→ is a tab; a blank line ends a block. Blocks in a row of one ``sent_id`` and the same words are one
sentence, which is a document: given words, layer ``openie`` (``forms.tuples``). Notes at a
predicate keep its name (``pred``) where that is not its words, and ``run_id`` (``run``) where it is
not the number of the block in its file. (Stanovsky et al., 2018)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spanloom.config.options import Options
from spanloom.document import Document
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line, blocks, cells
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing
from spanloom.forms import tuples
from spanloom.forms.tuples import Argument, Extraction

LAYER = "openie"
PRED, RUN = "pred", "run"  # notes at a predicate

_COLUMNS = ("word_id", "word", "pred", "pred_id", "head_pred_id", "sent_id", "run_id", "label")
_IDS = re.compile(r"\[[0-9]{1,9}(, [0-9]{1,9})*\]")
_ROLE = re.compile(r"[^\s-]+(-[^\s-]+)*")
_LONGEST = 9  # digits of a word's number
_BROKEN = re.compile(r"[\t\r\n]")


class _Block(NamedTuple):
    """One extraction as it stands: ``said`` are the columns that all its rows share."""

    line: int
    words: tuple[str, ...]
    said: tuple[str, ...]
    found: Extraction

    @property
    def sentence(self) -> tuple[str, tuple[str, ...]]:
        """What tells whose extraction it is."""
        return self.said[3], self.words


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield a document a sentence; raises ``FormatError``: path, line, what was expected."""
    names, number = Names(), 0
    same: list[_Block] = []
    for block in _blocks(text, path):
        if same and same[0].sentence != block.sentence:
            yield _document(same, names, number)
            number += len(same)
            same = []
        same.append(block)
    if same:
        yield _document(same, names, number)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the blocks; a sentence without extractions has none."""
    pieces = ["\t".join(_COLUMNS) + "\n"]
    for document in documents:
        for block, run in _written(document):
            pieces.append(_rows(block, str(len(pieces) - 1) if run is None else run))
    return "".join(pieces)


def _blocks(text: str, path: str) -> Iterator[_Block]:
    """Yield the extractions of a file."""
    headed = False
    for block in blocks(text):
        if not headed:
            cells(block[0], path, _COLUMNS)
            if tuple(block[0].text.split("\t")) != _COLUMNS:
                problem = f"expected the names {', '.join(_COLUMNS)}, got {block[0].text!r:.60}"
                raise FormatError(path, block[0].number, problem)
            headed, block = True, block[1:]
        if block:
            yield _block(block, path)


def _block(block: Sequence[Line], path: str) -> _Block:
    """Return the extraction of a block."""
    rows = [cells(line, path, _COLUMNS) for line in block]
    said = tuple(rows[0][2:7])
    for place, (line, row) in enumerate(zip(block, rows, strict=True)):
        if row[0] != str(place):
            raise FormatError(path, line.number, f"expected word_id {place}, got {row[0]!r:.60}")
        if not row[1].strip():
            raise FormatError(path, line.number, f"expected a word, got {row[1]!r:.60}")
        if tuple(row[2:7]) != said:
            problem = f"expected {', '.join(_COLUMNS[2:7])} as in the row before"
            raise FormatError(path, line.number, f"{problem}, got {row[2:7]!r:.60}")
    if not _IDS.fullmatch(said[1]):
        raise FormatError(path, block[0].number, f"expected [ID, …], got {said[1]!r:.60}")
    head = int(said[2]) if said[2].isdecimal() and len(said[2]) < _LONGEST else -1
    if not 0 <= head < len(rows):
        problem = f"expected head_pred_id in [0, {len(rows)}), got {said[2]!r:.60}"
        raise FormatError(path, block[0].number, problem)
    try:
        found = tuples.of_tags([row[-1] for row in rows], head)
    except DocumentError as error:
        raise FormatError(path, block[0].number, str(error)) from error
    if str(list(found.predicate)) != said[1]:
        problem = f"expected pred_id {list(found.predicate)!r:.60} as tagged, got {said[1]!r:.60}"
        raise FormatError(path, block[0].number, problem)
    return _Block(block[0].number, tuple(row[1] for row in rows), said, found)


def _document(same: Sequence[_Block], names: Names, number: int) -> Document:
    """Return the document of a sentence; ``number`` is that of its first block, from 0."""
    made = names.making(same[0].said[3])
    words = same[0].words
    made.sentence(words)
    bounds = [made.at(place, place + 1) for place in range(len(words))]
    layer = tuples.layer(LAYER, (each.found for each in same), bounds, made.fresh)
    made.put(layer)
    for place, (block, predicate) in enumerate(
        zip(same, tuples.extractions(layer, bounds), strict=True), number
    ):
        if block.said[0] != _named(block.found, words):
            made.note(LAYER, PRED, predicate, block.said[0])
        if block.said[4] != str(place):
            made.note(LAYER, RUN, predicate, block.said[4])
    return made.done()


def _written(document: Document) -> Iterator[tuple[_Block, str | None]]:
    """Yield the extractions of a document, sentence by sentence, with the ``run_id`` noted."""
    if not document.has(LAYER):
        return
    laid, layer = Laid(document), document[LAYER]
    said = {(note.label, note.target): note.text for note in layer.notes}
    found = tuples.extractions(layer, laid.words.words)
    sentences = laid.words.sentences
    for number, (first, end) in enumerate(sentences):
        name = own(document) if len(sentences) == 1 else f"{own(document)}-{number}"
        words = tuple(laid.forms[first:end])
        for key, each in found.items():
            mine = _inside(each, first, end)
            if mine is not None:
                pred = said.get((PRED, key), _named(mine, words))
                columns = (pred, str(list(mine.predicate)), str(mine.head), name, "")
                yield _Block(0, words, columns, mine), said.get((RUN, key))


def _inside(found: Extraction, first: int, end: int) -> Extraction | None:
    """Return an extraction in words of its sentence, None where its predicate is not in it.

    Arguments that leave the sentence or share a word with an earlier one are left out.
    """
    if found.predicate[0] < first or found.predicate[-1] >= end:
        return None
    taken = set(found.predicate)
    kept: list[Argument] = []
    for each in found.arguments:
        fits = first <= each.words[0] and each.words[-1] < end and taken.isdisjoint(each.words)
        if fits and _ROLE.fullmatch(each.role) and each.role != tuples.PREDICATE_ROLE:
            taken.update(each.words)
            kept.append(each._replace(words=tuple(word - first for word in each.words)))
    predicate = tuple(word - first for word in found.predicate)
    head = found.head - first if first <= found.head < end else predicate[-1]
    return Extraction(predicate, head, tuple(kept))


def _rows(block: _Block, run: str) -> str:
    """Return the rows of an extraction and a blank line."""
    said = [_cell(each) for each in (*block.said[:4], run)]
    labels = tuples.tags(block.found, len(block.words))
    rows = (
        "\t".join((str(place), _cell(word), *said, label)) + "\n"
        for place, (word, label) in enumerate(zip(block.words, labels, strict=True))
    )
    return "".join(rows) + "\n"


def _cell(text: str) -> str:
    """Return a text as a cell, which is never empty."""
    return _BROKEN.sub(" ", text) or "_"


def _named(found: Extraction, words: Sequence[str]) -> str:
    """Return the words of a predicate."""
    return " ".join(words[place] for place in found.predicate)


def _lost(document: Document, options: Options) -> Losses:
    """Count all but words and what extractions say."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the names of the columns."""
    return head.startswith("\t".join(_COLUMNS))


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".oie.conll", ".oie"),
    "word_id\tword\tpred\tpred_id\thead_pred_id\tsent_id\trun_id\tlabel\n"
    "0\tAda\thas met\t[1, 3]\t3\t4\t0\tA0-B\n"
    "1\thas\thas met\t[1, 3]\t3\t4\t0\tP-B\n"
    "2\tonce\thas met\t[1, 3]\t3\t4\t0\tO\n"
    "3\tmet\thas met\t[1, 3]\t3\t4\t0\tP-I\n"
    "4\tBob\thas met\t[1, 3]\t3\t4\t0\tA1-B\n\n"
    "0\tAda\tcould\t[1]\t3\t4\t7\tA1-I\n"
    "1\thas\tcould\t[1]\t3\t4\t7\tP-B\n"
    "2\tonce\tcould\t[1]\t3\t4\t7\tA0-B\n"
    "3\tmet\tcould\t[1]\t3\t4\t7\tO\n"
    "4\tBob\tcould\t[1]\t3\t4\t7\tA0-I\n\n",
)
