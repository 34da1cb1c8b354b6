"""``spanloom init``, ``train`` and ``quantize``: a recipe from data, a model, a smaller model."""

import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli.console import StatusLine, log, write_stdout
from spanloom.cli.options import Encoding, pairs, plugin_options
from spanloom.cli.output_places import check_is_not_model
from spanloom.errors import StorageError, TrainingError
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.model.plan import Plan
    from spanloom.training.checkpoint import Progress
    from spanloom.training.progress_line import LogIntervals

Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="LAYER=KIND",
        help="learn a layer as another kind; docs/recipes.md lists them",
    ),
]
_STATUS_SECONDS = 0.5  # that a line on the terminal stands


def train(
    source: Annotated[
        Path, typer.Argument(metavar="RECIPE|FOLDER|FILE", help="recipe .yaml, or data")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="MODEL", help="the model's folder")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="change a key of the recipe, as stages.0.epochs=3"
        ),
    ] = None,
    kinds: Kinds = None,
    encoding: Encoding = "utf-8",
    resume: Annotated[bool, typer.Option("--resume", help="go on where a run stopped")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="read, build, estimate time and memory; train nothing")
    ] = False,
    device: Annotated[
        str | None, typer.Option(help="cpu | cuda; by default cuda if there is one")
    ] = None,
) -> None:
    """Train a model: from a recipe, or from a folder or file of data by a recipe made from it.

    Example: spanloom train protocols/ -o runs/protocols

    Example: spanloom train reviews.csv -o runs/reviews --kind label=extractive_classification

    Example: spanloom train recipe.yaml -o runs/mine --set stages.0.epochs=3 --dry-run
    """
    from transformers.utils import logging

    from spanloom.model.plan import resolve
    from spanloom.training import train
    from spanloom.training.from_data import read_recipe

    recipe, recipe_dir = read_recipe(
        source, settings or [], log, pairs("--kind", kinds or ()), encoding
    )
    train.refuse_foreign(out)

    logging.disable_progress_bar()
    plan = resolve(recipe, recipe_dir)
    if dry_run:
        print_sizes(plan, device)
        return

    began = time.monotonic()
    # what cannot be written shows before work
    train.run_folder(out).mkdir(parents=True, exist_ok=True)
    options = [part for kind in kinds or () for part in ("--kind", kind)]
    options += [] if encoding == "utf-8" else ["--encoding", encoding]
    command = resume_command("train", source, out, settings or [], options, device)
    with resumable(command) as (line, pace):
        progress = train.train(plan, out, line.log, resume=resume, pace=pace, device=device)
    _print_end(progress, out, time.monotonic() - began)


@contextmanager
def resumable(command: str) -> "Iterator[tuple[StatusLine, LogIntervals]]":
    """Yield a line of progress and how often a run says what; ``command`` resumes the run.

    Raises ``TrainingError`` with that command for an interrupt.
    """
    from spanloom.training.progress_line import LogIntervals, Status

    line = StatusLine()
    status = Status(line.show, _STATUS_SECONDS) if sys.stderr.isatty() else None
    try:
        yield line, LogIntervals(status=status)
    except KeyboardInterrupt as interrupt:
        if int(os.environ.get("RANK", "0")):  # only the first of several processes reports
            raise typer.Exit(1) from None
        left = f"{interrupt}; " if str(interrupt) else ""
        raise TrainingError(f"interrupted; {left}to go on: {command}") from None


def resume_command(
    name: str,
    source: Path,
    out: Path,
    settings: Sequence[str],
    options: Sequence[str],
    device: str | None,
) -> str:
    """Return the command that resumes a run, quoted for a shell; ``name`` is the subcommand's."""
    words = [part for setting in settings for part in ("--set", setting)]
    words += [*options, *(() if device is None else ("--device", device))]
    arguments = [name, str(source), "-o", str(out), *words, *plugin_options(), "--resume"]
    world, local = (int(os.environ.get(name, "1")) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    if world == 1:
        as_module = Path(sys.argv[0]).name == "__main__.py"
        program = [sys.executable, "-m", "spanloom"] if as_module else ["spanloom"]
        return shlex.join([*program, *arguments])
    if world > local:
        return f"{shlex.join(['spanloom', *arguments])}, under torchrun on each machine as before"
    torchrun = ["torchrun", "--nproc-per-node", str(local), "-m", "spanloom"]
    return shlex.join([*torchrun, *arguments])


def print_sizes(plan: "Plan", device: str | None) -> None:
    """Build the model; print its notes, its size, the updates of each stage, time and memory."""
    from spanloom.training import batch_schedule, train
    from spanloom.training.estimate import estimate
    from spanloom.training.stage_length import num_updates

    left_out = train.left_out_note(plan)
    model, prepared = train.new_model(train.trained_part(plan), device)
    for line in (*([left_out] if left_out else []), *prepared.notes):
        write_stdout(line)
    weights = list(model.network.parameters())
    trainable = sum(weight.numel() for weight in weights if weight.requires_grad)
    total = sum(weight.numel() for weight in weights)
    write_stdout(f"{total:,} weights, {trainable:,} of them learnt")
    recipe = plan.recipe
    for number, stage in enumerate(recipe.stages):
        updates = batch_schedule.draw_epoch(
            stage,
            prepared.data,
            seed=f"{recipe.seed}/{number}",
            epoch=0,
            window=recipe.window,
            tokenize_prompt=model.tokenize_prompt,
        )
        words = sum(batch.num_words for update in updates for batch in update)
        total = num_updates(stage, updates, batch_schedule.num_groups(stage, prepared.data))
        write_stdout(
            f"stage {number}: {total / len(updates):.3g} epochs of {words:,} words, "
            f"about {quantity(len(updates), 'update')} each, {total} in all"
        )
    needed = estimate(model, prepared, device)
    minutes = sum(needed.stage_seconds) / 60
    gigabytes = needed.peak_bytes / 2**30
    write_stdout(
        f"about {minutes:.3g} minutes without dev, by a few updates on {model.compute}, "
        f"and {gigabytes:.1f} GB of memory"
    )
    write_stdout("nothing was trained (--dry-run)")


def _print_end(progress: "Progress", out: Path, seconds: float) -> None:
    from spanloom.training.train import own_model, run_folder

    for name, value in progress.metrics.items():
        write_stdout(f"dev {name}: {100 * value:.2f}")
    for task, value in progress.best_per_task.items():
        own = own_model(run_folder(out), task)
        if own is not None:
            write_stdout(f"dev {task} at its own best: {100 * value:.2f} ({own})")
    write_stdout(
        f"trained {progress.seconds:.0f} s on the clock ({seconds:.0f} s with reading and dev), "
        f"{progress.cpu_seconds:.0f} s of CPU, {progress.global_step} updates"
    )
    write_stdout(f"model: {out}")
    write_stdout(f'next: spanloom annotate "…" -m {shlex.quote(str(out))}')


def init(
    data: Annotated[Path, typer.Argument(metavar="FOLDER|FILE", help="data")],
    out: Annotated[Path, typer.Option("-o", "--out", help="the recipe")] = Path("recipe.yaml"),
    kinds: Kinds = None,
    encoding: Encoding = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="replace a recipe that is there")] = False,
) -> None:
    """Write a commented recipe with one task for each annotated layer.

    Example: spanloom init protocols/ -o recipe.yaml
    """
    from spanloom.atomic_io import write_file
    from spanloom.formats.brat.draft import problems_note
    from spanloom.training.auto_recipe import propose_recipe, with_comments

    if os.path.lexists(out) and not force:
        raise StorageError(f"{out}: already there; choose another -o, or --force replaces it")
    relative = os.path.relpath(data, out.parent)
    proposal = propose_recipe(data, relative, pairs("--kind", kinds or ()), encoding)
    write_file(out, with_comments(proposal.recipe, proposal.notes).encode())
    if proposal.num_problems:
        log(f"{data}: {problems_note(proposal.num_problems)}; what cannot be read is not learnt")
    for line in proposal.lines():
        write_stdout(line)
    write_stdout(f"{out}: {quantity(len(proposal.recipe.tasks), 'task')} from {data}")
    write_stdout(f"next: spanloom train {shlex.quote(str(out))} -o MODEL")


def quantize(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="model folder or hub id")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="MODEL", help="the smaller one")],
    embeddings: Annotated[
        str, typer.Option(help="fp32 | fp16 | int8: vectors of pieces and words")
    ] = "int8",
    weights: Annotated[str, typer.Option(help="fp32 | fp16 | int8: all other matrices")] = "fp16",
) -> None:
    """Store a model's weights smaller; computation is unchanged.

    Measure what that costs in score with spanloom evaluate OUT DATA.

    Example: spanloom quantize runs/mine -o runs/mine-small
    """
    from spanloom.model.quantization import StorageDtypes
    from spanloom.model.serialization import WEIGHTS, repack

    check_is_not_model(out, model)
    repack(model, out, StorageDtypes(embeddings, weights))
    write_stdout(f"{out}: {(out / WEIGHTS).stat().st_size / 1e6:.1f} MB of weights")
