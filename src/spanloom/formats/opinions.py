"""Structured sentiment, as SemEval-2022 task 10 spells it (OpeNER, NoReC, MPQA…): one JSON list.

::

    [{"sent_id": "a-1", "text": "Ada likes the view .", "opinions": [
      {"Source": [["Ada"], ["0:3"]], "Target": [["the view"], ["10:18"]],
       "Polar_expression": [["likes"], ["4:9"]], "Polarity": "Positive", "Intensity": "Standard"}]}]

A document is a sentence of raw text. In layer ``opinions`` each opinion has an expression, labelled
with its polarity (``expression`` where that is null), with the attribute ``intensity``, and
relations ``source`` and ``target`` from it to spans of these labels, which opinions share. Spans
have several fragments where the file has several; an expression without any stands, without
width, at the text's beginning. An expression with several sources and targets is written as one
opinion for each pair of them. (Barnes et al., 2022)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import Document, Fragment, Span
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._json import a_list, a_string, an_object, elements, only, value_of
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing

LAYER = "opinions"
SOURCE, TARGET, EXPRESSION = "source", "target", "expression"
INTENSITY = "intensity"

_HOLDERS = {"Source": SOURCE, "Target": TARGET}
_KEYS = ("Source", "Target", "Polar_expression", "Polarity", "Intensity")
_PLACE = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")
_NOWHERE: tuple[Fragment, ...] = ((0, 0),)


class OpinionsOptions(Options):
    """How the file is spelt."""

    ascii: bool = Field(default=True, description="whether written letters beyond ASCII are \\u…")


def loads(
    text: str, *, path: str = "<string>", options: OpinionsOptions = OpinionsOptions()
) -> Iterator[Document]:
    """Yield a document a sentence; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    for line, value in elements(text, path):
        try:
            yield _document(value, names)
        except (ValueError, DocumentError) as error:
            raise FormatError(path, line, str(error)) from error


def dumps(documents: Iterable[Document], *, options: OpinionsOptions = OpinionsOptions()) -> str:
    """Return the list, on one line."""
    return json.dumps([_said(each) for each in documents], ensure_ascii=options.ascii) + "\n"


def _document(value: Any, names: Names) -> Document:
    """Return the document of a sentence; raises ``ValueError``, ``DocumentError``."""
    said = an_object(value)
    only(said, "sent_id", "text", LAYER)
    made = names.making(a_string(value_of(said, "sent_id")))
    text = a_string(value_of(said, "text"))
    made.raw(text)
    if LAYER in said:
        made.layer(LAYER)
        shared: dict[tuple[str, tuple[Fragment, ...]], str] = {}
        for each in a_list(said[LAYER]):
            _opinion(made, an_object(each), text, shared)
    return made.done()


def _opinion(
    made: Making,
    said: dict[str, Any],
    text: str,
    shared: dict[tuple[str, tuple[Fragment, ...]], str],
) -> None:
    """Add an opinion; ``shared`` has the ids of sources and targets that there are."""
    only(said, *_KEYS)
    places = _fragments(said, "Polar_expression", text)
    polarity = value_of(said, "Polarity")
    label = EXPRESSION if polarity is None else a_string(polarity)
    if label in _HOLDERS.values():
        raise ValueError(f"Polarity: expected none of {SOURCE}, {TARGET}, got {label!r}")
    expression = made.span(LAYER, label, *(places or _NOWHERE))
    if said.get("Intensity") is not None:
        made.attribute(LAYER, INTENSITY, expression, a_string(said["Intensity"]))
    for key, role in _HOLDERS.items():
        fragments = _fragments(said, key, text)
        if fragments:
            if (role, fragments) not in shared:
                shared[role, fragments] = made.span(LAYER, role, *fragments)
            made.relation(LAYER, role, expression, shared[role, fragments])


def _fragments(said: dict[str, Any], key: str, text: str) -> tuple[Fragment, ...]:
    """Return the characters of a source, target or expression."""
    pair = a_list(value_of(said, key))
    if len(pair) != 2 or len(a_list(pair[0])) != len(a_list(pair[1])):
        raise ValueError(f"{key}: expected [[TEXT…], [START:END…]], got {pair!r:.60}")
    found: list[Fragment] = []
    for piece, place in zip(*pair, strict=True):
        match = _PLACE.fullmatch(a_string(place))
        if not match:
            raise ValueError(f"{key}: expected START:END, got {place!r:.60}")
        start, end = int(match[1]), int(match[2])
        if end > len(text) or text[start:end] != a_string(piece):
            raise ValueError(
                f"{key}: expected {piece!r:.60} at {place}, got {text[start:end]!r:.60}"
            )
        found.append((start, end))
    return tuple(found)


def _said(document: Document) -> dict[str, Any]:
    """Return the sentence of a document."""
    said = {"sent_id": own(document), "text": document.text}
    return said | ({LAYER: list(_opinions(document))} if document.has(LAYER) else {})


def _opinions(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the opinions: spans that are neither source nor target, with those that they have."""
    layer = document[LAYER]
    spans = {span.id: span for span in layer.spans}
    intensity = {each.target: each.value for each in layer.attributes if each.label == INTENSITY}
    held: dict[tuple[str, str], list[Span]] = {}
    for each in layer.relations:
        tail = spans.get(each.tail)
        if tail is not None and tail.label == each.label:
            held.setdefault((each.head, each.label), []).append(tail)
    for span in layer.spans:
        if span.label in _HOLDERS.values():
            continue
        for source in held.get((span.id, SOURCE), [None]):
            for target in held.get((span.id, TARGET), [None]):
                yield {
                    "Source": _spelt(document, source),
                    "Target": _spelt(document, target),
                    "Polar_expression": _spelt(document, span),
                    "Polarity": None if span.label == EXPRESSION else span.label,
                    "Intensity": intensity.get(span.id),
                }


def _spelt(document: Document, span: Span | None) -> list[list[str]]:
    """Return texts and places of a span."""
    if span is None or span.fragments == _NOWHERE:
        return [[], []]
    pieces = [document.text[start:end] for start, end in span.fragments]
    return [pieces, [f"{start}:{end}" for start, end in span.fragments]]


def _lost(document: Document, options: OpinionsOptions) -> Losses:
    """Count all but expressions, and sources and targets that some expression has."""
    return missing(document, loads(dumps([document], options=options)))


def _looks(head: str, name: str) -> bool:
    """Tell by the keys of the first sentence."""
    keys = r'\s*\[\s*\{\s*"(sent_id|text|opinions)"\s*:'
    return re.match(keys, head) is not None and '"opinions"' in head and '"sent_id"' in head


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".json",),
    '[{"sent_id": "hotel/1-1", "text": "Ada likes the view a lot but finds it small .", '
    '"opinions": [{"Source": [["Ada"], ["0:3"]], "Target": [["the view"], ["10:18"]], '
    '"Polar_expression": [["likes", "a lot"], ["4:9", "19:24"]], "Polarity": "Positive", '
    '"Intensity": "Strong"}, {"Source": [["Ada"], ["0:3"]], "Target": [["the view"], ["10:18"]], '
    '"Polar_expression": [["small"], ["38:43"]], "Polarity": "Negative", '
    '"Intensity": "Standard"}]}, {"sent_id": "hotel/1-2", "text": "So .", "opinions": []}]\n',
    OpinionsOptions,
)
