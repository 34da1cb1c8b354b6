"""What `spanloom train PATH` reaches beside a recipe by hand, on twelve shapes of data.

    python benchmarks/twelve_shapes.py --data FOLDER [--only TEXT] [--minutes 8] [--json FILE]

FOLDER has the corpora as `spanloom glad prepare` writes them; one shape is made here, and those
that are missing are skipped. Each shape is one layer of a corpus, copied alone: `train PATH` gets
the copy, the recipe by hand is the proposed one with its task replaced. Both sides train the same
minutes of wall clock, one after the other, and are scored on dev by the first metric of the task by
hand. Printed is a line per shape; JSON has both tasks, both scores and their ratio.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanloom.corpora import folder as corpora
from spanloom.document import GIVEN_WORDS, MAIN, Document, Layer, Span
from spanloom.formats import jsonl

TASK = "task"  # the name of the task in the recipe by hand
ENOUGH = 0.95  # of the score of the recipe by hand
GRACE = 600  # seconds until a training that was stopped has written its model
PARTS = "parts"  # the layer of two texts, which tasks read
Task = Mapping[str, Any]


@dataclass(frozen=True)
class Shape:
    """A shape of data: a layer of a corpus or what makes one, and its task by hand.

    Without the name of a layer it is the only one of the corpus.
    """

    name: str
    corpus: str
    layer: str
    task: Task
    make: Callable[[], dict[str, list[Document]]] | None = None


def doubly_labelled() -> dict[str, list[Document]]:
    """Return sentences in which each name has a kind and a role."""
    rng = random.Random(1)
    kinds = {"Ada": "person", "Bob": "person", "Oslo": "place", "Rome": "place", "Acme": "firm"}
    splits: dict[str, list[Document]] = {}
    for split, size in (("train", 400), ("dev", 100)):
        splits[split] = []
        for number in range(size):
            first, second = rng.sample(sorted(kinds), 2)
            text = f"{first} {rng.choice(['saw', 'left', 'sold', 'met'])} {second} ."
            start = text.rindex(second)
            ends = (
                ((0, len(first)), "agent", first),
                ((start, start + len(second)), "patient", second),
            )
            labels = [
                (label, bounds) for bounds, role, name in ends for label in (kinds[name], role)
            ]
            spans = tuple(
                Span(f"T{row}", label, (bounds,)) for row, (label, bounds) in enumerate(labels, 1)
            )
            splits[split].append(Document(text, (Layer(MAIN, spans),), f"d{number}"))
    return splits


RELATIONS = {"kind": "relations", "spans_per_word": 0.4}
COREFERENCE = {"kind": "coreference", "antecedents": "coarse", "max_span_width": 12}
SHAPES = [
    Shape("brat entities", "uner-ewt", "entities", {"kind": "entities"}),
    Shape("brat relations", "conll04", "entities", RELATIONS),
    Shape("brat events", "wlp", MAIN, RELATIONS),
    Shape("nested", "gum", "entities", {"kind": "entities", "attributes": False}),
    Shape("doubly labelled", "", MAIN, {"kind": "entities", "multi_label": True}, doubly_labelled),
    Shape("columns", "wnut17", "entities", {"kind": "entities"}),
    Shape("treebank", "ewt", "dependency", {"kind": "dependency", "hidden_size": 384}),
    Shape("classes", "sst2", "", {"kind": "text_classification"}),
    Shape("two texts with a number", "stsb", "", {"kind": "extractive_regression"}),
    Shape("questions", "qamr", "", {"kind": "extractive_qa"}),
    Shape("coreference", "litbank-coref", "coreference", COREFERENCE),
    Shape("aspects", "semeval2014-laptops", "aspects", {"kind": "aspects"}),
]


def copy(shape: Shape, data: Path, out: Path) -> str | None:
    """Write train and dev of a shape with its layer alone; return its name, None without data."""
    if shape.make is not None:
        splits = shape.make()
    elif (data / shape.corpus).exists():
        root = data / shape.corpus
        splits = {split: list(corpora.read(root, split).documents) for split in ("train", "dev")}
    else:
        return None
    names = {layer.name for document in splits["train"] for layer in document.layers}
    chosen = shape.layer or sorted(names - {PARTS, *GIVEN_WORDS})[0]
    kept = {chosen, PARTS, *GIVEN_WORDS}
    for split, documents in splits.items():
        jsonl.write(
            out / f"{split}.jsonl",
            (
                replace(
                    doc, layers=tuple(one for one in doc.layers if one.name in kept), source=None
                )
                for doc in documents
                if doc.has_layer(chosen)
            ),
        )
    return chosen


def by_hand(shape: Shape, layer: str, folder: Path) -> Path:
    """Write the proposed recipe with the task by hand; return its path."""
    from spanloom.config import recipe as recipes
    from spanloom.config import yaml
    from spanloom.training.auto_recipe import propose_recipe

    raw = recipes.to_plain(propose_recipe(folder, str(folder)).recipe)
    raw["tasks"] = {TASK: {"data": str(folder), "layer": layer, **shape.task}}
    for stage in raw["stages"]:
        stage["tasks"] = [TASK]
    path = folder.with_name("recipe.yaml")
    path.write_text(yaml.dump(raw), encoding="utf-8")
    return path


def trained(source: Path, data: Path, out: Path, minutes: float) -> dict[str, dict[str, float]]:
    """Train till time is up, and return the metrics on dev by task.

    A training without a model ends the program with what it said.
    """
    command = [sys.executable, "-m", "spanloom"]
    train = [*command, "train", str(source), "-o", str(out), "--set", "stages.0.epochs=1000"]
    with subprocess.Popen(train, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            said, _ = process.communicate(timeout=60 * minutes)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # it ends after an update, with its best model
            said, _ = process.communicate(timeout=GRACE)
    best = out if (out / "manifest.json").is_file() else out.with_name(f"{out.name}.run") / "best"
    if not (best / "manifest.json").is_file():
        raise SystemExit(f"{source}: no model after {minutes:g} minutes\n{said.decode()}")
    evaluate = [*command, "evaluate", str(best), str(data), "--split", "dev", "--json"]
    scores = json.loads(subprocess.run(evaluate, check=True, capture_output=True).stdout)
    return {task: entry["metrics"] for task, entry in scores["tasks"].items()}


def compare(shape: Shape, data: Path, minutes: float) -> dict[str, Any] | None:
    """Train both sides; None for a corpus that is missing."""
    from spanloom.training.auto_recipe import propose_recipe

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        folder.mkdir()
        layer = copy(shape, data, folder)
        if layer is None:
            return None
        proposed = propose_recipe(folder, str(folder)).recipe.tasks
        (task,) = (task for task in proposed.values() if task.layer == layer)
        recipe = by_hand(shape, layer, folder)
        own = trained(recipe, folder, folder.with_name("by-hand"), minutes)[TASK]
        auto = next(iter(trained(folder, folder, folder.with_name("proposed"), minutes).values()))
    metric = next(iter(own))
    scores = own[metric], auto.get(metric, 0.0)
    return {
        "shape": shape.name,
        "by_hand": dict(shape.task),
        "proposed": {"kind": task.kind, **task.options},
        "metric": metric,
        "minutes": minutes,
        "scores": {"by_hand": scores[0], "proposed": scores[1]},
        "ratio": scores[1] / scores[0] if scores[0] else 1.0,
    }


def main() -> int:
    """Compare all shapes; the status is 1 if one is below what is enough."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for shape in (shape for shape in SHAPES if options.only in shape.name):
        row = compare(shape, options.data, options.minutes)
        if row is None:
            print(f"{shape.name}: no {shape.corpus} in {options.data}")
            continue
        rows.append(row)
        scores = row["scores"]
        print(
            f"{shape.name}: {row['metric']} {100 * scores['proposed']:.1f} proposed, "
            f"{100 * scores['by_hand']:.1f} by hand, {100 * row['ratio']:.0f} %",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(any(row["ratio"] < ENOUGH for row in rows))


if __name__ == "__main__":
    sys.exit(main())
