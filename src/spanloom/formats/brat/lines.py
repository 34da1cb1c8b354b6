"""The grammar of one line of an .ann file: a raw line in, what it says or what is wrong out.

========  ==================================================================
``T1``    ``Type start end[;start end…]`` TAB text
``R1``    ``Type Role:T1 Role:T2``
``E1``    ``Type:T1[ Role:T2…]``
``A1``    ``Type T1[ value]`` (``M1`` in old files)
``N1``    ``Type T1 Resource:key`` TAB text
``#1``    ``Type T1`` TAB text
``*``     ``Type T1 T2…``
========  ==================================================================
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from spanloom.document import (
    BLANKS,
    MAIN,
    Annotation,
    Argument,
    Attribute,
    Equivalence,
    Event,
    Normalization,
    Note,
    Relation,
)
from spanloom.formats.brat.offsets import Bound
from spanloom.formats.brat.spelling import read_key, read_name, read_text, read_type

ID = re.compile(r"([A-Za-z]+|#[A-Za-z]*)([0-9]+)[^\s:]*")
KINDS = "T (span), R (relation), E (event), A or M (attribute), N (normalization), # (note), *"
_BOUND = re.compile(r"([^ ]+) (-?[0-9]{1,18} -?[0-9]{1,18}(?:;-?[0-9]{1,18} -?[0-9]{1,18})*) *")
_RELATION = re.compile(r"([^ ]+) +([^ :]+):([^ :]+) +([^ :]+):([^ :]+) *")
_ATTRIBUTE = re.compile(r"([^ ]+) ([^ ]+)(?: (.*))?", re.DOTALL)
_LINK = re.compile(r"([^ ]+) +([^ :]+) +([^ :]+):([^ ]+) *")
_LINKS_2013 = (  # the order of BioNLP-ST 2013, with named fields
    (re.compile(r"([^ ]+) +Annotation:([^ ]+) +Referent:"), r"\1 \2 "),
    (re.compile(r"([^ ]+) +Referent:([^ ]+) +Annotation:([^ ]+)"), r"\1 \3 \2"),
)


class Said(NamedTuple):
    """What a line says; ``layer`` is None where the annotation follows its target's layer."""

    annotation: Annotation
    layer: str | None


def parse(raw: str) -> Said | Bound | str:
    """Return what the line says, or in words why nothing can be made of it."""
    said = _read(raw)
    if isinstance(said, str):
        return said
    label = said.type if isinstance(said, Bound) else said.annotation.label
    # brat parts a line at blanks and tabs alone, so that a type may be a carriage return
    return said if label.strip(BLANKS) else f"expected a type, got {label!r:.40}"


def _read(raw: str) -> Said | Bound | str:
    """The same, whatever its label is made of."""
    key, tab, rest = raw.partition("\t")
    if not tab:
        return "no tab after the id (blanks in place of tabs?)"
    middle, tab, tail = rest.partition("\t")
    text = tail if tab else None
    if key == "*":
        return _equivalence(middle)
    if not ID.fullmatch(key):
        return f"expected an id such as T1, got {key!r:.40}"
    reader = _READERS.get(key[0])
    if reader is None:
        return f"unknown kind of annotation {key!r:.40}; known: {KINDS}"
    return reader(key, middle, text)


def owner(written: str) -> tuple[str, str]:
    """Return layer and label of a type that belongs to its own layer."""
    layer, label = read_type(written)
    if layer is None:
        return MAIN, label
    return (MAIN, written) if layer == MAIN else (layer, label)


def _bound(key: str, middle: str, text: str | None) -> Bound | str:
    """``Type start end[;start end…]``; the text decides later in which unit offsets are."""
    found = _BOUND.fullmatch(middle)
    if not found:
        return "expected 'Type start end' with whole numbers between two tabs"
    kind, numbers = found.groups()
    if ";" not in numbers:
        start, _, end = numbers.partition(" ")
        return Bound(key, kind, ((int(start), int(end)),), text)
    pairs = [pair.partition(" ") for pair in numbers.split(";")]
    return Bound(key, kind, tuple((int(start), int(end)) for start, _, end in pairs), text)


def _relation(key: str, middle: str, _: str | None) -> Said | str:
    """``Type Role:T1 Role:T2``."""
    found = _RELATION.fullmatch(middle)
    if not found:
        return "expected 'Type Arg1:T1 Arg2:T2' with exactly two arguments"
    kind, first, head, second, tail = found.groups()
    if first == second:
        return f"both arguments have the role {first!r:.40}, two different ones are needed"
    layer, label = owner(kind)
    return Said(Relation(key, label, head, tail, (read_name(first), read_name(second))), layer)


def _event(key: str, middle: str, _: str | None) -> Said | str:
    """``Type:T1[ Role:T2…]``."""
    pairs = [part.split(":") for part in middle.split(" ") if part]
    if not pairs or any(len(pair) != 2 or not all(pair) for pair in pairs):
        return "expected 'Type:T1' and any number of 'Role:T2'"
    (kind, trigger), *rest = pairs
    layer, label = owner(kind)
    filled = tuple(Argument(read_name(role), target) for role, target in rest)
    return Said(Event(key, label, trigger, filled), layer)


def _attribute(key: str, middle: str, _: str | None) -> Said | str:
    """``Type T1[ value]``."""
    found = _ATTRIBUTE.fullmatch(middle)
    if not found or not ID.fullmatch(found[2]):
        return "expected 'Type T1' or 'Type T1 value'"
    kind, target, value = found.groups()
    layer, label = read_type(kind)
    bare = (value or "").strip(" ")
    said = read_text(bare, tabs=False) if bare and bare != "_x_" else ""
    return Said(Attribute(key, label, target, said if bare else None), layer)


def _normalization(key: str, middle: str, text: str | None) -> Said | str:
    """``Type T1 Resource:key``, the key may hold more colons."""
    for pattern, plain in _LINKS_2013:
        middle = pattern.sub(plain, middle, count=1)
    found = _LINK.fullmatch(middle)
    if not found:
        return "expected 'Type T1 Resource:key'"
    kind, target, resource, outside = found.groups()
    layer, label = read_type(kind)
    name = read_text(text or "")
    said = Normalization(key, label, target, read_name(resource), read_key(outside), name)
    return Said(said, layer)


def _note(key: str, middle: str, text: str | None) -> Said | str:
    """``Type T1`` TAB text, which may hold tabs."""
    parts = middle.split(" ")
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) != 2 or not all(parts):
        return "expected 'Type T1' and, after a tab, the note"
    layer, label = read_type(parts[0])
    return Said(Note(key, label, parts[1], read_text(text or "")), layer)


def _equivalence(middle: str) -> Said | str:
    """``Type T1 T2…``; such a line has no id of its own."""
    kind, *members = [part for part in middle.split(" ") if part] or [""]
    if not members:
        return "expected 'Type T1 T2…', got no members"
    layer, label = owner(kind)
    return Said(Equivalence("*", label, tuple(members)), layer)


_READERS: dict[str, Callable[[str, str, str | None], Said | Bound | str]] = {
    "T": _bound,
    "R": _relation,
    "E": _event,
    "A": _attribute,
    "M": _attribute,
    "N": _normalization,
    "#": _note,
}
