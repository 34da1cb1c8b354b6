"""``spanloom tune``: move the line between "none" and labels, on dev, without training."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.console import write_stdout
from spanloom.cli.output_places import check_is_not_model
from spanloom.errors import NameNotFound


def tune(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="model folder or hub id")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="MODEL", help="the tuned one")],
    data: Annotated[
        Path, typer.Option("--data", metavar="DIR", help="where the corpora of its recipe are")
    ],
    tasks: Annotated[
        list[str] | None, typer.Option("--task", metavar="NAME", help="only this task; repeatable")
    ] = None,
) -> None:
    """Tune the biases of a model's decisions on the dev data of its recipe; weights stay.

    Training does the same at its end, unless its recipe has tune_biases: false.

    Example: spanloom tune runs/mine -o runs/tuned --data corpora/
    """
    from spanloom.config import recipe as recipes
    from spanloom.model import serialization
    from spanloom.training import biases
    from spanloom.training.split_corpus import read_dev

    check_is_not_model(out, model)
    loaded = serialization.load(model)
    for name in tasks or ():
        if name not in loaded.tasks:
            raise NameNotFound("task", name, loaded.tasks)
    names = tasks or [name for name, task in loaded.tasks.items() if task.decisions]
    dev = read_dev(replace(loaded.plan, recipe_dir=data), names)
    tuned, metrics = biases.tune(loaded, dev, names)
    serialization.rewrite(model, {serialization.RECIPE: recipes.dumps(tuned.recipe)}, out)
    for name in names:
        if name not in metrics:
            write_stdout(f"{name}: not tuned, its dev data have too few annotations")
            continue
        chosen = tuned.recipe.biases.get(name, {})
        shown = ", ".join(f"{decision} {bias:+g}" for decision, bias in chosen.items())
        scores = ", ".join(f"{key} {100 * value:.2f}" for key, value in metrics[name].items())
        write_stdout(f"{name}: biases {shown or 'stay 0'}; dev {scores}")
    write_stdout(f"model: {out}")
