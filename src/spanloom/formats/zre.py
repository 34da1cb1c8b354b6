"""Read and write relations as questions (Levy et al. 2017): a question about a sentence per row.

::

    educated_at  Where did XXX study?  Ada  Ada studied at Bath and at York .  Bath  York

A row (tabs separate its cells) has relation, question, subject, sentence, and any number of
answers; without any, the sentence does not answer the question. In the question, ``XXX`` stands for
the subject. A document is a sentence with one query, in which the subject is filled in. Each answer
is a span of the layer ``answers``, over its first occurrence. Relation, question and subject are
kept in the document's meta.
"""

from collections.abc import Iterable, Iterator

from spanloom.annotation.queries import ANSWER, QUERY, answers
from spanloom.config.options import Options
from spanloom.document import Document, Query
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, default_name
from spanloom.formats._text import TAB, errors_at, escape_cell, lines

LAYER = "answers"
RELATION, TEMPLATE, SUBJECT = "relation", "question", "subject"

_COLUMNS = (RELATION, TEMPLATE, SUBJECT, "sentence")
_SLOT = "XXX"
_QUERY = "Q1"


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of each row.

    Raises ``FormatError``: too few cells, an answer that is not in the sentence.
    """
    rows = (line for line in lines(text.removeprefix("\ufeff")) if line.text.strip())
    for number, line in enumerate(rows, 1):
        cells = line.text.split(TAB)
        if len(cells) < len(_COLUMNS):
            expected = f"expected {len(_COLUMNS)} cells or more ({', '.join(_COLUMNS)}, answers)"
            raise FormatError(path, line.number, f"{expected}, got {len(cells)}")
        with errors_at(path, line.number):
            yield _document(default_name(number), cells)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return a row per query."""
    return "".join(
        TAB.join(escape_cell(cell, TAB) if cell else cell for cell in cells) + "\n"
        for document in documents
        for cells in _format_rows(document)
    )


def sniff(head: str, name: str) -> bool:
    """Tell whether the first row has a question with the place of a subject."""
    first = head.removeprefix("\ufeff").partition("\n")[0].split(TAB)
    return len(first) >= len(_COLUMNS) and _SLOT in first[1]


def _document(name: str, cells: list[str]) -> Document:
    """Return the document of a row; raises ``ValueError``."""
    relation, template, subject, sentence, *texts = cells
    meta = [(RELATION, relation), (TEMPLATE, template), (SUBJECT, subject)]
    builder = DocumentBuilder(name, meta)
    builder.add_text(sentence)
    builder.queries.append(Query(_QUERY, template.replace(_SLOT, subject)))
    builder.layer(LAYER)
    for answer in texts:
        start = sentence.find(answer)
        if start < 0 or not answer:
            raise ValueError(f"expected an answer in the sentence, got {answer!r:.60}")
        span = builder.span(LAYER, ANSWER, (start, start + len(answer)))
        builder.attribute(LAYER, QUERY, span, _QUERY)
    return builder.build()


def _format_rows(document: Document) -> Iterator[list[str]]:
    """Yield the cells of each query of a document that has answers or none."""
    meta = dict(document.meta)
    spans_of = answers(document, LAYER) if document.has_layer(LAYER) else {}
    for query in document.queries if document.has_layer(LAYER) else ():
        template, subject = meta.get(TEMPLATE, ""), meta.get(SUBJECT, "")
        if template.replace(_SLOT, subject) != query.prompt:
            template, subject = query.prompt, ""
        texts = [document.text[span.start : span.end] for span in spans_of[query.id]]
        yield [meta.get(RELATION, ""), template, subject, document.text, *filter(None, texts)]


KIND = Format(
    loads,
    dumps,
    sniff,
    (".tsv",),
    "educated_at\tWhere did XXX study?\tAda\tAda studied at Bath and at York .\tBath\tYork\n"
    "educated_at\tWhat is XXX's school?\tBob\tBob was born in Rome .\n",
)
