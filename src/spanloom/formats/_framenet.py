"""Convert FrameNet's annotation sets to frames and back, independently of XML."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from spanloom.document import Fragment, Span
from spanloom.errors import DocumentError
from spanloom.formats._json import an_object

GRAMMAR = ("GF", "PT")  # layers that describe a set's frame elements
NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)  # of an XML attribute

_NUMBER = re.compile(r"[0-9]{1,9}")

XmlAttributes = dict[str, str]  # the attributes of an XML element
Labels = tuple[XmlAttributes, list[XmlAttributes]]  # a layer's attributes and its labels


class Set(NamedTuple):
    """An annotation set: its attributes, and its layers with their labels."""

    attributes: XmlAttributes
    layers: list[Labels]

    def labels(self, name: str) -> list[XmlAttributes]:
        """Return the labels of all layers with that name, in order."""
        return [
            label
            for attributes, labels in self.layers
            if attributes.get("name") == name
            for label in labels
        ]


class Sentence(NamedTuple):
    """A sentence: the id of its span or "", its characters, its attributes."""

    id: str
    start: int
    end: int
    attributes: XmlAttributes

    def has(self, span: Span, *, allow_gaps: bool = False) -> bool:
        """Whether a nonempty span lies in the sentence, and has no gaps unless allowed."""
        is_inside = all(self.start <= start < end <= self.end for start, end in span.fragments)
        return is_inside and (allow_gaps or len(span.fragments) == 1)


class Frame(NamedTuple):
    """A frame with its target and elements, in characters of the document."""

    name: str
    target: tuple[Fragment, ...]
    elements: tuple[tuple[str, Fragment, str | None, str | None], ...]  # label, fragment, GF, PT
    absent: tuple[tuple[str, str], ...]  # label, kind of null instantiation


def frame_of(label_set: Set, start: int, end: int) -> Frame | None:
    """Return the frame of an annotation set, None if it has none; raises ``DocumentError``."""
    if "frameName" not in label_set.attributes:
        return None
    grammar: dict[tuple[str, Fragment], list[str]] = {}
    for name in GRAMMAR:
        for label in label_set.labels(name):
            names_at = grammar.setdefault((name, fragment_of(label, start, end)), [])
            names_at.append(label.get("name", ""))
    target = tuple(fragment_of(label, start, end) for label in label_set.labels("Target"))
    elements, absent = [], []
    for label in label_set.labels("FE"):
        name = label.get("name", "")
        if "itype" in label and "start" not in label:
            absent.append((name, label["itype"]))
            continue
        fragment = fragment_of(label, start, end)
        gf, pt = (
            names.pop(0) if names else None
            for names in (grammar.get((k, fragment)) for k in GRAMMAR)
        )
        elements.append((name, fragment, gf, pt))
    target_fragments = target or ((start, start),)
    return Frame(
        label_set.attributes["frameName"], target_fragments, tuple(elements), tuple(absent)
    )


def fragment_of(label: XmlAttributes, start: int, end: int) -> Fragment:
    """Return the characters of a label; raises ``DocumentError`` if they leave the sentence."""
    first, last = label.get("start", ""), label.get("end", "")
    if _NUMBER.fullmatch(first) and _NUMBER.fullmatch(last):
        fragment = start + int(first), start + int(last) + 1
        if fragment[0] < fragment[1] <= end:
            return fragment
    problem = f"expected start and end in [0, {end - start})"
    raise DocumentError(f"{problem}, got {first!r:.40} and {last!r:.40}")


def same(frame: Frame, kept: Set, sentence: Sentence) -> bool:
    """Whether an annotation set has exactly this frame."""
    try:
        return frame_of(kept, sentence.start, sentence.end) == frame
    except DocumentError:
        return False


def kept_in(note: str | None) -> Set | None:
    """Return the annotation set stored in a note, None if it holds none."""
    try:
        set_attributes, layers = json.loads(note or "")
        layer_list = [
            (_as_attributes(attributes), [_as_attributes(label) for label in labels])
            for attributes, labels in layers
        ]
        return Set(_as_attributes(set_attributes), layer_list)
    except (ValueError, TypeError, RecursionError):
        return None


def _as_attributes(value: Any) -> XmlAttributes:
    """Return the value as attributes; raises ``ValueError`` if it has another form."""
    attributes = an_object(value)
    for key, text in attributes.items():
        if not isinstance(text, str) or not NAME.fullmatch(key):
            raise ValueError(f"expected attributes, got {key!r:.60}: {text!r:.60}")
    return attributes


def set_of(frame: Frame, kept: Set, start: int) -> Set:
    """Return the annotation set of a frame; other content of the ``kept`` set is preserved."""
    target = [] if frame.target == ((start, start),) else frame.target
    layer_labels = [
        ("Target", labels_of([("Target", fragment) for fragment in target], start)),
        ("FE", labels_of([element[:2] for element in frame.elements], start)),
        *(
            (name, labels_of(_grammar_values(frame, index), start))
            for index, name in enumerate(GRAMMAR)
        ),
    ]
    layer_labels[1][1].extend(
        {"itype": null_type, "name": name} for name, null_type in frame.absent
    )
    layers: list[Labels] = [({"rank": "1", "name": name}, labels) for name, labels in layer_labels]
    layers += [layer for layer in kept.layers if layer[0].get("name") not in dict(layer_labels)]
    return Set({**kept.attributes, "frameName": frame.name}, layers)


def _grammar_values(frame: Frame, index: int) -> list[tuple[str, Fragment]]:
    """Return the values and fragments of a frame's elements in one of the layers ``GRAMMAR``."""
    values = ((element[2 + index], element[1]) for element in frame.elements)
    return [(value, fragment) for value, fragment in values if isinstance(value, str)]


def labels_of(spans: Iterable[tuple[str, Fragment]], start: int) -> list[XmlAttributes]:
    """Return labels for spans of a sentence that begins at ``start``."""
    return [
        {"end": str(last_char - start - 1), "start": str(first_char - start), "name": name}
        for name, (first_char, last_char) in spans
    ]
