"""Read and write TACRED: a JSON list of sentences, each with a subject, an object and a relation.

::

    [{"id": "a", "docid": "D1", "relation": "per:title",
      "token": ["Ada", "is", "a", "poet"], "subj_start": 0, "subj_end": 0, "obj_start": 3,
      "obj_end": 3, "subj_type": "PERSON", "obj_type": "TITLE", "stanford_pos": ["NNP", …],
      "stanford_ner": […], "stanford_head": [4, …], "stanford_deprel": […]}]

Ends are the last words. A document is a sentence: given words; in layer ``entities`` the subject,
the object, both labelled with their types, and the relation between them (``no_relation`` too).
The parser's columns are the attributes ``pos``, ``ner``, ``head`` and ``deprel`` of words; the head
is a word from 1, 0 for the root. (Zhang et al., 2017)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.config.options import Options
from spanloom.document import WORDS, Document, Relation, Span
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._json import (
    a_number,
    a_string,
    an_object,
    elements,
    list_of,
    number_of,
    only,
    string_of,
    strings_of,
)
from spanloom.formats._text import errors_at
from spanloom.formats._word_view import WordView

LAYER = "entities"
DOCID = "docid"
PARSED = ("pos", "ner", "head", "deprel")  # attributes of words; in the file ``stanford_pos`` …

_ENDS = ("subj", "obj")
_BOUND_KEYS = [f"{end}_{side}" for end in _ENDS for side in ("start", "end")]
_TYPE_KEYS = [f"{end}_type" for end in _ENDS]
_COLUMN_KEYS = [f"stanford_{name}" for name in PARSED]
_HEAD = "head"  # the one column of numbers
_NUMBER = re.compile(r"[0-9]{1,9}")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield one document per sentence; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    for line, value in elements(text, path):
        with errors_at(path, line):
            yield _build_document(value, names)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the list, on one line; sentences without a relation are left out."""
    records = (record for document in documents for record in _relation_records(document))
    return json.dumps(list(records)) + "\n"


def _build_document(value: Any, names: Names) -> Document:
    """Return the document of a sentence; raises ``ValueError``."""
    record = an_object(value)
    only(record, "id", DOCID, "relation", "token", *_BOUND_KEYS, *_TYPE_KEYS, *_COLUMN_KEYS)
    builder = names.making(string_of(record, "id"))
    if DOCID in record:
        builder.meta.append((DOCID, string_of(record, DOCID)))
    words = strings_of(record, "token")
    if not words or not all(words):
        raise ValueError(f"token: expected words, got {words!r:.60}")
    builder.sentence(words)
    for name, key in zip(PARSED, _COLUMN_KEYS, strict=True):
        if key in record:
            _add_column(builder, name, list_of(record, key))
    ends = []
    for end in _ENDS:
        first, last = (number_of(record, f"{end}_{side}") for side in ("start", "end"))
        if not 0 <= first <= last < len(words):
            problem = f"{end}_start, {end}_end: expected words in [0, {len(words)})"
            raise ValueError(f"{problem}, got {first!r:.30} and {last!r:.30}")
        ends.append(builder.add_word_span(LAYER, string_of(record, f"{end}_type"), first, last + 1))
    builder.relation(LAYER, string_of(record, "relation"), *ends)
    return builder.build()


def _add_column(builder: DocumentBuilder, name: str, values: list[Any]) -> None:
    """Add a parser's values of each word; raises ``ValueError``."""
    if len(values) != len(builder.words):
        problem = f"stanford_{name}: expected a value for each of {len(builder.words)} words"
        raise ValueError(f"{problem}, got {len(values)}")
    for word, value in zip(builder.words, values, strict=True):
        text_value = str(_parse_word_number(value)) if name == _HEAD else a_string(value)
        builder.attribute(WORDS, name, word, text_value)


def _parse_word_number(value: Any) -> int:
    """Return the number of a word; raises ``ValueError``."""
    if not 0 <= a_number(value) < 10**9:
        raise ValueError(f"stanford_head: expected a word's number, got {value!r:.30}")
    return a_number(value)


def _relation_records(document: Document) -> Iterator[dict[str, Any]]:
    """Yield a record for each relation between whole words of one sentence."""
    view = WordView(document)
    positions: dict[str, tuple[int, int, int, Span]] = {}  # sentence, first and last word
    for number, spans in enumerate(view.by_sentence(LAYER)[0]):
        positions |= {span.id: (number, start, end - 1, span) for start, end, span in spans}
    for relation in document.layer_or_empty(LAYER).relations:
        if relation.head in positions and relation.tail in positions:
            head, tail = positions[relation.head], positions[relation.tail]
            if head[0] == tail[0]:
                yield _relation_record(view, relation, head, tail)


def _relation_record(
    view: WordView,
    relation: Relation,
    head: tuple[int, int, int, Span],
    tail: tuple[int, int, int, Span],
) -> dict[str, Any]:
    """Return the record of a relation with its sentence."""
    first, end = view.words.sentences[head[0]]
    bounds = (head[1], head[2], tail[1], tail[2])
    record: dict[str, Any] = {"id": id_in_file(view.document)}
    meta = dict(view.document.meta)
    record |= {DOCID: meta[DOCID]} if DOCID in meta else {}
    record |= {"relation": relation.label, "token": view.tokens[first:end]}
    record |= dict(zip(_BOUND_KEYS, bounds, strict=True))
    record |= dict(zip(_TYPE_KEYS, (head[3].label, tail[3].label), strict=True))
    return record | _parser_columns(view, first, end)


def _parser_columns(view: WordView, first: int, end: int) -> dict[str, list[Any]]:
    """Return the parser's columns that have a value for each word."""
    attributes = view.values(WORDS)
    word_attributes = [attributes.get(row, []) for row in range(first, end)]
    word_values = [
        {
            attribute.label: attribute.value
            for attribute in attributes_of_word
            if attribute.value is not None
        }
        for attributes_of_word in word_attributes
    ]
    columns: dict[str, list[Any]] = {}
    for name, key in zip(PARSED, _COLUMN_KEYS, strict=True):
        column = [word[name] for word in word_values if name in word]
        if len(column) == len(word_values) and (
            name != _HEAD or all(map(_NUMBER.fullmatch, column))
        ):
            columns[key] = [int(head) for head in column] if name == _HEAD else column
    return columns


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the keys of the first sentence."""
    start = head[:20_000]
    return (
        re.match(r"\s*\[\s*\{", start) is not None
        and '"subj_start"' in start
        and '"token"' in start
    )


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".json",),
    '[{"id": "e1", "docid": "D1", "relation": "per:title", "token": ["Ada", "is", "a", "good", '
    '"poet"], "subj_start": 0, "subj_end": 0, "obj_start": 3, "obj_end": 4, "subj_type": "PERSON", '
    '"obj_type": "TITLE", "stanford_pos": ["NNP", "VBZ", "DT", "JJ", "NN"], "stanford_ner": '
    '["PERSON", "O", "O", "O", "O"], "stanford_head": [5, 5, 5, 5, 0], "stanford_deprel": '
    '["nsubj", "cop", "det", "amod", "ROOT"]}, {"id": "e2", "relation": "no_relation", "token": '
    '["He", "ran"], "subj_start": 1, "subj_end": 1, "obj_start": 0, "obj_end": 1, "subj_type": '
    '"ACT", "obj_type": "PERSON"}]\n',
)
