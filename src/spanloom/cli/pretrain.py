"""``spanloom pretrain``: an encoder from raw text, from scratch or from another one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.train import print_sizes, resumable, resume_command

if TYPE_CHECKING:
    from spanloom.training.pretrain import PretrainingResult


def pretrain(
    source: Annotated[
        Path, typer.Argument(metavar="RECIPE", help="recipe whose tasks are masked_lm")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="ENCODER", help="the encoder's folder")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="change a key of the recipe, as stages.0.epochs=3"
        ),
    ] = None,
    vocab_size: Annotated[
        int | None,
        typer.Option(min=100, help="from scratch, with a WordPiece vocabulary of the text"),
    ] = None,
    cased: Annotated[bool, typer.Option("--cased", help="of that vocabulary: keep case")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="go on where a run stopped")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="read, build, estimate time and memory; train nothing")
    ] = False,
    device: Annotated[
        str | None, typer.Option(help="cpu | cuda; by default cuda if there is one")
    ] = None,
) -> None:
    """Pre-train an encoder on raw text; the result is a plain Hugging Face folder.

    Example: spanloom pretrain recipes/pretraining/tiny.yaml -o encoders/tiny --vocab-size 8000

    Example: torchrun --nproc-per-node 2 -m spanloom pretrain recipe.yaml -o encoders/mine
    """
    from transformers.utils import logging

    from spanloom.config import recipe as recipes
    from spanloom.model.plan import resolve
    from spanloom.training import pretrain as training
    from spanloom.training.train import refuse_foreign

    if cased and vocab_size is None:
        raise WrongUse("--cased: expected --vocab-size N, whose vocabulary it is of, got none")
    refuse_foreign(out)
    logging.disable_progress_bar()
    plan = resolve(recipes.load(source, settings or ()), source.parent)
    training.check(plan)
    if vocab_size is not None:
        start = training.untrained_encoder(plan, out, log, vocab_size=vocab_size, cased=cased)
        own = (f"trunk.0.transformer={start.resolve()}", "trunk.0.init=random")
        plan = resolve(recipes.load(source, (*(settings or ()), *own)), source.parent)
    if dry_run:
        print_sizes(plan, device)
        return
    options = [] if vocab_size is None else ["--vocab-size", str(vocab_size)]
    options += ["--cased"] if cased else []
    command = resume_command("pretrain", source, out, settings or (), options, device)
    with resumable(command) as (line, pace):
        result = training.pretrain(plan, out, line.log, resume=resume, pace=pace, device=device)
    if training.is_first_process():
        _print_result(result, out)


def _print_result(result: "PretrainingResult", out: Path) -> None:
    progress = result.progress
    for name, loss in result.losses.items():
        write_stdout(f"dev {name}: {100 * progress.metrics[name]:.2f} (loss {loss:.4f} nats)")
    write_stdout(
        f"{progress.global_step} updates, {progress.pieces:,} pieces in {progress.seconds:.0f} s: "
        f"{result.pieces_per_second:,.0f} pieces/s, {result.utilization}"
    )
    write_stdout(f"encoder: {out}")
    write_stdout(f"next: trunk: [{{transformer: {out}}}] in a recipe")
