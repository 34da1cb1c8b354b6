"""Read and write structured sentiment, as in SemEval-2022 task 10 (OpeNER, NoReC…): a JSON list.

::

    [{"sent_id": "a-1", "text": "Ada likes the view .", "opinions": [
      {"Source": [["Ada"], ["0:3"]], "Target": [["the view"], ["10:18"]],
       "Polar_expression": [["likes"], ["4:9"]], "Polarity": "Positive", "Intensity": "Standard"}]}]

A document is a sentence of raw text. In layer ``opinions`` each opinion has an expression, labelled
with its polarity (``expression`` where that is null), with the attribute ``intensity``, and
relations ``source`` and ``target`` from it to spans of these labels, which opinions share. Spans
have several fragments where the file has several; an expression without any is a span of width 0 at
the beginning of the text. An expression with several sources and targets is written as one opinion
per pair of them. (Barnes et al., 2022)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import Document, Fragment, Span
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._json import (
    a_list,
    a_string,
    an_object,
    elements,
    list_of,
    only,
    string_of,
    value_of,
)
from spanloom.formats._text import errors_at

LAYER = "opinions"
SOURCE, TARGET, EXPRESSION = "source", "target", "expression"
INTENSITY = "intensity"

_HOLDERS = {"Source": SOURCE, "Target": TARGET}
_KEYS = ("Source", "Target", "Polar_expression", "Polarity", "Intensity")
_BOUNDS = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")
_EMPTY: tuple[Fragment, ...] = ((0, 0),)


class OpinionsOptions(Options):
    """Options: how the file is written."""

    ensure_ascii: bool = Field(
        default=True, description="whether written letters beyond ASCII are \\u…"
    )


def loads(
    text: str, *, path: str = "<string>", options: OpinionsOptions = OpinionsOptions()
) -> Iterator[Document]:
    """Yield one document per sentence; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    for line, value in elements(text, path):
        with errors_at(path, line):
            yield _build_document(value, names)


def dumps(documents: Iterable[Document], *, options: OpinionsOptions = OpinionsOptions()) -> str:
    """Return the list, on one line."""
    return (
        json.dumps(
            [_document_record(document) for document in documents],
            ensure_ascii=options.ensure_ascii,
        )
        + "\n"
    )


def _build_document(value: Any, names: Names) -> Document:
    """Return the document of a sentence; raises ``ValueError``, ``DocumentError``."""
    record = an_object(value)
    only(record, "sent_id", "text", LAYER)
    builder = names.making(string_of(record, "sent_id"))
    text = string_of(record, "text")
    builder.add_text(text)
    if LAYER in record:
        builder.layer(LAYER)
        span_ids: dict[tuple[str, tuple[Fragment, ...]], str] = {}
        for opinion in list_of(record, LAYER):
            _add_opinion(builder, an_object(opinion), text, span_ids)
    return builder.build()


def _add_opinion(
    builder: DocumentBuilder,
    record: dict[str, Any],
    text: str,
    span_ids: dict[tuple[str, tuple[Fragment, ...]], str],
) -> None:
    """Add an opinion; ``span_ids`` holds the sources and targets. Raises ``ValueError``."""
    only(record, *_KEYS)
    expression_fragments = _parse_fragments(record, "Polar_expression", text)
    polarity = value_of(record, "Polarity")
    label = EXPRESSION if polarity is None else a_string(polarity)
    if label in _HOLDERS.values():
        raise ValueError(f"Polarity: expected none of {SOURCE}, {TARGET}, got {label!r}")
    expression = builder.span(LAYER, label, *(expression_fragments or _EMPTY))
    if record.get("Intensity") is not None:
        builder.attribute(LAYER, INTENSITY, expression, string_of(record, "Intensity"))
    for key, role in _HOLDERS.items():
        fragments = _parse_fragments(record, key, text)
        if fragments:
            if (role, fragments) not in span_ids:
                span_ids[role, fragments] = builder.span(LAYER, role, *fragments)
            builder.relation(LAYER, role, expression, span_ids[role, fragments])


def _parse_fragments(record: dict[str, Any], key: str, text: str) -> tuple[Fragment, ...]:
    """Return the fragments of a source, target or expression; raises ``ValueError``."""
    pair = list_of(record, key)
    if len(pair) != 2 or len(a_list(pair[0])) != len(a_list(pair[1])):
        raise ValueError(f"{key}: expected [[TEXT…], [START:END…]], got {pair!r:.60}")
    fragments: list[Fragment] = []
    for piece, bounds in zip(*pair, strict=True):
        match = _BOUNDS.fullmatch(a_string(bounds))
        if not match:
            raise ValueError(f"{key}: expected START:END, got {bounds!r:.60}")
        start, end = int(match[1]), int(match[2])
        if end > len(text) or text[start:end] != a_string(piece):
            raise ValueError(
                f"{key}: expected {piece!r:.60} at {bounds}, got {text[start:end]!r:.60}"
            )
        fragments.append((start, end))
    return tuple(fragments)


def _document_record(document: Document) -> dict[str, Any]:
    """Return the record of a document."""
    record = {"sent_id": id_in_file(document), "text": document.text}
    return record | ({LAYER: list(_opinion_records(document))} if document.has_layer(LAYER) else {})


def _opinion_records(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the opinions: expressions with each pair of their sources and targets."""
    layer = document[LAYER]
    spans = {span.id: span for span in layer.spans}
    intensity = {
        attribute.target: attribute.value
        for attribute in layer.attributes
        if attribute.label == INTENSITY
    }
    tails: dict[tuple[str, str], list[Span]] = {}
    for relation in layer.relations:
        tail = spans.get(relation.tail)
        if tail is not None and tail.label == relation.label:
            tails.setdefault((relation.head, relation.label), []).append(tail)
    for span in layer.spans:
        if span.label in _HOLDERS.values():
            continue
        for source in tails.get((span.id, SOURCE), [None]):
            for target in tails.get((span.id, TARGET), [None]):
                yield {
                    "Source": _format_fragments(document, source),
                    "Target": _format_fragments(document, target),
                    "Polar_expression": _format_fragments(document, span),
                    "Polarity": None if span.label == EXPRESSION else span.label,
                    "Intensity": intensity.get(span.id),
                }


def _format_fragments(document: Document, span: Span | None) -> list[list[str]]:
    """Return texts and bounds of a span."""
    if span is None or span.fragments == _EMPTY:
        return [[], []]
    pieces = [document.text[start:end] for start, end in span.fragments]
    return [pieces, [f"{start}:{end}" for start, end in span.fragments]]


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the keys of the first sentence."""
    first_key = r'\s*\[\s*\{\s*"(sent_id|text|opinions)"\s*:'
    return re.match(first_key, head) is not None and '"opinions"' in head and '"sent_id"' in head


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".json",),
    '[{"sent_id": "hotel/1-1", "text": "Ada likes the view a lot but finds it small .", '
    '"opinions": [{"Source": [["Ada"], ["0:3"]], "Target": [["the view"], ["10:18"]], '
    '"Polar_expression": [["likes", "a lot"], ["4:9", "19:24"]], "Polarity": "Positive", '
    '"Intensity": "Strong"}, {"Source": [["Ada"], ["0:3"]], "Target": [["the view"], ["10:18"]], '
    '"Polar_expression": [["small"], ["38:43"]], "Polarity": "Negative", '
    '"Intensity": "Standard"}]}, {"sent_id": "hotel/1-2", "text": "So .", "opinions": []}]\n',
    OpinionsOptions,
)
