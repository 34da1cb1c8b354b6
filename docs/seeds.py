"""One table from several seeds' results: mean, spread and range of each figure.

    python docs/seeds.py RESULT.json RESULT.json …

A result is what ``spanloom evaluate … --json`` printed.
"""

import json
import statistics
import sys
from pathlib import Path


def main(paths: list[Path]) -> None:
    """Print a Markdown table: rows are tasks' figures, in percent."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    print(
        f"| task | figure | mean of {len(results)} | standard deviation | each | 95 % intervals |"
    )
    print("|---|---|---|---|---|---|")
    for task in results[0]["tasks"]:
        scores = [result["tasks"][task] for result in results]
        for measure in ("spans", "relations", "relations_typed"):
            values = [100 * listed[measure]["micro"]["f1"] for listed in scores]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            listed = ", ".join(f"{value:.2f}" for value in values)
            ranges = ", ".join(
                f"{100 * score[measure]['f1_interval']['low']:.1f}–"
                f"{100 * score[measure]['f1_interval']['high']:.1f}"
                for score in scores
            )
            mean = statistics.mean(values)
            print(f"| {task} | {measure} F1 | {mean:.2f} | {spread:.2f} | {listed} | {ranges} |")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
