"""Decode dependency trees: the best head of every word, with one root and no cycle.

``scores[head, word]`` is the score of an arc; the diagonal, ``scores[word, word]``, is the score of
the word as the root, and the root of a result is its own head. Minus infinity forbids an arc.
``chu_liu_edmonds`` and ``eisner`` are exact; ``greedy_heads`` is what SpanRel does (section 3).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Complex, Float, Int

# of padded runs and their lengths: the head of each word; those of the padding mean nothing
RunDecoder = Callable[
    [Float[np.ndarray, "run n n"], Int[np.ndarray, " run"]], Int[np.ndarray, "run n"]
]
Weights = Float[np.ndarray, "heads n"] | Complex[np.ndarray, "heads n"]


def greedy_runs(
    scores: Float[np.ndarray, "run n n"], lengths: Int[np.ndarray, " run"]
) -> Int[np.ndarray, "run n"]:
    """Return the heads that ``greedy_heads`` finds in each of some padded runs.

    Arcs from the padding have minus infinity, as in the other functions of runs.
    """
    if not scores.size:
        return np.empty(scores.shape[::2], dtype=np.intp)
    heads: Int[np.ndarray, "run n"] = scores.argmax(axis=1)
    return heads


def chu_liu_edmonds_runs(
    scores: Float[np.ndarray, "run n n"], lengths: Int[np.ndarray, " run"]
) -> Int[np.ndarray, "run n"]:
    """Return the heads that ``chu_liu_edmonds`` finds in each of some padded runs.

    Most best heads form a tree; of the runs whose heads do, none is decoded by itself.
    """
    heads = greedy_runs(scores, lengths)
    if not heads.size:
        return heads
    best = np.take_along_axis(scores, heads[:, None], axis=1)[:, 0]
    is_word = np.arange(heads.shape[1]) < lengths[:, None]
    is_possible = (np.isfinite(best) | ~is_word).all(axis=1)  # NaN is no score, so it is the best
    for run in np.flatnonzero(~(_are_trees(heads, is_word) & is_possible)):
        n = lengths[run]
        heads[run, :n] = chu_liu_edmonds(scores[run, :n, :n].astype(np.float64))
    return heads


def eisner_runs(
    scores: Float[np.ndarray, "run n n"], lengths: Int[np.ndarray, " run"]
) -> Int[np.ndarray, "run n"]:
    """Return the heads that ``eisner`` finds in each of some padded runs."""
    heads = np.zeros(scores.shape[::2], dtype=np.intp)
    for run, n in enumerate(lengths.tolist()):
        heads[run, :n] = eisner(scores[run, :n, :n].astype(np.float64))
    return heads


def _are_trees(
    heads: Int[np.ndarray, "run n"], is_word: Bool[np.ndarray, "run n"]
) -> Bool[np.ndarray, " run"]:
    """Return of each run whether it has one root and every word leads to it.

    Ancestors are found by pointer doubling: 1, 2, 4, … steps up.
    """
    words = np.arange(heads.shape[1])
    is_root = (heads == words) & is_word
    ancestors, steps = heads, 1
    while steps < len(words):
        ancestors, steps = np.take_along_axis(ancestors, ancestors, axis=1), 2 * steps
    leads_to_root = np.take_along_axis(is_root, ancestors, axis=1) | ~is_word
    are_trees: Bool[np.ndarray, " run"] = leads_to_root.all(axis=1) & (is_root.sum(axis=1) == 1)
    return are_trees


def greedy_heads(scores: Float[np.ndarray, "n n"]) -> Int[np.ndarray, " n"]:
    """Return the best head of each word alone: there may be several roots, none, or cycles."""
    return scores.argmax(axis=0) if len(scores) else np.empty(0, dtype=np.intp)


def chu_liu_edmonds(scores: Float[np.ndarray, "n n"]) -> Int[np.ndarray, " n"]:
    """Return the heads of the best tree with exactly one root; arcs may cross. O(n²).

    Chu-Liu/Edmonds: follow best heads, contract each cycle that this closes, expand at the end.
    The single root is enforced as in Stanojević and Cohen (2021), who subtract from each root arc a
    constant that exceeds any sum of scores, so that a tree with fewer roots always wins. Here the
    constant is the real part of a complex number and the score its imaginary part: numpy compares
    real parts first, so the constant acts as infinite, and scores lose no precision to it. That
    contracts a cycle for almost every word, so what costs less is tried first: the best heads of
    all words, which mostly form a tree, and the best tree with any number of roots, which mostly
    has one. ValueError where the arcs allow no tree with one root.
    """
    heads = greedy_heads(scores)
    (is_tree,) = _are_trees(heads[None], np.ones((1, len(heads)), dtype=bool))
    if is_tree and np.isfinite(scores[heads, np.arange(len(heads))]).all():
        _check_scores(scores)
        return heads
    for weights_of in (_arc_weights, _complex_weights):
        heads = _best_tree(weights_of(scores))
        if _num_roots(heads) <= 1:
            return heads
    raise ValueError(_no_tree_message(len(scores)))


def _best_tree(weights: Weights) -> Int[np.ndarray, " n"]:
    graph = _Graph(weights)
    for word in range(graph.n):
        graph.settle(word)
    return graph.heads()


def _num_roots(heads: Int[np.ndarray, " n"]) -> int:
    return int((heads == np.arange(len(heads))).sum())


def eisner(scores: Float[np.ndarray, "n n"]) -> Int[np.ndarray, " n"]:
    """Return the heads of the best tree with exactly one root and no crossing arcs.

    Eisner (1996), O(n³), all spans of one width at once. The root arc is not in the chart: the root
    is selected last, as the head of a left and a right half. ValueError where the arcs allow no
    such tree.
    """
    _check_scores(scores)
    n = len(scores)
    if not n:
        return np.empty(0, dtype=np.intp)
    chart = _eisner_chart(scores.astype(np.float64))
    root_scores = chart.left_by_start[:, 0] + chart.right_by_end[::-1, -1] + scores.diagonal()
    root = int(root_scores.argmax())
    if root_scores[root] == -np.inf:
        raise ValueError(_no_tree_message(n))
    return chart.heads(root)


def _check_scores(scores: np.ndarray) -> None:
    if scores.size and not scores.max() < np.inf:
        raise ValueError("scores of arcs: expected numbers or minus infinity, got nan or infinity")


def _no_tree_message(n: int) -> str:
    return f"scores of arcs: no tree with one root over {n} words; too many are minus infinity"


def _arc_weights(scores: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "heads n"]:
    """Return the weights of arcs from words and, in the last row, from an artificial root."""
    _check_scores(scores)
    n = len(scores)
    weights = np.vstack([scores, scores.diagonal()[None]]).astype(np.float64)
    weights[np.arange(n), np.arange(n)] = -np.inf
    return weights


def _complex_weights(scores: Float[np.ndarray, "n n"]) -> Complex[np.ndarray, "heads n"]:
    """Return the same weights as imaginary parts, with an arc of the root as the last resort."""
    arc_weights = _arc_weights(scores)
    is_allowed = arc_weights > -np.inf
    weights = np.where(is_allowed, 1j * np.where(is_allowed, arc_weights, 0.0), complex(-np.inf))
    weights.real[-1] -= 1
    return weights


class _Graph:
    """A graph under contraction of cycles.

    A slot is a row and column of the weights. At first it represents a word, later perhaps a
    contracted cycle, whose other slots are no longer used. Nodes are the words and, numbered after
    them, the cycles.
    """

    def __init__(self, weights: Weights) -> None:
        self.n = n = weights.shape[1]
        self.weights = weights
        # the arc between words that each arc between slots represents, as head · n + word
        self.arcs = np.arange((n + 1) * n).reshape(n + 1, n)
        self.best = weights.argmax(axis=0) if n else np.empty(0, dtype=np.intp)
        self.settled = [False] * n + [True]
        self.node = list(range(n))
        self.parent = [-1] * n
        self.chosen = [-1] * n

    def settle(self, slot: int) -> None:
        """Follow best heads up to the root or a settled slot; contract cycles on the way."""
        path: list[int] = []
        while not self.settled[slot]:
            if slot in path:
                cycle_start = path.index(slot)
                slot = self._contract(path[cycle_start:])
                del path[cycle_start:]
            path.append(slot)
            slot = self._follow(slot)
        for settled in path:
            self.settled[settled] = True

    def heads(self) -> Int[np.ndarray, " n"]:
        """Return the words' heads: expand cycles, last first, at the word that their arc enters."""
        heads = np.empty(self.n, dtype=np.intp)
        is_entered = [False] * len(self.parent)
        for node in reversed(range(len(self.parent))):
            if is_entered[node]:
                continue
            head, entered = divmod(self.chosen[node], self.n)
            heads[entered] = entered if head == self.n else head
            while entered != node:
                is_entered[entered] = True
                entered = self.parent[entered]
        return heads

    def _follow(self, slot: int) -> int:
        """Choose the best arc into a slot; return the slot of its head."""
        head = int(self.best[slot])
        if self.weights[head, slot].real == -np.inf:
            raise ValueError(_no_tree_message(self.n))
        self.chosen[self.node[slot]] = int(self.arcs[head, slot])
        return head

    def _contract(self, cycle: list[int]) -> int:
        """Merge a cycle into its first slot: O(n) per slot of the cycle, so O(n²) in all."""
        slot = cycle[0]
        self._merge_incoming(cycle)
        self._merge_outgoing(cycle)
        in_cycle = np.zeros(self.n + 1, dtype=bool)
        in_cycle[cycle] = True
        self.best[in_cycle[self.best]] = slot
        self.best[slot] = self.weights[:, slot].argmax()
        for member in cycle:
            self.parent[self.node[member]] = len(self.parent)
            self.settled[member] = member != slot
        self.node[slot] = len(self.parent)
        self.parent.append(-1)
        self.chosen.append(-1)
        return slot

    def _merge_incoming(self, cycle: list[int]) -> None:
        """Keep the best arc into the cycle from each slot.

        Its new weight is its own minus that of the cycle's arc which it replaces.
        """
        heads = np.arange(self.n + 1)
        margins = self.weights[:, cycle] - self.weights[self.best[cycle], cycle]
        margins[cycle] = -np.inf
        best_member = margins.argmax(axis=1)
        self.weights[:, cycle[0]] = margins[heads, best_member]
        self.arcs[:, cycle[0]] = self.arcs[:, cycle][heads, best_member]

    def _merge_outgoing(self, cycle: list[int]) -> None:
        """Keep the best arc from the cycle to each slot."""
        slots = np.arange(self.n)
        outgoing = self.weights[cycle]
        best_member = outgoing.argmax(axis=0)
        self.arcs[cycle[0]] = self.arcs[cycle][best_member, slots]
        self.weights[cycle] = -np.inf
        self.weights[cycle[0]] = outgoing[best_member, slots]


@dataclass(frozen=True)
class _Chart:
    """Best scores of spans, by width (last word minus first word) and by first or last word.

    ``right_*`` are complete spans headed by their first word, ``left_*`` by their last word.
    ``open_right`` and ``open_left`` are incomplete: they have an arc from one end to the other, and
    the dependent at the other end may still get dependents of its own beyond it.
    """

    right_by_start: Float[np.ndarray, "n n"]
    right_by_end: Float[np.ndarray, "n n"]
    left_by_start: Float[np.ndarray, "n n"]
    left_by_end: Float[np.ndarray, "n n"]
    open_right: Float[np.ndarray, "n n"]
    open_left: Float[np.ndarray, "n n"]

    def heads(self, root: int) -> Int[np.ndarray, " n"]:
        """Return the words' heads; splits of spans are recomputed rather than stored."""
        heads = np.full(len(self.right_by_start), root, dtype=np.intp)
        agenda = [(root, 0), (root, len(heads) - 1)]  # complete spans: head, other end
        while agenda:
            head, other_end = agenda.pop()
            if head == other_end:
                continue
            dependent = self._farthest_dependent(head, other_end)
            heads[dependent] = head
            first, last = min(head, dependent), max(head, dependent)
            split = self._split(first, last)
            agenda += [(dependent, other_end), (first, split), (last, split + 1)]
        return heads

    def _farthest_dependent(self, head: int, other_end: int) -> int:
        """Return the head's farthest dependent in the complete span from it to ``other_end``."""
        width = abs(other_end - head)
        if head < other_end:
            complete = self.right_by_end[:width, other_end][::-1]
            return head + 1 + int((self.open_right[1 : width + 1, head] + complete).argmax())
        complete = self.left_by_start[:width, other_end]
        return other_end + int((complete + self.open_left[1 : width + 1, head][::-1]).argmax())

    def _split(self, first: int, last: int) -> int:
        """Return the last word of the left part of an incomplete span from first to last."""
        width = last - first
        sums = self.right_by_start[:width, first] + self.left_by_end[:width, last][::-1]
        return first + int(sums.argmax())


def _eisner_chart(scores: Float[np.ndarray, "n n"]) -> _Chart:
    """Fill the chart; indexing by first and by last word makes each sum one of two slices."""
    n = len(scores)
    chart = _Chart(*np.zeros((6, n, n)))
    for width in range(1, n):
        starts, ends, inner = slice(n - width), slice(width, n), slice(width)
        outer = slice(1, width + 1)
        halves = chart.right_by_start[inner, starts] + chart.left_by_end[inner, ends][::-1]
        best_halves = halves.max(axis=0)
        chart.open_right[width, starts] = best_halves + scores.diagonal(width)
        chart.open_left[width, ends] = best_halves + scores.diagonal(-width)
        sums = chart.open_right[outer, starts] + chart.right_by_end[inner, ends][::-1]
        chart.right_by_start[width, starts] = chart.right_by_end[width, ends] = sums.max(axis=0)
        sums = chart.left_by_start[inner, starts] + chart.open_left[outer, ends][::-1]
        chart.left_by_start[width, starts] = chart.left_by_end[width, ends] = sums.max(axis=0)
    return chart
