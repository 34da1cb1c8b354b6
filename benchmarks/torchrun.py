"""How much faster two processes train than one: the same updates, by turns.

    SPANLOOM_DATA=DIR python benchmarks/torchrun.py RECIPE [--epochs 0.3] [--rounds 3] \\
        [--set KEY=VALUE] [--json FILE]

Each process has one thread. Compared are seconds of the clock per update, after the first quarter
of the log; start, reading and dev are left out. Meant for a machine with two free cores.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from spanloom.atomic_io import write_file
from spanloom.glad.speed import processor


def main() -> None:
    """Print the seconds of each round and the median of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--epochs", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings = [f"stages.0.epochs={options.epochs}", *options.set]
    rounds = []
    for number in range(options.rounds):
        one, two = (seconds_per_update(options.recipe, settings, processes) for processes in (1, 2))
        rounds.append({"one": round(one, 4), "two": round(two, 4), "ratio": round(one / two, 3)})
        print(f"round {number + 1}: {one:.3f} and {two:.3f} s an update, {one / two:.2f} times")
    ratio = median(each["ratio"] for each in rounds)
    print(f"two processes train {ratio:.2f} times as fast as one (median)")
    if options.json:
        result = {
            "recipe": str(options.recipe),
            "settings": settings,
            "machine": processor(),
            "rounds": rounds,
            "one": median(each["one"] for each in rounds),
            "two": median(each["two"] for each in rounds),
            "ratio": ratio,
        }
        write_file(options.json, (json.dumps(result, indent=1) + "\n").encode())


def seconds_per_update(recipe: Path, settings: Sequence[str], processes: int) -> float:
    """Train a part of an epoch; return the clock's seconds per update between two log lines."""
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *(launcher if processes > 1 else []), "-m", "spanloom", "train"]
        command += [str(recipe), "-o", f"{folder}/model"]
        for setting in (*settings, "stages.0.num_evaluations=1", "tune_biases=false"):
            command += ["--set", setting]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, env=environment, capture_output=True)
        log = Path(f"{folder}/model.run/metrics.jsonl").read_text(encoding="utf-8")
    updates = [line for line in map(json.loads, log.splitlines()) if "losses" in line]
    first, last = updates[len(updates) // 4], updates[-1]
    if first["step"] == last["step"]:
        raise SystemExit(f"{len(updates)} lines of updates in the log: --epochs must be more")
    return float((last["seconds"] - first["seconds"]) / (last["step"] - first["step"]))


if __name__ == "__main__":
    main()
