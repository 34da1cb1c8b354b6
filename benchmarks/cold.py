"""CPU seconds of ``spanloom annotate "…"`` in a fresh process, beside those of ``import torch``.

    python benchmarks/cold.py [--rounds 7] [--json FILE]

The two alternate. Modules are compiled before, as they are where a package was installed.
"""

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

import spanloom

TEXT = "Ada met Bob in London."
COMMANDS = {
    "import_torch": ("-c", "import torch"),
    "annotate": ("-m", "spanloom", "annotate", TEXT, "--tasks", "ner"),
}


def cpu_seconds(arguments: tuple[str, ...]) -> float:
    """Return the CPU seconds of a Python process, all its threads; raises if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Time both in turn, and print medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    compileall.compile_dir(Path(spanloom.__file__).parent, quiet=1)
    rounds = [
        {name: round(cpu_seconds(arguments), 2) for name, arguments in COMMANDS.items()}
        for _ in range(args.rounds)
    ]
    result = {
        "rounds": rounds,
        **{name: median(seconds[name] for seconds in rounds) for name in COMMANDS},
        "ratio": round(median(r["annotate"] / r["import_torch"] for r in rounds), 2),
    }
    print(json.dumps(result, indent=1))
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
