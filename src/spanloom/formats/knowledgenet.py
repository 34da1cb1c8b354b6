"""Read and write KnowledgeNet: passages with facts about people and companies, one per line.

::

    {"fold": 1, "documentId": "8313", "passageStart": 115, "passageText": "He settled in Moravia.",
     "annotated": ["PLACE_OF_RESIDENCE", "PLACE_OF_BIRTH"],
     "facts": [{"property": "PLACE_OF_RESIDENCE", "subject": [0, 2, "He", null],
                "object": [14, 21, "Moravia", "http://www.wikidata.org/entity/Q43266"]}]}

A passage is a document: raw text, named ``8313:115:137`` (its bounds in the text it is from), with
the other keys in meta. In layer ``entities`` each fact is a relation from its subject to its object
(characters ``[start, end)``); both are spans ``mention``, which facts share, and their addresses in
Wikidata are normalizations. **Only facts of the properties in** ``annotated`` (JSON in meta) **were
looked for**: of others nothing is known. Where no property was, there is no layer. Facts of a
property that is not in the list are kept.

The release has one document per line, its ``passages`` in a list. Such lines are read, too; what
the lines above have no place for (the text around passages, descriptions of properties) is left
out, and they are written as above. (Mesquita et al., 2019)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._json import (
    JsonObject,
    a_list,
    a_number,
    a_string,
    json_lines,
    number_of,
    objects_of,
    only,
    parse_json,
    string_of,
    strings_of,
    value_of,
)
from spanloom.formats._text import errors_at

LAYER, MENTION = "entities", "mention"
REFERENCE, WIKIDATA = "Reference", "Wikidata"  # label and resource of a normalization
FOLD, DOCUMENT, START, ANNOTATED = "fold", "documentId", "passageStart", "annotated"  # in meta

_KEYS = (FOLD, DOCUMENT, START, "passageText", ANNOTATED, "facts")
_FACT_KEYS = ("property", "subject", "object")
_ENDS = ("subject", "object")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


class KnowledgeNetOptions(Options):
    """Options: which passages are read."""

    folds: tuple[int, ...] = Field(
        default=(), description="folds whose passages are read; none said: all"
    )


def loads(
    text: str, *, path: str = "<string>", options: KnowledgeNetOptions = KnowledgeNetOptions()
) -> Iterator[Document]:
    """Yield one document per passage; raises ``FormatError`` with the line."""
    names = Names()
    for number, record in json_lines(text, path):
        with errors_at(path, number):
            for passage in _passage_records(record) if "passages" in record else [record]:
                if not options.folds or passage.get(FOLD) in options.folds:
                    yield _build_document(passage, names)


def dumps(
    documents: Iterable[Document], *, options: KnowledgeNetOptions = KnowledgeNetOptions()
) -> str:
    """Return one line per document."""
    records = (_format_document(document) for document in documents)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _passage_records(record: JsonObject) -> Iterator[JsonObject]:
    """Yield the passages of a line of the release in the other layout; raises ``ValueError``."""
    shared = {key: record[key] for key in (FOLD, DOCUMENT) if key in record}
    for passage in objects_of(record, "passages"):
        start = number_of(passage, START)
        properties = {
            string_of(entry, "propertyId"): string_of(entry, "propertyName")
            for entry in objects_of(passage, "exhaustivelyAnnotatedProperties")
        }
        facts = [_flat_fact(fact, start, properties) for fact in objects_of(passage, "facts")]
        text = value_of(passage, "passageText")
        yield shared | {
            **{START: start, "passageText": text},
            **{ANNOTATED: list(properties.values()), "facts": facts},
        }


def _flat_fact(fact: JsonObject, passage_start: int, properties: dict[str, str]) -> JsonObject:
    """Return a fact of the release in the other layout; raises ``ValueError``."""
    property_id = value_of(fact, "propertyId")
    if property_id not in properties:
        problem = f"propertyId: expected one of {', '.join(properties) or 'none'}"
        raise ValueError(f"{problem}, got {property_id!r:.60}")
    flat: JsonObject = {"property": properties[property_id]}
    for end in _ENDS:
        bounds = (number_of(fact, f"{end}{side}") for side in ("Start", "End"))
        offsets = (offset - passage_start for offset in bounds)
        flat[end] = [*offsets, value_of(fact, f"{end}Text"), fact.get(f"{end}Uri") or None]
    return flat


def _build_document(record: JsonObject, names: Names) -> Document:
    """Return the document of a passage; raises ``ValueError``."""
    only(record, *_KEYS)
    document_id, text = (
        string_of(record, DOCUMENT),
        string_of(record, "passageText"),
    )
    start = _parse_number(record, START)
    builder = names.making(f"{document_id}:{start}:{start + len(text)}")
    if FOLD in record:
        builder.meta.append((FOLD, str(_parse_number(record, FOLD))))
    annotated = strings_of(record, ANNOTATED)
    facts = objects_of(record, "facts")
    builder.meta += [(DOCUMENT, document_id), (START, str(start))]
    builder.meta.append((ANNOTATED, json.dumps(annotated, ensure_ascii=False)))
    builder.add_text(text)
    if annotated or facts:
        builder.layer(LAYER)
    mentions: dict[tuple[int, int, str | None], str] = {}
    for number, fact in enumerate(facts):
        only(fact, *_FACT_KEYS)
        ends = [
            _add_mention(builder, text, fact, f"facts[{number}].{end}", mentions) for end in _ENDS
        ]
        builder.relation(LAYER, string_of(fact, "property"), *ends)
    return builder.build()


def _parse_number(record: JsonObject, key: str) -> int:
    """Return a number that is neither negative nor huge; raises ``ValueError``."""
    number = number_of(record, key)
    if not 0 <= number < 10**9:
        raise ValueError(f"{key}: expected a number from 0, got {number!r:.30}")
    return number


def _add_mention(
    builder: DocumentBuilder,
    text: str,
    fact: JsonObject,
    location: str,
    mentions: dict[tuple[int, int, str | None], str],
) -> str:
    """Return the span of a fact's end, from ``mentions`` or added; raises ``ValueError``."""
    entry = a_list(value_of(fact, location.rpartition(".")[2]))
    if len(entry) != 4:
        raise ValueError(f"{location}: expected [START, END, TEXT, ADDRESS], got {entry!r:.60}")
    start, end, covered, address = a_number(entry[0]), a_number(entry[1]), *entry[2:]
    if not 0 <= start <= end <= len(text) or text[start:end] != a_string(covered):
        actual = text[max(0, start) : max(0, end)]
        problem = f"{location}: expected the text {actual!r:.60} of {start}..{end}"
        raise ValueError(f"{problem:.200}, got {covered!r:.60}")
    if address is not None and not a_string(address):
        raise ValueError(f"{location}: expected an address or null, got ''")
    key = start, end, address
    if key not in mentions:
        mentions[key] = builder.span(LAYER, MENTION, (start, end))
        if address is not None:
            builder.add_normalization(LAYER, REFERENCE, mentions[key], WIKIDATA, address)
    return mentions[key]


def _format_document(document: Document) -> JsonObject:
    """Return the record of a document."""
    meta = dict(document.meta)
    record: JsonObject = {}
    if _NUMBER.fullmatch(meta.get(FOLD, "")):
        record[FOLD] = int(meta[FOLD])
    start = meta.get(START, "")
    record[DOCUMENT] = meta.get(DOCUMENT, id_in_file(document))
    record[START] = int(start) if _NUMBER.fullmatch(start) else 0
    record["passageText"] = document.text
    facts = _fact_records(document, document[LAYER]) if document.has_layer(LAYER) else []
    record[ANNOTATED] = _parse_names(meta.get(ANNOTATED, ""))
    if record[ANNOTATED] is None:
        record[ANNOTATED] = list(dict.fromkeys(fact["property"] for fact in facts))
    return record | {"facts": facts}


def _fact_records(document: Document, layer: Layer) -> list[JsonObject]:
    """Return the relations between contiguous spans."""
    spans = {span.id: span for span in layer.spans if len(span.fragments) == 1}
    addresses: dict[str, str] = {}
    for normalization in layer.normalizations:
        if normalization.resource == WIKIDATA and normalization.key:
            addresses.setdefault(normalization.target, normalization.key)

    def end(span: Span) -> list[Any]:
        bounds = span.start, span.end
        return [*bounds, document.text_of(span), addresses.get(span.id)]

    return [
        {
            "property": relation.label,
            "subject": end(spans[relation.head]),
            "object": end(spans[relation.tail]),
        }
        for relation in layer.relations
        if relation.head in spans and relation.tail in spans
    ]


def _parse_names(text: str) -> list[str] | None:
    """Return the names that meta lists as JSON, None for another text."""
    try:
        names = parse_json(text, "")
    except FormatError:
        return None
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return names if is_list else None


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the keys of the first line."""
    first_line = head.lstrip().split("\n", 1)[0]
    has_passage = '"passageText"' in first_line and '"documentId"' in first_line
    return first_line.startswith("{") and has_passage


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".jsonl", ".json"),
    '{"fold": 2, "documentId": "8313", "passageStart": 115, "passageText": "He settled at Brünn, '
    'in Moravia.", "annotated": ["PLACE_OF_RESIDENCE", "PLACE_OF_BIRTH"], "facts": [{"property": '
    '"PLACE_OF_RESIDENCE", "subject": [0, 2, "He", null], "object": [14, 19, "Brünn", '
    '"http://www.wikidata.org/entity/Q14960"]}, {"property": "PLACE_OF_RESIDENCE", "subject": [0, '
    '2, "He", null], "object": [24, 31, "Moravia", null]}]}\n'
    '{"fold": 2, "documentId": "8313", "passageStart": 160, "passageText": "So.", "annotated": '
    '["SPOUSE"], "facts": []}\n'
    '{"documentId": "a/b", "passageStart": 0, "passageText": "Yes", "annotated": [], "facts": '
    "[]}\n",
    KnowledgeNetOptions,
)
