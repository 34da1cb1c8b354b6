"""Arguments of a predicate, compared as in CoNLL-2005 (Carreras and Màrquez, 2005).

An argument in several pieces is right only as a whole. Two rules that surprise: of arguments on the
same words the innermost counts, and one that has others within it also needs these to be the same.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from spanloom.forms.props import Argument
from spanloom.metrics.counts import Counts

VERB = "V"  # the predicate itself: given, so it is no argument to be found
_MORE = "C-"  # goes on with the latest argument of the label behind it


class Matches(NamedTuple):
    """Gold and predicted label of each argument found; labels of those missed and in excess."""

    hits: list[tuple[str, str]]
    missed: list[str]
    excess: list[str]

    @property
    def perfect(self) -> bool:
        """Whether nothing but the predicate itself is missed or in excess."""
        return not {*self.missed, *self.excess} - {VERB}


def match(
    gold: Iterable[Argument], predicted: Iterable[Argument], labelled: bool = True
) -> Matches:
    """Match the arguments of one predicate, with their labels or by their words alone."""
    left = {(each.start, each.end): each for each in _wholes(gold)}
    hits: list[tuple[str, str]] = []
    excess: list[str] = []
    for each in _wholes(predicted):
        bounds = each.start, each.end
        there = left.get(bounds)
        if (
            there is not None
            and there.same_pieces(each)
            and labelled <= (there.label == each.label)
        ):
            hits.append((there.label, each.label))
            del left[bounds]
        else:
            excess.append(each.label)
    return Matches(hits, [each.label for each in left.values()], excess)


def by_label(found: Iterable[Matches]) -> dict[str, Counts]:
    """Count by label, what is found by its gold one; labels in sorted order."""
    hits: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    excess: Counter[str] = Counter()
    for each in found:
        hits.update(label for label, _ in each.hits)
        missed.update(each.missed)
        excess.update(each.excess)
    return {
        label: Counts(hits[label], hits[label] + excess[label], hits[label] + missed[label])
        for label in sorted({*hits, *missed, *excess})
    }


@dataclass(slots=True)
class _Whole:
    """An argument; ``pieces`` are what it goes on with, or has within it, or none."""

    start: int
    end: int
    label: str
    pieces: list["_Whole"] = field(default_factory=list)

    def same_pieces(self, other: "_Whole") -> bool:
        """Whether both have the same pieces, by their bounds; the other has none twice."""
        mine = {(each.start, each.end) for each in self.pieces}
        return len(mine) == len(other.pieces) and mine == {
            (each.start, each.end) for each in other.pieces
        }

    def goes_on(self, piece: "_Whole") -> None:
        """Take a piece; what there was so far is the first."""
        if not self.pieces:
            self.pieces.append(_Whole(self.start, self.end, self.label))
        self.pieces.append(piece)
        self.end = piece.end


def _wholes(arguments: Iterable[Argument]) -> list[_Whole]:
    """Join pieces to arguments; a piece whose label no argument has is one itself."""
    found: list[_Whole] = []
    latest: dict[str, _Whole] = {}
    for piece in _nested(arguments):
        label = piece.label.removeprefix(_MORE)
        if piece.label != label and label in latest:
            latest[label].goes_on(piece)
            continue
        piece.label = label
        latest[label] = piece
        found.append(piece)
    return found


def _nested(arguments: Iterable[Argument]) -> list[_Whole]:
    """Put arguments within arguments; of those on the same words return the innermost."""
    found: dict[tuple[int, int], _Whole] = {}
    stack: list[_Whole] = []
    for start, end, label in sorted(arguments, key=lambda each: (each.start, -each.end)):
        while stack and stack[-1].end <= start:
            stack.pop()
        made = _Whole(start, end, label)
        if stack:
            stack[-1].pieces.append(made)
        stack.append(made)
        found[start, end] = made
    return list(found.values())
