"""Documents as Hugging Face datasets, and back: whole documents, or sentences of tagged words.

See https://huggingface.co/docs/datasets.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from spanloom.document import Document
from spanloom.errors import DataError, NameNotFound, PackageMissing
from spanloom.formats import jsonl
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.formats._tagged import annotate, apart
from spanloom.forms.tag_schemes import SCHEMES, Scheme

if TYPE_CHECKING:
    from datasets import Dataset

_LINE = "standoff"  # the column with a whole document, as a line of JSON


def to_dataset(documents: Iterable[Document]) -> "Dataset":
    """Return a dataset of a row a document: ``name``, ``text``, and all of it as ``standoff``.

    Raises ``PackageMissing`` without datasets, ``DocumentError`` for a score that is not finite.
    """
    PackageMissing.check("to_dataset", "datasets", "datasets")
    import datasets

    every = list(documents)
    columns = {
        "name": [each.name for each in every],
        "text": [each.text for each in every],
        _LINE: [jsonl.dumps([each]).rstrip("\n") for each in every],
    }
    kinds = {name: datasets.Value("string") for name in columns}
    made: Dataset = datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))
    return made


def from_dataset(dataset: Iterable[Mapping[str, Any]], *, text: str = "text") -> Iterator[Document]:
    """Yield the document of each row: what ``to_dataset`` wrote, or the column ``text`` alone.

    Rows without a name are called by their number. Raises ``FormatError`` and, where a row has
    neither column, ``DataError``.
    """
    for number, row in enumerate(dataset):
        if row.get(_LINE):
            yield from jsonl.loads(row[_LINE], path=f"row {number}")
        elif isinstance(row.get(text), str):
            yield Document(row[text], name=str(row.get("name") or number))
        else:
            raise DataError(f"row {number}: expected a text in {text!r}, got {', '.join(row)}")


def to_tags(documents: Iterable[Document], layer: str, *, scheme: str = "BIO") -> "Dataset":
    """Return a dataset of a row a sentence: ``id``, ``tokens``, and ``tags`` of a class each.

    Spans that tags cannot hold (no whole words, overlapping an earlier one) are left out. Raises
    ``LayerError`` where a document has no such layer, ``NameNotFound`` for an unknown scheme and
    ``PackageMissing`` without datasets.
    """
    PackageMissing.check("to_tags", "datasets", "datasets")
    import datasets

    spells = _scheme(scheme)
    every = list(documents)
    rows = [row for document in every for row in _sentences(document, layer, spells)]
    names = spells.tags(sorted({span.label for each in every for span in each[layer].spans}))
    kinds = {
        "id": datasets.Value("string"),
        "tokens": datasets.List(datasets.Value("string")),
        "tags": datasets.List(datasets.ClassLabel(names=names)),
    }
    made: Dataset = datasets.Dataset.from_list(rows, features=datasets.Features(kinds))
    return made


def from_tags(
    dataset: "Dataset", tags: Mapping[str, str], *, tokens: str = "tokens", scheme: str = "BIO"
) -> Iterator[Document]:
    """Yield a document of one sentence for each row of words with tags.

    ``tags`` says which column each layer comes from: ``{"ner": "ner_tags"}``. Tags may be texts or
    numbers of classes that the dataset names. Raises ``NameNotFound`` for a column or scheme that
    there is not, and ``DataError`` where a row has not one tag a word.
    """
    spells = _scheme(scheme)
    for column in (tokens, *tags.values()):
        if column not in dataset.column_names:
            raise NameNotFound("column", column, dataset.column_names)
    names = {column: _names(dataset, column) for column in tags.values()}
    for number, row in enumerate(dataset):
        making = Making(str(row.get("id") or number))
        making.sentence(row[tokens])
        for layer, column in tags.items():
            said = [names[column][tag] if isinstance(tag, int) else tag for tag in row[column]]
            if len(said) != len(row[tokens]):
                got = f"{len(said)} of {len(row[tokens])} words"
                raise DataError(f"row {number}: expected a tag a word in {column!r}, got {got}")
            making.layer(layer)
            annotate(making, layer, spells, 0, said)
        yield making.done()


def _sentences(document: Document, layer: str, scheme: Scheme) -> Iterator[dict[str, Any]]:
    laid = Laid(document)
    found = apart(laid, layer, lambda span: bool(span[2]))
    for number, (first, end) in enumerate(laid.words.sentences):
        spans = [(start, stop, span.label) for start, stop, span in found[number]]
        yield {
            "id": f"{document.name}-{number}",
            "tokens": laid.forms[first:end],
            "tags": scheme.encode(spans, end - first),
        }


def _scheme(name: str) -> Scheme:
    if name not in SCHEMES:
        raise NameNotFound("scheme", name, SCHEMES)
    return SCHEMES[name]


def _names(dataset: "Dataset", column: str) -> list[str]:
    """The names of a column's classes, none where it holds texts."""
    kind = getattr(dataset.features[column], "feature", None)
    return list(getattr(kind, "names", ()))
