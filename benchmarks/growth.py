"""How time and memory grow with the length of one text, all layers annotated.

    python benchmarks/growth.py MODEL TEXT [--words 100000 200000] [--json FILE]

TEXT is repeated to so many words, and annotated as one document by a process of its own: CPU
seconds of annotating alone, loading left out, and the most memory the process ever held, all in.
"""

import argparse
import json
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

from memory import peak

from spanloom.document import Document
from spanloom.model import serialization


def text_of(path: Path, words: int) -> str:
    """Return so many words of a text, begun anew as often as needed."""
    lines = [line for line in path.read_text("utf-8").split("\n") if line.strip()]
    taken: list[str] = []
    for line in cycle(lines):
        tokens = line.split()[:words]
        taken.append(" ".join(tokens))
        words -= len(tokens)
        if words <= 0:
            return "\n\n".join(taken)
    raise SystemExit(f"{path}: expected a text with words, found none")


def one(model: str, path: Path, words: int) -> dict[str, float]:
    """Annotate one text in this process."""
    loaded = serialization.load(model, device="cpu")
    document = Document(text_of(path, words), name="long")
    next(loaded.annotate([Document("Ada met Bob.")]))  # what is made once is made
    begun = time.process_time()
    annotated = next(loaded.annotate([document], list(loaded.layers)))
    seconds = time.process_time() - begun
    peak_before = round(peak())
    spans = sum(len(layer.spans) for layer in annotated.layers)
    return {"words": words, "seconds": round(seconds, 2), "peak_mb": peak_before, "spans": spans}


def main() -> None:
    """Measure each length in a process of its own, and say how the last is to the first."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model")
    arguments.add_argument("text", type=Path)
    arguments.add_argument("--words", type=int, nargs="+", default=[100_000, 200_000])
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    if len(options.words) == 1:
        print(json.dumps(one(options.model, options.text, options.words[0])))
        return
    rows = []
    for words in options.words:
        command = [
            sys.executable,
            __file__,
            options.model,
            str(options.text),
            "--words",
            str(words),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(rows[-1]))
    growth = rows[-1]["seconds"] / rows[0]["seconds"]
    result = {"text": options.text.name, "lengths": rows, "growth": round(growth, 3)}
    print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
