"""A set of FrameNet's labels as it stands, and what it says of a frame; apart from XML."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from spanloom.document import Fragment, Span
from spanloom.errors import DocumentError
from spanloom.formats._json import an_object

GRAMMAR = ("GF", "PT")  # layers of a set that say something of its elements
NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)  # of an attribute

_NUMBER = re.compile(r"[0-9]{1,9}")

Said = dict[str, str]  # the attributes of an element
Labels = tuple[Said, list[Said]]  # a layer and its labels


class Set(NamedTuple):
    """A set of labels as it stands."""

    said: Said
    layers: list[Labels]

    def labels(self, name: str) -> list[Said]:
        """Return the labels of the layers of a name, in order."""
        return [each for said, labels in self.layers if said.get("name") == name for each in labels]


class Sentence(NamedTuple):
    """A sentence: the id of its span, or "", its characters, what is said of it."""

    id: str
    start: int
    end: int
    said: Said

    def has(self, span: Span, *, gaps: bool = False) -> bool:
        """Whether a span lies in the sentence, in one piece, with a width."""
        wide = all(self.start <= start < end <= self.end for start, end in span.fragments)
        return wide and (gaps or len(span.fragments) == 1)


class Frame(NamedTuple):
    """What a set says of a frame, in characters of the document."""

    name: str
    target: tuple[Fragment, ...]
    elements: tuple[tuple[str, Fragment, str | None, str | None], ...]  # label, place, GF, PT
    absent: tuple[tuple[str, str], ...]  # label, how it is left out


def framed(found: Set, start: int, end: int) -> Frame | None:
    """Return what a set says of a frame, None where it has none; raises ``DocumentError``."""
    if "frameName" not in found.said:
        return None
    grammar: dict[tuple[str, Fragment], list[str]] = {}
    for name in GRAMMAR:
        for each in found.labels(name):
            places = grammar.setdefault((name, placed(each, start, end)), [])
            places.append(each.get("name", ""))
    target = tuple(placed(each, start, end) for each in found.labels("Target"))
    elements, absent = [], []
    for each in found.labels("FE"):
        name = each.get("name", "")
        if "itype" in each and "start" not in each:
            absent.append((name, each["itype"]))
            continue
        place = placed(each, start, end)
        gf, pt = (
            said.pop(0) if said else None for said in (grammar.get((k, place)) for k in GRAMMAR)
        )
        elements.append((name, place, gf, pt))
    where = target or ((start, start),)
    return Frame(found.said["frameName"], where, tuple(elements), tuple(absent))


def placed(label: Said, start: int, end: int) -> Fragment:
    """Return the characters of a label; raises ``DocumentError`` where they leave the sentence."""
    first, last = label.get("start", ""), label.get("end", "")
    if _NUMBER.fullmatch(first) and _NUMBER.fullmatch(last):
        place = start + int(first), start + int(last) + 1
        if place[0] < place[1] <= end:
            return place
    problem = f"expected start and end in [0, {end - start})"
    raise DocumentError(f"{problem}, got {first!r:.40} and {last!r:.40}")


def same(frame: Frame, kept: Set, sentence: Sentence) -> bool:
    """Whether a set says this of a frame."""
    try:
        return framed(kept, sentence.start, sentence.end) == frame
    except DocumentError:
        return False


def kept_in(note: str | None) -> Set | None:
    """Return the set that a note keeps, None where it keeps none."""
    try:
        said, layers = json.loads(note or "")
        made = [(_strings(about), [_strings(each) for each in labels]) for about, labels in layers]
        return Set(_strings(said), made)
    except (ValueError, TypeError, RecursionError):
        return None


def _strings(value: Any) -> Said:
    """Return attributes; raises ``ValueError`` where they are none."""
    found = an_object(value)
    for key, each in found.items():
        if not isinstance(each, str) or not NAME.fullmatch(key):
            raise ValueError(f"expected attributes, got {key!r:.60}: {each!r:.60}")
    return found


def set_of(frame: Frame, kept: Set, start: int) -> Set:
    """Return the set of a frame; what the set that was kept says of other things stays."""
    target = [] if frame.target == ((start, start),) else frame.target
    found = [
        ("Target", labels_of([("Target", each) for each in target], start)),
        ("FE", labels_of([each[:2] for each in frame.elements], start)),
        *((name, labels_of(_graded(frame, row), start)) for row, name in enumerate(GRAMMAR)),
    ]
    found[1][1].extend({"itype": how, "name": name} for name, how in frame.absent)
    layers: list[Labels] = [({"rank": "1", "name": name}, labels) for name, labels in found]
    layers += [each for each in kept.layers if each[0].get("name") not in dict(found)]
    return Set({**kept.said, "frameName": frame.name}, layers)


def _graded(frame: Frame, row: int) -> list[tuple[str, Fragment]]:
    """Return what is said of a frame's elements in one of the layers of grammar."""
    said = ((each[2 + row], each[1]) for each in frame.elements)
    return [(value, place) for value, place in said if isinstance(value, str)]


def labels_of(spans: Iterable[tuple[str, Fragment]], start: int) -> list[Said]:
    """Return the labels of characters of a sentence that begins at ``start``."""
    return [
        {"end": str(last - start - 1), "start": str(first - start), "name": name}
        for name, (first, last) in spans
    ]
