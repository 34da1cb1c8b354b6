"""The bytes of spaCy's DocBin: zlib around msgpack around rows of 64 bits a token.

spaCy is asked for its numbers of attributes and its hashes of strings alone: bytes of strangers
make no ``Doc``, whose arrays are not checked. No object hook is run on what msgpack holds, and
no more is decompressed than text with its annotation can come to.
"""

import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spanloom.errors import FormatError
from spanloom.formats._json import a_list, a_number, a_string, an_object

Row = dict[str, Any]  # of a token, by attribute: a string, or a number for those of NUMBERS

STRINGS = ("LEMMA", "POS", "TAG", "DEP", "ENT_TYPE", "MORPH", "ENT_KB_ID", "ENT_ID")
NUMBERS = ("ENT_IOB", "HEAD", "SENT_START")
ORTH = "ORTH"
USER = "spanloom"  # the key in a document's user data of what else is kept

_FREE, _RATIO = 2**24, 250  # bytes that may come of any file, and of each of its bytes
_SPAN = struct.Struct(">QQQllll")  # id, knowledge base, label, first token, end, characters


class Grouped(NamedTuple):
    """A span of a group: tokens ``[first, end)``, characters ``[start, stop)``."""

    label: str
    first: int
    end: int
    start: int
    stop: int
    key: str = ""


@dataclass(slots=True)
class Tokens:
    """One document: tokens, whether a blank follows each, groups of spans by name."""

    words: list[str]
    spaces: list[bool]
    rows: list[Row]
    groups: dict[str, list[Grouped]] = field(default_factory=dict)
    cats: dict[str, float] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)


def unpacked(data: bytes, path: str) -> Iterator[Tokens]:
    """Yield the documents of a file; raises ``FormatError``, without a line as bytes have none."""
    try:
        yield from _Reader(_message(data)).documents()
    except (ValueError, TypeError, KeyError, OverflowError, struct.error, zlib.error) as error:
        problem = f"not a DocBin: {type(error).__name__} {error!s:.120}"
        raise FormatError(path, None, problem) from error


def packed(documents: Iterable[Tokens]) -> bytes:
    """Return the file."""
    from spacy.attrs import IDS
    from spacy.strings import StringStore
    from srsly import msgpack_dumps

    store = StringStore()
    names = sorted((*STRINGS, *NUMBERS), key=IDS.__getitem__)
    rows: list[int] = []
    many = list(documents)
    for each in many:
        for word, row in zip(each.words, each.rows, strict=True):
            for cell in (word, *(row[name] for name in names)):
                rows.append(store.add(cell) if isinstance(cell, str) else cell % 2**64)
    groups = [msgpack_dumps(_groups(each, store)) for each in many]
    message = {
        "version": "0.1",
        "attrs": [IDS["ORTH"], *(IDS[name] for name in names)],
        "tokens": array("Q", rows).tobytes(),
        "spaces": bytes(space for each in many for space in each.spaces),
        "lengths": array("i", [len(each.words) for each in many]).tobytes(),
        "strings": sorted({"", *store}),
        "cats": [each.cats for each in many],
        "flags": [{"has_unknown_spaces": False} for _ in many],
        "span_groups": groups,
        "user_data": [msgpack_dumps({USER: each.kept} if each.kept else {}) for each in many],
    }
    return zlib.compress(msgpack_dumps(message))


def begins(head: bytes) -> bool:
    """Whether bytes may be the first ones of such a file."""
    try:
        return b"attrs" in zlib.decompressobj().decompress(head, 64)
    except zlib.error:
        return False


def _message(data: bytes) -> dict[str, Any]:
    """Return what a file says; raises ``ValueError`` and its like."""
    most = _FREE + _RATIO * len(data)
    engine = zlib.decompressobj()
    raw = engine.decompress(data, most)
    if not engine.eof or engine.unused_data:
        raise ValueError(f"expected one zlib stream of up to {most} bytes")
    return an_object(_read(raw))


def _read(raw: bytes) -> Any:
    """Return a msgpack value: plain ones alone, as no hook is run."""
    from srsly.msgpack import unpackb

    return unpackb(raw, raw=False, strict_map_key=False, object_pairs_hook=dict)


def _groups(document: Tokens, store: Any) -> dict[bytes, list[str]]:
    """Return a document's groups of spans, packed, and the names of each."""
    from srsly import msgpack_dumps

    found: dict[bytes, list[str]] = {}
    for name, spans in document.groups.items():
        cells = [
            _SPAN.pack(0, store.add(each.key), store.add(each.label), *each[1:5]) for each in spans
        ]
        said = msgpack_dumps({"name": name, "attrs": {}, "spans": cells})
        found.setdefault(said, []).append(name)
    return found


@dataclass(slots=True)
class _Reader:
    """Reads the documents of a message."""

    message: dict[str, Any]
    _store: Any = None
    _columns: list[int] = field(default_factory=list)  # -1 for one that is not there

    def documents(self) -> Iterator[Tokens]:
        """Yield them; raises ``ValueError`` and its like."""
        from spacy.attrs import IDS
        from spacy.strings import StringStore

        message = self.message
        self._store = StringStore([a_string(each) for each in a_list(message["strings"])])
        attrs = [a_number(each) for each in a_list(message["attrs"])]
        width = len(attrs)
        cells = memoryview(message["tokens"]).cast("Q").tolist()
        spaces = [each != 0 for each in memoryview(message["spaces"]).cast("B")]
        lengths = memoryview(message["lengths"]).cast("i").tolist()
        count = len(spaces)
        if min(lengths, default=0) < 0 or sum(lengths) != count or count * width != len(cells):
            raise ValueError(f"expected {count} tokens of {width}, got {sum(lengths)} in documents")
        named = (IDS[name] for name in (ORTH, *STRINGS, *NUMBERS))
        self._columns = [attrs.index(each) if each in attrs else -1 for each in named]
        place = 0
        for number, length in enumerate(lengths):
            rows = cells[place * width : (place + length) * width]
            yield self._document(number, rows, width, spaces[place : place + length])
            place += length

    def _document(
        self, number: int, cells: Sequence[int], width: int, spaces: list[bool]
    ) -> Tokens:
        """Return the document of that number."""
        columns: dict[str, list[Any]] = {}
        for name, place in zip((ORTH, *STRINGS, *NUMBERS), self._columns, strict=True):
            values = cells[place::width] if place >= 0 else [0] * len(spaces)
            signed = name in NUMBERS
            columns[name] = [_signed(each) for each in values] if signed else self._strings(values)
        words = columns.pop(ORTH)
        if "" in words:
            raise ValueError("expected tokens of a character at least")
        if self._of(number, "flags", {}).get("has_unknown_spaces"):
            spaces = [True] * len(words)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        cats = {a_string(key): float(each) for key, each in self._of(number, "cats", {}).items()}
        groups = dict(self._spans(self._of(number, "span_groups", b"")))
        user = self._of(number, "user_data", b"")
        kept = an_object(_read(user)).get(USER) if user else None
        return Tokens(words, spaces, rows, groups, cats, kept if isinstance(kept, dict) else {})

    def _of(self, number: int, key: str, default: Any) -> Any:
        """Return what a list of the message says of a document."""
        value = a_list(self.message.get(key) or [])[number : number + 1]
        if not value or value[0] is None:
            return default
        if not isinstance(value[0], type(default)):
            raise ValueError(f"expected as {key} {type(default).__name__}, got {value[0]!r:.60}")
        return value[0]

    def _strings(self, hashes: Sequence[int]) -> list[str]:
        return [self._store[each] if each else "" for each in hashes]

    def _spans(self, data: bytes) -> Iterator[tuple[str, list[Grouped]]]:
        """Yield the groups of spans, by name."""
        found = _read(data) if data else {}
        pairs = (
            found.items() if isinstance(found, dict) else ((each, None) for each in a_list(found))
        )
        for group, names in pairs:
            said = an_object(_read(group))
            spans = []
            for each in a_list(said["spans"]):
                _, key, label, first, end, start, stop = _SPAN.unpack(each)
                key, label = self._strings((key, label))
                spans.append(Grouped(label, first, end, start, stop, key))
            for name in [said["name"]] if names is None else a_list(names):
                yield a_string(name), spans


def _signed(number: int) -> int:
    """Return the number that 64 bits mean with a sign."""
    return number - 2**64 if number >= 2**63 else number
