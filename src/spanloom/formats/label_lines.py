"""Read and write JSON lines of texts, or of pairs of texts, with a label or a number per line.

::

    {"id": "a1", "text": "a moving film", "label": "positive"}

Options name other keys (``text: sentence1``, ``text_pair: sentence2``), or a ``preset`` does, for
SNLI and MNLI. A line is a document. The label of a text is one span, that of a pair one relation
(``annotation.text_pairs``). Values of all other keys, and values that are no valid label or number,
are kept in the document's meta: texts as they are, all else as JSON. A line without the key of the
label, or of the number, is not annotated. Blank lines are left out.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from spanloom.config.options import did_you_mean
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import Names, default_name, is_counted
from spanloom.formats._json import JsonObject, an_object, parse_json, string_of
from spanloom.formats._text import errors_at
from spanloom.formats._text_labels import (
    CUT,
    END,
    NLI,
    LabelledText,
    Meta,
    TextLabelOptions,
    TextLabelReader,
    join_rows,
)

KEYS, SPELLING = "keys of the line", "spelling of the line"  # in meta

_RESERVED = (KEYS, SPELLING, END, CUT)
_VALID_END = re.compile(r"\r?\n|\r?\Z")
_PLAIN = "plain"
_SPELLINGS: Mapping[str, Mapping[str, Any]] = {
    _PLAIN: {"ensure_ascii": False},
    "ascii": {},
    "close": {"ensure_ascii": False, "separators": (",", ":")},
    "close ascii": {"separators": (",", ":")},
}


class LineOptions(TextLabelOptions):
    """Options of JSON lines: the keys."""

    preset: Literal["mnli", "snli"] | None = Field(
        default=None, description="a public layout; other options override it"
    )
    presets = {"mnli": NLI, "snli": NLI}
    text: str = Field(default="text", description="the key of the text, or of the first of two")
    text_pair: str | None = Field(default=None, description="the key of the second text")
    label: str | None = Field(default="label", description="the key of the label")
    number: str | None = Field(default=None, description="the key of the number")
    id: str | None = Field(default="id", description="the key that names the documents")


def loads(
    text: str, *, path: str = "<string>", options: LineOptions = LineOptions()
) -> Iterator[Document]:
    """Yield the document of every line that is not blank, named by its id or its number.

    Raises ``FormatError``: lines that are no objects, missing keys (with the nearest), invalid
    texts, labels and numbers.
    """
    reader = _LineReader(options)
    lines = text.removeprefix("\ufeff").split("\n")
    for line_number, raw_line in enumerate(lines, 1):
        if not raw_line.strip():
            continue
        end = "\r" * raw_line.endswith("\r") + "\n" * (line_number < len(lines))
        with errors_at(path, line_number):
            record = an_object(parse_json(raw_line, path, line_number))
            yield reader.document(record, raw_line.removesuffix("\r"), end)


def dumps(documents: Iterable[Document], *, options: LineOptions = LineOptions()) -> str:
    """Return the lines, each in its original JSON style, with the document's current values."""
    rows = ((document, _format_line(document, options)) for document in documents)
    return join_rows(rows, _VALID_END)


def sniff(head: str, name: str) -> bool:
    """Tell whether the first line is an object with a text and a label under the usual keys."""
    first_line = next(
        (line for line in head.removeprefix("\ufeff").split("\n") if line.strip()), ""
    )
    try:
        record = an_object(parse_json(first_line, ""))
    except (ValueError, FormatError):
        return False
    return any(
        isinstance(record.get(options.text), str)
        and (options.text_pair is None or isinstance(record.get(options.text_pair), str))
        and isinstance(record.get(options.label or ""), str | int)
        for options in (LineOptions(), LineOptions(preset="snli").whole)
    )


class _LineReader:
    """Builds documents from lines."""

    def __init__(self, options: LineOptions) -> None:
        """Begin; lines are read with the options over their preset."""
        self.options, self.required_keys = options.whole, options.requested_columns
        self.names = Names()
        self.count = 0

    def document(self, record: JsonObject, raw: str, end: str) -> Document:
        """Return the document of a line; raises ``ValueError`` for invalid values."""
        options = self.options
        self.count += 1
        for key in self.required_keys:
            if key not in record:
                raise ValueError(f"no key {key!r:.60}{did_you_mean(key, record):.300}")
        text_pair = None if options.text_pair is None else string_of(record, options.text_pair)
        labeled_text = LabelledText(
            string_of(record, options.text),
            text_pair,
            _parse_label(_value_at(record, options.label), options),
            _parse_number(_value_at(record, options.number)),
        )
        name, meta = self._name(record)
        stored_keys = {options.text, options.text_pair, options.id}
        is_verbatim = labeled_text.label is not None and labeled_text.label == _value_at(
            record, options.label
        )
        stored_keys |= {options.label} if is_verbatim else set()
        stored_keys |= {options.number} if labeled_text.number is not None else set()
        meta += [(key, _to_meta(value)) for key, value in record.items() if key not in stored_keys]
        meta += _line_style(record, raw, options) + [(END, end)] * (end != "\n")
        return _label_reader(options, record).document(labeled_text, name, meta)

    def _name(self, record: JsonObject) -> tuple[str, Meta]:
        """Return a document's name, and its id as meta if it differs."""
        raw_id = _value_at(record, self.options.id)
        if raw_id is None:
            name = self.names.of(default_name(self.count))
            return name, [(key, _to_meta(None)) for key in record if key == self.options.id]
        if type(raw_id) not in (str, int):
            raise ValueError(f"expected a text or a whole number as id, got {raw_id!r:.60}")
        name = self.names.of(str(raw_id))
        if name == raw_id and not is_counted(name):
            return name, []
        return name, [(self.options.id or "", _to_meta(raw_id))]


def _value_at(record: JsonObject, key: str | None) -> Any:
    """Return the value of a key, None if there is none."""
    return None if key is None else record.get(key)


def _label_reader(options: LineOptions, present: Iterable[str]) -> TextLabelReader:
    """Return the reader of labels and numbers for lines with these keys."""
    (label, number), keys = options.layers, set(present)
    return TextLabelReader(
        label if options.label in keys else None,
        number if options.number in keys else None,
        options.number or "value",
    )


def _parse_label(value: Any, options: LineOptions) -> str | None:
    """Return a label, None for a value that means no label; raises ``ValueError``."""
    if value is None:
        return None
    if not isinstance(value, str | int):
        raise ValueError(f"expected a label (text, whole number, true, false), got {value!r:.60}")
    label = value if isinstance(value, str) else json.dumps(value)
    return label if options.is_gold(label) else None


def _parse_number(value: Any) -> str | None:
    """Return a number as JSON, None for no number; raises ``ValueError``."""
    if value is None:
        return None
    if type(value) not in (int, float) or not _is_finite(value):
        raise ValueError(f"expected a finite number, got {value!r:.60}")
    return json.dumps(value)


def _is_finite(value: float) -> bool:
    """Tell whether a number is finite as a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _line_style(record: JsonObject, raw: str, options: LineOptions) -> Meta:
    """Return the meta of an unusual line: its order of keys, its JSON style.

    Raises ``ValueError`` for keys that are reserved in meta.
    """
    for reserved in _RESERVED:
        if reserved in record:
            raise ValueError(f"expected no key of the name {reserved!r}, got one")
    style: Meta = (
        [] if list(record) == _key_order(record, options) else [(KEYS, json.dumps([*record]))]
    )
    matching = (
        name
        for name, json_options in _SPELLINGS.items()
        if json.dumps(record, **json_options) == raw
    )
    name = next(matching, _PLAIN)
    return style + [(SPELLING, name)] * (name != _PLAIN)


def _key_order(keys: Iterable[str], options: LineOptions) -> list[str]:
    """Return keys in the usual order: those of the options, then all others as they come."""
    present, roles = list(keys), (options.id, options.text, options.text_pair)
    first = [key for key in (*roles, options.label, options.number) if key in present]
    return list(dict.fromkeys([*(key for key in first if key is not None), *present]))


def _format_line(document: Document, options: LineOptions) -> str:
    """Return a document's line."""
    meta = dict(document.meta)
    record = {key: _from_meta(value) for key, value in meta.items() if key not in _RESERVED}
    kept_keys = _from_meta(meta.get(KEYS, ""))
    json_options = _SPELLINGS.get(meta.get(SPELLING, _PLAIN), _SPELLINGS[_PLAIN])
    _update_line(document, record, options)
    default_order = _key_order(record, options.whole)
    kept_order = (
        [key for key in kept_keys if key in default_order] if isinstance(kept_keys, list) else []
    )
    return json.dumps(
        {key: record[key] for key in dict.fromkeys([*kept_order, *default_order])}, **json_options
    )


def _update_line(document: Document, record: JsonObject, options: LineOptions) -> None:
    """Update ``record``, the values that meta kept, with the document's current ones."""
    resolved = options.whole
    keys = _label_keys(document, record, options)
    labeled_text = _label_reader(resolved, keys).read_gold(document, resolved)
    record[resolved.text] = labeled_text.text
    if resolved.text_pair is not None:
        record[resolved.text_pair] = labeled_text.text_pair or ""
    if resolved.id is not None and not _is_id(record.get(resolved.id, ...)):
        record.pop(resolved.id, None)
        if resolved.id in options.requested_columns or not is_counted(document.name):
            record[resolved.id] = document.name
    old_values = {
        key: record.pop(key, ...) for key in (resolved.label, resolved.number) if key is not None
    }
    if resolved.label in keys:
        record[resolved.label or ""] = _label_value(
            labeled_text.label, old_values[resolved.label or ""], resolved
        )
    if resolved.number in keys:
        record[resolved.number or ""] = _number_value(labeled_text.number)


def _label_keys(document: Document, kept: JsonObject, options: LineOptions) -> set[str]:
    """Return the keys of label and number that a document's line has."""
    resolved = options.whole
    label, number = resolved.layers
    labeled_text = TextLabelReader(label, number).read(document)
    kept_keys = {*options.requested_columns, *kept}
    keys: set[str | None] = {key for key in (resolved.label, resolved.number) if key in kept_keys}
    if document.has_layer(label):
        keys.add(resolved.label)
    if labeled_text.number is not None or (label != number and document.has_layer(number)):
        keys.add(resolved.number)
    label_is_number_name = (
        label == number
        and labeled_text.number is not None
        and labeled_text.label == resolved.number
    )
    if label_is_number_name and resolved.label not in options.requested_columns:
        keys.discard(resolved.label)  # it is only what the number is called
    return {key for key in keys if key is not None}


def _label_value(label: str | None, old: Any, options: LineOptions) -> Any:
    """Return the JSON value of a label, typed like the ``old`` value (``...``: there was none)."""
    if label is None:
        was_unlabeled = old is None or (isinstance(old, str) and not options.is_gold(old))
        was_unlabeled |= type(old) in (int, bool) and not options.is_gold(json.dumps(old))
        return old if was_unlabeled else options.missing_label
    typed_label = _from_meta(label)
    return typed_label if type(old) in (int, bool) and type(typed_label) is type(old) else label


def _number_value(number: str | None) -> Any:
    """Return the JSON value of a number, which need not be written as JSON."""
    if number is None:
        return None
    value = _from_meta(number)
    return value if type(value) in (int, float) else float(number)


def _is_id(value: Any) -> bool:
    """Tell whether a value may be an id, or null for no id."""
    return value is None or type(value) in (str, int)


def _to_meta(value: Any) -> str:
    """Return a value as meta keeps it; raises ``ValueError`` for infinity."""
    if isinstance(value, str) and _from_meta(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _from_meta(kept: str) -> Any:
    """Return the value that meta keeps: JSON, else a text."""
    try:
        return parse_json(kept, "")
    except FormatError:
        return kept


KIND = Format(
    loads,
    dumps,
    sniff,
    (".jsonl", ".ndjson"),
    '{"id": "a/1", "text": "a film that moves , and moves again", "label": "positive"}\n'
    '{"text": "it never moves", "label": 0, "by": ["Ada", 7], "sure": 0.5}\n'
    '{"label": null, "text": "caf\\u00e9 \\"noir\\"", "id": 3}\n'
    '{"id": "b", "text": "\u00e9"}\n',
    LineOptions,
)
