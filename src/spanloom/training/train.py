"""A recipe put to work: build the model, train it, leave it in its folder."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch
from torch import nn

from spanloom.atomic_io import MANIFEST, write_file
from spanloom.config.recipe import Recipe
from spanloom.embedders import transformer
from spanloom.embedders._base import BuildContext, Embedder, EmbedderType
from spanloom.errors import StorageError
from spanloom.model import build, serialization
from spanloom.model.model import Model
from spanloom.model.precision import compute
from spanloom.tokenization import word_tokenizer
from spanloom.training import samplers
from spanloom.training.checkpoint import Progress
from spanloom.training.distributed import ProcessGroup
from spanloom.training.interrupt import Stopped, ignore_signals, terminable
from spanloom.training.lock import locked
from spanloom.training.loop import BEST, METRICS, LogIntervals, Run
from spanloom.training.metrics_log import MetricsLog, Say
from spanloom.training.prepare import PreparedData, prepare
from spanloom.training.verify import verify
from spanloom.training.warm_start import inherit, initial_recipe
from spanloom.training.warm_start import trunk as inherited

_LEFT = "left"  # says which model a stopped run left at ``out``


def home(out: Path) -> Path:
    """Return the folder of a run: beside the model, ``NAME.run``."""
    return out.with_name(f"{out.name}.run")


def fresh(recipe: Recipe, near: Path, device: str | None = None) -> tuple[Model, PreparedData]:
    """Read the data and build an untrained model: on a pre-trained encoder, or an earlier model.

    Raises what ``train`` does, but for ``TrainingError``.
    """
    samplers.check(recipe)
    chosen = build.transformer_options(recipe)
    earlier = (
        None
        if recipe.init_from is None
        else serialization.load(recipe.init_from, device="cpu", precision="fp32")
    )
    cutter = build.word_level_tokenizer()
    if earlier is not None:
        cutter = earlier.subword_tokenizer
    elif chosen is not None:
        cutter = build.load_tokenizer(transformer.source(chosen.transformer, near))
    split = word_tokenizer(recipe.tokenization.tokenizer, recipe.tokenization.sentence_splitter)
    prepared = prepare(recipe, near, split, cutter)
    recipe = prepared.recipe if earlier is None else initial_recipe(prepared.recipe, earlier.recipe)
    sources = BuildContext(near, prepared.words)
    torch.manual_seed(recipe.seed)

    def made(row: int, kind: EmbedderType, options: object) -> nn.Module:
        return kind.build(options, sources, recipe.at("trunk", row))

    trunk = build.trunk(recipe, made) if earlier is None else inherited(recipe, earlier)
    network = build.network(recipe, prepared.tasks, trunk)
    for part in network.trunk:
        cast(Embedder, part).extra_files()  # what cannot be saved is better refused now
    build.check_window(recipe, cutter, network)
    where = compute(recipe.stages[0].precision, device)
    model = Model(recipe, split, cutter, network, prepared.tasks, where)
    if earlier is not None:
        anew = ", ".join(inherit(model, earlier)) or "nothing"
        said = f"starting from {recipe.init_from}; anew: {anew}"
        prepared = replace(prepared, notes=(*prepared.notes, said))
    network.to(where.device)
    return model, prepared


def train(
    recipe: Recipe,
    near: Path,
    out: Path,
    say: Say,
    *,
    resume: bool = False,
    pace: LogIntervals = LogIntervals(),
    device: str | None = None,
) -> Progress:
    """Train a recipe and write the best model to ``out``; ``near`` is the recipe's folder.

    Checkpoints and metrics lie in ``home(out)``, which no other run can use meanwhile. Raises
    ``DataError``, ``FormatError``, ``ModelError``, ``RecipeError``, ``StorageError`` and
    ``TrainingError``; on Ctrl-C and SIGTERM ``KeyboardInterrupt``, after a checkpoint ``Stopped``.
    """
    processes = ProcessGroup(device)
    place = home(out)
    place.mkdir(parents=True, exist_ok=True)
    with terminable(), locked(place, processes):
        model, prepared = fresh(recipe, near, device or processes.device.type)
        journal = MetricsLog(place / METRICS, say, active=processes.first)
        journal.log(f"computing on {model.compute}, {processes.ranks} process(es)")
        for line in prepared.notes:
            journal.log(line)
        run = Run(model, prepared, place, processes, journal)
        try:
            progress = run.train(pace, resume=resume)
        except Stopped as stopped:
            if processes.ranks > 1:
                ignore_signals()  # who started them may tell each of them again
            raise Stopped(_leave(out, str(stopped), first=processes.first)) from None
        if processes.first:
            serialization.copy(place / BEST, out)
            verify(run.model, out)  # before anybody is told that it is done
            (place / _LEFT).unlink(missing_ok=True)
        processes.end()
    return progress


def unfinished(out: Path) -> bool:
    """Whether the model at ``out`` is what a run left there that was stopped before its end."""
    try:
        return (home(out) / _LEFT).read_text(encoding="utf-8") == _identity(out)
    except OSError:
        return False


def _leave(out: Path, what: str, *, first: bool) -> str:
    """Put the model of a stopped run to ``out`` unless one stands there; returns where it is.

    That of an earlier stop is replaced.
    """
    best = home(out) / BEST
    taken = os.path.lexists(out) and any(out.iterdir()) and not unfinished(out)
    if taken:
        return f"{what}: {best}"
    if first:
        try:
            write_file(home(out) / _LEFT, _identity(best).encode())
            serialization.copy(best, out)
        except StorageError as error:  # what matters is kept: the checkpoint
            return f"{what}: {best} ({error})"
    return f"{what}: {out}"


def _identity(model: Path) -> str:
    return hashlib.sha256((model / MANIFEST).read_bytes()).hexdigest()
