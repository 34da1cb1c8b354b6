"""Parse one line of an .ann file into an annotation, or into a message that says what is wrong.

What the files of a corpus repeat, ids and values, is kept once in memory.

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
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from spanloom.annotation.reference_graph import references
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
    Span,
)
from spanloom.formats.brat.offsets import TextBound
from spanloom.formats.brat.spelling import read_key, read_name, read_text, read_type

ID = re.compile(r"([A-Za-z]+|#[A-Za-z]*)([0-9]++)[^\s:]*")
TARGET = re.compile(r"[^ \t\r\n]+")  # of a note: any word, for its annotation may be missing
KINDS = "T (span), R (relation), E (event), A or M (attribute), N (normalization), # (note), *"
_BOUND = re.compile(r"([^ ]+) (-?[0-9]{1,18} -?[0-9]{1,18}(?:;-?[0-9]{1,18} -?[0-9]{1,18})*) *")
_RELATION = re.compile(r"([^ ]+) +([^ :]+):([^ :]+) +([^ :]+):([^ :]+) *")
_ATTRIBUTE = re.compile(r"([^ ]+) ([^ ]+)(?: (.*))?", re.DOTALL)
_LINK = re.compile(r"([^ ]+) +([^ :]+) +([^ :]+):([^ ]+) *")
_LINKS_2013 = (  # the order of BioNLP-ST 2013, with named fields; begins only where a word does
    (re.compile(r"(?<![^ ])([^ ]+) +Annotation:([^ ]+) +Referent:"), r"\1 \2 "),
    (re.compile(r"(?<![^ ])([^ ]+) +Referent:([^ ]+) +Annotation:([^ ]+)"), r"\1 \3 \2"),
)


class ParsedLine(NamedTuple):
    """An annotation and its layer; ``layer`` is None if it follows its target's layer."""

    annotation: Annotation
    layer: str | None


def parse(raw: str) -> ParsedLine | TextBound | str:
    """Return the parsed line, or a message that says why it has no annotation."""
    parsed = _parse_line(raw)
    if isinstance(parsed, str):
        return parsed
    label = parsed.type if isinstance(parsed, TextBound) else parsed.annotation.label
    # brat splits lines at blanks and tabs alone, so a type may be a carriage return
    return parsed if label.strip(BLANKS) else f"expected a type, got {label!r:.40}"


def _parse_line(raw: str) -> ParsedLine | TextBound | str:
    """Parse a line as ``parse`` does, without checking for a blank type."""
    key, tab, rest = raw.partition("\t")
    if not tab:
        return "no tab after the id (blanks in place of tabs?)"
    body, tab, last = rest.partition("\t")
    text = last if tab else None
    if key == "*":
        return _parse_equivalence(body)
    if not ID.fullmatch(key):
        return f"expected an id such as T1, got {key!r:.40}"
    parse_body = _PARSERS.get(key[0])
    if parse_body is None:
        return f"unknown kind of annotation {key!r:.40}; known: {KINDS}"
    return parse_body(sys.intern(key), body, text)


def owner(type_name: str) -> tuple[str, str]:
    """Return layer and label of a brat type whose annotation names its own layer (else main)."""
    layer, label = read_type(type_name)
    if layer is None:
        return MAIN, label
    return (MAIN, type_name) if layer == MAIN else (layer, label)


def _parse_bound(key: str, body: str, text: str | None) -> TextBound | str:
    """Parse ``Type start end[;start end…]``; the unit of the offsets is found out later."""
    match = _BOUND.fullmatch(body)
    if not match:
        return "expected 'Type start end' with whole numbers between two tabs"
    type_name, offsets = match.groups()
    if ";" not in offsets:
        start, _, end = offsets.partition(" ")
        return TextBound(key, type_name, ((int(start), int(end)),), text)
    pairs = [pair.partition(" ") for pair in offsets.split(";")]
    return TextBound(key, type_name, tuple((int(start), int(end)) for start, _, end in pairs), text)


def _parse_relation(key: str, body: str, _: str | None) -> ParsedLine | str:
    """Parse ``Type Role:T1 Role:T2``."""
    match = _RELATION.fullmatch(body)
    if not match:
        return "expected 'Type Arg1:T1 Arg2:T2' with exactly two arguments"
    type_name, first, head, second, tail = match.groups()
    if first == second:
        return f"both arguments have the role {first!r:.40}, two different ones are needed"
    layer, label = owner(type_name)
    return ParsedLine(
        Relation(key, label, sys.intern(head), sys.intern(tail), _roles(first, second)), layer
    )


@lru_cache(maxsize=4096)
def _roles(first: str, second: str) -> tuple[str, str]:
    return read_name(first), read_name(second)


def _parse_event(key: str, body: str, _: str | None) -> ParsedLine | str:
    """Parse ``Type:T1[ Role:T2…]``."""
    pairs = [part.split(":") for part in body.split(" ") if part]
    if not pairs or any(len(pair) != 2 or not all(pair) for pair in pairs):
        return "expected 'Type:T1' and any number of 'Role:T2'"
    (type_name, trigger), *rest = pairs
    layer, label = owner(type_name)
    arguments = tuple(Argument(read_name(role), target) for role, target in rest)
    return ParsedLine(Event(key, label, trigger, arguments), layer)


def _parse_attribute(key: str, body: str, _: str | None) -> ParsedLine | str:
    """Parse ``Type T1[ value]``."""
    match = _ATTRIBUTE.fullmatch(body)
    if not match or not ID.fullmatch(match[2]):
        return "expected 'Type T1' or 'Type T1 value'"
    type_name, target, value = match.groups()
    layer, label = read_type(type_name)
    raw_value = (value or "").strip(" ")
    text = read_text(raw_value, tabs=False) if raw_value and raw_value != "_x_" else ""
    shared = sys.intern(text) if raw_value else None
    return ParsedLine(Attribute(key, label, sys.intern(target), shared), layer)


def _parse_normalization(key: str, body: str, text: str | None) -> ParsedLine | str:
    """Parse ``Type T1 Resource:key``; the key may hold more colons."""
    for pattern, replacement in _LINKS_2013:
        body = pattern.sub(replacement, body, count=1)
    match = _LINK.fullmatch(body)
    if not match:
        return "expected 'Type T1 Resource:key'"
    type_name, target, resource, raw_key = match.groups()
    layer, label = read_type(type_name)
    name = read_text(text or "")
    normalization = Normalization(key, label, target, read_name(resource), read_key(raw_key), name)
    return ParsedLine(normalization, layer)


def _parse_note(key: str, body: str, text: str | None) -> ParsedLine | str:
    """Parse ``Type T1`` TAB text; the text may hold tabs."""
    parts = body.split(" ")
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) != 2 or not parts[0] or not TARGET.fullmatch(parts[1]):
        return "expected 'Type T1' and, after a tab, the note"
    layer, label = read_type(parts[0])
    return ParsedLine(Note(key, label, parts[1], read_text(text or "")), layer)


def _parse_equivalence(body: str) -> ParsedLine | str:
    """Parse ``Type T1 T2…``; such a line has no id of its own."""
    type_name, *members = [part for part in body.split(" ") if part] or [""]
    if not members:
        return "expected 'Type T1 T2…', got no members"
    layer, label = owner(type_name)
    return ParsedLine(Equivalence("*", label, tuple(members)), layer)


_PARSERS: dict[str, Callable[[str, str, str | None], ParsedLine | TextBound | str]] = {
    "T": _parse_bound,
    "R": _parse_relation,
    "E": _parse_event,
    "A": _parse_attribute,
    "M": _parse_attribute,
    "N": _parse_normalization,
    "#": _parse_note,
}


def needs(annotation: Annotation) -> tuple[str, ...]:
    """Return the ids that must exist; a note may refer to a missing annotation."""
    return () if isinstance(annotation, Note) else references(annotation)


def rename_ids(annotation: Annotation, ids: Mapping[str, str]) -> Annotation:
    """Return the annotation with its id and those it refers to replaced by ``ids``."""
    new_id = ids.get(annotation.id, annotation.id)
    match annotation:
        case Span():
            return replace(annotation, id=new_id)
        case Relation(head=head, tail=tail):
            return replace(
                annotation, id=new_id, head=ids.get(head, head), tail=ids.get(tail, tail)
            )
        case Event(trigger=trigger):
            arguments = tuple(
                Argument(argument.role, ids.get(argument.target, argument.target))
                for argument in annotation.arguments
            )
            return replace(
                annotation, id=new_id, trigger=ids.get(trigger, trigger), arguments=arguments
            )
        case Equivalence():
            members = tuple(ids.get(member, member) for member in annotation.members)
            return replace(annotation, id=new_id, members=members)
        case Attribute(target=target) | Normalization(target=target) | Note(target=target):
            return replace(annotation, id=new_id, target=ids.get(target, target))
