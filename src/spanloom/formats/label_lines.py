"""JSON lines of texts, or of pairs of texts, with a label or a number: a line a document.

::

    {"id": "a1", "text": "a moving film", "label": "positive"}

Options name other keys (``text: sentence1``, ``second: sentence2``), or a ``preset`` does, for SNLI
and MNLI. What is said of a text is one span, what is said of two one relation (``forms.parts``).
Values of all other keys, and a label or number that is none, stand in the document's meta: texts as
they are, all else as JSON. A line without the key of the label, or of the number, is not annotated.
Blank lines are left out.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from spanloom.config.options import nearest
from spanloom.document import Document
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._json import a_string, an_object, parsed
from spanloom.formats._judged import CUT, Judged, JudgedOptions, Judging, Meta
from spanloom.formats._names import Names, is_counted, numbered
from spanloom.formats._regained import missing

KEYS, SPELLING, END = "keys of the line", "spelling of the line", "line end"  # in meta

_OWN = (KEYS, SPELLING, END, CUT)
_PLAIN = "plain"
_SPELLINGS: Mapping[str, Mapping[str, Any]] = {
    _PLAIN: {"ensure_ascii": False},
    "ascii": {},
    "close": {"ensure_ascii": False, "separators": (",", ":")},
    "close ascii": {"separators": (",", ":")},
}

Said = dict[str, Any]


class LineOptions(JudgedOptions):
    """Options of JSON lines: the keys."""

    preset: Literal["mnli", "snli"] | None = Field(
        default=None, description="a public layout; what is said beside it wins"
    )
    text: str = Field(default="text", description="the key of the text, or of the first of two")
    second: str | None = Field(default=None, description="the key of the second text")
    label: str | None = Field(default="label", description="the key of the label")
    number: str | None = Field(default=None, description="the key of the number")
    id: str | None = Field(default="id", description="the key that names the documents")

    @property
    def whole(self) -> "LineOptions":
        """These options over those of the preset."""
        return self.over(_NLI if self.preset else None)

    @property
    def wanted(self) -> list[str]:
        """The keys that must be there: of texts, and those that the user asked for."""
        whole, said = self.whole, self.model_fields_set
        rest = [getattr(self, role) for role in ("label", "number", "id") if role in said]
        return [each for each in (whole.text, whole.second, *rest) if each is not None]


_NLI = LineOptions(text="sentence1", second="sentence2", label="gold_label", id="pairID", none="-")


def loads(
    text: str, *, path: str = "<string>", options: LineOptions = LineOptions()
) -> Iterator[Document]:
    """Yield the document of every line that is not blank, named by its id or its place.

    Raises ``FormatError``: lines that are no objects, keys that are not there (with the nearest),
    texts, labels and numbers that are none.
    """
    reading = _Reading(options)
    pieces = text.removeprefix("\ufeff").split("\n")
    for line, piece in enumerate(pieces, 1):
        if not piece.strip():
            continue
        end = "\r" * piece.endswith("\r") + "\n" * (line < len(pieces))
        try:
            said = an_object(parsed(piece, path, line))
            yield reading.document(said, piece.removesuffix("\r"), end)
        except (ValueError, DocumentError) as error:
            raise FormatError(path, line, str(error)) from error
        except RecursionError as error:
            raise FormatError(path, line, "nested too deeply") from error


def dumps(documents: Iterable[Document], *, options: LineOptions = LineOptions()) -> str:
    """Return the lines, each spelled as it was, with what its document says now."""
    every = list(documents)
    found = [_line(document, options) for document in every]
    ends = [_end(each, last=number == len(every)) for number, each in enumerate(every, 1)]
    return "".join(line + end for line, end in zip(found, ends, strict=True))


def lost(document: Document, options: LineOptions = LineOptions()) -> Losses:
    """Count what is neither text nor label nor value."""
    return missing(document, loads(dumps([document], options=options), options=options))


def looks(head: str, name: str) -> bool:
    """Whether the first line is an object of a text and its label, by usual keys."""
    first = next((line for line in head.removeprefix("\ufeff").split("\n") if line.strip()), "")
    try:
        said = an_object(parsed(first, ""))
    except (ValueError, FormatError):
        return False
    return any(
        isinstance(said.get(each.text), str)
        and (each.second is None or isinstance(said.get(each.second), str))
        and isinstance(said.get(each.label or ""), str | int)
        for each in (LineOptions(), _NLI)
    )


class _Reading:
    """Lines being read."""

    def __init__(self, options: LineOptions) -> None:
        """Begin."""
        self.options, self.wanted = options.whole, options.wanted
        self.names = Names()
        self.count = 0

    def document(self, said: Said, raw: str, end: str) -> Document:
        """Return the document of a line; raises ``ValueError`` for what is wrong with it."""
        options = self.options
        self.count += 1
        for key in self.wanted:
            if key not in said:
                raise ValueError(f"no key {key!r:.60}{nearest(key, said):.300}")
        second = None if options.second is None else a_string(said[options.second])
        judged = Judged(
            a_string(said[options.text]),
            second,
            _label(_at(said, options.label), options),
            _number(_at(said, options.number)),
        )
        name, meta = self._name(said)
        told = {options.text, options.second, options.id}
        plain = judged.label is not None and judged.label == _at(said, options.label)
        told |= {options.label} if plain else set()
        told |= {options.number} if judged.number is not None else set()
        meta += [(key, _noted(value)) for key, value in said.items() if key not in told]
        meta += _spelling(said, raw, options) + [(END, end)] * (end != "\n")
        return _judging(options, said).document(judged, name, meta)

    def _name(self, said: Said) -> tuple[str, Meta]:
        """Return a document's name, and its id where that is not the same."""
        written = _at(said, self.options.id)
        if written is None:
            name = self.names.of(numbered(self.count))
            return name, [(key, _noted(None)) for key in said if key == self.options.id]
        if type(written) not in (str, int):
            raise ValueError(f"expected a text or a whole number as id, got {written!r:.60}")
        name = self.names.of(str(written))
        if name == written and not is_counted(name):
            return name, []
        return name, [(self.options.id or "", _noted(written))]


def _at(said: Said, key: str | None) -> Any:
    """Return what stands under a key, None where there is none."""
    return None if key is None else said.get(key)


def _judging(options: LineOptions, said: Iterable[str]) -> Judging:
    """Return how lines of those keys say labels and numbers."""
    (label, number), keys = options.layers, set(said)
    return Judging(
        label if options.label in keys else None,
        number if options.number in keys else None,
        options.number or "value",
    )


def _label(value: Any, options: LineOptions) -> str | None:
    """Return a label, None for what says that there is none; raises ``ValueError``."""
    if value is None:
        return None
    if not isinstance(value, str | int):
        raise ValueError(f"expected a label (text, whole number, true, false), got {value!r:.60}")
    label = value if isinstance(value, str) else json.dumps(value)
    return label if options.is_gold(label) else None


def _number(value: Any) -> str | None:
    """Return a number as it is written, None for none; raises ``ValueError``."""
    if value is None:
        return None
    if type(value) not in (int, float) or not _finite(value):
        raise ValueError(f"expected a finite number, got {value!r:.60}")
    return json.dumps(value)


def _finite(value: float) -> bool:
    """Whether a number can be compared with others."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _spelling(said: Said, raw: str, options: LineOptions) -> Meta:
    """Return what is not usual: the order of keys, how the line is spelled.

    Raises ``ValueError`` for keys that mean something else in meta.
    """
    for own in _OWN:
        if own in said:
            raise ValueError(f"expected no key of the name {own!r}, got one")
    found: Meta = [] if list(said) == _ordered(said, options) else [(KEYS, json.dumps([*said]))]
    fit = (name for name, how in _SPELLINGS.items() if json.dumps(said, **how) == raw)
    name = next(fit, _PLAIN)
    return found + [(SPELLING, name)] * (name != _PLAIN)


def _ordered(keys: Iterable[str], options: LineOptions) -> list[str]:
    """Return keys in the usual order: what the options ask for, then all else as it comes."""
    said, roles = list(keys), (options.id, options.text, options.second)
    first = [key for key in (*roles, options.label, options.number) if key in said]
    return list(dict.fromkeys([*(key for key in first if key is not None), *said]))


def _line(document: Document, options: LineOptions) -> str:
    """Return a document's line."""
    meta = dict(document.meta)
    said = {key: _valued(value) for key, value in meta.items() if key not in _OWN}
    keys = _valued(meta.get(KEYS, ""))
    how = _SPELLINGS.get(meta.get(SPELLING, _PLAIN), _SPELLINGS[_PLAIN])
    _tell(document, said, options)
    usual = _ordered(said, options.whole)
    known = [key for key in keys if key in usual] if isinstance(keys, list) else []
    return json.dumps({key: said[key] for key in dict.fromkeys([*known, *usual])}, **how)


def _tell(document: Document, said: Said, options: LineOptions) -> None:
    """Put into a line what its document says now; ``said`` is what meta kept."""
    whole = options.whole
    keys = _keys(document, said, options)
    told = _judging(whole, keys).said(document)
    label = told.label if told.label is not None and whole.is_gold(told.label) else None
    apart = whole.layers[0] != whole.layers[1] or whole.label not in keys
    said[whole.text] = told.text
    if whole.second is not None:
        said[whole.second] = told.second or ""
    if whole.id is not None and not _is_id(said.get(whole.id, ...)):
        said.pop(whole.id, None)
        if whole.id in options.wanted or not is_counted(document.name):
            said[whole.id] = document.name
    old = {key: said.pop(key, ...) for key in (whole.label, whole.number) if key is not None}
    if whole.label in keys:
        said[whole.label or ""] = _restored(label, old[whole.label or ""], whole)
    if whole.number in keys:
        said[whole.number or ""] = _read(told.number) if apart or label is not None else None


def _keys(document: Document, kept: Said, options: LineOptions) -> set[str]:
    """Return which of the keys of label and number a document's line has."""
    whole = options.whole
    label, number = whole.layers
    told = Judging(label, number).said(document)
    known = {*options.wanted, *kept}
    keys: set[str | None] = {key for key in (whole.label, whole.number) if key in known}
    if document.has(label):
        keys.add(whole.label)
    if told.number is not None or (label != number and document.has(number)):
        keys.add(whole.number)
    alone = label == number and told.number is not None and told.label == whole.number
    if alone and whole.label not in options.wanted:
        keys.discard(whole.label)  # it is only what the number is called
    return {key for key in keys if key is not None}


def _restored(label: str | None, old: Any, options: LineOptions) -> Any:
    """Return the value of a label that says ``label`` now and was ``old`` (``...``: nothing)."""
    if label is None:
        silent = old is None or (isinstance(old, str) and not options.is_gold(old))
        silent |= type(old) in (int, bool) and not options.is_gold(json.dumps(old))
        return old if silent else options.none
    now = _valued(label)
    return now if type(old) in (int, bool) and type(now) is type(old) else label


def _read(number: str | None) -> Any:
    """Return the value of a number that may be written as no JSON is."""
    if number is None:
        return None
    value = _valued(number)
    return value if type(value) in (int, float) else float(number)


def _is_id(value: Any) -> bool:
    """Whether a value may be an id, or say that there is none."""
    return value is None or type(value) in (str, int)


def _noted(value: Any) -> str:
    """Return a value as meta keeps it; raises ``ValueError`` for infinity."""
    if isinstance(value, str) and _valued(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _valued(written: str) -> Any:
    """Return the value that meta keeps: JSON, else a text."""
    try:
        return parsed(written, "")
    except FormatError:
        return written


def _end(document: Document, last: bool) -> str:
    """Return what stands behind a line."""
    told = dict(document.meta).get(END, "\n")
    return told if told in ("\r\n", "\n") or (last and told in ("", "\r")) else "\n"


KIND = Format(
    loads,
    dumps,
    lost,
    looks,
    (".jsonl", ".ndjson"),
    '{"id": "a/1", "text": "a film that moves , and moves again", "label": "positive"}\n'
    '{"text": "it never moves", "label": 0, "by": ["Ada", 7], "sure": 0.5}\n'
    '{"label": null, "text": "caf\\u00e9 \\"noir\\"", "id": 3}\n'
    '{"id": "b", "text": "\u00e9"}\n',
    LineOptions,
)
