"""Find the nodes of a directed graph that lie on a cycle (Kosaraju's algorithm; Sharir 1981)."""

from collections.abc import Iterator, Mapping, Sequence

Graph = Mapping[str, Sequence[str]]


def nodes_on_cycles(graph: Graph) -> frozenset[str]:
    """Return the nodes that reach themselves in one step or more.

    ``graph`` maps a node to its targets; targets that are not nodes are ignored. Linear time, no
    recursion.
    """
    finished: list[str] = []
    visited: set[str] = set()
    for node in graph:
        finished.extend(_postorder(graph, node, visited))
    reversed_graph = _reverse(graph)
    cyclic = {node for node, targets in graph.items() if node in targets}
    visited = set()
    for node in reversed(finished):
        component = list(_postorder(reversed_graph, node, visited))
        if len(component) > 1:
            cyclic.update(component)
    return frozenset(cyclic)


def _postorder(graph: Graph, start: str, visited: set[str]) -> Iterator[str]:
    """Yield unvisited nodes reachable from ``start`` depth first, each after its descendants."""
    if start in visited:
        return
    visited.add(start)
    stack = [(start, iter(graph[start]))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if target in graph and target not in visited:
                visited.add(target)
                stack.append((target, iter(graph[target])))
                break
        else:
            stack.pop()
            yield node


def _reverse(graph: Graph) -> dict[str, list[str]]:
    """Return the graph with all edges reversed."""
    reversed_graph: dict[str, list[str]] = {node: [] for node in graph}
    for node, targets in graph.items():
        for target in targets:
            if target in reversed_graph:
                reversed_graph[target].append(node)
    return reversed_graph
