"""Read and write gold QA-SRL (Roit et al. 2020): questions about verbs, answered by words.

::

    qasrl_id,verb_idx,verb,worker_id,assign_id,source_assign_id,question,is_redundant,answer_range,…
    Wiki1k:a:0,2,met,A1,B1,C1,Who met someone?,False,0:1~!~4:6,Ada~!~Bob Eve,who,,,someone,,,,…

A row (cells separated by commas, quoted where needed) is a question about one verb. Answers are
ranges of words, without the last; ``~!~`` separates several. The sentences are in another file,
``qasrl_id,tokens,sentence``. A sentence is a document, its rows its queries, whose ids are the
verb's word and the number of its question (``2:0``). Each answer is a span of the layer
``answers``. All other cells are kept in the document's meta as JSON.

Only sentences with questions are documents, so only those are written back.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from spanloom.annotation.queries import ANSWER, QUERY, answers
from spanloom.config.options import Options
from spanloom.document import Document, Query, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, id_in_file
from spanloom.formats._sentence_file import Row, begin_documents, distinct_id
from spanloom.formats._text import errors_at
from spanloom.formats._word_view import WordView

LAYER = "answers"

_SENTENCES_FILE = "sentences.csv"
_SENTENCE_COLUMNS = ("qasrl_id", "tokens", "sentence")
_COLUMNS = (
    *("qasrl_id", "verb_idx", "verb", "worker_id", "assign_id", "source_assign_id", "question"),
    *("is_redundant", "answer_range", "answer", "wh", "subj", "obj", "obj2", "aux", "prep"),
    *("verb_prefix", "is_passive", "is_negated", "verb_slot_inflection"),
)
_READ = ("qasrl_id", "verb_idx", "question", "answer_range")  # cells that the document holds itself
_OTHERS = tuple(column for column in _COLUMNS if column not in _READ)
_SEPARATOR = "~!~"
_RANGE = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")
_QUERY_ID = re.compile(r"([0-9]{1,9}):[0-9]{1,9}")
_META = "question {}"  # in meta: the other cells of a row


def loads(
    text: str, *, sentences: str = "", path: str = "<string>", options: Options = Options()
) -> Iterator[Document]:
    """Yield the document of each sentence that rows are about.

    Raises ``FormatError``: other columns, a sentence that is not in ``sentences``, words that it
    does not have.
    """
    words_of = {
        row.sentence: row.cells["tokens"].split()
        for row in _rows(sentences, _SENTENCES_FILE, _SENTENCE_COLUMNS)
    }
    rows = _rows(text, path, _COLUMNS)
    for builder, sentence_rows in begin_documents(rows, words_of, _SENTENCES_FILE, path):
        builder.layer(LAYER)
        num_questions: Counter[str] = Counter()
        for row in sentence_rows:
            with errors_at(path, row.line):
                _add_question(builder, words_of[row.sentence], row.cells, num_questions)
        with errors_at(path, sentence_rows[-1].line):
            yield builder.build()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> dict[str, str]:
    """Return the rows, and the sentences under ``sentences``; texts without words are left out."""
    rows: list[Sequence[str]] = [_COLUMNS]
    words_of: dict[str, str] = {}
    last_name = None
    for document in documents:
        view = WordView(document)
        words = " ".join("".join(token.split()) or "_" for token in view.tokens)
        if not words:
            continue
        name = distinct_id(id_in_file(document) or "_", words, words_of, last_name)
        words_of[name] = words
        document_rows = [(name, *cells) for cells in _format_questions(view)]
        rows += document_rows
        last_name = name if document_rows else last_name
    sentence_rows = [(name, words, words) for name, words in words_of.items()]
    return {"": _format_rows(rows), "sentences": _format_rows([_SENTENCE_COLUMNS, *sentence_rows])}


def sniff(head: str, name: str) -> bool:
    """Tell whether the first line has the columns of the questions."""
    return head.removeprefix("\ufeff").startswith(",".join(_COLUMNS[:3]))


def _rows(text: str, path: str, columns: Sequence[str]) -> Iterator[Row[dict[str, str]]]:
    """Yield the rows after the first one, which names the columns; raises ``FormatError``."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if line == 1 and tuple(cells) != tuple(columns):
                expected = f"expected the columns {', '.join(columns)}"
                raise FormatError(path, line, f"{expected}, got {', '.join(cells):.200}")
            if len(cells) != len(columns):
                problem = f"expected {len(columns)} cells, got {len(cells)}"
                raise FormatError(path, line, problem)
            if line > 1:
                by_column = dict(zip(columns, cells, strict=True))
                yield Row(line, by_column["qasrl_id"], by_column)
            line = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(path, line, str(error)) from error


def _add_question(
    builder: DocumentBuilder,
    words: Sequence[str],
    cells: dict[str, str],
    num_questions: Counter[str],
) -> None:
    """Add a question and its answers; raises ``ValueError``."""
    verb, num_words = cells["verb_idx"], len(words)
    if verb and not (re.fullmatch(r"[0-9]{1,9}", verb) and int(verb) < num_words):
        problem = f"expected verb_idx to be a word's number from 0 to {num_words - 1}"
        raise ValueError(f"{problem}, got {verb!r:.60}")
    query = f"{verb}:{num_questions[verb]}"
    num_questions[verb] += 1
    builder.queries.append(Query(query, cells["question"]))
    texts = []
    for part in filter(None, cells["answer_range"].split(_SEPARATOR)):
        match = _RANGE.fullmatch(part)
        if match is None or not int(match[1]) < int(match[2]) <= num_words:
            problem = f"expected answer_range to have words from 0 to {num_words}, as 0:2"
            raise ValueError(f"{problem}, got {part!r:.60}")
        start, end = int(match[1]), int(match[2])
        texts.append(" ".join(words[start:end]))
        span = builder.add_word_span(LAYER, ANSWER, start, end)
        builder.attribute(LAYER, QUERY, span, query)
    if cells["answer"] == _SEPARATOR.join(texts):
        cells = cells | {"answer": ""}  # what the words say
    others = [cells[column] for column in _OTHERS]
    builder.meta.append((_META.format(query), json.dumps(others, ensure_ascii=False)))


def _format_questions(view: WordView) -> Iterator[list[str]]:
    """Yield the cells of each question, without the sentence."""
    document = view.document
    meta = dict(document.meta)
    spans_of = answers(document, LAYER) if document.has_layer(LAYER) else {}
    for query in document.queries:
        match = _QUERY_ID.fullmatch(query.id)
        is_verb = match is not None and int(match[1]) < len(view.tokens)
        ranges = [bounds for span in spans_of.get(query.id, ()) if (bounds := _words(view, span))]
        cells = dict.fromkeys(_COLUMNS, "") | _other_cells(meta.get(_META.format(query.id)))
        if not cells["answer"]:
            texts = (" ".join(view.tokens[start:end]) for start, end in ranges)
            cells["answer"] = _SEPARATOR.join(texts)
        cells |= {
            "verb_idx": match[1] if match is not None and is_verb else "",
            "question": query.prompt,
            "answer_range": _SEPARATOR.join(f"{start}:{end}" for start, end in ranges),
        }
        yield [cells[column] for column in _COLUMNS[1:]]


def _other_cells(stored: str | None) -> dict[str, str]:
    """Return the cells that meta keeps of a row; none where it keeps something else."""
    try:
        cells = json.loads(stored or "null")
    except ValueError:
        return {}
    is_row = isinstance(cells, list) and len(cells) == len(_OTHERS)
    if not is_row or not all(isinstance(cell, str) for cell in cells):
        return {}
    return dict(zip(_OTHERS, cells, strict=True))


def _words(view: WordView, span: Span) -> tuple[int, int] | None:
    """Return the words of a span in one piece; None if it does not cover whole words."""
    words = view.covered_words(span)
    return (words[0], words[-1] + 1) if words and len(span.fragments) == 1 else None


def _format_rows(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as the files have them."""
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


_EXAMPLE_SENTENCES = _format_rows(
    [
        _SENTENCE_COLUMNS,
        ("Wiki1k:a:0", "Ada met , by chance , Bob .", "Ada met , by chance , Bob ."),
        ("Wiki1k:a:1", 'They " talked " .', 'They " talked " .'),
    ]
)
_EXAMPLE_ROWS = _format_rows(
    [
        _COLUMNS,
        *(
            ("Wiki1k:a:0", "1", "met", "A1", "B1", "C1", question, "False", ranges, texts, wh)
            + ("", "", "", "", "", "", "False", "False", "Past")
            for question, ranges, texts, wh in (
                ("Who met someone?", "0:1", "Ada", "who"),
                ("How did someone meet someone?", "3:5~!~4:5", "by chance~!~chance", "how"),
            )
        ),
        ("Wiki1k:a:1", "2", "talked", "A2", "B2", "Some(C2)", "Who talked, then?", "False")
        + ("0:1", "They", "who", "", "", "", "", "", "", "False", "False", "Past"),
    ]
)

KIND = Format(
    loads,
    dumps,
    sniff,
    (".csv",),
    {"": _EXAMPLE_ROWS, "sentences": _EXAMPLE_SENTENCES},
    sidecars={"sentences": _SENTENCES_FILE},
)
