"""Where two annotations of one text differ: what is missed, spurious, or nearly the same.

Marks and links are compared by content (layer, label, fragments), never by id.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from spanloom.page.marks import Link, Mark, Picture

Item = Mark | Link
T = TypeVar("T", Mark, Link)


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    ``kind`` is ``missed`` (gold only), ``spurious`` (predicted only), ``label`` (the same place,
    another label), ``boundary`` (the same label, another extent that overlaps) or ``attachment``
    (an arrow to the same place from another one; of the same label, unless its layer has one arrow
    to each place at most, as a tree of dependencies does).
    """

    kind: str
    gold: Item | None
    predicted: Item | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both pictures, each item with its state; the differences; how many items are equal."""

    gold: Picture
    predicted: Picture
    differences: tuple[Difference, ...]
    equal: int


def compare(gold: Picture, predicted: Picture) -> Comparison:
    """Compare two pictures of one text, one item with at most one other."""
    marks = _compare_marks(gold.marks, predicted.marks)
    links = _compare_links(gold, predicted)
    found = tuple(each for each in (*marks, *links) if each.kind)
    equal = len(marks) + len(links) - len(found)
    states = {id(each.gold): each.kind for each in found}
    guesses = {id(each.predicted): each.kind for each in found}
    return Comparison(_flag(gold, states), _flag(predicted, guesses), found, equal)


def _flag(picture: Picture, states: Mapping[int, str]) -> Picture:
    marks = tuple(replace(mark, state=states.get(id(mark), "")) for mark in picture.marks)
    links = tuple(replace(link, state=states.get(id(link), "")) for link in picture.links)
    return replace(picture, marks=marks, links=links)


class _Pool(Generic[T]):
    """The items of both sides that have no partner yet, in order, and the pairs made."""

    def __init__(self, gold: Iterable[T], predicted: Iterable[T]) -> None:
        self.gold: dict[int, T] = {id(item): item for item in gold}
        self.predicted: dict[int, T] = {id(item): item for item in predicted}
        self.pairs: list[Difference] = []

    def match(self, kind: str, key: Callable[[T], Hashable]) -> None:
        """Pair items of one key, first with first."""
        free: dict[Hashable, deque[T]] = defaultdict(deque)
        for item in self.predicted.values():
            free[key(item)].append(item)
        for item in list(self.gold.values()):
            if fitting := free.get(key(item)):
                self.pair(kind, item, fitting.popleft())

    def pair(self, kind: str, gold: T, predicted: T) -> None:
        """Note a pair and take both items out."""
        self.pairs.append(Difference(kind, gold, predicted))
        del self.gold[id(gold)], self.predicted[id(predicted)]

    def close(self) -> list[Difference]:
        """Return the pairs and, without a partner, all that is left."""
        found = list(self.pairs)
        found += [Difference("missed", item, None) for item in self.gold.values()]
        found += [Difference("spurious", None, item) for item in self.predicted.values()]
        return found


def _place(mark: Mark) -> Hashable:
    return mark.layer, tuple(sorted(mark.fragments))


def _compare_marks(gold: Iterable[Mark], predicted: Iterable[Mark]) -> list[Difference]:
    pool = _Pool(gold, predicted)
    pool.match("", lambda mark: (mark.label, _place(mark)))
    pool.match("label", lambda mark: _place(mark))
    for mark in list(pool.gold.values()):
        shares = [(_shared(mark, other), other) for other in pool.predicted.values()]
        most, best = max(shares, key=_amount, default=(0, mark))
        if most:
            pool.pair("boundary", mark, best)
    return pool.close()


def _amount(share: tuple[int, Mark]) -> int:
    return share[0]


def _shared(one: Mark, other: Mark) -> int:
    """Return how many characters two marks of one label share, 0 for marks of two labels."""
    if (one.layer, one.label) != (other.layer, other.label):
        return 0
    return sum(
        max(0, min(end, far) - max(start, near))
        for start, end in one.fragments
        for near, far in other.fragments
    )


def _compare_links(gold: Picture, predicted: Picture) -> list[Difference]:
    """Compare links by the content of their ends; one without direction may be turned round."""
    ends = _ends(gold) | _ends(predicted)
    trees = _trees(gold, ends) & _trees(predicted, ends)
    pool = _Pool(gold.links, predicted.links)
    pool.match("", lambda link: (link.layer, link.label, ends[id(link)]))
    pool.match("label", lambda link: (link.layer, ends[id(link)]))
    pool.match("attachment", lambda link: _attached(link, ends[id(link)], trees))
    return pool.close()


def _ends(picture: Picture) -> dict[int, tuple[str, str]]:
    """Return what the ends of each link mean."""
    meaning = {mark.id: repr((mark.label, _place(mark))) for mark in picture.marks}
    found = {}
    for link in picture.links:
        source, target = meaning[link.source], meaning[link.target]
        found[id(link)] = (source, target) if link.directed or source < target else (target, source)
    return found


def _attached(link: Link, ends: tuple[str, str], trees: Set[str]) -> Hashable:
    """Return what stays where an arrow comes from another place; an undirected link is itself."""
    if not link.directed:
        return id(link)
    return link.layer, ends[1], None if link.layer in trees else link.label


def _trees(picture: Picture, ends: Mapping[int, tuple[str, str]]) -> set[str]:
    """Return the layers that have one arrow to each place at most."""
    arrows = Counter((link.layer, ends[id(link)][1]) for link in picture.links)
    several = {layer for (layer, _), count in arrows.items() if count > 1}
    return {link.layer for link in picture.links} - several
