"""Read and write Prodigy's JSON lines: spans, relations and classes that annotators accepted.

::

    {"text": "Ada met Bob", "tokens": [{"text": "Ada", "start": 0, "end": 3, "id": 0, "ws": true},
     …], "spans": [{"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"}],
     "relations": [{"head": 2, "child": 0, "head_span": {"start": 8, "end": 11, …},
     "child_span": {"start": 0, "end": 3, …}, "label": "met"}], "answer": "accept"}
    {"text": "A moving film", "accept": ["positive"], "answer": "accept"}
    {"text": "A moving film", "label": "negative", "answer": "reject"}

A line is a document, named by ``document_name``, if it has that: we write it; its tokens are the
words, on one sentence. Layer ``entities`` has spans and relations (from ``head`` to ``child``),
layer ``label`` the classes, each a span over the whole text. **Only what was accepted is
annotation**: of a line with another ``answer`` nothing is known, and the document has none of these
layers. All other keys are kept in meta, as JSON; those inside of tokens, spans and relations that
are not shown here are left out.
"""

import json
from collections.abc import Iterable, Iterator

from spanloom.config.options import Options
from spanloom.document import WORDS, Document, Fragment, Layer, Relation, Span
from spanloom.formats._annotated_texts import (
    NAME,
    add_class,
    add_meta,
    bounds_within,
    json_or_none,
    name_entry,
    whole_text,
)
from spanloom.formats._base import Format
from spanloom.formats._document_builder import ID, DocumentBuilder, Names, default_name
from spanloom.formats._json import (
    JsonObject,
    a_string,
    an_object,
    json_lines,
    list_of,
    number_of,
    objects_of,
    string_of,
    value_of,
)
from spanloom.formats._text import errors_at

ENTITIES, CLASSES = "entities", "label"  # layers
TOKEN = "token"  # label of a relation's end that has none
BINARY = "prodigy"  # in meta: a line with one label that was accepted
OWN_ID = "prodigy id"  # in meta: the key "id" of a line, which is not its name

_ACCEPTED = "accept"
_KEYS = ("text", "tokens", "spans", "relations", "accept", "label", NAME)


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield a document per line; raises ``FormatError`` with the line."""
    names = Names()
    for count, (number, record) in enumerate(json_lines(text, path), 1):
        with errors_at(path, number):
            name = a_string(record.get(NAME, default_name(count)))
            yield _build_document(record, names.making(name))


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return a line per document."""
    records = (_format_document(document) for document in documents)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _build_document(record: JsonObject, builder: DocumentBuilder) -> Document:
    """Return the document of a line; raises ``ValueError``."""
    text = string_of(record, "text")
    tokens = [_bounds(text, token) for token in objects_of(record, "tokens", [])]
    if tokens:
        builder.add_pretokenized(text, tokens)
    else:
        builder.add_text(text)
    known = {"text", "tokens", NAME}
    if record.get("answer", _ACCEPTED) == _ACCEPTED:
        known = set(_KEYS)
        _add_annotations(builder, text, tokens, record)
    others = ((key, value) for key, value in record.items() if key not in known)
    add_meta(builder, ((OWN_ID if key == ID else key, value) for key, value in others))
    return builder.build()


def _add_annotations(
    builder: DocumentBuilder, text: str, tokens: list[Fragment], record: JsonObject
) -> None:
    """Add what was accepted; raises ``ValueError``."""
    span_of: dict[tuple[Fragment, str | None], str] = {}  # None: by bounds alone
    if "spans" in record or "relations" in record:
        builder.layer(ENTITIES)
    for entry in objects_of(record, "spans", []):
        bounds, label = _bounds(text, entry), string_of(entry, "label")
        span_of[bounds, label] = span_of[bounds, None] = builder.span(ENTITIES, label, bounds)
    for entry in objects_of(record, "relations", []):
        ends = []
        for key in ("head", "child"):
            bounds = _end_bounds(text, tokens, entry, key)
            label = a_string(an_object(entry.get(f"{key}_span") or {}).get("label") or TOKEN)
            if (bounds, None) not in span_of:
                span_of[bounds, None] = builder.span(ENTITIES, label, bounds)
            ends.append(span_of.get((bounds, label), span_of[bounds, None]))
        builder.relation(ENTITIES, string_of(entry, "label"), *ends)
    if "accept" in record:
        builder.layer(CLASSES)
        for label in list_of(record, "accept"):
            add_class(builder, CLASSES, str(label), text)
    elif "label" in record:
        builder.meta.append((BINARY, "label"))
        add_class(builder, CLASSES, string_of(record, "label"), text)


def _bounds(text: str, entry: JsonObject) -> Fragment:
    """Return the bounds of a token or span; raises ``ValueError`` unless they are in the text."""
    return bounds_within(text, value_of(entry, "start"), value_of(entry, "end"))


def _end_bounds(text: str, tokens: list[Fragment], entry: JsonObject, key: str) -> Fragment:
    """Return the bounds of a relation's end: those of its span, else of its token."""
    if entry.get(f"{key}_span") is not None:
        return _bounds(text, an_object(entry[f"{key}_span"]))
    index = number_of(entry, key)
    if not 0 <= index < len(tokens):
        raise ValueError(f"{key}: expected one of {len(tokens)} tokens, got {index}")
    return tokens[index]


def _format_document(document: Document) -> JsonObject:
    """Return the record of a document."""
    record: JsonObject = {"text": document.text, **name_entry(document)}
    words = [span.fragments[0] for span in document.layer_or_empty(WORDS).spans]
    if words:
        record["tokens"] = [
            {
                "text": document.text[start:end],
                **{"start": start, "end": end, "id": index},
                "ws": document.text[end : end + 1] == " ",
            }
            for index, (start, end) in enumerate(words)
        ]
    if document.has_layer(ENTITIES):
        record |= _format_entities(document[ENTITIES], words)
    if document.has_layer(CLASSES):
        whole = whole_text(document.text)
        labels = [span.label for span in document[CLASSES].spans if span.fragments == (whole,)]
        is_binary = (BINARY, "label") in document.meta and len(labels) == 1
        record |= {"label": labels[0]} if is_binary else {"accept": labels}
    answer = json_or_none(dict(document.meta).get("answer", ""))
    is_accepted = answer is None or answer.value == _ACCEPTED
    annotation_keys = _KEYS if is_accepted else ()  # what was not accepted is kept in meta
    for key, value in document.meta:
        if key not in (*annotation_keys, BINARY, ID) and (parsed := json_or_none(value)):
            record.setdefault(ID if key == OWN_ID else key, parsed.value)
    return record


def _format_entities(layer: Layer, words: list[Fragment]) -> JsonObject:
    """Return spans, and relations if there are any."""
    first_of = {start: index for index, (start, _) in enumerate(words)}
    last_of = {end: index for index, (_, end) in enumerate(words)}

    def entry(span: Span) -> JsonObject:
        on_tokens = {}
        if span.start in first_of and span.end in last_of:
            on_tokens = {"token_start": first_of[span.start], "token_end": last_of[span.end]}
        return {"start": span.start, "end": span.end, **on_tokens, "label": span.label}

    spans = {span.id: span for span in layer.spans if len(span.fragments) == 1}

    def link(relation: Relation) -> JsonObject:
        head, child = entry(spans[relation.head]), entry(spans[relation.tail])
        ends = {"head": head.get("token_end", 0), "child": child.get("token_end", 0)}
        return {**ends, "head_span": head, "child_span": child, "label": relation.label}

    relations = [
        link(relation)
        for relation in layer.relations
        if {relation.head, relation.tail} <= spans.keys()
    ]
    record: JsonObject = {"spans": [entry(span) for span in spans.values()]}
    return record | ({"relations": relations} if relations else {})


def _are_spans(value: object) -> bool:
    """Whether a value is a list of spans with bounds and label, at least one."""
    keys = {"start", "end", "label"}
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(span, dict) and keys <= span.keys() for span in value)


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by keys of the first line that only Prodigy writes together.

    So are spans that are written as Prodigy does, which other tools imitate.
    """
    first = head.removeprefix("\ufeff").lstrip().partition("\n")[0]
    record = json_or_none(first)
    if record is None or not isinstance(record.value, dict):
        return False
    keys = {*record.value}
    if "text" in keys and "label" not in keys and _are_spans(record.value.get("spans")):
        return True
    annotated = keys & {"spans", "accept", "relations"} or {"label", "answer"} <= keys
    return "text" in keys and bool(annotated) and bool(keys & {"answer", "_task_hash", "tokens"})


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".jsonl", ".json"),
    '{"text": "Ada met Bob", "tokens": [{"text": "Ada", "start": 0, "end": 3, "id": 0, "ws": true}'
    ', {"text": "met", "start": 4, "end": 7, "id": 1, "ws": true}, {"text": "Bob", "start": 8, '
    '"end": 11, "id": 2, "ws": false}], "spans": [{"start": 0, "end": 3, "token_start": 0, '
    '"token_end": 0, "label": "PER"}, {"start": 8, "end": 11, "token_start": 2, "token_end": 2, '
    '"label": "PER"}], "relations": [{"head": 2, "child": 0, "head_span": {"start": 8, "end": 11, '
    '"token_start": 2, "token_end": 2, "label": "PER"}, "child_span": {"start": 0, "end": 3, '
    '"token_start": 0, "token_end": 0, "label": "PER"}, "label": "met by"}], "answer": "accept", '
    '"_task_hash": 7}\n'
    '{"text": "A moving film", "accept": ["positive"], "answer": "accept"}\n'
    '{"text": "A moving film", "label": "calm", "answer": "accept", "meta": {"by": "é"}}\n'
    '{"text": "A moving film", "label": "sad", "answer": "reject"}\n',
    layers=(ENTITIES, CLASSES),
)
