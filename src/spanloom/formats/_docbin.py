"""Pack and unpack spaCy's DocBin: zlib around msgpack around 64-bit attribute values per token.

From spaCy come only attribute ids and string hashes: untrusted bytes never reach a ``Doc``, whose
arrays are not checked. No msgpack value becomes an object of another class, and the decompressed
size and the number of values are limited to what annotated text can need.
"""

import struct
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spanloom.errors import FormatError
from spanloom.formats._json import a_list, a_number, a_string, an_object, list_of, strings_of

Row = dict[str, Any]  # a token's attributes: strings, or numbers for those in NUMBERS

STRINGS = ("LEMMA", "POS", "TAG", "DEP", "ENT_TYPE", "MORPH", "ENT_KB_ID", "ENT_ID")
NUMBERS = ("ENT_IOB", "HEAD", "SENT_START")
ORTH = "ORTH"
USER = "spanloom"  # the key in a document's user data of all other annotations

_MIN_LIMIT, _MAX_RATIO = 2**24, 250  # decompressed bytes allowed per file, and per compressed byte
_MIN_VALUES, _MAX_VALUES_PER_BYTE = 2**22, 16  # per msgpack message, and per compressed byte
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
    """One document: tokens, whether a blank follows each, and span groups by name."""

    words: list[str]
    spaces: list[bool]
    rows: list[Row]
    groups: dict[str, list[Grouped]] = field(default_factory=dict)
    cats: dict[str, float] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)


def unpack(data: bytes, path: str) -> Iterator[Tokens]:
    """Yield the documents of a file; raises ``FormatError`` without a line number."""
    try:
        max_values = _MIN_VALUES + _MAX_VALUES_PER_BYTE * len(data)
        message = an_object(_unpack(_decompress(data), max_values))
        yield from _Reader(message, max_values).documents()
    except (ValueError, TypeError, KeyError, OverflowError, struct.error, zlib.error) as error:
        problem = f"not a DocBin: {type(error).__name__} {error!s:.120}"
        raise FormatError(path, None, problem) from error


def pack(documents: Iterable[Tokens]) -> bytes:
    """Return documents as the bytes of a DocBin file."""
    from spacy.attrs import IDS
    from spacy.strings import StringStore
    from srsly import msgpack_dumps

    store = StringStore()
    names = sorted((*STRINGS, *NUMBERS), key=IDS.__getitem__)
    rows: list[int] = []
    token_documents = list(documents)
    for document in token_documents:
        for word, row in zip(document.words, document.rows, strict=True):
            for cell in (word, *(row[name] for name in names)):
                rows.append(store.add(cell) if isinstance(cell, str) else cell % 2**64)
    groups = [msgpack_dumps(_pack_groups(document, store)) for document in token_documents]
    message = {
        "version": "0.1",
        "attrs": [IDS["ORTH"], *(IDS[name] for name in names)],
        "tokens": array("Q", rows).tobytes(),
        "spaces": bytes(space for document in token_documents for space in document.spaces),
        "lengths": array("i", [len(document.words) for document in token_documents]).tobytes(),
        "strings": sorted({"", *store}),
        "cats": [document.cats for document in token_documents],
        "flags": [{"has_unknown_spaces": False} for _ in token_documents],
        "span_groups": groups,
        "user_data": [
            msgpack_dumps({USER: document.kept} if document.kept else {})
            for document in token_documents
        ],
    }
    return zlib.compress(msgpack_dumps(message))


def has_signature(head: bytes) -> bool:
    """Whether these may be the first bytes of such a file."""
    try:
        return b"attrs" in zlib.decompressobj().decompress(head, 64)
    except zlib.error:
        return False


def _decompress(data: bytes) -> bytes:
    """Return the msgpack message of a file; raises ``ValueError`` and similar errors."""
    max_bytes = _MIN_LIMIT + _MAX_RATIO * len(data)
    decompressor = zlib.decompressobj()
    raw = decompressor.decompress(data, max_bytes)
    if not decompressor.eof or decompressor.unused_data:
        raise ValueError(f"expected one zlib stream of up to {max_bytes} bytes")
    return raw


@dataclass(slots=True)
class _ValueCounter:
    """Counts msgpack values: a byte can become a mapping of 64 bytes."""

    rest: int

    def to_list(self, values: list[Any]) -> list[Any]:
        """Return a list, counted; raises ``ValueError`` for too many values."""
        self._count(values)
        return values

    def to_dict(self, pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
        """Return a mapping, counted; raises ``ValueError`` for too many values."""
        self._count(pairs)
        return dict(pairs)

    def _count(self, values: Collection[Any]) -> None:
        self.rest -= 1 + len(values)
        if self.rest < 0:
            raise ValueError("expected fewer values for a file of this size")


def _unpack(raw: bytes, max_values: int) -> Any:
    """Return a msgpack value of plain types; raises ``ValueError`` for too many of them."""
    from srsly.msgpack import unpackb

    counter = _ValueCounter(max_values)
    limit = min(len(raw), max_values)  # of each list before it is made, and so counted
    return unpackb(
        raw,
        raw=False,
        strict_map_key=False,
        object_pairs_hook=counter.to_dict,
        list_hook=counter.to_list,
        max_array_len=limit,
        max_map_len=limit,
    )


def _pack_groups(document: Tokens, store: Any) -> dict[bytes, list[str]]:
    """Return a document's span groups, packed, with the names of each."""
    from srsly import msgpack_dumps

    names_of_group: dict[bytes, list[str]] = {}
    for name, spans in document.groups.items():
        cells = [
            _SPAN.pack(0, store.add(span.key), store.add(span.label), *span[1:5]) for span in spans
        ]
        packed_group = msgpack_dumps({"name": name, "attrs": {}, "spans": cells})
        names_of_group.setdefault(packed_group, []).append(name)
    return names_of_group


@dataclass(slots=True)
class _Reader:
    """Reads the documents of a message."""

    message: dict[str, Any]
    max_values: int  # of each message within
    _store: Any = None
    _columns: list[int] = field(default_factory=list)  # -1 for a missing attribute

    def documents(self) -> Iterator[Tokens]:
        """Yield the documents; raises ``ValueError`` and similar errors."""
        from spacy.attrs import IDS
        from spacy.strings import StringStore

        message = self.message
        self._store = StringStore(strings_of(message, "strings"))
        attrs = [a_number(attr) for attr in list_of(message, "attrs")]
        width = len(attrs)
        cells = memoryview(message["tokens"]).cast("Q").tolist()
        spaces = [byte != 0 for byte in memoryview(message["spaces"]).cast("B")]
        lengths = memoryview(message["lengths"]).cast("i").tolist()
        count = len(spaces)
        if min(lengths, default=0) < 0 or sum(lengths) != count or count * width != len(cells):
            raise ValueError(f"expected {count} tokens of {width}, got {sum(lengths)} in documents")
        attr_ids = (IDS[name] for name in (ORTH, *STRINGS, *NUMBERS))
        self._columns = [attrs.index(attr) if attr in attrs else -1 for attr in attr_ids]
        token_offset = 0
        for number, length in enumerate(lengths):
            rows = cells[token_offset * width : (token_offset + length) * width]
            yield self._document(number, rows, width, spaces[token_offset : token_offset + length])
            token_offset += length

    def _document(
        self, number: int, cells: Sequence[int], width: int, spaces: list[bool]
    ) -> Tokens:
        """Return one document from its cells and the message's items of that number."""
        columns: dict[str, list[Any]] = {}
        for name, column in zip((ORTH, *STRINGS, *NUMBERS), self._columns, strict=True):
            values = cells[column::width] if column >= 0 else [0] * len(spaces)
            is_number = name in NUMBERS
            columns[name] = (
                [_to_signed(value) for value in values] if is_number else self._strings(values)
            )
        words = columns.pop(ORTH)
        if "" in words:
            raise ValueError("expected tokens of a character at least")
        if self._item(number, "flags", {}).get("has_unknown_spaces"):
            spaces = [True] * len(words)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        cats = {
            a_string(key): float(value) for key, value in self._item(number, "cats", {}).items()
        }
        groups = dict(self._spans(self._item(number, "span_groups", b"")))
        packed_user_data = self._item(number, "user_data", b"")
        kept = an_object(self._unpack(packed_user_data)).get(USER) if packed_user_data else None
        return Tokens(words, spaces, rows, groups, cats, kept if isinstance(kept, dict) else {})

    def _item(self, number: int, key: str, default: Any) -> Any:
        """Return the item of a document in a list of the message, or the default."""
        value = a_list(self.message.get(key) or [])[number : number + 1]
        if not value or value[0] is None:
            return default
        if not isinstance(value[0], type(default)):
            raise ValueError(f"expected as {key} {type(default).__name__}, got {value[0]!r:.60}")
        return value[0]

    def _unpack(self, data: bytes) -> Any:
        """Return the value of a message within the message."""
        return _unpack(data, self.max_values)

    def _strings(self, hashes: Sequence[int]) -> list[str]:
        return [self._store[string_hash] if string_hash else "" for string_hash in hashes]

    def _spans(self, data: bytes) -> Iterator[tuple[str, list[Grouped]]]:
        """Yield the span groups with their names."""
        packed_groups = self._unpack(data) if data else {}
        pairs = (
            packed_groups.items()
            if isinstance(packed_groups, dict)
            else ((packed_group, None) for packed_group in a_list(packed_groups))
        )
        for group, names in pairs:
            group_data = an_object(self._unpack(group))
            spans = []
            for packed_span in list_of(group_data, "spans"):
                _, key, label, first, end, start, stop = _SPAN.unpack(packed_span)
                key, label = self._strings((key, label))
                spans.append(Grouped(label, first, end, start, stop, key))
            for name in [group_data["name"]] if names is None else a_list(names):
                yield a_string(name), spans


def _to_signed(number: int) -> int:
    """Return an unsigned 64-bit value as a signed number."""
    return number - 2**64 if number >= 2**63 else number
