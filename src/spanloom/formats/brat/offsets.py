"""Detect the unit of a file's offsets, convert offsets, and compare a span's text with its line.

brat counts code points; other tools count a CRLF as one, UTF-16 units or bytes, and a byte order
mark may count or not. Nothing in the file says which, but each text-bound line repeats its text.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spanloom.document import Fragment

MARK = "\ufeff"
_SHIFTS = (  # shift of the start, of the end, diagnosis
    (0, 1, "its end looks inclusive"),
    (-1, 0, "it looks counted from 1, with an inclusive end"),
    (-1, -1, "it looks counted from 1"),
    (1, 1, "it looks one too small"),
)


class TextBound(NamedTuple):
    """A parsed text-bound line: offsets in the file's unit; ``text`` is None if it has none."""

    id: str
    type: str
    bounds: tuple[Fragment, ...]
    text: str | None


class Unit:
    """A unit of offsets: converts offsets of a file to code points of the text and back."""

    def __init__(self, name: str, text: str) -> None:
        """``name`` is one of ``Source.offsets``; scans the text unless offsets are code points."""
        self.name = name
        self._size = len(text)
        self._point_of_offset: dict[int, int] | None = None
        self._offset_of_point: list[int] = []
        if name not in ("points", "bom"):
            self._offset_of_point = _count_offsets(name, text)
            self._point_of_offset = {
                offset: point for point, offset in enumerate(self._offset_of_point)
            }

    @property
    def is_plain(self) -> bool:
        """Whether offsets are code points, as they are."""
        return self.name == "points"

    def points(self, bounds: Iterable[Fragment]) -> tuple[Fragment, ...] | None:
        """Return offsets of the file as code points, None if one is outside the text."""
        points = []
        for start, end in bounds:
            first, last = self._to_point(start), self._to_point(end)
            if first is None or last is None:
                return None
            points.append((first, last))
        return tuple(points)

    def outside(self, bounds: Iterable[Fragment]) -> int | None:
        """Return the first offset of the file that is outside the text, None if there is none."""
        offsets = (offset for pair in bounds for offset in pair)
        return next((offset for offset in offsets if self._to_point(offset) is None), None)

    def offsets(self, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
        """Return code points as offsets of the file."""
        if self._point_of_offset is not None:
            return tuple(
                (self._offset_of_point[start], self._offset_of_point[end])
                for start, end in fragments
            )
        shift = 1 if self.name == "bom" else 0
        return tuple((start + shift, end + shift) for start, end in fragments)

    def read_again(self, text: str, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
        """Return the fragments that result if these are written and read again."""
        split = split_at_line_breaks(text, fragments)
        return self.points(self.offsets(split)) or split

    def _to_point(self, offset: int) -> int | None:
        """Return an offset of the file as a code point, None if it is outside the text."""
        if self._point_of_offset is not None:
            return self._point_of_offset.get(offset)
        point = offset - 1 if self.name == "bom" else offset
        return point if 0 <= point <= self._size else None


def split_at_line_breaks(text: str, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
    """Return fragments split at line breaks, which belong to none of them, as brat wants.

    A span of line breaks alone stays as it is.
    """
    whole_fragments = tuple(fragments)
    return (
        tuple(piece for fragment in whole_fragments for piece in _split_at_breaks(text, *fragment))
        or whole_fragments
    )


def choose(text: str, bounds: Sequence[TextBound], *, has_bom: bool) -> Unit:
    """Return the unit in which most spans match their own text; brat's own unit wins a tie."""
    evidence = [bound for bound in bounds if bound.text]
    best, max_agreeing = Unit("bom" if has_bom else "points", text), -1
    for name in _candidate_units(text, has_bom=has_bom):
        unit = Unit(name, text)
        agreeing = sum(_agrees_with(unit, text, bound) for bound in evidence)
        if agreeing > max_agreeing:
            best, max_agreeing = unit, agreeing
        if max_agreeing == len(evidence):
            break
    return best


def agrees(text: str, fragments: Sequence[Fragment], line_text: str) -> bool:
    """Whether ``line_text`` is the text of the span as brat or an older brat writes it.

    A line break counts as a blank; more text may follow after a blank or tab.
    """
    if len(fragments) == 1:
        start, end = fragments[0]
        if text[start : min(end, start + len(line_text) + 1)] == line_text:
            return True
    if sum(end - start for start, end in fragments) > len(line_text):
        return False  # before any text is copied: many hostile lines may claim it all
    pieces = [_flatten_breaks(text[start:end]) for start, end in fragments]
    expected, actual = " ".join(pieces), _flatten_breaks(line_text)
    if actual in (expected, "".join(pieces)):
        return True
    return actual.startswith(expected) and actual[len(expected)] in " \t" and len(expected) > 0


def diagnose_shift(text: str, bounds: Sequence[Fragment], line_text: str, unit: Unit) -> str | None:
    """Return a diagnosis if the text stands one character beside the offsets, else None."""
    for start_shift, end_shift, diagnosis in _SHIFTS:
        fragments = unit.points([(start + start_shift, end + end_shift) for start, end in bounds])
        if not fragments or any(start >= end for start, end in fragments):
            continue
        if sum(end - start for start, end in fragments) + len(fragments) - 1 != len(line_text):
            continue
        if _flatten_breaks(line_text) == " ".join(
            _flatten_breaks(text[start:end]) for start, end in fragments
        ):
            return diagnosis
    return None


def _split_at_breaks(text: str, start: int, end: int) -> list[Fragment]:
    """Return the parts of a fragment between line breaks; an empty fragment stays."""
    pieces = [(start, end)] if start == end else []
    begin = start
    while begin < end:
        stop = begin
        while stop < end and text[stop] not in "\n\r":
            stop += 1
        if stop > begin:
            pieces.append((begin, stop))
        begin = stop + 1
    return pieces


def _agrees_with(unit: Unit, text: str, bound: TextBound) -> bool:
    """Whether the span's text matches if its offsets are in that unit."""
    fragments = unit.points(bound.bounds)
    return fragments is not None and agrees(text, fragments, bound.text or "")


def _flatten_breaks(text: str) -> str:
    """Return the text with each line break as a blank."""
    return text.replace("\n", " ").replace("\r", " ")


def _candidate_units(text: str, *, has_bom: bool) -> list[str]:
    """Return the names of the units that differ for this text, the most likely first."""
    names = ["bom", "points"] if has_bom else ["points"]
    if "\r\n" in text:
        names.append("crlf-as-one")
    if not text.isascii():
        if max(text) > "\uffff":
            names.append("utf16")
        names.append("bytes")
    return names


def _count_offsets(name: str, text: str) -> list[int]:
    """Return the offset of each code point, and of the end of the text."""
    offsets, offset, previous_char = [], 0, ""
    for char in text:
        offsets.append(offset)
        if name == "utf16":
            offset += 2 if char > "\uffff" else 1
        elif name == "bytes":
            offset += len(char.encode("utf-8", "surrogatepass"))
        elif char != "\n" or previous_char != "\r":
            offset += 1
        previous_char = char
    return [*offsets, offset]
