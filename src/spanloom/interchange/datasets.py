"""Convert documents to Hugging Face datasets and back: documents, or tagged sentences.

See https://huggingface.co/docs/datasets.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spanloom.annotation.tag_schemes import SCHEMES, Scheme
from spanloom.document import Document
from spanloom.errors import DataError, FormatError, LossWarning, NameNotFound, PackageMissing
from spanloom.formats import jsonl
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._word_view import WordView, annotate, encodable_spans
from spanloom.interchange.words_of_tags import with_words_of_tags
from spanloom.quantity import quantity
from spanloom.tokenization import word_tokenizer

if TYPE_CHECKING:
    from datasets import Dataset

STANDOFF = "standoff"  # the column with the document as a line of JSON
_NO_CLASS = -1  # the index that datasets give what has no label


def to_dataset(documents: Iterable[Document]) -> "Dataset":
    """Return a dataset with one row per document: ``name``, ``text``, and its JSON as ``standoff``.

    Raises ``PackageMissing`` without datasets, ``DocumentError`` for a score that is not finite.
    """
    PackageMissing.check("to_dataset", "datasets", "datasets")
    import datasets

    documents = list(documents)
    columns = {
        "name": [storable(document.name) for document in documents],
        "text": [storable(document.text) for document in documents],
        STANDOFF: [jsonl.dumps([document]).rstrip("\n") for document in documents],
    }
    types = {name: datasets.Value("string") for name in columns}
    dataset: Dataset = datasets.Dataset.from_dict(columns, features=datasets.Features(types))
    return dataset


def storable(text: str) -> str:
    """Return the text as a column holds it, a lone surrogate as ``?``; ``standoff`` has it all."""
    return text.encode(errors="replace").decode()


def from_dataset(
    dataset: Iterable[Mapping[str, Any]], *, text: str = "text", path: str = "dataset"
) -> Iterator[Document]:
    """Yield the document of each row: what ``to_dataset`` wrote, or the column ``text`` alone.

    Rows without a name are named by their number. Raises ``FormatError`` with ``path`` and the
    number of the row if it has neither column or is no document.
    """
    for number, document in read_rows(dataset, text, path):
        yield document if document.name else replace(document, name=str(number))


def read_rows(
    rows: Iterable[Mapping[str, Any]], text: str, path: str
) -> Iterator[tuple[int, Document]]:
    """Yield the number and the document of each row, which may have no name; raises alike."""
    for number, row in enumerate(rows):
        try:
            documents = _parse_row(row, text)
        except FormatError as error:
            raise FormatError(path, None, f"row {number}: {error.problem}") from error
        except ValueError as error:
            raise FormatError(path, None, f"row {number}: {error}") from error
        for document in documents:
            yield number, document


def to_tags(documents: Iterable[Document], layer: str, *, scheme: str = "BIO") -> "Dataset":
    """Return a dataset with one row per sentence: ``id``, ``tokens``, and ``tags`` as class labels.

    Words and sentences are the document's own; without, words are those that its tags cover, else
    of the tokenizer ``char-class``, and sentences end at punctuation. Spans that tags cannot
    express (not whole words, or overlapping an earlier one) are left out: a ``LossWarning`` counts
    them. Raises ``LayerError`` where a document has no such layer, ``NameNotFound`` for an unknown
    scheme and ``PackageMissing`` without datasets.
    """
    PackageMissing.check("to_tags", "datasets", "datasets")
    import datasets

    tag_scheme = _scheme(scheme)
    tokenizer = word_tokenizer("char-class", "punctuation")
    documents = [with_words_of_tags(document, tokenizer) for document in documents]
    rows: list[dict[str, Any]] = []
    for document in documents:
        rows += _sentences(document, layer, tag_scheme)
    labels = {span.label for document in documents for span in document[layer].spans}
    names = tag_scheme.tags(sorted(labels))
    types = {
        "id": datasets.Value("string"),
        "tokens": datasets.List(datasets.Value("string")),
        "tags": datasets.List(datasets.ClassLabel(names=names)),
    }
    dataset: Dataset = datasets.Dataset.from_list(rows, features=datasets.Features(types))
    return dataset


def from_tags(
    dataset: "Dataset", tags: Mapping[str, str], *, tokens: str = "tokens", scheme: str = "BIO"
) -> Iterator[Document]:
    """Yield one document of one sentence for each row of tagged words.

    ``tags`` maps each layer to its column: ``{"ner": "ner_tags"}``. Tags may be strings or indices
    of classes that the dataset names; a row whose tags are all -1, as those of hidden test sets,
    gets no such layer. Raises ``NameNotFound`` for an unknown column or scheme, and ``DataError``
    where a row has not one tag per word, or one that is no class.
    """
    tag_scheme = _scheme(scheme)
    for column in (tokens, *tags.values()):
        if column not in dataset.column_names:
            raise NameNotFound("column", column, dataset.column_names)
    class_names = {column: _class_names(dataset, column) for column in tags.values()}
    for number, row in enumerate(dataset):
        builder = DocumentBuilder(str(row.get("id") or number))
        builder.sentence(row[tokens])
        for layer, column in tags.items():
            row_tags = row[column]
            if len(row_tags) != len(row[tokens]):
                got = f"{len(row_tags)} of {len(row[tokens])} words"
                raise DataError(f"row {number}: expected a tag a word in {column!r}, got {got}")
            if row_tags and all(tag == _NO_CLASS for tag in row_tags):
                continue
            builder.layer(layer)
            names = _tag_names(row_tags, class_names[column], f"row {number}, {column!r}")
            annotate(builder, layer, tag_scheme, 0, names)
        yield builder.build()


def _parse_row(row: Mapping[str, Any], text: str) -> list[Document]:
    """Return the documents of a row; raises ``FormatError``, and ``ValueError`` for bad values."""
    standoff = row.get(STANDOFF)
    if isinstance(standoff, str) and standoff:
        return list(jsonl.loads(standoff))
    if standoff is not None and standoff != "":
        raise ValueError(f"expected a line of JSON in {STANDOFF!r}, got {standoff!r:.60}")
    if text not in row:
        raise ValueError(f"expected a text in {text!r}, got the columns {', '.join(row)}")
    if not isinstance(row[text], str):
        raise ValueError(f"expected a text in {text!r}, got {row[text]!r:.60}")
    return [Document(row[text], name=str(row.get("name") or ""))]


def _sentences(document: Document, layer: str, scheme: Scheme) -> list[dict[str, Any]]:
    """Return one row per sentence: its id, words and tags; warn of spans without a place."""
    view = WordView(document)
    spans_of = encodable_spans(view, layer, lambda span: bool(span[2]))
    num_spans = len(document[layer].spans)
    if num_left := num_spans - sum(map(len, spans_of)):
        lost = f"{num_left} of {quantity(num_spans, 'span')} of layer {layer!r}"
        reason = "they overlap others, or are no whole words of one sentence"
        message = f"{document.name or 'document'}: tags have no place for {lost}: {reason}"
        warnings.warn(message, LossWarning, stacklevel=3)
    rows = []
    for number, (first, end) in enumerate(view.words.sentences):
        spans = [(start, stop, span.label) for start, stop, span in spans_of[number]]
        rows.append(
            {
                "id": f"{document.name}-{number}",
                "tokens": view.tokens[first:end],
                "tags": scheme.encode(spans, end - first),
            }
        )
    return rows


def _scheme(name: str) -> Scheme:
    """Return the scheme of that name; raises ``NameNotFound``."""
    if name not in SCHEMES:
        raise NameNotFound("scheme", name, SCHEMES)
    return SCHEMES[name]


def _class_names(dataset: "Dataset", column: str) -> list[str]:
    """Return the class names of a column, none if it holds strings."""
    feature = getattr(dataset.features[column], "feature", None)
    return list(getattr(feature, "names", ()))


def _tag_names(tags: Sequence[str | int], class_names: Sequence[str], place: str) -> list[str]:
    """Return tags as strings; raises ``DataError`` with ``place`` for the index of no class."""
    indices = range(len(class_names))
    for tag in tags:
        if not isinstance(tag, str) and tag not in indices:
            expected = f"a string or the index of one of {len(class_names)} classes"
            raise DataError(f"{place}: expected {expected}, got {tag!r:.60}")
    return [tag if isinstance(tag, str) else class_names[tag] for tag in tags]
