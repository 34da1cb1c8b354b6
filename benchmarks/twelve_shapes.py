"""What `spanloom train PATH` reaches beside a recipe by hand, on twelve shapes of data.

    python benchmarks/twelve_shapes.py --data FOLDER [--only TEXT] [--scale 1] [--json FILE]

FOLDER has the corpora as `spanloom glad prepare` writes them; one shape is made here, and those
that are missing are skipped. Each shape is one layer of a corpus, copied alone: `train PATH` gets
the copy and nothing else; the recipe by hand is the one of the repository that its row on the page
of benchmarks was trained with. Both train equally many epochs, which take one core about four
minutes (`--scale` times as many), at the same time on one core each, and are scored on dev by the
first metric of the task by hand. Printed is a line per shape; JSON has both tasks, scores and
minutes of the processor, by shape. A file of an earlier run is added to: its shapes are not run
again.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from spanloom.corpora import folder as corpora
from spanloom.document import GIVEN_WORDS, MAIN, Document, Layer, Span
from spanloom.formats import jsonl

ROOT = Path(__file__).resolve().parent.parent
ENOUGH = 0.95  # of the score of the recipe by hand
PARTS = "parts"  # the layer of two texts, which tasks read
Task = Mapping[str, Any]


class Trained(NamedTuple):
    """Scores on dev by metric, and minutes of the processor."""

    metrics: dict[str, float]
    minutes: float


@dataclass(frozen=True)
class Shape:
    """A shape of data: a layer of a corpus, or what makes it, and its recipe by hand.

    ``epochs`` take one core about four minutes. ``task`` replaces the task of the recipe.
    """

    name: str
    corpus: str
    layer: str
    recipe: str
    epochs: float
    task: Task | None = None
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


GLAD = "recipes/glad"
SPEX = "recipes/papers/spex-bert-keskar2019/tasks"
SHAPES = [
    Shape("brat entities", "uner-ewt", "entities", f"{GLAD}/uner-ewt.yaml", 1),
    Shape("brat relations", "conll04", "entities", f"{GLAD}/conll04.yaml", 8),
    Shape("brat events", "wlp", MAIN, "recipes/wlp.yaml", 2),
    Shape("nested", "gum", "entities", f"{GLAD}/gum-entities.yaml", 1.5),
    Shape(
        "doubly labelled",
        "",
        MAIN,
        f"{GLAD}/wnut17.yaml",
        20,
        {"kind": "entities", "hidden_size": 256, "dropout": 0.35, "multi_label": True},
        doubly_labelled,
    ),
    Shape("columns", "wnut17", "entities", f"{GLAD}/wnut17.yaml", 3),
    Shape("treebank", "ewt", "dependency", f"{GLAD}/ewt-dependency.yaml", 1),
    Shape("classes", "sst2", "label", f"{SPEX}/sst2.yaml", 2, {"kind": "text_classification"}),
    Shape("two texts with a number", "stsb", "label", f"{SPEX}/stsb.yaml", 2),
    Shape("questions", "qamr", "answers", f"{SPEX}/qamr.yaml", 1),
    Shape("coreference", "litbank-coref", "coreference", f"{GLAD}/litbank.yaml", 1.25),
    Shape("aspects", "semeval2014-laptops-e2e", "aspects", f"{GLAD}/absa-laptops-e2e.yaml", 5),
]


def copy(shape: Shape, data: Path, out: Path) -> bool:
    """Write train and dev of a shape with its layer alone; False where the corpus is missing."""
    if shape.make is not None:
        splits = shape.make()
    elif (data / shape.corpus).exists():
        root = data / shape.corpus
        splits = {split: list(corpora.read(root, split).documents) for split in ("train", "dev")}
    else:
        return False
    kept = {shape.layer, PARTS, *GIVEN_WORDS}
    for split, documents in splits.items():
        jsonl.write(
            out / f"{split}.jsonl",
            (
                replace(doc, layers=tuple(layer for layer in doc.layers if layer.name in kept))
                for doc in (replace(document, source=None) for document in documents)
                if doc.has_layer(shape.layer)
            ),
        )
    return True


def by_hand(shape: Shape, folder: Path) -> tuple[Path, Task]:
    """Write the recipe by hand for the data in a folder; return its path and its task."""
    from spanloom.config import recipe as recipes
    from spanloom.config import yaml

    raw = recipes.to_plain(recipes.load(ROOT / shape.recipe))
    ((name, task),) = raw["tasks"].items()
    chosen = dict(shape.task or task)
    raw["tasks"] = {name: {**chosen, "data": str(folder), "layer": shape.layer}}
    path = folder.with_name("recipe.yaml")
    path.write_text(yaml.dump(raw), encoding="utf-8")
    return path, chosen


def train(source: Path, data: Path, out: Path, epochs: float) -> Trained:
    """Train so many epochs, and return the scores on dev and the processor's minutes.

    A training that fails ends the program with what it said.
    """
    command = [sys.executable, "-m", "spanloom"]
    length = [f"stages.0.epochs={epochs:g}", f"stages.0.eval_every_epochs={epochs / 2:g}"]
    settings = [part for setting in length for part in ("--set", setting)]
    log = out.with_name(f"{out.name}.log")
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, "train", str(source), "-o", str(out), *settings],
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{source}: training failed\n{log.read_text(encoding='utf-8')}")
    evaluate = [*command, "evaluate", str(out), str(data), "--split", "dev", "--json"]
    scored = subprocess.run(evaluate, check=True, capture_output=True)
    (task,) = json.loads(scored.stdout)["tasks"].values()
    return Trained(task["metrics"], (usage.ru_utime + usage.ru_stime) / 60)


def compare(shape: Shape, data: Path, scale: float) -> dict[str, Any] | None:
    """Train both sides at the same time; None for a corpus that is missing."""
    from spanloom.training.auto_recipe import propose_recipe

    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name) / "data"
        folder.mkdir()
        if not copy(shape, data, folder):
            return None
        (proposed,) = propose_recipe(folder, str(folder)).recipe.tasks.values()
        recipe, task = by_hand(shape, folder)
        epochs = scale * shape.epochs
        runs = {
            side: pool.submit(train, source, folder, folder.with_name(side), epochs)
            for side, source in (("by_hand", recipe), ("proposed", folder))
        }
        trained = {side: run.result() for side, run in runs.items()}
    metric = next(iter(trained["by_hand"].metrics))
    scores = {side: run.metrics.get(metric, 0.0) for side, run in trained.items()}
    return {
        "corpus": shape.corpus or "made",
        "recipe": shape.recipe,
        "by_hand": task,
        "proposed": {"kind": proposed.kind, **proposed.options},
        "epochs": epochs,
        "minutes": {side: round(run.minutes, 2) for side, run in trained.items()},
        "metric": metric,
        "scores": scores,
        "ratio": scores["proposed"] / scores["by_hand"] if scores["by_hand"] else 1.0,
    }


def main() -> int:
    """Compare all shapes; the status is 1 if one is below what is enough."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text(encoding="utf-8"))
    for shape in (shape for shape in SHAPES if options.only in shape.name):
        if shape.name in rows:
            print(f"{shape.name}: done before")
            continue
        row = compare(shape, options.data, options.scale)
        if row is None:
            print(f"{shape.name}: no {shape.corpus} in {options.data}")
            continue
        rows[shape.name] = row
        scores, minutes = row["scores"], row["minutes"]
        print(
            f"{shape.name}: {row['metric']} {100 * scores['proposed']:.1f} proposed, "
            f"{100 * scores['by_hand']:.1f} by hand, {100 * row['ratio']:.0f} % "
            f"({minutes['proposed']:.1f} and {minutes['by_hand']:.1f} minutes)",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(any(row["ratio"] < ENOUGH for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
