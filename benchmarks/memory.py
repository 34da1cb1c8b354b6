"""Memory that annotating one long sentence takes above the loaded model.

    python benchmarks/memory.py MODEL [--words 200] [--width 30] [--json FILE]

The head is made anew for that width, with random weights, so that it keeps many more spans than a
trained one: the worst case for pairs. Linux only (peak resident memory of the process).
"""

import argparse
import json
import resource
from pathlib import Path

import torch

from spanloom.model import serialization
from spanloom.model.model import Model


def widened(model: Model, width: int) -> Model:
    """The same model with freshly made heads for spans of up to ``width`` words."""
    collected = {
        name: {**vocabulary, "width": width} if "width" in vocabulary else vocabulary
        for name, vocabulary in model.recipe.vocabulary.items()
    }
    plan = model.plan.with_vocabulary(model.recipe.vocabulary | collected)
    tasks = plan.build_tasks()
    torch.manual_seed(1)
    for name, task in tasks.items():
        head_name = model.network.routes[name].head
        model.network.heads[head_name] = task.build_head(
            model.network.head_input_specs[head_name]
        ).eval()
    return Model(
        plan, model.word_tokenizer, model.subword_tokenizer, model.network, tasks, model.compute
    )


def peak() -> float:
    """Peak resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Warm up on a short sentence, then annotate the long one."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--words", type=int, default=200)
    arguments.add_argument("--width", type=int, default=30)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    model = widened(serialization.load(options.model, device="cpu"), options.width)
    model("Add 5 ml of the buffer to the tube.")
    before = peak()
    plenty = "add five drops of cold buffer to the tube and mix gently by hand".split()
    long = " ".join(plenty[row % len(plenty)] for row in range(options.words))
    layer = next(iter(model(long).layers))
    result = {
        "words": options.words,
        "width": options.width,
        "before_mb": round(before, 1),
        "above_mb": round(peak() - before, 1),
        "spans_kept": len(layer.spans),
        "relations_kept": len(layer.relations),
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
