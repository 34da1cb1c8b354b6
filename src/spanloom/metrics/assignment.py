"""Solve the assignment problem: each row gets at most one column, each column at most one row.

Weights are sparse: a missing pair weighs nothing. Rows and columns of different connected parts are
independent, so ``best_assignment`` solves each part separately.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # its import takes as long as numpy's
    from jaxtyping import Float, Int

Pair = tuple[int, int]


def best_assignment(weights: Mapping[Pair, float]) -> dict[int, int]:
    """Return the column of each row in an assignment with the greatest sum of weights.

    Weights are positive; rows ascend, and rows without a column are left out. A connected part of n
    rows and m columns takes O(n² m), n being the smaller number.
    """
    column_of: dict[int, int] = {}
    for part in _connected_parts(weights):
        column_of |= dict(part) if len(part) == 1 else _assign_part(part, weights)
    return dict(sorted(column_of.items()))


def full_assignment(weights: Float[np.ndarray, "row column"]) -> list[Pair]:
    """Return min(rows, columns) pairs with the greatest sum of weights; rows ascend.

    Of several such assignments it is the one that Crouse (2016) finds when columns are scanned from
    the last to the first, as in scipy.
    """
    if weights.shape[0] <= weights.shape[1]:
        return list(enumerate(_min_cost_columns(-weights).tolist()))
    return sorted(
        (row, column) for column, row in enumerate(_min_cost_columns(-weights.T).tolist())
    )


def _connected_parts(pairs: Mapping[Pair, float]) -> Iterator[list[Pair]]:
    """Yield the pairs of each connected part."""
    pairs_of_row, pairs_of_column = defaultdict(list), defaultdict(list)
    for pair in pairs:
        pairs_of_row[pair[0]].append(pair)
        pairs_of_column[pair[1]].append(pair)
    seen: set[int] = set()
    for first in pairs_of_row:
        if first in seen:
            continue
        seen.add(first)
        rows, columns = [first], set()
        for row in rows:  # grows during the iteration
            for _, column in pairs_of_row[row]:
                if column not in columns:
                    columns.add(column)
                    new_rows = [pair[0] for pair in pairs_of_column[column] if pair[0] not in seen]
                    seen.update(new_rows)
                    rows += new_rows
        yield [pair for row in rows for pair in pairs_of_row[row]]


def _assign_part(part: list[Pair], weights: Mapping[Pair, float]) -> dict[int, int]:
    """Return the column of each row of one connected part."""
    rows, columns = (sorted({pair[side] for pair in part}) for side in (0, 1))
    row_index = {row: index for index, row in enumerate(rows)}
    column_index = {column: index for index, column in enumerate(columns)}
    dense = np.zeros((len(rows), len(columns)))
    for row, column in part:
        dense[row_index[row], column_index[column]] = weights[row, column]
    return {rows[i]: columns[j] for i, j in full_assignment(dense) if dense[i, j] > 0}


def _min_cost_columns(costs: Float[np.ndarray, "row column"]) -> Int[np.ndarray, " row"]:
    """Return each row's column with the least sum of costs; no more rows than columns.

    Rows are added one by one along the shortest augmenting path (Jonker and Volgenant, 1987), whose
    lengths are costs minus the prices of the row and of the column, never below 0.
    """
    rows, columns = costs.shape
    row_price, column_price = np.zeros(rows), np.zeros(columns)
    row_of, column_of = np.full(columns, -1), np.full(rows, -1)
    for new in range(rows):
        previous_row, distance, settled = _shortest_path(
            costs, row_price, column_price, row_of, new
        )
        column, inner = settled[-1], settled[:-1]
        row_price[new] += distance[column]
        row_price[row_of[inner]] += distance[column] - distance[inner]
        column_price[inner] -= distance[column] - distance[inner]
        row = -1
        while row != new:
            row = int(previous_row[column])
            row_of[column], column_of[row], column = row, column, int(column_of[row])
    return column_of


def _shortest_path(
    costs: Float[np.ndarray, "row column"],
    row_price: Float[np.ndarray, " row"],
    column_price: Float[np.ndarray, " column"],
    row_of: Int[np.ndarray, " column"],
    new: int,
) -> tuple[Int[np.ndarray, " column"], Float[np.ndarray, " column"], list[int]]:
    """Search from a row to the nearest column without a row (Dijkstra).

    Returns the previous row of each column, its distance, and the settled columns, the free one
    last.
    """
    distance = np.full(len(row_of), np.inf)
    previous_row = np.full(len(row_of), -1)
    open_columns = np.arange(len(row_of))[::-1].copy()
    settled: list[int] = []
    row, base = new, 0.0
    while True:
        candidate = base + costs[row, open_columns] - row_price[row] - column_price[open_columns]
        is_nearer = candidate < distance[open_columns]
        nearer = open_columns[is_nearer]
        distance[nearer], previous_row[nearer] = candidate[is_nearer], row
        open_distances = distance[open_columns]
        ties = np.flatnonzero(open_distances == open_distances.min())
        free_ties = ties[row_of[open_columns[ties]] < 0]
        position = int(free_ties[-1] if len(free_ties) else ties[0])
        column = int(open_columns[position])
        settled.append(column)
        if row_of[column] < 0:
            return previous_row, distance, settled
        row, base = int(row_of[column]), float(distance[column])
        open_columns[position] = open_columns[-1]
        open_columns = open_columns[:-1]
