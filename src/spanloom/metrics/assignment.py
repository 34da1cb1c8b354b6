"""The best way to give each row at most one column, and each column at most one row.

Weights are sparse: a pair that is not listed weighs nothing. Rows and columns that no pair links,
however far round, cannot disturb each other, so ``best`` solves each connected part by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # takes as long to import as numpy does
    from jaxtyping import Float, Int

Pair = tuple[int, int]


def best(weights: Mapping[Pair, float]) -> dict[int, int]:
    """Return the column of each row in an assignment of the greatest sum of weights.

    Weights are positive; rows ascend, and one that gets nothing is left out. A part of n rows and m
    columns takes O(n² m), n the fewer.
    """
    chosen: dict[int, int] = {}
    for part in _parts(weights):
        chosen |= dict(part) if len(part) == 1 else _of_part(part, weights)
    return dict(sorted(chosen.items()))


def full(weights: Float[np.ndarray, "row column"]) -> list[Pair]:
    """Return as many pairs as the fewer of rows and columns, of the greatest sum; rows ascend.

    Of several such assignments it is the one that Crouse (2016) finds when columns are looked at
    from the last to the first, as scipy does.
    """
    if weights.shape[0] <= weights.shape[1]:
        return list(enumerate(_cheapest(-weights).tolist()))
    return sorted((row, column) for column, row in enumerate(_cheapest(-weights.T).tolist()))


def _parts(pairs: Mapping[Pair, float]) -> Iterator[list[Pair]]:
    """Yield the pairs of each connected part."""
    of_row, of_column = defaultdict(list), defaultdict(list)
    for pair in pairs:
        of_row[pair[0]].append(pair)
        of_column[pair[1]].append(pair)
    seen: set[int] = set()
    for first in of_row:
        if first in seen:
            continue
        seen.add(first)
        rows, columns = [first], set()
        for row in rows:  # grows while it is read
            for _, column in of_row[row]:
                if column not in columns:
                    columns.add(column)
                    more = [pair[0] for pair in of_column[column] if pair[0] not in seen]
                    seen.update(more)
                    rows += more
        yield [pair for row in rows for pair in of_row[row]]


def _of_part(part: list[Pair], weights: Mapping[Pair, float]) -> dict[int, int]:
    """The pairs chosen of one part."""
    rows, columns = (sorted({pair[side] for pair in part}) for side in (0, 1))
    row_place = {row: place for place, row in enumerate(rows)}
    column_place = {column: place for place, column in enumerate(columns)}
    dense = np.zeros((len(rows), len(columns)))
    for row, column in part:
        dense[row_place[row], column_place[column]] = weights[row, column]
    return {rows[one]: columns[two] for one, two in full(dense) if dense[one, two] > 0}


def _cheapest(costs: Float[np.ndarray, "row column"]) -> Int[np.ndarray, " row"]:
    """Return each row's column where the sum of costs is least; columns are no fewer than rows.

    Rows join one by one along the shortest augmenting path (Jonker and Volgenant, 1987), whose
    lengths are costs less the prices of the row and of the column, never below 0.
    """
    rows, columns = costs.shape
    row_price, column_price = np.zeros(rows), np.zeros(columns)
    owner, taken = np.full(columns, -1), np.full(rows, -1)
    for new in range(rows):
        before, length, settled = _shortest(costs, row_price, column_price, owner, new)
        column, onward = settled[-1], settled[:-1]
        row_price[new] += length[column]
        row_price[owner[onward]] += length[column] - length[onward]
        column_price[onward] -= length[column] - length[onward]
        row = -1
        while row != new:
            row = int(before[column])
            owner[column], taken[row], column = row, column, int(taken[row])
    return taken


def _shortest(
    costs: Float[np.ndarray, "row column"],
    row_price: Float[np.ndarray, " row"],
    column_price: Float[np.ndarray, " column"],
    owner: Int[np.ndarray, " column"],
    new: int,
) -> tuple[Int[np.ndarray, " column"], Float[np.ndarray, " column"], list[int]]:
    """Search from a row to the nearest column that has no owner (Dijkstra).

    Returns the row before each column, its distance, and the settled columns, that one last.
    """
    length = np.full(len(owner), np.inf)
    before = np.full(len(owner), -1)
    rest = np.arange(len(owner))[::-1].copy()
    settled: list[int] = []
    row, so_far = new, 0.0
    while True:
        through = so_far + costs[row, rest] - row_price[row] - column_price[rest]
        nearer = through < length[rest]
        length[rest[nearer]], before[rest[nearer]] = through[nearer], row
        distances = length[rest]
        ties = np.flatnonzero(distances == distances.min())
        free = ties[owner[rest[ties]] < 0]
        place = int(free[-1] if len(free) else ties[0])
        column = int(rest[place])
        settled.append(column)
        if owner[column] < 0:
            return before, length, settled
        row, so_far = int(owner[column]), float(length[column])
        rest[place] = rest[-1]
        rest = rest[:-1]
