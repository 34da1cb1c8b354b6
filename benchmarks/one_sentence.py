"""How time and memory grow with the length of one sentence without any stop, layer by layer.

    python benchmarks/one_sentence.py [-m MODEL] [--words 1000 2000 …] [--layers all upos …]
        [--megabytes 10] [--json FILE]

Words are drawn from a list, so that no sign says where a sentence might be parted. Each length is
annotated by a process of its own: CPU seconds of annotating alone, loading left out, and the most
memory the process ever held. ``twice`` is the most that a doubling costs: of lengths that take a
second at least, the next one's seconds by its own. Beside these, a document of so many megabytes
(sentences of 20 words, all layers), and a word of one megabyte amid others. ``--check`` exits with
1 where a doubling costs over 2.3 times, or 100,000 words take 2 GB.
"""

import argparse
import json
import logging
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from memory import peak

from spanloom.document import Document
from spanloom.glad.speed import processor
from spanloom.model import serialization

SAID = """the a of cell protein buffer water add mix Ada Bob London company bought runs quickly red
small binds gene mouse in on with and that which he she it they said was were is are has had because
when sample tube heat cool minutes at for""".split()
LENGTHS = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 100_000]
TWICE, MOST = 2.3, 2_000  # times the time; megabytes
SHORTEST = 1.0  # seconds: what takes less says little about growth


def drawn(words: int, *, stops: bool = False) -> str:
    """Return so many words, the same ones always; with ``stops`` every 20th ends a sentence."""
    rng = random.Random(1)
    tokens = (rng.choice(SAID) for _ in range(words))
    return " ".join(f"{word}." if stops and n % 20 == 19 else word for n, word in enumerate(tokens))


def text_of(case: str, size: int) -> str:
    """Return the text of a case; ``size`` is words, or megabytes."""
    if case == "sentence":
        return drawn(size)
    if case == "word":
        return f"{drawn(50)} {'abcde' * (size * 200_000)} {drawn(50)}"
    return drawn(size * 1_000_000 // 5, stops=True)[: size * 1_000_000]


def one(model: str | None, case: str, size: int, layers: str) -> dict[str, Any]:
    """Annotate one text in this process."""
    logging.getLogger("spanloom").setLevel(logging.ERROR)
    loaded = serialization.load(model, device="cpu")
    names = None if layers == "all" else layers.split(",")
    next(loaded.annotate([Document("Ada met Bob.")], names))  # what is made once is made
    peak_before = round(peak())
    document = Document(text_of(case, size))
    begun = time.process_time()
    annotated = next(loaded.annotate([document], names, with_tokens=True))
    seconds = time.process_time() - begun
    return {
        "case": case,
        "size": size,
        "layers": layers,
        "words": len(annotated["words"].spans),
        "sentences": len(annotated["sentences"].spans),
        "seconds": round(seconds, 2),
        "peak_mb": round(peak()),
        "peak_mb_before": peak_before,
        "spans": sum(len(layer.spans) for layer in annotated.layers),
    }


def asked(model: str | None, case: str, size: int, layers: str) -> dict[str, Any]:
    """Run ``one`` in a process of its own."""
    command = [sys.executable, __file__, "--one", case, str(size), layers]
    command += ["-m", model] if model else []
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(row), flush=True)
    return row


def twice(rows: list[dict[str, Any]]) -> float:
    """Return the most that a doubling costs; lengths between two doublings are scaled to one."""
    costs = []
    for short, long in zip(rows, rows[1:], strict=False):
        if short["seconds"] >= SHORTEST:
            scale = 2 * short["size"] / long["size"]
            costs.append(long["seconds"] / short["seconds"] * scale)
    return round(max(costs, default=0.0), 2)


def main() -> None:
    """Measure, and say how each kind of layers grows."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("-m", "--model")
    arguments.add_argument("--words", type=int, nargs="+", default=LENGTHS)
    arguments.add_argument("--layers", nargs="+", default=["all"])
    arguments.add_argument("--megabytes", type=int, default=10, help="0: no document, no word")
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        case, size, layers = options.one
        print(json.dumps(one(options.model, case, int(size), layers)))
        return
    rows = {
        layers: [asked(options.model, "sentence", words, layers) for words in options.words]
        for layers in options.layers
    }
    others = []
    if options.megabytes:
        others = [asked(options.model, "word", 1, "all")]
        others.append(asked(options.model, "document", options.megabytes, "all"))
    growth = {layers: twice(row) for layers, row in rows.items()}
    peak_mb = max((row["peak_mb"] for layer_rows in rows.values() for row in layer_rows), default=0)
    result = {
        "processor": processor(),
        "twice": growth,
        "peak_mb": peak_mb,
        "sentences": [row for layer_rows in rows.values() for row in layer_rows],
        "beside": others,
    }
    print(json.dumps({"twice": growth, "peak_mb": peak_mb}))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.check and (peak_mb >= MOST or max(growth.values()) > TWICE):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
