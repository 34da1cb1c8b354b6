"""Convert between coreference clusters and antecedents.

Mentions are indices in text order; a cluster is a tuple of two or more mentions, ascending.
"""

from collections.abc import Sequence


def clusters(antecedent: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the clusters that the mentions' antecedents (-1: none) form, by first mention.

    An antecedent is before its mention, so its cluster is known when the mention is reached: one
    pass, O(n). ValueError for an antecedent that is not before its mention.
    """
    first_mention: list[int] = []
    members: dict[int, list[int]] = {}
    for mention, before in enumerate(antecedent):
        if not -1 <= before < mention:
            raise ValueError(f"mention {mention}: expected an earlier row or -1, got {before}")
        first_mention.append(mention if before == -1 else first_mention[before])
        members.setdefault(first_mention[mention], []).append(mention)
    return [tuple(mentions) for mentions in members.values() if len(mentions) > 1]


def antecedents(gold: Sequence[Sequence[int]], n: int) -> list[list[int]]:
    """Return for each of ``n`` mentions the earlier mentions of its gold cluster, ascending.

    Clusters share no mention. The list is empty for the first mention of a cluster and for a
    mention in no cluster: their only antecedent is the dummy one.
    """
    earlier: list[list[int]] = [[] for _ in range(n)]
    for cluster in gold:
        mentions = sorted(cluster)
        for i, mention in enumerate(mentions):
            earlier[mention] = mentions[:i]
    return earlier
