"""Annotations that refer to others: to which, which do so in a cycle, and contents without ids."""

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from spanloom.document import Annotation, Equivalence, Event, Relation, Span

Node = TypeVar("Node", bound=Hashable)
Content = TypeVar("Content")
_ROUNDS = 16  # steps along cycles by which their nodes are told apart


def references(annotation: Annotation) -> tuple[str, ...]:
    """Return the ids that an annotation refers to, in the order written."""
    match annotation:
        case Span():
            return ()
        case Relation():
            return annotation.head, annotation.tail
        case Event():
            return annotation.trigger, *(argument.target for argument in annotation.arguments)
        case Equivalence():
            return annotation.members
        case _:
            return (annotation.target,)


def resolve(
    graph: Mapping[Node, Sequence[Node]], describe: Callable[[Node, Callable[[Node], str]], Content]
) -> dict[Node, Content]:
    """Return the content of each node of a directed graph; contents are equal whatever the ids.

    ``describe`` returns the content of a node from a function that returns a digest of what a
    target contains. Nodes on cycles are described again and again, from what all of them were
    before, as often as there are such nodes, ``_ROUNDS`` times at most. Linear time, no recursion.
    """
    cyclic = nodes_on_cycles(graph)
    visited: set[Node] = set()
    order = [node for start in graph for node in postorder(graph, start, visited)]
    contents = _describe_all(order, describe, dict.fromkeys(cyclic, ""))
    for _ in range(min(len(cyclic), _ROUNDS)):
        known = {node: _digest(contents[node]) for node in cyclic}
        contents = _describe_all(order, describe, known)
    return contents


def _describe_all(
    order: Sequence[Node],
    describe: Callable[[Node, Callable[[Node], str]], Content],
    known: Mapping[Node, str],
) -> dict[Node, Content]:
    """Return the contents of nodes, each after its targets; ``known`` are digests of those not."""
    contents: dict[Node, Content] = {}
    digests = dict(known)

    def digest_of(target: Node) -> str:
        if target not in digests:
            digests[target] = _digest(contents[target])
        return digests[target]

    for node in order:
        contents[node] = describe(node, digest_of)
    return contents


def _digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode(errors="surrogatepass")).hexdigest()[:20]


def nodes_on_cycles(graph: Mapping[Node, Sequence[Node]]) -> frozenset[Node]:
    """Return the nodes of a directed graph that reach themselves in one step or more.

    ``graph`` maps a node to its targets; targets that are not nodes are ignored. Linear time, no
    recursion (Kosaraju's algorithm; Sharir 1981).
    """
    visited: set[Node] = set()
    finished = [done for node in graph for done in postorder(graph, node, visited)]
    sources: dict[Node, list[Node]] = {node: [] for node in graph}
    for node, targets in graph.items():
        for target in targets:
            if target in sources:
                sources[target].append(node)
    cyclic = {node for node, targets in graph.items() if node in targets}
    visited = set()
    for node in reversed(finished):
        component = list(postorder(sources, node, visited))
        if len(component) > 1:
            cyclic.update(component)
    return frozenset(cyclic)


def postorder(
    graph: Mapping[Node, Sequence[Node]], start: Node, visited: set[Node]
) -> Iterator[Node]:
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
