"""Read and write propositions in the columns of CoNLL-2005 (Carreras and Màrquez, 2005).

    word    lemma   1st     2nd         word    lemma   1st     2nd
    Ada     -       (A0*)   (A0*        to      -       (A1*    *
    and     -       *       *           fly     fly     *       (V*)
    Bob     -       *       *)          .       -       *)      *
    wanted  want    (V*)    *

The n-th column belongs to the n-th predicate. ``(A0*`` opens a span, ``*)`` closes the one opened
last. Labels are kept as they are: C-A1 continues an A1, R-A0 refers to an A0.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanloom.errors import WordError

NONE = "-"  # in the column of lemmas: no predicate

_CELL = re.compile(r"((?:\([^\s()*]+)*)\*(\)*)")
_LABEL = re.compile(r"[^\s()*]+")


class PropsError(WordError):
    """Columns are malformed, or propositions cannot be columns."""


class Argument(NamedTuple):
    """A label over the words ``[start, end)``."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Proposition:
    """A predicate: its word, its lemma or sense, and its arguments, including itself (V).

    Arguments are ordered by start, outermost first.
    """

    word: int
    sense: str
    arguments: tuple[Argument, ...]


def propositions(
    senses: Sequence[str], columns: Sequence[Sequence[str]]
) -> tuple[Proposition, ...]:
    """Return one proposition per column; ``senses`` has one item per word, "-" for no predicate.

    Raises ``PropsError`` if the numbers of columns and predicates differ, or a cell is malformed.
    """
    predicates = [word for word, sense in enumerate(senses) if sense != NONE]
    if len(predicates) != len(columns):
        problem = f"expected a column for each of {len(predicates)} predicates, got {len(columns)}"
        raise PropsError(0, problem)
    pairs = zip(predicates, columns, strict=True)
    return tuple(Proposition(word, senses[word], arguments(cells)) for word, cells in pairs)


def columns(
    props: Sequence[Proposition], words: int
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the senses, one per word, and one column per proposition, by the predicate's word.

    Raises ``PropsError`` if two propositions share a word, or arguments cross or leave the
    sentence.
    """
    senses = [NONE] * words
    for prop in props:
        if not 0 <= prop.word < words or senses[prop.word] != NONE:
            problem = f"expected predicates on different words within [0, {words})"
            raise PropsError(prop.word, problem)
        if prop.sense == NONE or not prop.sense or prop.sense.split() != [prop.sense]:
            raise PropsError(prop.word, f"expected a lemma or sense, got {prop.sense!r:.60}")
        senses[prop.word] = prop.sense
    ordered = sorted(props, key=lambda prop: prop.word)
    return tuple(senses), tuple(column(prop.arguments, words) for prop in ordered)


def arguments(cells: Sequence[str]) -> tuple[Argument, ...]:
    """Return the spans of one column with one cell per word; raises ``PropsError``."""
    spans: list[Argument] = []
    opened: list[tuple[int, int, str]] = []
    for word, cell in enumerate(cells):
        match = _CELL.fullmatch(cell)
        if not match:
            raise PropsError(word, f"expected (LABEL*, *, *) or (LABEL*), got {cell!r:.60}")
        for label in match[1].split("(")[1:]:
            opened.append((len(spans), word, label))
            spans.append(Argument(word, word, label))
        for _ in match[2]:
            if not opened:
                raise PropsError(word, f"expected a span to close, got {cell!r:.60}")
            index, start, label = opened.pop()
            spans[index] = Argument(start, word + 1, label)
    if opened:
        raise PropsError(opened[-1][1], f"expected a ) for the span {opened[-1][2]!r:.60}")
    return tuple(spans)


def column(spans: Sequence[Argument], words: int) -> tuple[str, ...]:
    """Return one cell per word; of spans on the same words the first is outermost."""
    opening = [""] * words
    closing = [0] * words
    ends: list[int] = []
    for start, end, label in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not 0 <= start < end <= words or not _LABEL.fullmatch(label):
            problem = f"expected a label over words within [0, {words})"
            raise PropsError(start, f"{problem}, got ({start}, {end}, {label!r:.60})")
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and ends[-1] < end:
            raise PropsError(start, f"({start}, {end}, {label!r:.60}) crosses a span before it")
        ends.append(end)
        opening[start] += f"({label}"
        closing[end - 1] += 1
    return tuple(
        f"{brackets}*{')' * num_closing}"
        for brackets, num_closing in zip(opening, closing, strict=True)
    )
