"""Which nodes of a directed graph lie on a circle (Kosaraju's two walks; Sharir 1981)."""

from collections.abc import Iterator, Mapping, Sequence

Graph = Mapping[str, Sequence[str]]


def on_circles(graph: Graph) -> frozenset[str]:
    """Return the nodes that reach themselves in one step or more.

    ``graph`` maps a node to its targets; targets that are no nodes are passed over. Linear time,
    no recursion.
    """
    finished: list[str] = []
    seen: set[str] = set()
    for node in graph:
        finished.extend(_walk(graph, node, seen))
    turned = _turn(graph)
    found = {node for node, targets in graph.items() if node in targets}
    seen = set()
    for node in reversed(finished):
        group = list(_walk(turned, node, seen))
        if len(group) > 1:
            found.update(group)
    return frozenset(found)


def _walk(graph: Graph, start: str, seen: set[str]) -> Iterator[str]:
    """Depth first from ``start`` over unseen nodes; each is given when all below it is done."""
    if start in seen:
        return
    seen.add(start)
    stack = [(start, iter(graph[start]))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if target in graph and target not in seen:
                seen.add(target)
                stack.append((target, iter(graph[target])))
                break
        else:
            stack.pop()
            yield node


def _turn(graph: Graph) -> dict[str, list[str]]:
    """The same nodes with every arrow turned round."""
    turned: dict[str, list[str]] = {node: [] for node in graph}
    for node, targets in graph.items():
        for target in targets:
            if target in turned:
                turned[target].append(node)
    return turned
