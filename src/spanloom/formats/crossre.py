"""Read and write CrossRE's JSON lines: sentences with entities, and relations between them.

::

    {"doc_key": "ai-1", "sentence": ["Ada", "uses", "SVMs"],
     "ner": [[0, 0, "researcher"], [2, 2, "algorithm"]],
     "relations": [[0, 0, 2, 2, "usage", "she says so", true, false]]}

A line is a sentence, which is a document. Bounds are the first and the last word. A relation goes
from the first entity to the second, both of which are in ``ner``; two entities may have several.
After its label come the annotators' explanation (a note, if not empty), and whether they were
uncertain and whether the syntax is ambiguous (attributes ``uncertain``, ``ambiguous_syntax``). All
is in layer ``entities``. (Bassignana and Plank, 2022)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.config.options import Options
from spanloom.document import Document, Layer
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._json import (
    JsonObject,
    a_list,
    a_number,
    a_string,
    json_lines,
    list_of,
    only,
    string_of,
    strings_of,
)
from spanloom.formats._text import errors_at
from spanloom.formats._word_view import WordView
from spanloom.tokenization import Bounds

LAYER = "entities"
EXPLANATION = "explanation"  # a note of a relation
UNCERTAIN, AMBIGUOUS = "uncertain", "ambiguous_syntax"  # attributes of a relation

_KEYS = ("doc_key", "sentence", "ner", "relations")
_NUM_BOUNDS = {"ner": 2, "relations": 4}
_EXPECTED = {
    "ner": "expected [FIRST, LAST, LABEL]",
    "relations": "expected four numbers, a label, an explanation, true or false twice",
}


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every line that is not blank; raises ``FormatError`` with the line."""
    names = Names()
    for number, record in json_lines(text, path):
        with errors_at(path, number):
            yield _build_document(record, names)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return one line per document."""
    return "".join(json.dumps(_format_document(document)) + "\n" for document in documents)


def _build_document(record: JsonObject, names: Names) -> Document:
    """Return the document of a line; raises ``ValueError``."""
    only(record, *_KEYS)
    builder = names.making(string_of(record, "doc_key"))
    words = strings_of(record, "sentence")
    if not all(words):
        raise ValueError(f"sentence: expected words, got {words!r:.60}")
    if words:
        builder.sentence(words)
    if "relations" in record and "ner" not in record:
        raise ValueError("expected the key 'ner' beside 'relations'")
    if "ner" in record:
        builder.layer(LAYER)
        entities: dict[Bounds, str] = {}
        for entry in list_of(record, "ner"):
            (bounds,), (label,) = _parse_entry("ner", entry, len(words))
            entity = builder.add_word_span(LAYER, a_string(label), *bounds)
            entities.setdefault(bounds, entity)
        for entry in list_of(record, "relations", []):
            _add_relation(builder, entry, entities)
    return builder.build()


def _add_relation(builder: DocumentBuilder, entry: Any, entities: dict[Bounds, str]) -> None:
    """Add a relation between two entities; raises ``ValueError``."""
    ends, values = _parse_entry("relations", entry, len(builder.words))
    if not entities.keys() >= set(ends):
        raise ValueError(f"relations: expected two entities of ner, got {entry!r:.60}")
    label, explanation, *flags = values
    relation = builder.relation(LAYER, a_string(label), *(entities[bounds] for bounds in ends))
    if a_string(explanation):
        builder.note(LAYER, EXPLANATION, relation, explanation)
    for attribute, flag in zip((UNCERTAIN, AMBIGUOUS), flags, strict=True):
        if type(flag) is not bool:
            raise ValueError(f"relations: expected true or false, got {flag!r:.60}")
        if flag:
            builder.attribute(LAYER, attribute, relation)


def _parse_entry(key: str, entry: Any, num_words: int) -> tuple[list[Bounds], list[Any]]:
    """Return the word bounds ``[start, end)`` of an entry, and the values that follow them."""
    items, num_bounds = a_list(entry), _NUM_BOUNDS[key]
    if len(items) != (3 if key == "ner" else 8):
        raise ValueError(f"{key}: {_EXPECTED[key]}, got {entry!r:.60}")
    numbers = [a_number(number) for number in items[:num_bounds]]
    bounds = [(first, last + 1) for first, last in zip(numbers[::2], numbers[1::2], strict=True)]
    if not all(0 <= start < end <= num_words for start, end in bounds):
        raise ValueError(f"{key}: expected words in [0, {num_words}), got {entry!r:.60}")
    return bounds, items[num_bounds:]


def _format_document(document: Document) -> dict[str, Any]:
    """Return the record of a document, whose sentences become one."""
    view = WordView(document)
    record: dict[str, Any] = {"doc_key": id_in_file(document), "sentence": view.tokens}
    if document.has_layer(LAYER):
        record |= _format_entities(view, document[LAYER])
    return record


def _format_entities(view: WordView, layer: Layer) -> dict[str, Any]:
    """Return the entities that are whole words of a sentence, and the relations between them."""
    bounds: dict[str, list[int]] = {}
    for number, spans in enumerate(view.by_sentence(LAYER)[0]):
        first = view.words.sentences[number][0]
        bounds |= {span.id: [first + start, first + end - 1] for start, end, span in spans}
    explanations = {note.target: note.text for note in layer.notes if note.label == EXPLANATION}
    flags = {(attribute.target, attribute.label) for attribute in layer.attributes}
    relations = [
        [
            *(*bounds[relation.head], *bounds[relation.tail], relation.label),
            explanations.get(relation.id, ""),
            *((relation.id, attribute) in flags for attribute in (UNCERTAIN, AMBIGUOUS)),
        ]
        for relation in layer.relations
        if relation.head in bounds and relation.tail in bounds
    ]
    ner = [[*bounds[span.id], span.label] for span in layer.spans if span.id in bounds]
    return {"ner": ner, "relations": relations}


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the keys of the first line."""
    first_line = head.lstrip().split("\n", 1)[0]
    has_sentence = re.search(r'"sentence"\s*:\s*\[\s*"', first_line) is not None
    return first_line.startswith("{") and has_sentence and '"doc_key"' in first_line


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".json", ".jsonl"),
    '{"doc_key": "ai-dev-1", "sentence": ["Ada", "Byron", "uses", "SVMs", "in", "Turin", "."], '
    '"ner": [[0, 1, "researcher"], [3, 3, "algorithm"], [5, 5, "city"]], "relations": [[0, 1, 3, '
    '3, "usage", "", false, false], [0, 1, 5, 5, "physical", "uses it there", true, false], [0, 1, '
    '5, 5, "general-affiliation", "", false, true]]}\n'
    '{"doc_key": "ai/2", "sentence": ["Yes"], "ner": [], "relations": []}\n'
    '{"doc_key": "ai-3", "sentence": ["No"]}\n',
    layers=(LAYER,),
)
