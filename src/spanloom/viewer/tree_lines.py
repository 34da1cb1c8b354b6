"""Draw trees as indented lines: constituents with their words, words with their dependents."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from spanloom.document import Fragment
from spanloom.viewer.marks import Arc, SpanBox
from spanloom.viewer.shapes import nesting_of

Text = Callable[[Sequence[Fragment]], str]


def constituent_lines(boxes: Sequence[SpanBox], text: Text) -> Iterator[str]:
    """Yield the lines of constituents that never cross, one for each and for each text between.

    ``text`` returns the text of fragments, "" for blank ones.
    """
    parents = nesting_of([box.fragments for box in boxes]) or [None] * len(boxes)
    inside: dict[int | None, list[int]] = {}
    for index, parent in sorted(enumerate(parents), key=lambda pair: boxes[pair[0]].fragments):
        inside.setdefault(parent, []).append(index)
    children: dict[str, list[str]] = {}
    names = {}
    for index, box in enumerate(boxes):
        nodes = []
        position = box.fragments[0][0]
        for child in inside.get(index, ()):
            start, end = boxes[child].fragments[0]
            if between := text([(position, start)]):
                nodes.append(f"{box.id} {position}")
                names[nodes[-1]] = between
            nodes.append(boxes[child].id)
            position = end
        if nodes and (after := text([(position, box.fragments[-1][1])])):
            nodes.append(f"{box.id} {position}")
            names[nodes[-1]] = after
        names[box.id] = box.caption if nodes else f"{box.caption} {text(box.fragments)}"
        children[box.id] = nodes
    yield from _lines([boxes[index].id for index in inside.get(None, ())], children, names)


def dependency_lines(
    boxes: Sequence[SpanBox], arcs: Mapping[str, Sequence[Arc]], text: Text
) -> Iterator[str]:
    """Yield a line for each word below its head; words that no root leads to come last."""
    by_id = {box.id: box for box in boxes}
    children: dict[str, list[str]] = {}
    relation = {}
    for box in boxes:
        for arc in arcs.get(box.id, ()):
            relation[arc.target] = arc.caption
            if arc.target != box.id and arc.target in by_id:
                children.setdefault(box.id, []).append(arc.target)
        children.get(box.id, []).sort(key=lambda word: by_id[word].fragments)
    names = {box.id: f"{relation.get(box.id, '')} {text(box.fragments)}".strip() for box in boxes}
    dependents = {word for words in children.values() for word in words}
    roots = [box.id for box in boxes if box.id not in dependents]
    yield from _lines([*roots, *(box.id for box in boxes)], children, names)


def _lines(
    roots: Sequence[str], children: Mapping[str, Sequence[str]], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines of all nodes that are reached from roots, each node once."""
    reached: set[str] = set()
    stack = [(root, "", "") for root in reversed(roots)]
    while stack:
        node, branch, indent = stack.pop()
        if node in reached:
            continue
        reached.add(node)
        yield branch + names[node]
        below = [child for child in children.get(node, ()) if child not in reached]
        for child in reversed(below):
            is_last = child == below[-1]
            corner, follows = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            stack.append((child, indent + corner, indent + follows))
