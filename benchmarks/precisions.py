"""What each precision of this machine gains and loses, beside fp32.

    python benchmarks/precisions.py MODEL CORPUS [--split dev] [--words N] [--json FILE]

Speeds are words a second of CPU time, all threads counted: of text to Documents (``annotate``) and
of encoder and mix of layers alone, on each window that annotation made. Precisions take turns, and
what they gain is the median of the rounds' ratios to fp32, with the lowest and the highest. The
``difference`` is of the mixed vectors of pieces, relative to the norm of fp32's. Where the corpus
has gold, ``points`` are what the scores on the whole split change by, in percent points.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from spanloom.corpora import folder as corpora
from spanloom.document import Document
from spanloom.errors import PackageMissing
from spanloom.glad.speed import first, record_calls
from spanloom.model import serialization
from spanloom.model.evaluation import evaluate_task, map_to_task_labels, source
from spanloom.model.model import Model
from spanloom.model.precision import compute

BASE = "fp32"
Read = dict[str, Tensor]
Figures = dict[str, float]


def available() -> list[str]:
    """The precisions that this machine has, apart from fp32."""
    return [*(["bf16"] if compute("auto", "cpu").bf16 else []), "int8", "onnx"]


def loaded(source: str, precisions: Sequence[str]) -> tuple[dict[str, Model], Figures]:
    """Load a model in fp32 and in each precision; the seconds of CPU time that took, too."""
    models, seconds = {}, {}
    for name in (BASE, *precisions):
        began = time.process_time()
        try:
            models[name] = serialization.load(source, device="cpu", precision=name)
        except PackageMissing as missing:
            print(f"left out: {missing}")
        seconds[name] = round(time.process_time() - began, 2)
    return models, seconds


def windows(model: Model, texts: Sequence[Document]) -> list[Read]:
    """What the encoder is given when texts are annotated, each window without padding."""
    with record_calls(model.network.transformer.encoder) as calls:
        annotated(model, texts)
    reads = [
        {key: value for key, value in call.items() if torch.is_tensor(value)} for call in calls
    ]
    return [
        {key: value[row : row + 1, :length] for key, value in read.items()}
        for read in reads
        for row, length in enumerate(read["attention_mask"].sum(1).tolist())
    ]


def annotated(model: Model, texts: Sequence[Document]) -> None:
    """Annotate all texts."""
    for _ in model.annotate(texts, list(model.layers)):
        pass


def mixed(model: Model, reads: Sequence[Read]) -> list[Tensor]:
    """The mixed layers of windows."""
    with torch.inference_mode(), model.compute.autocast():
        return [model.network.transformer.mix_layers(read) for read in reads]


def in_turn(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of CPU time of each work, a round; one round goes ahead unmeasured."""
    spent: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            began = time.process_time()
            work()
            spent[name].append(time.process_time() - began)
    return {name: seconds[1:] for name, seconds in spent.items()}


def speed(words: int, seconds: Sequence[float], base: Sequence[float]) -> dict[str, Any]:
    """Words a second of the best round, and the median gain."""
    gains = sorted(
        base_seconds / own_seconds for own_seconds, base_seconds in zip(seconds, base, strict=True)
    )
    return {
        "words_per_cpu_second": round(words / min(seconds)),
        "times_fp32": round(median(gains), 2),
        "times_fp32_range": [round(gains[0], 2), round(gains[-1], 2)],
    }


def difference(model: Model, base: Sequence[Tensor], reads: Sequence[Read]) -> Figures:
    """How far the vectors of pieces are from fp32's, in parts of those."""
    parts = []
    for vectors, base_vectors in zip(mixed(model, reads), base, strict=True):
        parts.append((vectors - base_vectors).norm(dim=-1) / base_vectors.norm(dim=-1))
    differences = torch.cat([part.flatten() for part in parts])
    return {
        "mean": float(f"{differences.mean():.2g}"),
        "largest": float(f"{differences.max():.2g}"),
    }


def points(model: Model, data: Path, documents: Sequence[Document]) -> Figures:
    """The scores of all tasks that the corpus has gold for, in percent."""
    rows = {}
    for name, task in model.tasks.items():
        if not task.predicts:
            continue
        planned = model.plan.tasks[name]
        seen = map_to_task_labels(planned, source(planned, data), documents)
        report = evaluate_task(model, name, seen, lambda message: None)
        metrics = {} if report is None else task.metrics(report)
        rows |= {f"{name}.{key}": 100 * value for key, value in metrics.items()}
    return rows


def main() -> None:
    """Measure all precisions and print one JSON object."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model")
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--split", default="dev")
    arguments.add_argument("--words", type=int, default=20_000, help="of the split, to time")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--precisions", default=",".join(available()), help="beside fp32")
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    models, seconds = loaded(options.model, options.precisions.split(","))
    documents = corpora.read(options.data, options.split).documents
    base = models[BASE]
    if base.network.transformer is None:
        raise SystemExit("expected a model with a transformer")
    texts = first(base, [item.unannotated() for item in documents], options.words)
    words = sum(len(base.tokenize(item).words) for item in texts)
    reads = windows(base, texts)
    jobs = {name: lambda model=item: annotated(model, texts) for name, item in models.items()}
    alone = {name: lambda model=item: mixed(model, reads) for name, item in models.items()}
    wholes, encoders = in_turn(jobs, options.rounds), in_turn(alone, options.rounds)
    vectors, gold = mixed(base, reads), points(base, options.data, documents)
    rows = {}
    for name, model in models.items():
        lost = points(model, options.data, documents) if name != BASE else gold
        rows[name] = {
            "load_cpu_seconds": seconds[name],
            "annotate": speed(words, wholes[name], wholes[BASE]),
            "encoder": speed(words, encoders[name], encoders[BASE]),
            "difference": difference(model, vectors, reads),
            "points": {key: round(lost[key] - value, 2) for key, value in gold.items()},
        }
    result = {
        "model": Path(options.model).name,
        "data": options.data.name,
        "words_timed": words,
        "documents_scored": len(documents),
        "threads": torch.get_num_threads(),
        "rounds": options.rounds,
        "fp32": {key: round(value, 2) for key, value in gold.items()},
        "precisions": rows,
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
