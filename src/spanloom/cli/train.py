"""``spanloom train``: a recipe, or bare data, becomes a model."""

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.options import plugin_options
from spanloom.errors import DataError, StorageError, TrainingError

if TYPE_CHECKING:
    from spanloom.config.recipe import Recipe
    from spanloom.training.checkpoint import Progress

RECIPES = (".yaml", ".yml", ".json")


def train(
    source: Annotated[
        Path, typer.Argument(metavar="RECIPE|FOLDER|FILE", help="recipe .yaml, or data")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="MODEL", help="the model's folder")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="stages.0.epochs=3")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on where a run stopped")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="read, build, tell sizes; train nothing")
    ] = False,
    device: Annotated[str | None, typer.Option(help="cpu | cuda; where it is fastest")] = None,
) -> None:
    """Train a model: from a recipe, or from a folder or .jsonl by a recipe made from it.

    Example: spanloom train protocols/ -o runs/protocols

    Example: spanloom train recipe.yaml -o runs/mine --set stages.0.epochs=3 --dry-run
    """
    recipe, near = _recipe(source, settings or [])
    _refuse_foreign(out)
    _silence()
    if dry_run:
        _tell_sizes(recipe, near, device)
        return
    from spanloom.training import train

    began = time.monotonic()
    train.home(out).mkdir(parents=True, exist_ok=True)  # what cannot be written shows before work
    try:
        progress = train.train(recipe, near, out, log, resume=resume, device=device)
    except KeyboardInterrupt as interrupt:
        if int(os.environ.get("RANK", "0")):  # the first of several processes tells it
            raise typer.Exit(1) from None
        left = f"{interrupt}; " if str(interrupt) else ""
        again = _again(source, out, settings or [], device)
        raise TrainingError(f"interrupted; {left}to go on: {again}") from None
    _tell_end(progress, out, time.monotonic() - began)


def _again(source: Path, out: Path, settings: list[str], device: str | None) -> str:
    """The command that goes on where this one stopped, as a shell reads it."""
    made = [part for each in settings for part in ("--set", each)]
    made += [] if device is None else ["--device", device]
    rest = ["train", str(source), "-o", str(out), *made, *plugin_options(), "--resume"]
    world, here = (int(os.environ.get(name, "1")) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    if world == 1:
        return shlex.join([*_program(), *rest])
    torchrun = ["torchrun", "--nproc-per-node", str(here), "-m", "spanloom"]
    if world > here:
        return f"{shlex.join(['spanloom', *rest])}, under torchrun on each machine as before"
    return shlex.join([*torchrun, *rest])


def _program() -> list[str]:
    """How this program was called."""
    as_module = Path(sys.argv[0]).name == "__main__.py"
    return [sys.executable, "-m", "spanloom"] if as_module else ["spanloom"]


def _recipe(source: Path, settings: list[str]) -> tuple["Recipe", Path]:
    """Return the recipe and the folder that its paths start from."""
    from spanloom.config import recipe as recipes
    from spanloom.corpora.files import is_file

    if source.suffix in RECIPES and not (source.suffix == ".json" and is_file(source)):
        return recipes.load(source, settings), source.parent
    if not source.exists():
        raise DataError(f"{source}: no such recipe, folder or file")
    if not source.is_dir() and not is_file(source):
        raise WrongUse(f"{source}: expected a recipe (.yaml), a folder or a file of documents")
    from spanloom.training.auto_recipe import propose_recipe

    found = propose_recipe(source, str(source.absolute()))
    for keys, note in found.notes.items():
        if len(keys) == 2:
            log(f"task {keys[1]}: {note}")
    return recipes.loads(recipes.dumps(found.recipe), str(source), settings), Path()


def _refuse_foreign(out: Path) -> None:
    """Refuse to train towards a place that could not be written in the end."""
    if not os.path.lexists(out):
        return
    if not out.is_dir() or out.is_symlink():
        raise StorageError(f"{out}: expected a folder or nothing, something else is there")
    if any(out.iterdir()) and not (out / "manifest.json").is_file():
        raise StorageError(f"{out}: is no model of ours and is not empty; choose another -o")


def _silence() -> None:
    """Have the transformers library draw no bars of its own."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def _tell_sizes(recipe: "Recipe", near: Path, device: str | None) -> None:
    from spanloom.training import batch_schedule, train

    model, prepared = train.fresh(recipe, near, device)
    for line in prepared.notes:
        write_stdout(line)
    weights = list(model.network.parameters())
    learnt = sum(each.numel() for each in weights if each.requires_grad)
    write_stdout(f"{sum(each.numel() for each in weights):,} weights, {learnt:,} of them learnt")
    for number, stage in enumerate(recipe.stages):
        seed = f"{recipe.seed}/{number}"
        window, cutter = recipe.window, model.tokenize_prompt
        updates = batch_schedule.draw_epoch(
            stage, prepared.data, seed=seed, number=0, window=window, cutter=cutter
        )
        words = sum(
            len(unit.tokens) for draws in updates for draw in draws for unit in draw.instances
        )
        write_stdout(
            f"stage {number}: {stage.epochs:g} epochs of {words:,} words, "
            f"about {len(updates)} updates each, {round(len(updates) * stage.epochs)} in all"
        )
    write_stdout(f"computing on {model.compute}; nothing was trained (--dry-run)")


def _tell_end(progress: "Progress", out: Path, seconds: float) -> None:
    from spanloom.training.loop import OWN
    from spanloom.training.train import home

    for name, value in progress.metrics.items():
        write_stdout(f"dev {name}: {100 * value:.2f}")
    for task, value in progress.best_per_task.items():
        write_stdout(f"dev {task} at its own best: {100 * value:.2f} ({home(out) / OWN / task})")
    write_stdout(
        f"trained {progress.seconds:.0f} s on the clock ({seconds:.0f} s with reading and dev), "
        f"{progress.cpu_seconds:.0f} s of CPU, {progress.global_step} updates"
    )
    write_stdout(f"model: {out}")
    write_stdout(f'next: spanloom annotate "…" -m {out}')
