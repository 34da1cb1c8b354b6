"""Dependency trees: the best head of every word, with one root and no cycle.

Scores stand as ``scores[head, word]``; the diagonal, ``scores[word, word]``, is that the word is
the root, and a word that heads itself in the answer is it. Minus infinity forbids an arc.
``spanning`` and ``projective`` are exact; ``greedy`` is what SpanRel does (section 3).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float, Int

Decoder = Callable[[np.ndarray], np.ndarray]


def greedy(scores: Float[np.ndarray, "n n"]) -> Int[np.ndarray, " n"]:
    """Return the best head of each word by itself: there may be several roots, none, or cycles."""
    return scores.argmax(axis=0) if len(scores) else np.empty(0, dtype=np.intp)


def spanning(scores: Float[np.ndarray, "n n"]) -> Int[np.ndarray, " n"]:
    """Return the heads of the best tree with exactly one root; arcs may cross. O(n²).

    Chu-Liu/Edmonds: follow best heads, contract each cycle that this closes, expand at the end.
    One root as in Stanojević and Cohen (2021), who take from each root arc a constant that no sum
    of scores makes up for, so that a tree of fewer roots always wins. Here that constant is the
    real part of a complex number and the score its imaginary part. Numpy compares real parts
    first, so the constant is as good as infinite, and no digit of a score is lost to it. ValueError
    where the arcs allow no such tree. Where each word's best head makes a tree, that is the answer,
    as it mostly is where a model is sure.
    """
    heads = greedy(scores)
    if _is_tree(heads) and np.isfinite(scores[heads, np.arange(len(heads))]).all():
        _check(scores)
        return heads
    graph = _Graph(_weights(scores))
    for word in range(len(scores)):
        graph.settle(word)
    heads = graph.heads()
    if (heads == np.arange(len(heads))).sum() > 1:
        raise ValueError(_no_tree(len(scores)))
    return heads


def _is_tree(heads: Int[np.ndarray, " n"]) -> bool:
    """Whether there is one root and every word leads to it: heads of heads, doubled each time."""
    words = np.arange(len(heads))
    roots = words[heads == words]
    if len(roots) != 1:
        return False
    above, steps = heads, 1
    while steps < len(heads):
        above, steps = above[above], 2 * steps
    return bool((above == roots[0]).all())


def projective(scores: Float[np.ndarray, "n n"]) -> Int[np.ndarray, " n"]:
    """Return the heads of the best tree with exactly one root and no crossing arcs.

    Eisner (1996), O(n³), all spans of one width at once. The root is left out of the chart: it is
    chosen last, between two halves that it heads. ValueError where the arcs allow no such tree.
    """
    _check(scores)
    n = len(scores)
    if not n:
        return np.empty(0, dtype=np.intp)
    chart = _eisner(scores.astype(np.float64))
    whole = chart.left_by_start[:, 0] + chart.right_by_end[::-1, -1] + scores.diagonal()
    root = int(whole.argmax())
    if whole[root] == -np.inf:
        raise ValueError(_no_tree(n))
    return chart.heads(root)


def padded(
    decode: Decoder, scores: Float[np.ndarray, "batch n n"], lengths: Int[np.ndarray, " batch"]
) -> Int[np.ndarray, "batch n"]:
    """Decode each sentence's first ``lengths`` words by one of the above; the rest gets -1."""
    heads = np.full(scores.shape[:2], -1, dtype=np.intp)
    for row, length in enumerate(lengths.tolist()):
        heads[row, :length] = decode(scores[row, :length, :length])
    return heads


def _check(scores: np.ndarray) -> None:
    if scores.size and not scores.max() < np.inf:
        raise ValueError("scores of arcs: expected numbers or minus infinity, got nan or infinity")


def _no_tree(n: int) -> str:
    return f"scores of arcs: no tree with one root over {n} words; too many are minus infinity"


def _weights(scores: Float[np.ndarray, "n n"]) -> Complex[np.ndarray, "heads n"]:
    """Arcs from words and, in the last row, from a root outside the sentence."""
    _check(scores)
    n = len(scores)
    every = np.vstack([scores, scores.diagonal()[None]]).astype(np.float64)
    every[np.arange(n), np.arange(n)] = -np.inf
    open_arcs = every > -np.inf
    weights = np.where(open_arcs, 1j * np.where(open_arcs, every, 0.0), complex(-np.inf))
    weights.real[n] -= 1
    return weights


class _Graph:
    """A graph under contraction.

    A slot is a row and column of the weights. It stands for a word at first, later for a whole
    contracted cycle, whose other slots die. Nodes are the words and, numbered on, the cycles.
    """

    def __init__(self, weights: Complex[np.ndarray, "heads n"]) -> None:
        self.n = n = weights.shape[1]
        self.weights = weights
        # The arc between words behind each arc between slots: head · n + word.
        self.arcs = np.arange((n + 1) * n).reshape(n + 1, n)
        self.best = weights.argmax(axis=0) if n else np.empty(0, dtype=np.intp)
        self.settled = [False] * n + [True]
        self.node = list(range(n))
        self.parent = [-1] * n
        self.chosen = [-1] * n

    def settle(self, slot: int) -> None:
        """Follow best heads up to the root or a settled slot; cycles on the way are contracted."""
        path: list[int] = []
        while not self.settled[slot]:
            if slot in path:
                at = path.index(slot)
                slot = self._contract(path[at:])
                del path[at:]
            path.append(slot)
            slot = self._follow(slot)
        for each in path:
            self.settled[each] = True

    def heads(self) -> Int[np.ndarray, " n"]:
        """Expand the cycles, last made first: each opens where the arc chosen for it enters."""
        heads = np.empty(self.n, dtype=np.intp)
        opened = [False] * len(self.parent)
        for node in reversed(range(len(self.parent))):
            if opened[node]:
                continue
            head, word = divmod(self.chosen[node], self.n)
            heads[word] = word if head == self.n else head
            while word != node:
                opened[word] = True
                word = self.parent[word]
        return heads

    def _follow(self, slot: int) -> int:
        head = int(self.best[slot])
        if self.weights[head, slot].real == -np.inf:
            raise ValueError(_no_tree(self.n))
        self.chosen[self.node[slot]] = int(self.arcs[head, slot])
        return head

    def _contract(self, cycle: list[int]) -> int:
        """Make one slot of a cycle: O(n) for each slot in it, so O(n²) in all."""
        slot = cycle[0]
        self._enter(cycle)
        self._leave(cycle)
        inside = np.zeros(self.n + 1, dtype=bool)
        inside[cycle] = True
        self.best[inside[self.best]] = slot
        self.best[slot] = self.weights[:, slot].argmax()
        for each in cycle:
            self.parent[self.node[each]] = len(self.parent)
            self.settled[each] = each != slot
        self.node[slot] = len(self.parent)
        self.parent.append(-1)
        self.chosen.append(-1)
        return slot

    def _enter(self, cycle: list[int]) -> None:
        """An arc into the cycle gains its weight less that of the arc that it puts out of it."""
        every = np.arange(self.n + 1)
        gains = self.weights[:, cycle] - self.weights[self.best[cycle], cycle]
        gains[cycle] = -np.inf
        at = gains.argmax(axis=1)
        self.weights[:, cycle[0]] = gains[every, at]
        self.arcs[:, cycle[0]] = self.arcs[:, cycle][every, at]

    def _leave(self, cycle: list[int]) -> None:
        """An arc out of the cycle is the best from any of its slots."""
        every = np.arange(self.n)
        rows = self.weights[cycle]
        at = rows.argmax(axis=0)
        self.arcs[cycle[0]] = self.arcs[cycle][at, every]
        self.weights[cycle] = -np.inf
        self.weights[cycle[0]] = rows[at, every]


@dataclass(frozen=True)
class _Chart:
    """Best sums of spans, by width (last word less first) and by first word or last.

    ``right`` is headed by its first word and complete, ``left`` by its last; ``open_right`` and
    ``open_left`` have an arc from one end to the other and may still grow at the end that depends.
    """

    right_by_start: Float[np.ndarray, "n n"]
    right_by_end: Float[np.ndarray, "n n"]
    left_by_start: Float[np.ndarray, "n n"]
    left_by_end: Float[np.ndarray, "n n"]
    open_right: Float[np.ndarray, "n n"]
    open_left: Float[np.ndarray, "n n"]

    def heads(self, root: int) -> Int[np.ndarray, " n"]:
        """Walk the chart down again; what divides a span is found anew rather than stored."""
        heads = np.full(len(self.right_by_start), root, dtype=np.intp)
        todo = [(root, 0), (root, len(heads) - 1)]
        while todo:
            head, far = todo.pop()
            if head == far:
                continue
            word = self._last_word(head, far)
            heads[word] = head
            first, last = min(head, word), max(head, word)
            middle = self._middle(first, last)
            todo += [(word, far), (first, middle), (last, middle + 1)]
        return heads

    def _last_word(self, head: int, far: int) -> int:
        """The dependent of a complete span's head that stands farthest from it."""
        width = abs(far - head)
        if head < far:
            grown = self.right_by_end[:width, far][::-1]
            return head + 1 + int((self.open_right[1 : width + 1, head] + grown).argmax())
        grown = self.left_by_start[:width, far]
        return far + int((grown + self.open_left[1 : width + 1, head][::-1]).argmax())

    def _middle(self, first: int, last: int) -> int:
        """The last word that belongs to the first word, under an arc between the two."""
        width = last - first
        sums = self.right_by_start[:width, first] + self.left_by_end[:width, last][::-1]
        return first + int(sums.argmax())


def _eisner(scores: Float[np.ndarray, "n n"]) -> _Chart:
    """Fill the chart. Tables by first and by last word make of every sum two slices."""
    n = len(scores)
    chart = _Chart(*np.zeros((6, n, n)))
    for width in range(1, n):
        starts, ends, inner = slice(n - width), slice(width, n), slice(width)
        outer = slice(1, width + 1)
        halves = chart.right_by_start[inner, starts] + chart.left_by_end[inner, ends][::-1]
        both = halves.max(axis=0)
        chart.open_right[width, starts] = both + scores.diagonal(width)
        chart.open_left[width, ends] = both + scores.diagonal(-width)
        sums = chart.open_right[outer, starts] + chart.right_by_end[inner, ends][::-1]
        chart.right_by_start[width, starts] = chart.right_by_end[width, ends] = sums.max(axis=0)
        sums = chart.left_by_start[inner, starts] + chart.open_left[outer, ends][::-1]
        chart.left_by_start[width, starts] = chart.left_by_end[width, ends] = sums.max(axis=0)
    return chart
