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
from processor import processor

from spanloom.document import Document
from spanloom.model import serialization

SAID = """the a of cell protein buffer water add mix Ada Bob London company bought runs quickly red
small binds gene mouse in on with and that which he she it they said was were is are has had because
when sample tube heat cool minutes at for""".split()
LENGTHS = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 100_000]
TWICE, MOST = 2.3, 2_000  # times the time; megabytes
SHORTEST = 1.0  # seconds: what takes less says little about growth


def drawn(words: int, *, stops: bool = False) -> str:
    """Return so many words, the same ones always; with ``stops`` every 20th ends a sentence."""
    chance = random.Random(1)
    said = (chance.choice(SAID) for _ in range(words))
    return " ".join(f"{word}." if stops and n % 20 == 19 else word for n, word in enumerate(said))


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
    held = round(peak())
    document = Document(text_of(case, size))
    begun = time.process_time()
    found = next(loaded.annotate([document], names, with_tokens=True))
    seconds = time.process_time() - begun
    return {
        "case": case,
        "size": size,
        "layers": layers,
        "words": len(found["words"].spans),
        "sentences": len(found["sentences"].spans),
        "seconds": round(seconds, 2),
        "peak_mb": round(peak()),
        "peak_mb_before": held,
        "spans": sum(len(layer.spans) for layer in found.layers),
    }


def asked(model: str | None, case: str, size: int, layers: str) -> dict[str, Any]:
    """Run ``one`` in a process of its own."""
    command = [sys.executable, __file__, "--one", case, str(size), layers]
    command += ["-m", model] if model else []
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    made: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(made), flush=True)
    return made


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
    chosen = arguments.parse_args()
    if chosen.one:
        case, size, layers = chosen.one
        print(json.dumps(one(chosen.model, case, int(size), layers)))
        return
    rows = {
        layers: [asked(chosen.model, "sentence", words, layers) for words in chosen.words]
        for layers in chosen.layers
    }
    beside = []
    if chosen.megabytes:
        beside = [asked(chosen.model, "word", 1, "all")]
        beside.append(asked(chosen.model, "document", chosen.megabytes, "all"))
    growth = {layers: twice(each) for layers, each in rows.items()}
    held = max((each["peak_mb"] for made in rows.values() for each in made), default=0)
    result = {
        "processor": processor(),
        "twice": growth,
        "peak_mb": held,
        "sentences": [each for made in rows.values() for each in made],
        "beside": beside,
    }
    print(json.dumps({"twice": growth, "peak_mb": held}))
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if chosen.check and (held >= MOST or max(growth.values()) > TWICE):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
