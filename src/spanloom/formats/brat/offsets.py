"""Which unit the offsets of a file are counted in, and how a span's text is compared.

brat counts code points; other tools count a CRLF as one, UTF-16 units or bytes, and a byte order
mark may count or not. Nothing in the file says which, but every span brings its own text.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spanloom.document import Fragment

MARK = "\ufeff"
_SHIFTS = (  # start, end, what the mistake is called
    (0, 1, "its end looks inclusive"),
    (-1, 0, "it looks counted from 1, with an inclusive end"),
    (-1, -1, "it looks counted from 1"),
    (1, 1, "it looks one too small"),
)


class Bound(NamedTuple):
    """A text-bound line as it stands: offsets in the file's unit, ``text`` None where missing."""

    id: str
    type: str
    bounds: tuple[Fragment, ...]
    text: str | None


class Unit:
    """One way of counting: translates offsets of a file to code points of the text and back."""

    def __init__(self, name: str, text: str) -> None:
        """``name`` as in ``Source.offsets``; reads the text once, unless offsets are plain."""
        self.name = name
        self._size = len(text)
        self._there: dict[int, int] | None = None
        self._back: list[int] = []
        if name not in ("points", "bom"):
            self._back = _counted(name, text)
            self._there = {offset: point for point, offset in enumerate(self._back)}

    def points(self, bounds: Iterable[Fragment]) -> tuple[Fragment, ...] | None:
        """Return code points for offsets of the file, None where one is outside the text."""
        found = []
        for start, end in bounds:
            first, last = self._point(start), self._point(end)
            if first is None or last is None:
                return None
            found.append((first, last))
        return tuple(found)

    def offsets(self, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
        """Return offsets of the file for code points."""
        if self._there is not None:
            return tuple((self._back[start], self._back[end]) for start, end in fragments)
        shift = 1 if self.name == "bom" else 0
        return tuple((start + shift, end + shift) for start, end in fragments)

    def read_again(self, text: str, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
        """Return the fragments that reading makes of these once they are written."""
        wanted = unbroken(text, fragments)
        return self.points(self.offsets(wanted)) or wanted

    def _point(self, offset: int) -> int | None:
        """Return the code point an offset of the file stands for."""
        if self._there is not None:
            return self._there.get(offset)
        point = offset - 1 if self.name == "bom" else offset
        return point if 0 <= point <= self._size else None


def unbroken(text: str, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
    """Return fragments as brat wants them: cut at line breaks, which belong to none.

    A span of nothing but line breaks stays as it is.
    """
    every = tuple(fragments)
    return tuple(piece for each in every for piece in _cut(text, *each)) or every


def choose(text: str, bounds: Sequence[Bound], *, marked: bool) -> Unit:
    """Return the unit in which most spans carry their own text; brat's own wins a tie."""
    evidence = [each for each in bounds if each.text]
    best, most = Unit("bom" if marked else "points", text), -1
    for name in _candidates(text, marked=marked):
        unit = Unit(name, text)
        agreeing = sum(_agrees_in(unit, text, each) for each in evidence)
        if agreeing > most:
            best, most = unit, agreeing
        if most == len(evidence):
            break
    return best


def agrees(text: str, fragments: Sequence[Fragment], written: str) -> bool:
    """Whether ``written`` is the text of the span, as brat or an older brat writes it.

    A line break counts as a blank; more text may follow after a blank or tab.
    """
    if len(fragments) == 1:
        start, end = fragments[0]
        if text[start : min(end, start + len(written) + 1)] == written:
            return True
    if sum(end - start for start, end in fragments) > len(written):
        return False  # before any text is copied: many hostile lines may claim it all
    pieces = [_flat(text[start:end]) for start, end in fragments]
    joined, got = " ".join(pieces), _flat(written)
    if got in (joined, "".join(pieces)):
        return True
    return got.startswith(joined) and got[len(joined)] in " \t" and len(joined) > 0


def shifted(text: str, bounds: Sequence[Fragment], written: str, unit: Unit) -> str | None:
    """Return what is wrong where the text stands one character beside the offsets."""
    for left, right, mistake in _SHIFTS:
        moved = unit.points([(start + left, end + right) for start, end in bounds])
        if not moved or any(start >= end for start, end in moved):
            continue
        if sum(end - start for start, end in moved) + len(moved) - 1 != len(written):
            continue
        if _flat(written) == " ".join(_flat(text[start:end]) for start, end in moved):
            return mistake
    return None


def _cut(text: str, start: int, end: int) -> list[Fragment]:
    """Return a fragment without line breaks, in pieces; one of no width stays."""
    pieces = [(start, end)] if start == end else []
    here = start
    while here < end:
        last = here
        while last < end and text[last] not in "\n\r":
            last += 1
        if last > here:
            pieces.append((here, last))
        here = last + 1
    return pieces


def _agrees_in(unit: Unit, text: str, bound: Bound) -> bool:
    """Whether the span carries its own text if it is counted in that unit."""
    fragments = unit.points(bound.bounds)
    return fragments is not None and agrees(text, fragments, bound.text or "")


def _flat(text: str) -> str:
    """Return the text on one line."""
    return text.replace("\n", " ").replace("\r", " ")


def _candidates(text: str, *, marked: bool) -> list[str]:
    """Return the units in which this text can be counted differently, the likeliest first."""
    names = ["bom", "points"] if marked else ["points"]
    if "\r\n" in text:
        names.append("crlf-as-one")
    if not text.isascii():
        if max(text) > "\uffff":
            names.append("utf16")
        names.append("bytes")
    return names


def _counted(name: str, text: str) -> list[int]:
    """Return the offset of every code point, and of the end."""
    offsets, offset, previous = [], 0, ""
    for char in text:
        offsets.append(offset)
        if name == "utf16":
            offset += 2 if char > "\uffff" else 1
        elif name == "bytes":
            offset += len(char.encode("utf-8", "surrogatepass"))
        elif char != "\n" or previous != "\r":
            offset += 1
        previous = char
    return [*offsets, offset]
