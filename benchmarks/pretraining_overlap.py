"""How much of each dataset's dev and test stands in the text that a recipe pre-trains on.

    SPANLOOM_DATA=RAW python benchmarks/pretraining_overlap.py RECIPE DATASETS [--json FILE]

DATASETS has the prepared datasets; what the recipe leaves out of its text is left out here. A run
is eight words that follow each other, in lower case and without marks. Printed are the share of the
runs of dev and test that stand in the text, and how many documents have half of theirs in it: an
encoder has read these, so their scores are not fair.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanloom.atomic_io import write_file
from spanloom.config import recipe as recipes
from spanloom.model.plan import resolve
from spanloom.training import text_data

Runs = NDArray[np.uint64]  # a number for each run

RUN = 8
SPLITS = ("dev", "test")
_WORD = re.compile(r"[^\W_]+")
_FACTORS = np.array([0x9E3779B97F4A7C15 * (2 * n + 1) % 2**64 for n in range(RUN)], dtype=np.uint64)


def main() -> None:
    """Print a line per dataset."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    words: dict[str, int] = {}
    runs_of = dict(_held_out(options.datasets, words))
    wanted = np.unique(np.concatenate(list(runs_of.values())))
    found = np.zeros(len(wanted), dtype=bool)
    plan = resolve(recipes.load(options.recipe))
    for task in text_data.streamed(plan).values():
        for document in text_data.source(plan, task).documents():
            runs = _runs(document.text, words, grow=False)
            places = np.searchsorted(wanted[:-1], runs)
            found[places[wanted[places] == runs]] = True
    rows = list(_rows(runs_of, wanted[found]))
    for row in rows:
        print(
            f"{row['dataset']:28}{row['runs']:9,} runs, {row['found']:7.2%} found; "
            f"{row['documents_read']} of {row['documents']} documents read"
        )
    if options.json:
        write_file(options.json, (json.dumps(rows, indent=1) + "\n").encode())


def _held_out(datasets: Path, words: dict[str, int]) -> Iterator[tuple[tuple[str, str], Runs]]:
    """Yield the runs of each document of dev and test, by dataset and file; ``words`` grows."""
    for dataset in sorted(path for path in datasets.iterdir() if path.is_dir()):
        for path in (
            path for split in SPLITS for path in sorted(dataset.glob(f"{split}/**/*.txt"))
        ):
            yield (
                (dataset.name, str(path)),
                _runs(path.read_text(encoding="utf-8"), words, grow=True),
            )


def _runs(text: str, words: dict[str, int], *, grow: bool) -> Runs:
    """Return a number for each run of ``RUN`` known words; unknown ones get one if ``grow``."""
    found = _WORD.findall(text.lower())
    if grow:
        ids = [words.setdefault(word, len(words) + 1) for word in found]
    else:
        ids = [words.get(word, 0) for word in found]
    if len(ids) < RUN:
        return np.zeros(0, dtype=np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(np.array(ids, dtype=np.uint64), RUN)
    known = windows[(windows > 0).all(axis=1)]
    mixed = known * np.uint64(0xD6E8FEB86659FD93)
    hashes: Runs = ((mixed ^ (mixed >> np.uint64(32))) * _FACTORS).sum(axis=1, dtype=np.uint64)
    return hashes


def _rows(runs_of: dict[tuple[str, str], Runs], found: Runs) -> Iterator[dict[str, Any]]:
    """Yield a row per dataset."""
    counts: dict[str, list[tuple[int, int]]] = {}  # of runs found and of runs, by document
    for (dataset, _), runs in runs_of.items():
        counts.setdefault(dataset, []).append((int(np.isin(runs, found).sum()), len(runs)))
    for dataset, documents in counts.items():
        num_found, num_runs = (sum(column) for column in zip(*documents, strict=True))
        yield {
            "dataset": dataset,
            "runs": num_runs,
            "found": round(num_found / max(1, num_runs), 5),
            "documents": len(documents),
            "documents_read": sum(0 < size <= 2 * hits for hits, size in documents),
        }


if __name__ == "__main__":
    main()
