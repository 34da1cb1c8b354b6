"""What formats of annotation tools share: classes of whole texts, numbers and JSON in meta."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from spanloom.document import Document, Fragment
from spanloom.errors import FormatError
from spanloom.formats._document_builder import DocumentBuilder, id_in_file, is_counted
from spanloom.formats._json import JsonObject, a_number, parse_json

NAME = "document_name"  # key of a name that ids cannot be; these tools keep keys of the user's

# as JSON has it; Python may be set to refuse more digits than 640
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,639}")


class JsonValue(NamedTuple):
    """A parsed value, which may be null."""

    value: Any


def json_or_none(text: str) -> JsonValue | None:
    """Return the value of a JSON text, None for anything else."""
    try:
        return JsonValue(parse_json(text, ""))
    except FormatError:
        return None


def name_entry(document: Document, tool_id: object = None) -> JsonObject:
    """Return the entry with a document's name; none where the tool's id, or its place, names it."""
    name = id_in_file(document)
    return {} if is_counted(name) or name == str(tool_id) else {NAME: name}


def whole_text(text: str) -> Fragment:
    """Return the bounds of a text without the blanks at its ends."""
    start = len(text) - len(text.lstrip())
    return start, max(start, len(text.rstrip()))


def bounds_within(text: str, start: Any, end: Any) -> Fragment:
    """Return two parsed numbers as bounds; raises ``ValueError`` unless they are in the text."""
    if not 0 <= a_number(start) <= a_number(end) <= len(text):
        raise ValueError(f"expected bounds in 0..{len(text)}, got {start} and {end}")
    return start, end


def add_meta(builder: DocumentBuilder, entries: Iterable[tuple[str, Any]]) -> None:
    """Keep values in meta, as JSON; raises ``ValueError`` for numbers beyond a float's range."""
    builder.meta += [
        (key, json.dumps(value, ensure_ascii=False, allow_nan=False)) for key, value in entries
    ]


def add_class(builder: DocumentBuilder, layer: str, label: str, text: str) -> None:
    """Add a class of a whole text; raises ``DocumentError`` for a blank label."""
    builder.span(layer, label, whole_text(text))
