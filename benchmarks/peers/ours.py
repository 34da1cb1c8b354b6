"""Spanloom itself, for the same table: train a recipe of one task, annotate test, write both files.

    python benchmarks/peers/ours.py recipes/wlp.yaml DATA -o WORK/spanloom-wlp --spans main

Runs in Spanloom's environment. A model that is there is not trained again. The look at test is
noted as ``spanloom glad run`` notes it.
"""

import argparse
import shlex
import sys
from pathlib import Path

import torch
from exchange import Record, Seconds, versions, write, write_record
from export import Asked, exported, scheme_of
from score import couples, scored

from spanloom.config import recipe as recipes
from spanloom.corpora import folder
from spanloom.corpora.folder import locate
from spanloom.glad import speed
from spanloom.model import evaluation
from spanloom.model.plan import resolve
from spanloom.model.serialization import load
from spanloom.training import train


def main() -> None:
    """Write OUT/test.jsonl and OUT/record.json."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("recipe", type=Path)
    arguments.add_argument("data", type=Path, help="folder of prepared datasets")
    arguments.add_argument("-o", "--out", type=Path, required=True)
    arguments.add_argument("--set", action="append", default=[], help="as spanloom train has it")
    arguments.add_argument("--tags")
    arguments.add_argument("--tree")
    arguments.add_argument("--spans")
    arguments.add_argument("--log", type=Path, default=evaluation.LOG)
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    asked = Asked(chosen.tags, chosen.tree, chosen.spans)
    recipe, place = recipes.load(chosen.recipe, chosen.set), chosen.out / "model"
    chosen.out.mkdir(parents=True, exist_ok=True)
    training = Seconds()
    if not place.exists():
        with training.counted():
            train.train(resolve(recipe, chosen.data), place, print, device="cpu")
    model = load(str(place), device="cpu")
    took = speed.read_training_cost(place, model.recipe.stages[-1])
    data = locate(next(iter(recipe.tasks.values())).data, chosen.data)
    scheme = scheme_of(folder.read(data, "train").documents, asked)
    documents = [each for each in folder.read(data, "test").documents if asked.of(each)]
    gold = list(exported(documents, model.word_tokenizer, asked, scheme))
    texts, seconds = [each.unannotated() for each in documents], Seconds()
    list(model.annotate(texts[:3]))
    with seconds.counted():
        annotated = list(model.annotate(texts))
    found = list(exported(annotated, model.word_tokenizer, asked, scheme))
    write(found, chosen.out / "test.jsonl")
    words = sum(len(each.words) for each in gold)
    record = Record(
        peer=f"spanloom_{chosen.recipe.stem}",
        seed=model.recipe.seed,
        train_minutes=round(training.taken / 60, 3) or (took.minutes if took else None),
        words_per_second=round(words / seconds.taken, 1),
        settings={"recipe": chosen.recipe.name, "set": chosen.set, "compute": str(model.compute)},
        tries=[{"dev": took.dev, "epoch": took.epoch}] if took else [],
        versions=versions("torch", "transformers", "spanloom"),
    )
    write_record(record, chosen.out / "record.json")
    metrics = {name: each["f1"] for name, each in scored(couples(gold, found)).items()}
    look = shlex.join(sys.argv), str(place), data.name, "test", documents, model.recipe.seed
    evaluation.log_test_evaluation(chosen.log, *look, {"peers": metrics})


if __name__ == "__main__":
    main()
