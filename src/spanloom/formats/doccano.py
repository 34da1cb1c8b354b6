"""Read and write doccano's JSON lines: labelled spans, relations between them, classes of texts.

::

    {"id": 1, "text": "Ada met Bob.", "label": [[0, 3, "PER"], [8, 11, "PER"]], "Comments": []}
    {"id": 2, "text": "A moving film", "label": ["positive"]}
    {"id": 3, "text": "Ada met Bob.", "entities": [{"id": 7, "label": "PER", "start_offset": 0,
     "end_offset": 3}, …], "relations": [{"id": 1, "from_id": 7, "to_id": 8, "type": "met"}]}

A line is a document: raw text, named by ``document_name``, which we write where a name is no
number, else by its id. Layer ``entities`` has spans and relations, whose ids are notes; layer
``label`` has the classes, each a span over the whole text. All other keys are kept in meta, as
JSON. Documents with relations are written in the last way, others in the first. Overlapping spans
are allowed.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.config.options import Options
from spanloom.document import Document, Layer, Span
from spanloom.formats._annotated_texts import (
    INTEGER,
    NAME,
    add_class,
    add_meta,
    bounds_within,
    json_or_none,
    name_entry,
    whole_text,
)
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, default_name, id_in_file
from spanloom.formats._json import (
    JsonObject,
    a_list,
    a_string,
    json_lines,
    list_of,
    number_of,
    objects_of,
    string_of,
    value_of,
)
from spanloom.formats._text import errors_at

ENTITIES, CLASSES = "entities", "label"  # layers
ID = "id"  # label of a note with the id of a span or relation
RAW_ID = "doccano id"  # in meta, as JSON: an id that is no integer, or not the name
STYLE, LINKED = "doccano", "relations"  # in meta: a line with the key relations

_KEYS = ("id", "text", "label", "entities", "relations", NAME)


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield a document per line; raises ``FormatError`` with the line."""
    records = [*json_lines(text, path)]
    labels = (label for _, record in records for label in _labels(record))
    has_classes = any(isinstance(label, str) for label in labels)
    names = Names()
    for count, (number, record) in enumerate(records, 1):
        with errors_at(path, number):
            yield _build_document(record, count, names, has_classes=has_classes)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return a line per document."""
    documents = [*documents]
    has_classes = any(document.has_layer(CLASSES) for document in documents)
    records = (_format_document(document, has_classes=has_classes) for document in documents)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _labels(record: JsonObject) -> list[Any]:
    """Return the labels of a line, none for anything but a list."""
    labels = record.get("label")
    return labels if isinstance(labels, list) else []


def _build_document(record: JsonObject, count: int, names: Names, *, has_classes: bool) -> Document:
    """Return the document of a line; raises ``ValueError``."""
    raw_id = record.get("id")
    is_named = isinstance(raw_id, int | str) and not isinstance(raw_id, bool)
    id_name = str(raw_id) if is_named else default_name(count)
    builder = names.making(string_of(record, NAME, id_name))
    if "id" in record and (type(raw_id) is not int or NAME in record):
        add_meta(builder, [(RAW_ID, raw_id)])
    text = string_of(record, "text")
    builder.add_text(text)
    if "label" in record:
        labels = list_of(record, "label")
        builder.layer(CLASSES if has_classes else ENTITIES)
        for label in labels:
            _add_label(builder, text, label)
    if "entities" in record:
        builder.meta.append((STYLE, LINKED))
        _add_entities(builder, text, record)
    add_meta(builder, ((key, value) for key, value in record.items() if key not in _KEYS))
    return builder.build()


def _add_label(builder: DocumentBuilder, text: str, label: Any) -> None:
    """Add a class, or a span; raises ``ValueError``."""
    if isinstance(label, str):
        add_class(builder, CLASSES, label, text)
        return
    entry = a_list(label)
    if len(entry) != 3:
        raise ValueError(f"label: expected [START, END, LABEL] or a class, got {label!r:.60}")
    bounds = bounds_within(text, entry[0], entry[1])
    builder.span(ENTITIES, a_string(entry[2]), bounds)


def _add_entities(builder: DocumentBuilder, text: str, record: JsonObject) -> None:
    """Add spans and relations with their ids; raises ``ValueError``."""
    builder.layer(ENTITIES)
    span_of: dict[int, str] = {}
    for entity in objects_of(record, "entities"):
        offsets = (value_of(entity, key) for key in ("start_offset", "end_offset"))
        bounds = bounds_within(text, *offsets)
        span = builder.span(ENTITIES, string_of(entity, "label"), bounds)
        entity_id = number_of(entity, "id")
        if entity_id in span_of:
            raise ValueError(f"entities: expected different ids, got {entity_id} twice")
        span_of[entity_id] = span
        builder.note(ENTITIES, ID, span, str(entity_id))
    for relation in objects_of(record, "relations", []):
        ends = [number_of(relation, key) for key in ("from_id", "to_id")]
        for end in ends:
            if end not in span_of:
                known = ", ".join(map(str, span_of)) or "none"
                raise ValueError(f"relations: expected ids of entities ({known:.60}), got {end}")
        label = string_of(relation, "type")
        link = builder.relation(ENTITIES, label, *(span_of[end] for end in ends))
        builder.note(ENTITIES, ID, link, str(number_of(relation, "id")))


def _format_document(document: Document, *, has_classes: bool) -> JsonObject:
    """Return the record of a document; beside classes entities have a key of their own."""
    meta = dict(document.meta)
    record: JsonObject = {}
    name = id_in_file(document)
    if INTEGER.fullmatch(name):
        record["id"] = int(name)
    elif raw_id := json_or_none(meta.get(RAW_ID, "")):
        record["id"] = raw_id.value
    record |= name_entry(document, record.get("id"))
    record["text"] = document.text
    layer = document.layer_or_empty(ENTITIES)
    spans = [span for span in layer.spans if len(span.fragments) == 1]
    has_entities = document.has_layer(ENTITIES)
    if layer.relations or meta.get(STYLE) == LINKED or (has_entities and has_classes):
        record |= _linked(layer, spans)
    elif has_entities:
        record["label"] = [[span.start, span.end, span.label] for span in spans]
    if document.has_layer(CLASSES) and "label" not in record:
        whole = whole_text(document.text)
        classes = [span for span in document[CLASSES].spans if span.fragments == (whole,)]
        record["label"] = [span.label for span in classes]
    for key, value in document.meta:
        if key not in (*_KEYS, RAW_ID) and (parsed := json_or_none(value)):
            record.setdefault(key, parsed.value)
    return record


def _linked(layer: Layer, spans: list[Span]) -> JsonObject:
    """Return spans and relations as objects; those without an id of their own are counted."""
    own = {note.target: int(note.text) for note in layer.notes if _is_id(note.label, note.text)}
    fresh = iter(range(1, 1 + len(spans) + len(layer.relations) + len(own)))
    taken = set(own.values())

    def number(target: str) -> int:
        if target not in own:
            own[target] = next(value for value in fresh if value not in taken)
        return own[target]

    entities = [
        {
            "id": number(span.id),
            "label": span.label,
            "start_offset": span.start,
            "end_offset": span.end,
        }
        for span in spans
    ]
    known = {span.id for span in spans}
    relations = [
        {
            "id": number(relation.id),
            "from_id": number(relation.head),
            "to_id": number(relation.tail),
            "type": relation.label,
        }
        for relation in layer.relations
        if {relation.head, relation.tail} <= known
    ]
    return {"entities": entities, "relations": relations}


def _is_id(label: str, text: str) -> bool:
    return label == ID and INTEGER.fullmatch(text) is not None


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the keys of the first line, and by its labels."""
    parsed = json_or_none(head.removeprefix("\ufeff").lstrip().partition("\n")[0])
    if parsed is None or not isinstance(parsed.value, dict):
        return False
    record = parsed.value
    labels = record.get("label")
    is_labelled = isinstance(labels, list) and all(
        isinstance(label, str) or (isinstance(label, list) and len(label) == 3) for label in labels
    )
    is_linked = isinstance(record.get("entities"), list) and "relations" in record
    return isinstance(record.get("text"), str) and (is_labelled or is_linked)


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".jsonl", ".json"),
    '{"id": 1, "text": "Ada met Bob.", "label": [[0, 3, "PER"], [8, 11, "PER"]], "Comments": []}\n'
    '{"id": 2, "text": "Nobody came", "label": [], "by": {"name": "é"}}\n'
    '{"id": 3, "text": "Ada met Bob.", "entities": [{"id": 7, "label": "PER", "start_offset": 0, '
    '"end_offset": 3}, {"id": 9, "label": "PER", "start_offset": 8, "end_offset": 11}], '
    '"relations": [{"id": 7, "from_id": 9, "to_id": 7, "type": "met by"}]}\n',
    layers=(ENTITIES, CLASSES),
)
