"""Clusters of mentions and the antecedents that make them.

A mention is a row, in the order of the text; a cluster is a tuple of two or more rows, ascending.
"""

from collections.abc import Sequence


def clusters(antecedent: Sequence[int]) -> list[tuple[int, ...]]:
    """Join each mention to the row of its antecedent, -1 for none; by first mention, ascending.

    An antecedent stands before its mention, so its own cluster is known when the mention is
    reached: one pass, O(n). ValueError for one that does not.
    """
    first: list[int] = []
    members: dict[int, list[int]] = {}
    for row, before in enumerate(antecedent):
        if not -1 <= before < row:
            raise ValueError(f"mention {row}: expected an earlier row or -1, got {before}")
        first.append(row if before == -1 else first[before])
        members.setdefault(first[row], []).append(row)
    return [tuple(rows) for rows in members.values() if len(rows) > 1]


def antecedents(gold: Sequence[Sequence[int]], n: int) -> list[list[int]]:
    """Return for each of ``n`` mentions the earlier rows of its cluster, ascending.

    Clusters share no mention. The list is empty for the first mention of a cluster and for one in
    none: both have the dummy antecedent alone.
    """
    earlier: list[list[int]] = [[] for _ in range(n)]
    for cluster in gold:
        rows = sorted(cluster)
        for place, row in enumerate(rows):
            earlier[row] = rows[:place]
    return earlier
