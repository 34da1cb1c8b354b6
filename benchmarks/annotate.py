"""Speed of annotation, end to end, beside the bare encoder on the same batches in the same run.

    python benchmarks/annotate.py MODEL FOLDER [--tasks NAME,…] [--precision int8] [--repeat 5]
        [--json FILE]

Words a second of CPU time, all threads counted, so one number a core. Text goes in and Documents
come out on one side; on the other the encoder alone reads what annotation hands it, already made
(``spanloom.glad.speed``, as in the rows of the board; none without a transformer, or where
onnxruntime computes it). Reading texts as JSON lines, and writing the Documents as JSON lines and
as brat files, is timed apart, and added for the way from file to file.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import TypeVar

from spanloom.corpora import folder as corpora
from spanloom.document import Document
from spanloom.formats import jsonl
from spanloom.formats.brat import write as brat
from spanloom.glad.speed import processor, speeds
from spanloom.model import serialization

T = TypeVar("T")


def main() -> None:
    """Measure both in turn, print the best of each and the median ratio."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--split", default="dev")
    arguments.add_argument("--tasks", help="names with commas (default: all)")
    arguments.add_argument("--precision", default="auto")
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    model = serialization.load(options.model, precision=options.precision, device="cpu")
    texts = [
        document.unannotated() for document in corpora.read(options.data, options.split).documents
    ]
    names = options.tasks.split(",") if options.tasks else list(model.layers)
    rates = speeds(model, texts, names, rounds=options.repeat)
    result: dict[str, object] = {
        "processor": processor(),
        "model": options.model.name,
        "tasks": names,
        "documents": len(texts),
        "words": rates.words,
        "compute": str(model.compute),
        "annotate_words_per_cpu_second": round(rates.annotated),
    }
    if rates.encoder is not None and rates.ratio is not None:  # torch computes it
        result |= {
            "bare_encoder_words_per_cpu_second": round(rates.encoder),
            "ratio_median": round(rates.ratio, 3),
            "ratio_range": [round(rates.ratios[0], 3), round(rates.ratios[-1], 3)],
        }
    lines = jsonl.dumps(texts)
    reading = min(_seconds(_read_json, lines) for _ in range(options.repeat))
    result["read_ms_per_1000_words"] = round(1e6 * reading / rates.words, 1)
    annotated = list(model.annotate(texts, names))
    for name, write in (("json", _write_json), ("brat", _write_brat)):
        seconds = min(_seconds(write, annotated) for _ in range(options.repeat))
        result[f"{name}_ms_per_1000_words"] = round(1e6 * seconds / rates.words, 1)
        total = reading + rates.words / rates.annotated + seconds
        result[f"annotate_to_{name}_words_per_cpu_second"] = round(rates.words / total)
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _read_json(lines: str) -> None:
    for _ in jsonl.loads(lines):
        pass


def _write_json(documents: Sequence[Document]) -> None:
    jsonl.dumps(documents).encode()


def _write_brat(documents: Sequence[Document]) -> None:
    for document in documents:
        for text in brat.parts(document).values():
            text.encode()


def _seconds(use: Callable[[T], None], value: T) -> float:
    """Return the CPU seconds of one use of a value."""
    start = process_time()
    use(value)
    return process_time() - start


if __name__ == "__main__":
    main()
