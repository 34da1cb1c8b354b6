"""Read and write QAMR: sentences of given words, questions about them, answers as sets of words.

::

    Wiki1k:a:0  3 4  76  0  3  Who met Bob?  0 1  261:0 1  60:1

A row (tabs separate its cells) has sentence, target words, worker, number of the question, target
word, question, answer, and the validators' cells: ``worker:answer``, ``worker:Invalid`` or
``worker:Redundant-2``. The sentences are in another file, ``id<tab>words``. A sentence is a
document, its rows its queries, whose ids are target words, worker and number (``3-4:76:0``). Each
answer is a span of the layer ``answers``, words that do not follow each other its fragments; an
attribute names its annotator: ``writer`` or ``validator 1``, ``2``… The target word of a question
is a span of the layer ``targets``; a validator's cell that is no answer is an attribute of it.

Only sentences with questions are documents, so only those are written back.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count

from spanloom.annotation.queries import ANSWER, QUERY, answers
from spanloom.annotation.word_index import word_runs
from spanloom.config.options import Options
from spanloom.document import Document, Query, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, id_in_file
from spanloom.formats._sentence_file import Row, begin_documents, distinct_id
from spanloom.formats._text import Line, errors_at, lines
from spanloom.formats._word_view import WordView

LAYER, TARGETS = "answers", "targets"
TARGET, WRITER, VALIDATOR = "target", "writer", "validator {}"

_SENTENCES_FILE = "wiki-sentences.tsv"
_COLUMNS = ("sentence", "target words", "worker", "number", "target word", "question", "answer")
_WORDS = re.compile(r"(?:[0-9]{1,9}(?: [0-9]{1,9})*)?")
_ID = re.compile(r"((?:[0-9]{1,9}(?:-[0-9]{1,9})*)?):([^\t\n]*):([^\t\n:]*)")
_VALIDATOR_LABEL = re.compile(r"validator ([1-9][0-9]{0,2})")
_FIRST_ROW = re.compile(
    r"[^\t\n]+\t[0-9 ]+\t[^\t\n]+\t[0-9]+\t[0-9]+\t[^\t\n]+\t[0-9 ]*(?:\t[^\t\n:]+:[^\t\n]*)*\r?\n"
)


def loads(
    text: str, *, sentences: str = "", path: str = "<string>", options: Options = Options()
) -> Iterator[Document]:
    """Yield the document of each sentence that rows are about.

    Raises ``FormatError``: too few columns, a sentence that is not in ``sentences``, words that it
    does not have, two questions of one worker and number.
    """
    words_of_sentence = _parse_sentences(sentences)
    rows = (
        _parse_row(line, path) for line in lines(text.removeprefix("\ufeff")) if line.text.strip()
    )
    for builder, sentence_rows in begin_documents(rows, words_of_sentence, _SENTENCES_FILE, path):
        builder.layer(LAYER)
        builder.layer(TARGETS)
        for row in sentence_rows:
            with errors_at(path, row.line):
                _add_question(builder, row.cells)
        with errors_at(path, sentence_rows[-1].line):
            yield builder.build()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> dict[str, str]:
    """Return the rows, and the sentences under ``sentences``; texts without words are left out."""
    rows: list[str] = []
    words_of_name: dict[str, str] = {}
    last_name = None
    for document in documents:
        view = WordView(document)
        words = " ".join(map(_escape_word, view.tokens))
        name = _escape_cell(id_in_file(document)).lstrip("\ufeff") or "_"
        name = distinct_id(name, words, words_of_name, last_name)
        if words:
            words_of_name[name] = words
            document_rows = ["\t".join((name, *cells)) for cells in _format_questions(view)]
            rows += document_rows
            last_name = name if document_rows else last_name
    sentences = (f"{name}\t{words}" for name, words in words_of_name.items())
    return {"": _join_lines(rows), "sentences": _join_lines(sentences)}


def sniff(head: str, name: str) -> bool:
    """Tell whether the first row has word numbers in the right columns."""
    return _FIRST_ROW.match(head) is not None


def _parse_sentences(text: str) -> dict[str, list[str]]:
    """Return the words of each sentence; raises ``FormatError``."""
    words_of_sentence: dict[str, list[str]] = {}
    for number, line in lines(text.removeprefix("\ufeff")):
        if not line:
            continue
        name, tab, words = line.partition("\t")
        forms = words.split(" ")
        if not tab or not all(forms) or words_of_sentence.get(name, forms) != forms:
            problem = "expected an id that is new, a tab, and words with one blank between"
            raise FormatError(_SENTENCES_FILE, number, f"{problem}, got {line!r:.60}")
        words_of_sentence[name] = forms
    return words_of_sentence


def _parse_row(line: Line, path: str) -> Row[list[str]]:
    """Return a row; raises ``FormatError`` for one that is too short."""
    cells = line.text.split("\t")
    if len(cells) < len(_COLUMNS):
        expected = f"expected {len(_COLUMNS)} columns or more ({', '.join(_COLUMNS)}, validators)"
        raise FormatError(path, line.number, f"{expected}, got {len(cells)}")
    return Row(line.number, cells[0], cells)


def _add_question(builder: DocumentBuilder, cells: list[str]) -> None:
    """Add a question, its answers and its target word; raises ``ValueError``."""
    _, targets, worker, number, target, question, answer, *validated = cells
    _parse_word_numbers(targets, builder)
    query = f"{targets.replace(' ', '-')}:{worker}:{number}"
    if _ID.fullmatch(query) is None:
        raise ValueError(f"expected a worker, and a number of the question, got {query!r:.60}")
    builder.queries.append(Query(query, question))
    _add_answer(builder, query, _parse_word_numbers(answer, builder), WRITER, worker)
    target_span = _add_span(
        builder, TARGETS, TARGET, query, _parse_word_numbers(target, builder)[:1]
    )
    for validator, cell in enumerate(validated, 1):
        worker_id, _, judgment = cell.partition(":")
        if not cell.strip():
            continue
        if _is_answer(cell):
            _add_answer(
                builder,
                query,
                _parse_word_numbers(judgment, builder),
                VALIDATOR.format(validator),
                worker_id,
            )
        elif target_span is None:
            raise ValueError(f"expected a target word, for the judgement {cell!r:.60} is about it")
        else:
            builder.attribute(TARGETS, VALIDATOR.format(validator), target_span, cell)


def _add_answer(
    builder: DocumentBuilder, query: str, words: tuple[int, ...], label: str, annotator: str
) -> None:
    """Add an answer and its annotator, unless it has no words."""
    span = _add_span(builder, LAYER, ANSWER, query, words)
    if span is not None:
        builder.attribute(LAYER, label, span, annotator)


def _add_span(
    builder: DocumentBuilder, layer: str, label: str, query: str, words: tuple[int, ...]
) -> str | None:
    """Add a span of words that belongs to a query; return None for no words."""
    if not words:
        return None
    fragments = (builder.char_bounds(first, end) for first, end in word_runs(words))
    span = builder.span(layer, label, *fragments)
    builder.attribute(layer, QUERY, span, query)
    return span


def _parse_word_numbers(cell: str, builder: DocumentBuilder) -> tuple[int, ...]:
    """Return word numbers; raises ``ValueError`` for other text and for missing words."""
    if _WORDS.fullmatch(cell) is None:
        raise ValueError(f"expected numbers of words with one blank between, got {cell!r:.60}")
    numbers = tuple(int(number) for number in cell.split())
    num_words = len(builder.words)
    if any(number >= num_words for number in numbers):
        raise ValueError(f"expected numbers of words from 0 to {num_words - 1}, got {cell!r:.60}")
    return numbers


def _format_questions(view: WordView) -> Iterator[list[str]]:
    """Yield the cells of each question, without the sentence."""
    document = view.document
    answer_spans = _spans_by_query(document, LAYER)
    target_spans = _spans_by_query(document, TARGETS)
    annotators = _annotator_attributes(document, LAYER)
    judgments_of = _annotator_attributes(document, TARGETS)
    for query, (targets, worker, number) in _parse_query_ids(document.queries, len(view.tokens)):
        target = [
            word for span in target_spans[query.id][:1] for word in view.covered_words(span)[:1]
        ]
        judgments = {
            label: _escape_cell(value)
            for span in target_spans[query.id][:1] * bool(target)
            for label, value in judgments_of.get(span.id, {}).items()
            if label != WRITER and not _is_answer(value)
        }
        cells = _answer_cells(view, answer_spans[query.id], annotators, judgments)
        yield [
            *(targets.replace("-", " "), worker, number, "".join(map(str, target))),
            *(_escape_cell(query.prompt), cells.pop(WRITER, "")),
            *(
                cells.get(VALIDATOR.format(side), "")
                for side in range(1, 1 + _last_validator(cells))
            ),
        ]


def _parse_query_ids(
    queries: Iterable[Query], words: int
) -> Iterator[tuple[Query, tuple[str, str, str]]]:
    """Yield queries with target words, worker and number; other ids become numbers alone."""
    query_list = list(queries)
    used_ids = {query.id for query in query_list}
    free_numbers = (number for number in count() if f"::{number}" not in used_ids)
    for query in query_list:
        match = _ID.fullmatch(query.id)
        if match and all(int(number) < words for number in re.findall("[0-9]+", match[1])):
            yield query, (match[1], match[2], match[3])
        else:
            yield query, ("", "", str(next(free_numbers)))


def _answer_cells(
    view: WordView,
    spans: Iterable[Span],
    annotators: Mapping[str, Mapping[str, str]],
    judgments: Mapping[str, str],
) -> dict[str, str]:
    """Return the cells of writer and validators; answers without annotator take free cells."""
    cells = dict(judgments)
    for span in spans:
        words = " ".join(map(str, view.covered_words(span)))
        if not words:
            continue
        label, annotator = next(iter(annotators.get(span.id, {}).items()), ("", ""))
        if not label or label in cells:
            validator_labels = (VALIDATOR.format(number) for number in count(1))
            label = next(
                free_label
                for free_label in chain((WRITER,), validator_labels)
                if free_label not in cells
            )
        cells[label] = (
            words if label == WRITER else f"{_escape_cell(annotator).replace(':', ' ')}:{words}"
        )
    return cells


def _spans_by_query(document: Document, layer: str) -> dict[str, tuple[Span, ...]]:
    """Return the spans of a layer by query; an absent layer has none."""
    no_spans = {query.id: () for query in document.queries}
    return {**no_spans, **answers(document, layer)} if document.has_layer(layer) else {**no_spans}


def _annotator_attributes(document: Document, layer: str) -> dict[str, dict[str, str]]:
    """Return the writer and validator attributes of a layer's annotations, by their ids."""
    attributes: dict[str, dict[str, str]] = {}
    for attribute in document.layer_or_empty(layer).attributes:
        if attribute.label == WRITER or _VALIDATOR_LABEL.fullmatch(attribute.label):
            attributes.setdefault(attribute.target, {}).setdefault(
                attribute.label, attribute.value or ""
            )
    return attributes


def _is_answer(cell: str) -> bool:
    """Tell whether a validator's cell has word numbers, or nothing."""
    _, colon, words = cell.partition(":")
    return not cell.strip() or bool(colon and words and _WORDS.fullmatch(words))


def _last_validator(cell_labels: Iterable[str]) -> int:
    """Return the number of the last validator, 0 if there is none."""
    matches = (_VALIDATOR_LABEL.fullmatch(label) for label in cell_labels)
    return max((int(match[1]) for match in matches if match), default=0)


def _escape_cell(text: str) -> str:
    """Return a text without cell separators and line ends."""
    return re.sub(r"[\t\n]", " ", text)


def _escape_word(form: str) -> str:
    """Return a word without blanks and line ends."""
    return re.sub(r"[ \t\n]|\r\Z", "_", form)


def _join_lines(rows: Iterable[str]) -> str:
    """Return lines, each with its line end."""
    return "".join(re.sub(r"\r\Z", " ", row) + "\n" for row in rows)


_SENTENCES = (
    "Wiki1k:a:0\tOn Monday Ada met , by chance , Bob and Eve .\nWiki1k:a:1\tThey talked .\n"
)
_ROWS = (
    "Wiki1k:a:0\t2 3 8\t76\t0\t2\tWho met Bob by chance?\t2\t261:2\t60:2\n"
    "Wiki1k:a:0\t2 3 8\t76\t2\t8\tWho did Ada meet?\t8 10\t261:8 9 10\t60:8 10\n"
    "Wiki1k:a:0\t2 3 8\t162\t0\t3\tWhen did they meet?\t0 1\t100:Redundant-1\t76:1\n"
    "Wiki1k:a:1\t0 1\t7\t0\t1\tWhat did they do?\t1\t9:Invalid\t60:Invalid\n"
)

KIND = Format(
    loads,
    dumps,
    sniff,
    (".tsv",),
    {"": _ROWS, "sentences": _SENTENCES},
    sidecars={"sentences": _SENTENCES_FILE},
)
