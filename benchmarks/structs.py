"""Speed of tree search over given scores: sentences a second on one core.

    OMP_NUM_THREADS=1 python benchmarks/structs.py [--seconds 1] [--json FILE]

Scores are drawn at random, where best heads close many cycles and half of all spans gain something;
those of a trained model are kinder. ``peaked`` has a tree's arcs and spans stand out, as there.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from spanloom.decoding import mst, span_selection

SIZES = (25, 50, 100)
DRAWS = 20
AHEAD = 8.0
"""How far a tree's arcs and spans are ahead of the others, in deviations of the noise."""


def arcs(draw: np.random.Generator, n: int, ahead: float) -> np.ndarray:
    """Normal scores of arcs, those of a random tree raised; heads in rows."""
    scores = draw.normal(size=(n, n))
    order = draw.permutation(n)
    scores[order[0], order[0]] += ahead
    for word in range(1, n):
        scores[order[draw.integers(word)], order[word]] += ahead
    return scores


def spans(draw: np.random.Generator, n: int, ahead: float) -> np.ndarray:
    """Normal gains of spans, those of a random binary tree raised above the others."""
    gains = draw.normal(size=(n, n + 1)) - ahead / 2
    todo = [(0, n)]
    while todo:
        start, end = todo.pop()
        gains[start, end] += ahead
        if end - start > 1:
            middle = int(draw.integers(start + 1, end))
            todo += [(start, middle), (middle, end)]
    return gains


SEARCHES: dict[str, tuple[Callable[..., np.ndarray], Callable[[np.ndarray], object]]] = {
    "spanning": (arcs, mst.chu_liu_edmonds),
    "projective": (arcs, mst.eisner),
    "cky": (spans, span_selection.cky_decode),
    "top_down": (spans, span_selection.top_down),
}


def rate(search: Callable[[np.ndarray], object], inputs: list[np.ndarray], seconds: float) -> float:
    """Sentences a second of CPU time."""
    search(inputs[0])
    began, spent, rounds = time.process_time(), 0.0, 0
    while spent < seconds:
        for item in inputs:
            search(item)
        rounds += 1
        spent = time.process_time() - began
    return rounds * len(inputs) / spent


def main() -> None:
    """Measure each search at each size, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=1.0)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    result: dict[str, dict[str, dict[str, int]]] = {}
    for kind, ahead in {"random": 0.0, "peaked": AHEAD}.items():
        for name, (make, search) in SEARCHES.items():
            draw = np.random.default_rng(1)
            result.setdefault(kind, {})[name] = {
                str(n): round(
                    rate(search, [make(draw, n, ahead) for _ in range(DRAWS)], options.seconds)
                )
                for n in SIZES
            }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
