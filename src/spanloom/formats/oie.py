"""Read and write Open IE in columns, as supervised-oie has it: a block of words per extraction.

::

    word_id→word→pred→pred_id→head_pred_id→sent_id→run_id→label
    0→Ada→met→[1]→1→0→0→A0-B
    1→met→met→[1]→1→0→0→P-B
    2→Bob→met→[1]→1→0→0→A1-B

→ is a tab; a blank line ends a block. Consecutive blocks with equal ``sent_id`` and words are one
sentence, which is a document: given words, layer ``openie`` (``annotation.openie_tuples``). Notes
at a predicate keep its name (``pred``) if it differs from its words, and ``run_id`` (``run``) if it
is not the number of the block in its file. (Stanovsky et al., 2018)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spanloom.annotation import openie_tuples
from spanloom.annotation.openie_tuples import Argument, Extraction
from spanloom.config.options import Options
from spanloom.document import Document
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import Names, id_in_file
from spanloom.formats._text import Line, blocks, cells
from spanloom.formats._word_view import WordView

LAYER = "openie"
PRED, RUN = "pred", "run"  # notes at a predicate

_COLUMNS = ("word_id", "word", "pred", "pred_id", "head_pred_id", "sent_id", "run_id", "label")
_IDS = re.compile(r"\[[0-9]{1,9}(, [0-9]{1,9})*\]")
_ROLE = re.compile(r"[^\s-]+(-[^\s-]+)*")
_MAX_DIGITS = 9  # digits of a word's number
_BREAKS = re.compile(r"[\t\r\n]")


class _Block(NamedTuple):
    """An extraction as it stands in the file; ``shared_cells`` are equal in all its rows."""

    line: int
    words: tuple[str, ...]
    shared_cells: tuple[str, ...]
    extraction: Extraction

    @property
    def sentence(self) -> tuple[str, tuple[str, ...]]:
        """The key of its sentence: ``sent_id`` and words."""
        return self.shared_cells[3], self.words


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield one document per sentence; raises ``FormatError``: path, line, what was expected."""
    names, block_number = Names(), 0
    sentence_blocks: list[_Block] = []
    for block in _parse_blocks(text, path):
        if sentence_blocks and sentence_blocks[0].sentence != block.sentence:
            yield _build_document(sentence_blocks, names, block_number)
            block_number += len(sentence_blocks)
            sentence_blocks = []
        sentence_blocks.append(block)
    if sentence_blocks:
        yield _build_document(sentence_blocks, names, block_number)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the blocks; a sentence without extractions has none."""
    parts = ["\t".join(_COLUMNS) + "\n"]
    for document in documents:
        for block, run in _extraction_blocks(document):
            parts.append(_format_rows(block, str(len(parts) - 1) if run is None else run))
    return "".join(parts)


def _parse_blocks(text: str, path: str) -> Iterator[_Block]:
    """Yield the extractions of a file; raises ``FormatError``."""
    has_header = False
    for block_lines in blocks(text):
        if not has_header:
            cells(block_lines[0], path, _COLUMNS)
            if tuple(block_lines[0].text.split("\t")) != _COLUMNS:
                problem = (
                    f"expected the names {', '.join(_COLUMNS)}, got {block_lines[0].text!r:.60}"
                )
                raise FormatError(path, block_lines[0].number, problem)
            has_header, block_lines = True, block_lines[1:]
        if block_lines:
            yield _parse_block(block_lines, path)


def _parse_block(block_lines: Sequence[Line], path: str) -> _Block:
    """Return the extraction of a block; raises ``FormatError``."""
    rows = [cells(line, path, _COLUMNS) for line in block_lines]
    shared_cells = tuple(rows[0][2:7])
    for index, (line, row) in enumerate(zip(block_lines, rows, strict=True)):
        if row[0] != str(index):
            raise FormatError(path, line.number, f"expected word_id {index}, got {row[0]!r:.60}")
        if not row[1].strip():
            raise FormatError(path, line.number, f"expected a word, got {row[1]!r:.60}")
        if tuple(row[2:7]) != shared_cells:
            problem = f"expected {', '.join(_COLUMNS[2:7])} as in the row before"
            raise FormatError(path, line.number, f"{problem}, got {row[2:7]!r:.60}")
    if not _IDS.fullmatch(shared_cells[1]):
        raise FormatError(
            path, block_lines[0].number, f"expected [ID, …], got {shared_cells[1]!r:.60}"
        )
    head_cell = shared_cells[2]
    head = int(head_cell) if head_cell.isdecimal() and len(head_cell) < _MAX_DIGITS else -1
    if not 0 <= head < len(rows):
        problem = f"expected head_pred_id in [0, {len(rows)}), got {head_cell!r:.60}"
        raise FormatError(path, block_lines[0].number, problem)
    try:
        extraction = openie_tuples.extraction_of_tags([row[-1] for row in rows], head)
    except DocumentError as error:
        raise FormatError(path, block_lines[0].number, str(error)) from error
    if str(list(extraction.predicate)) != shared_cells[1]:
        problem = f"expected pred_id {list(extraction.predicate)!r:.60} as tagged"
        problem = f"{problem}, got {shared_cells[1]!r:.60}"
        raise FormatError(path, block_lines[0].number, problem)
    return _Block(block_lines[0].number, tuple(row[1] for row in rows), shared_cells, extraction)


def _build_document(sentence_blocks: Sequence[_Block], names: Names, first_number: int) -> Document:
    """Return the document of a sentence; ``first_number`` is that of its first block, from 0."""
    builder = names.making(sentence_blocks[0].shared_cells[3])
    words = sentence_blocks[0].words
    builder.sentence(words)
    bounds = [builder.char_bounds(word, word + 1) for word in range(len(words))]
    layer = openie_tuples.layer(
        LAYER, (block.extraction for block in sentence_blocks), bounds, builder.new_id
    )
    builder.add_layer(layer)
    for block_number, (block, predicate) in enumerate(
        zip(sentence_blocks, openie_tuples.extractions(layer, bounds), strict=True), first_number
    ):
        if block.shared_cells[0] != _predicate_text(block.extraction, words):
            builder.note(LAYER, PRED, predicate, block.shared_cells[0])
        if block.shared_cells[4] != str(block_number):
            builder.note(LAYER, RUN, predicate, block.shared_cells[4])
    return builder.build()


def _extraction_blocks(document: Document) -> Iterator[tuple[_Block, str | None]]:
    """Yield the extractions of a document, by sentence, each with its noted ``run_id``."""
    if not document.has_layer(LAYER):
        return
    view, layer = WordView(document), document[LAYER]
    notes = {(note.label, note.target): note.text for note in layer.notes}
    extractions = openie_tuples.extractions(layer, view.words.words)
    sentences = view.words.sentences
    for number, (first, end) in enumerate(sentences):
        name = id_in_file(document) if len(sentences) == 1 else f"{id_in_file(document)}-{number}"
        words = tuple(view.tokens[first:end])
        for key, extraction in extractions.items():
            local = _in_sentence(extraction, first, end)
            if local is not None:
                pred = notes.get((PRED, key), _predicate_text(local, words))
                columns = (pred, str(list(local.predicate)), str(local.head), name, "")
                yield _Block(0, words, columns, local), notes.get((RUN, key))


def _in_sentence(extraction: Extraction, first: int, end: int) -> Extraction | None:
    """Return an extraction with word indices of its sentence, None if its predicate is not in it.

    Arguments that leave the sentence or share a word with an earlier one are left out.
    """
    if extraction.predicate[0] < first or extraction.predicate[-1] >= end:
        return None
    used_words = set(extraction.predicate)
    kept: list[Argument] = []
    for argument in extraction.arguments:
        is_free = (
            first <= argument.words[0]
            and argument.words[-1] < end
            and used_words.isdisjoint(argument.words)
        )
        if (
            is_free
            and _ROLE.fullmatch(argument.role)
            and argument.role != openie_tuples.PREDICATE_ROLE
        ):
            used_words.update(argument.words)
            kept.append(argument._replace(words=tuple(word - first for word in argument.words)))
    predicate = tuple(word - first for word in extraction.predicate)
    head = extraction.head - first if first <= extraction.head < end else predicate[-1]
    return Extraction(predicate, head, tuple(kept))


def _format_rows(block: _Block, run: str) -> str:
    """Return the rows of an extraction and a blank line."""
    shared_cells = [_escape_cell(cell) for cell in (*block.shared_cells[:4], run)]
    labels = openie_tuples.tags(block.extraction, len(block.words))
    rows = (
        "\t".join((str(index), _escape_cell(word), *shared_cells, label)) + "\n"
        for index, (word, label) in enumerate(zip(block.words, labels, strict=True))
    )
    return "".join(rows) + "\n"


def _escape_cell(text: str) -> str:
    """Return a text as a cell, which is never empty."""
    return _BREAKS.sub(" ", text) or "_"


def _predicate_text(extraction: Extraction, words: Sequence[str]) -> str:
    """Return the words of a predicate."""
    return " ".join(words[word] for word in extraction.predicate)


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the names of the columns."""
    return head.startswith("\t".join(_COLUMNS))


KIND = Format(
    loads,
    dumps,
    _sniff,
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
