"""Compare the arguments of a predicate as in CoNLL-2005 (Carreras and Màrquez, 2005).

An argument in several pieces is right only if all pieces are. Two rules that surprise: of arguments
on the same words the innermost counts, and an argument that contains others is right only if these
are the same too.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from spanloom.annotation.props import Argument
from spanloom.metrics.counts import Counts

VERB = "V"  # the predicate itself: it is given, so it does not count as an argument
_CONTINUATION = "C-"  # continues the latest argument of the label after the prefix


class Matches(NamedTuple):
    """Gold and predicted label of each matched argument; labels of missed and of excess ones."""

    hits: list[tuple[str, str]]
    missed: list[str]
    excess: list[str]

    @property
    def perfect(self) -> bool:
        """Whether nothing but the predicate itself is missed or in excess."""
        return not {*self.missed, *self.excess} - {VERB}


def match(
    gold: Iterable[Argument], predicted: Iterable[Argument], with_labels: bool = True
) -> Matches:
    """Match the arguments of one predicate by their words, if ``with_labels`` by labels too."""
    unmatched = {(argument.start, argument.end): argument for argument in _join_pieces(gold)}
    hits: list[tuple[str, str]] = []
    excess: list[str] = []
    for argument in _join_pieces(predicted):
        bounds = argument.start, argument.end
        candidate = unmatched.get(bounds)
        if (
            candidate is not None
            and candidate.same_pieces(argument)
            and with_labels <= (candidate.label == argument.label)
        ):
            hits.append((candidate.label, argument.label))
            del unmatched[bounds]
        else:
            excess.append(argument.label)
    return Matches(hits, [argument.label for argument in unmatched.values()], excess)


def by_label(matches: Iterable[Matches]) -> dict[str, Counts]:
    """Return counts per label, of hits the gold label; labels in sorted order."""
    hits: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    excess: Counter[str] = Counter()
    for matched in matches:
        hits.update(label for label, _ in matched.hits)
        missed.update(matched.missed)
        excess.update(matched.excess)
    return {
        label: Counts(hits[label], hits[label] + excess[label], hits[label] + missed[label])
        for label in sorted({*hits, *missed, *excess})
    }


@dataclass(slots=True)
class _Argument:
    """An argument; ``pieces`` are its continued pieces or the arguments within it, else empty."""

    start: int
    end: int
    label: str
    pieces: list["_Argument"] = field(default_factory=list)

    def same_pieces(self, other: "_Argument") -> bool:
        """Return whether both have pieces with the same bounds; ``other`` has none twice."""
        bounds = {(piece.start, piece.end) for piece in self.pieces}
        return len(bounds) == len(other.pieces) and bounds == {
            (piece.start, piece.end) for piece in other.pieces
        }

    def add_piece(self, piece: "_Argument") -> None:
        """Append a piece; without pieces, the argument so far becomes the first."""
        if not self.pieces:
            self.pieces.append(_Argument(self.start, self.end, self.label))
        self.pieces.append(piece)
        self.end = piece.end


def _join_pieces(arguments: Iterable[Argument]) -> list[_Argument]:
    """Join pieces to arguments; a piece whose label no argument has is an argument itself."""
    joined: list[_Argument] = []
    latest: dict[str, _Argument] = {}
    for piece in _nest(arguments):
        label = piece.label.removeprefix(_CONTINUATION)
        if piece.label != label and label in latest:
            latest[label].add_piece(piece)
            continue
        piece.label = label
        latest[label] = piece
        joined.append(piece)
    return joined


def _nest(arguments: Iterable[Argument]) -> list[_Argument]:
    """Add arguments to those around them; of arguments on the same words keep the innermost."""
    innermost: dict[tuple[int, int], _Argument] = {}
    stack: list[_Argument] = []
    for start, end, label in sorted(
        arguments, key=lambda argument: (argument.start, -argument.end)
    ):
        while stack and stack[-1].end <= start:
            stack.pop()
        nested = _Argument(start, end, label)
        if stack:
            stack[-1].pieces.append(nested)
        stack.append(nested)
        innermost[start, end] = nested
    return list(innermost.values())
