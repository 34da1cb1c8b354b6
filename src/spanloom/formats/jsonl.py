"""Read and write JSON lines: one document per line, with everything but its source; scores too.

::

    {"name": "a", "text": "Ada met Bob.", "layers": [{"name": "main",
     "spans": [{"id": "T1", "label": "Person", "fragments": [[0, 3]], "score": 0.9}],
     "relations": [], …}]}

and, if the document has any, ``"queries": [{"id": "Q1", "prompt": "Who met Bob?"}]``. A layer
always has its spans and relations; all other empty or None values are left out, and a reader
requires neither. Any other key in a line is an error.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from json.encoder import encode_basestring, encode_basestring_ascii
from pathlib import Path
from typing import Any, NamedTuple

from spanloom.atomic_io import write_file
from spanloom.columns import AnnotationColumns
from spanloom.config.options import Options
from spanloom.document import (
    Annotation,
    Argument,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Query,
    Relation,
    Span,
)
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._json import (
    a_list,
    a_score,
    a_string,
    an_object,
    list_of,
    only,
    parse_json,
    string_of,
)

_ROLES = Relation("", "", "", "").roles  # those that are not written
_ALWAYS = ("spans", "relations")  # kinds that a layer always lists, even if empty
_CHUNK = 4096  # annotations that are encoded at a time
_KINDS: dict[str, type[Annotation]] = {
    "spans": Span,
    "relations": Relation,
    "events": Event,
    "attributes": Attribute,
    "normalizations": Normalization,
    "notes": Note,
    "equivalences": Equivalence,
}
_FIELDS = {
    kind: tuple((field.name, field.default) for field in fields(kind)) for kind in _KINDS.values()
}

_OTHER_LINES = (  # keys of common JSON lines that no format reads, and what is nearest to them
    (
        {"tokens", "ner_tags"},
        "lines of tokens and ner_tags: write WORD TAB TAG rows, which spanloom convert --from "
        "columns reads",
    ),
    (
        {"tokenized_text", "ner"},
        "GLiNER's lines: the nearest form is "
        '{"doc_key": NAME, "sentences": [[WORD, …]], "ner": [[[START, END, LABEL], …]]}, '
        "which spanloom convert --from dygie reads",
    ),
    (
        {"text", "entities"},
        'lines of text and entities: the nearest form is {"text": …, "label": '
        "[[START, END, LABEL], …]}, which spanloom convert --from doccano reads",
    ),
)


class _Quoter(NamedTuple):
    """How strings and values are written: ``quote`` is ``encode`` of strings alone, and faster."""

    quote: Callable[[str], str]
    encode: Callable[[Any], str]


_PLAIN = _Quoter(encode_basestring, json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode)
_ASCII = _Quoter(encode_basestring_ascii, json.JSONEncoder(allow_nan=False).encode)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the lines; raises ``DocumentError`` for a score that is not a finite number."""
    return "".join(_format_line(document) + "\n" for document in documents)


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every line that is not blank; raises ``FormatError`` with the line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _parse_document(line, path, number)


def write(path: Path, documents: Iterable[Document]) -> None:
    """Write a file atomically; raises ``StorageError``, and the errors of ``dumps``."""
    write_file(path, dumps(documents).encode())


def read(path: Path) -> Iterator[Document]:
    """Yield the documents of a file, line by line; raises ``FormatError``."""
    try:
        with path.open("rb") as stream:
            yield from read_stream(stream, str(path))
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error


def read_stream(stream: Iterable[bytes], path: str, *, first: int = 1) -> Iterator[Document]:
    """Yield the documents of an open file, line by line; ``first`` is the number of its next line.

    Raises ``FormatError`` with ``path``.
    """
    for number, line in enumerate(stream, start=first):
        text = _decode(line, path, number)
        if text.strip():
            yield _parse_document(text, path, number)


def _decode(line: bytes, path: str, number: int) -> str:
    """Return the text of a line; raises ``FormatError`` for bytes that are not UTF-8."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of the line (0x{line[error.start]:02x}) is not utf-8"
        raise FormatError(path, number, problem) from error


def _format_line(document: Document) -> str:
    """Return one document as one line."""
    line = "".join(_line_pieces(document, _PLAIN))
    try:
        line.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8
        return "".join(_line_pieces(document, _ASCII))
    return line


def _line_pieces(document: Document, quoter: _Quoter) -> Iterator[str]:
    """Yield a document's line in pieces, so that few annotations are text apart at once."""
    quote = quoter.quote
    yield f'{{"name": {quote(document.name)}, "text": {quote(document.text)}'
    if document.meta:
        yield f', "meta": {quoter.encode(document.meta)}'
    if document.queries:
        queries = [{"id": query.id, "prompt": query.prompt} for query in document.queries]
        yield f', "queries": {quoter.encode(queries)}'
    yield ', "layers": ['
    for number, layer in enumerate(document.layers):
        yield f'{", " if number else ""}{{"name": {quote(layer.name)}'
        for kind in _KINDS:
            annotations = getattr(layer, kind)
            if annotations or kind in _ALWAYS:
                yield f', "{kind}": ['
                yield from _annotation_pieces(annotations, document.name, quoter)
                yield "]"
        yield "}"
    yield "]}"


def _annotation_pieces(
    annotations: Sequence[Annotation], document: str, quoter: _Quoter
) -> Iterator[str]:
    """Yield some annotations at a time, separated by commas.

    Raises ``DocumentError`` for a score that is not a finite number.
    """
    for start in range(0, len(annotations), _CHUNK):
        end = min(start + _CHUNK, len(annotations))
        try:
            chunk = ", ".join(_annotation_texts(annotations, start, end, quoter))
        except ValueError as error:
            raise DocumentError(f"{document or 'document'}: a score is no finite number") from error
        yield (", " if start else "") + chunk


def _annotation_texts(
    annotations: Sequence[Annotation], start: int, end: int, quoter: _Quoter
) -> Iterator[str]:
    """Yield the text of each annotation ``[start, end)``, written straight from columns."""
    quote = quoter.quote
    if not isinstance(annotations, AnnotationColumns):
        for annotation in annotations[start:end]:
            yield _format_annotation(annotation, quoter)
    elif annotations.referred_ids() is None:
        for key, label, first, last, score in annotations.rows(start, end):
            yield (
                f'{{"id": {quote(key)}, "label": {quote(label)}, '
                f'"fragments": [[{first}, {last}]]{_format_score(score)}}}'
            )
    else:
        for key, label, head, tail, score in annotations.rows(start, end):
            yield (
                f'{{"id": {quote(key)}, "label": {quote(label)}, "head": {quote(head)}, '
                f'"tail": {quote(tail)}{_format_score(score)}}}'
            )


def _format_annotation(annotation: Annotation, quoter: _Quoter) -> str:
    """Return the text of an annotation; that of spans and plain relations is put together here."""
    quote = quoter.quote
    match annotation:
        case Span(key, label, fragments, score):
            pairs = ", ".join(f"[{start}, {end}]" for start, end in fragments)
            return (
                f'{{"id": {quote(key)}, "label": {quote(label)}, '
                f'"fragments": [{pairs}]{_format_score(score)}}}'
            )
        case Relation(key, label, head, tail, roles, score) if roles == _ROLES:
            return (
                f'{{"id": {quote(key)}, "label": {quote(label)}, "head": {quote(head)}, '
                f'"tail": {quote(tail)}{_format_score(score)}}}'
            )
    return quoter.encode(_annotation_record(annotation))


def _format_score(score: float | None) -> str:
    """Return the score of an annotation as a further key; raises ``ValueError`` for infinity."""
    if score is None:
        return ""
    if not math.isfinite(score):
        raise ValueError(score)
    return f', "score": {score!r}'


def _annotation_record(annotation: Annotation) -> dict[str, Any]:
    """Return an annotation without the fields that have their default values."""
    record = {}
    for name, default in _FIELDS[type(annotation)]:
        value = getattr(annotation, name)
        if value != default:
            record[name] = value
    if isinstance(annotation, Event) and annotation.arguments:
        record["arguments"] = [
            (argument.role, argument.target) for argument in annotation.arguments
        ]
    return record


def _parse_document(line: str, path: str, number: int) -> Document:
    """Return the document of one line; raises ``FormatError``."""
    try:
        record = an_object(parse_json(line, path, number))
        _check_keys(record)
        return Document(
            string_of(record, "text"),
            tuple(_parse_layer(layer) for layer in list_of(record, "layers", [])),
            string_of(record, "name", ""),
            tuple(_parse_pair(pair) for pair in list_of(record, "meta", [])),
            tuple(_parse_query(query) for query in list_of(record, "queries", [])),
        )
    except (ValueError, TypeError, OverflowError, DocumentError) as error:
        raise FormatError(path, number, f"not a document: {error}") from error


def _check_keys(record: dict[str, Any]) -> None:
    """Raise ``ValueError`` for an unknown key, with the format that is nearest to such lines."""
    try:
        only(record, "name", "text", "meta", "queries", "layers")
    except ValueError as error:
        hints = (hint for keys, hint in _OTHER_LINES if keys <= record.keys())
        hint = next(
            hints, "spanloom convert --from doccano reads lines of text with any other keys"
        )
        raise ValueError(f"{error}; {hint}") from error


def _parse_query(value: Any) -> Query:
    """Return a query; raises ``ValueError``."""
    record = an_object(value)
    only(record, "id", "prompt")
    return Query(string_of(record, "id"), string_of(record, "prompt"))


def _parse_layer(value: Any) -> Layer:
    """Return a layer; raises ``ValueError``."""
    record = an_object(value)
    only(record, "name", *_KINDS)
    kinds = {
        kind: tuple(_parse_annotation(cls, annotation) for annotation in list_of(record, kind, []))
        for kind, cls in _KINDS.items()
    }
    return Layer(string_of(record, "name"), **kinds)


def _parse_annotation(cls: type[Annotation], value: Any) -> Any:
    """Return an annotation of this class."""
    record, readers = an_object(value), _READERS_OF[cls]
    if not record.keys() <= readers.keys():
        only(record, *readers)
    return cls(**{name: readers[name](field_value) for name, field_value in record.items()})


def _a_shared_string(value: Any) -> str:
    """Return a string that a corpus repeats, kept once in memory: an id, a label, a value."""
    return sys.intern(a_string(value))


def _parse_strings(value: Any) -> tuple[str, ...]:
    """Return strings; raises ``ValueError`` for other values."""
    return tuple(_a_shared_string(item) for item in a_list(value))


def _parse_pair(value: Any) -> tuple[str, str]:
    """Return two strings; raises ``ValueError`` for other values."""
    if len(a_list(value)) != 2:
        raise ValueError(f"expected two strings, got {value!r:.60}")
    return _a_shared_string(value[0]), _a_shared_string(value[1])


def _parse_fragments(value: Any) -> tuple[tuple[int, int], ...]:
    """Return pairs of whole numbers; raises ``ValueError`` for other values."""
    for pair in a_list(value):
        if len(a_list(pair)) != 2 or type(pair[0]) is not int or type(pair[1]) is not int:
            raise ValueError(f"expected [start, end] in whole numbers, got {pair!r:.60}")
    return tuple((start, end) for start, end in value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "id": _a_shared_string,
    "label": _a_shared_string,
    "fragments": _parse_fragments,
    "score": a_score,
    "head": _a_shared_string,
    "tail": _a_shared_string,
    "roles": _parse_pair,
    "trigger": _a_shared_string,
    "arguments": lambda value: tuple(Argument(*_parse_pair(pair)) for pair in a_list(value)),
    "target": _a_shared_string,
    "value": lambda value: None if value is None else _a_shared_string(value),
    "resource": _a_shared_string,
    "key": _a_shared_string,
    "text": a_string,
    "members": _parse_strings,
}
_READERS_OF = {
    cls: {field.name: _READERS[field.name] for field in fields(cls)} for cls in _KINDS.values()
}


def _count_lost(document: Document, options: Options) -> Losses:
    """Return no losses: the format holds all of a document."""
    return {}


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the keys of the first line; if it is cut off, by its beginning."""
    line, line_end, _ = head.lstrip().partition("\n")
    if not line_end and not line.rstrip().endswith("}"):
        return re.match(r'\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"text"\s*:', line) is not None
    try:
        record = an_object(parse_json(line, name))
    except (ValueError, FormatError):
        return False
    return "text" in record and {"name", "text", "meta", "queries", "layers"}.issuperset(record)


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".jsonl",),
    '{"name": "a", "text": "Ada met Bob.", "queries": [{"id": "Q1", "prompt": "Who?"}], '
    '"layers": [{"name": "main", "spans": [{"id": "T1", "label": "Person", "fragments": [[0, 3]], '
    '"score": 0.5}], "relations": []}]}\n',
    lost_counter=_count_lost,
)
