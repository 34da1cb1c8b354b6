"""JSON lines: one document a line, with everything but its source; scores too.

::

    {"name": "a", "text": "Ada met Bob.", "layers": [{"name": "main",
     "spans": [{"id": "T1", "label": "Person", "fragments": [[0, 3]], "score": 0.9}],
     "relations": [], …}]}

and, where there are any, ``"queries": [{"id": "Q1", "prompt": "Who met Bob?"}]``. A layer always
says its spans and relations; all else that is empty or None is left out, and a reader misses
neither. Anything else in a line is an error.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

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
from spanloom.formats._json import a_list, a_string, an_object, only, parsed
from spanloom.storage import write_file

_ALWAYS = ("spans", "relations")  # kinds that a layer says even where it has none
_KINDS: dict[str, type[Annotation]] = {
    "spans": Span,
    "relations": Relation,
    "events": Event,
    "attributes": Attribute,
    "normalizations": Normalization,
    "notes": Note,
    "equivalences": Equivalence,
}


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the lines; raises ``DocumentError`` for a score that is no finite number."""
    return "".join(_line(document) + "\n" for document in documents)


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every line that is not blank; raises ``FormatError`` with the line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _document(line, path, number)


def write(path: Path, documents: Iterable[Document]) -> None:
    """Write a file, whole or not at all; raises ``StorageError``, and what ``dumps`` raises."""
    write_file(path, dumps(documents).encode())


def read(path: Path) -> Iterator[Document]:
    """Yield the documents of a file, line by line; raises ``FormatError``."""
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                text = _decoded(line, str(path), number)
                if text.strip():
                    yield _document(text, str(path), number)
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error


def _decoded(line: bytes, path: str, number: int) -> str:
    """Return the text of a line."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of the line (0x{line[error.start]:02x}) is not utf-8"
        raise FormatError(path, number, problem) from error


def _line(document: Document) -> str:
    """Return one document as one line."""
    whole: dict[str, Any] = {"name": document.name, "text": document.text}
    if document.meta:
        whole["meta"] = document.meta
    if document.queries:
        whole["queries"] = [{"id": each.id, "prompt": each.prompt} for each in document.queries]
    whole["layers"] = [_layer_out(layer) for layer in document.layers]
    try:
        line = json.dumps(whole, ensure_ascii=False, allow_nan=False)
        if "\ud800" <= max(line) and any("\ud800" <= char <= "\udfff" for char in line):
            return json.dumps(whole, allow_nan=False)  # half a character has no UTF-8
    except ValueError as error:
        raise DocumentError(
            f"{document.name or 'document'}: a score is no finite number"
        ) from error
    return line


def _layer_out(layer: Layer) -> dict[str, Any]:
    """Return a layer with its spans and relations, and what other kinds it has."""
    kinds = {kind: [_out(each) for each in getattr(layer, kind)] for kind in _KINDS}
    kept = {kind: found for kind, found in kinds.items() if found or kind in _ALWAYS}
    return {"name": layer.name, **kept}


def _out(annotation: Annotation) -> dict[str, Any]:
    """Return an annotation, what has its default value left out."""
    said = {}
    for each in fields(annotation):
        value = getattr(annotation, each.name)
        if value != each.default:
            said[each.name] = value
    if isinstance(annotation, Event) and annotation.arguments:
        said["arguments"] = [(each.role, each.target) for each in annotation.arguments]
    return said


def _document(line: str, path: str, number: int) -> Document:
    """Return the document of one line."""
    try:
        whole = an_object(parsed(line, path, number))
        only(whole, "name", "text", "meta", "queries", "layers")
        return Document(
            a_string(whole.get("text")),
            tuple(_layer_in(each) for each in a_list(whole.get("layers", []))),
            a_string(whole.get("name", "")),
            tuple(_pair(each) for each in a_list(whole.get("meta", []))),
            tuple(_query(each) for each in a_list(whole.get("queries", []))),
        )
    except (ValueError, TypeError, OverflowError, DocumentError) as error:
        raise FormatError(path, number, f"not a document: {error}") from error


def _query(value: Any) -> Query:
    """Return a query."""
    said = an_object(value)
    only(said, "id", "prompt")
    return Query(a_string(said.get("id")), a_string(said.get("prompt")))


def _layer_in(value: Any) -> Layer:
    """Return a layer."""
    said = an_object(value)
    only(said, "name", *_KINDS)
    kinds = {
        kind: tuple(_annotation(made, each) for each in a_list(said.get(kind, [])))
        for kind, made in _KINDS.items()
    }
    return Layer(a_string(said.get("name")), **kinds)


def _annotation(made: type[Annotation], value: Any) -> Any:
    """Return an annotation of that kind."""
    said = an_object(value)
    only(said, *(each.name for each in fields(made)))
    return made(**{name: _READERS[name](each) for name, each in said.items()})


def _strings(value: Any) -> tuple[str, ...]:
    """Return strings."""
    return tuple(a_string(each) for each in a_list(value))


def _pair(value: Any) -> tuple[str, str]:
    """Return two strings."""
    if len(a_list(value)) != 2:
        raise ValueError(f"expected two strings, got {value!r:.60}")
    return a_string(value[0]), a_string(value[1])


def _fragments(value: Any) -> tuple[tuple[int, int], ...]:
    """Return pairs of whole numbers."""
    for each in a_list(value):
        if len(a_list(each)) != 2 or any(type(number) is not int for number in each):
            raise ValueError(f"expected [start, end] in whole numbers, got {each!r:.60}")
    return tuple((start, end) for start, end in value)


def _score(value: Any) -> float | None:
    """Return a finite number or None."""
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"expected a finite score, got {value!r:.60}")
    return float(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "id": a_string,
    "label": a_string,
    "fragments": _fragments,
    "score": _score,
    "head": a_string,
    "tail": a_string,
    "roles": _pair,
    "trigger": a_string,
    "arguments": lambda value: tuple(Argument(*_pair(each)) for each in a_list(value)),
    "target": a_string,
    "value": lambda value: None if value is None else a_string(value),
    "resource": a_string,
    "key": a_string,
    "text": a_string,
    "members": _strings,
}


def _lost(document: Document, options: Options) -> Losses:
    """Count nothing: all that a document says has a place."""
    return {}


def _looks(head: str, name: str) -> bool:
    """Tell by the keys of the first line; of one that is cut off, by those at its beginning."""
    line, cut, _ = head.lstrip().partition("\n")
    if not cut and not line.rstrip().endswith("}"):
        return re.match(r'\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"text"\s*:', line) is not None
    try:
        said = an_object(parsed(line, name))
    except (ValueError, FormatError):
        return False
    return "text" in said and {"name", "text", "meta", "queries", "layers"}.issuperset(said)


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".jsonl",),
    '{"name": "a", "text": "Ada met Bob.", "queries": [{"id": "Q1", "prompt": "Who?"}], '
    '"layers": [{"name": "main", "spans": [{"id": "T1", "label": "Person", "fragments": [[0, 3]], '
    '"score": 0.5}], "relations": []}]}\n',
)
