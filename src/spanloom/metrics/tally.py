"""What a figure is made of, document by document, so that documents can be drawn anew.

A tally has a line of numbers a document; their sums over some documents make the figure of these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanloom.errors import DataError
from spanloom.metrics.coreference import Coreference, Shares
from spanloom.metrics.counts import Counts

Table = NDArray[np.float64]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of ``cells`` sums; ``of`` takes "... cell" to "...", 0.0 where it is undefined."""

    name: str
    cells: int
    of: Callable[[Table], Scores]


def _f1(sums: Table) -> Scores:
    """F1 of hits, predicted and gold."""
    both = sums[..., 1] + sums[..., 2]
    return np.where(both > 0, 2.0 * sums[..., 0] / np.maximum(both, 1), 0.0)


def _conll(sums: Table) -> Scores:
    """The mean of three F1; each is of the numerators and denominators of recall and precision."""
    found, gold, right, said = np.moveaxis(sums.reshape(*sums.shape[:-1], 3, 4), -1, 0)
    recall = np.divide(found, gold, out=np.zeros_like(gold), where=gold > 0)
    precision = np.divide(right, said, out=np.zeros_like(said), where=said > 0)
    both = recall + precision
    f1 = np.divide(2 * recall * precision, both, out=np.zeros_like(both), where=both > 0)
    averages: Scores = f1.mean(axis=-1)
    return averages


F1 = Figure("f1", 3, _f1)
CONLL = Figure("conll", 12, _conll)
FIGURES: Mapping[str, Figure] = {each.name: each for each in (F1, CONLL)}


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """The numbers of each document, ``rows`` of "document cell", and the figure of their sums."""

    figure: Figure
    rows: Table

    def __post_init__(self) -> None:
        """Check that the numbers are as many as the figure is made of."""
        if self.rows.ndim != 2 or self.rows.shape[1] != self.figure.cells:
            raise DataError(
                f"tally: {self.figure.name} is of {self.figure.cells} numbers a document, "
                f"got a table of shape {self.rows.shape}"
            )

    @property
    def value(self) -> float:
        """The figure of all documents."""
        return float(self.figure.of(self.rows.sum(0)))

    def dumps(self) -> str:
        """Return it as text: the figure's name, then documents parted by ``;``."""
        lines = (" ".join(f"{number:.12g}" for number in row) for row in self.rows)
        return f"{self.figure.name}: " + "; ".join(lines)


def loads(text: str) -> Tally:
    """Read what ``dumps`` wrote; raises ``DataError``."""
    name, _, said = text.partition(": ")
    if name not in FIGURES:
        raise DataError(f"tally: expected one of {', '.join(FIGURES)}, got {name!r:.40}")
    figure = FIGURES[name]
    try:
        rows = [[float(number) for number in line.split()] for line in said.split(";") if said]
        table = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else figure.cells)
    except ValueError as error:
        raise DataError(f"tally: expected lines of numbers, got {said!r:.40}") from error
    return Tally(figure, table)


def of_counts(documents: Sequence[Counts]) -> Tally:
    """Return what micro F1 is made of."""
    rows = [(each.hits, each.predicted, each.gold) for each in documents]
    return Tally(F1, np.array(rows, dtype=np.float64).reshape(-1, F1.cells))


def of_scores(scores: Sequence[float]) -> Tally:
    """Return what a mean is made of: each score as hits of one thing that is said and is gold."""
    rows = [(score, 1.0, 1.0) for score in scores]
    return Tally(F1, np.array(rows, dtype=np.float64).reshape(-1, F1.cells))


def of_clusters(documents: Sequence[Coreference]) -> Tally:
    """Return what the CoNLL average is made of."""
    rows = [
        [number for each in (one.muc, one.b_cubed, one.ceaf_e) for number in _ends(each)]
        for one in documents
    ]
    return Tally(CONLL, np.array(rows, dtype=np.float64).reshape(-1, CONLL.cells))


def _ends(shares: Shares) -> tuple[float, ...]:
    return shares.recall_num, shares.recall_den, shares.precision_num, shares.precision_den
