"""Changes of a recipe between the runs of one training: which are allowed, and their effect.

Of the stage in which the checkpoint stands ``CHANGING`` may change, of later stages all. Where it
has other epochs the rates stay what they are at this point: while they still rise (warmup) they go
on rising to the same height by the same epoch; once they fall they fall on from where they stand,
in a line, to 0 at the new end.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from spanloom.config import yaml
from spanloom.config.override import differences
from spanloom.config.recipe import Recipe, dumps, loads
from spanloom.config.specs import StageSpec
from spanloom.errors import RecipeError, TrainingError
from spanloom.training.checkpoint import Progress
from spanloom.training.stage_length import last_epoch_length

CHANGING = ("epochs", "patience", "eval_every_epochs")
_NO_RATE = 1e-6  # of the highest; with less nothing is learnt


def apply_changes(folder: Path, progress: Progress, recipe: Recipe) -> list[str]:
    """Apply the changes of ``recipe`` to ``progress``; return a line per change.

    ``folder`` is the checkpoint's. Raises ``TrainingError`` for a change of what was already used
    in training, and if the new number of epochs is already over.
    """
    text = dumps(recipe)
    if progress.recipe in (text, hashlib.sha256(text.encode()).hexdigest()):  # once only its sum
        progress.recipe = text
        return []
    before, now = _plain(folder, progress.recipe), _plain(folder, text)
    remarks = []
    for key, old, new in _changes(folder, progress.stage, before, now):
        remarks.append(f"{key} was {old!r:.60} when this run began, from here on {new!r:.60}")
    spec = recipe.stages[progress.stage]
    epochs = float(before["stages"][progress.stage]["epochs"])
    if epochs != spec.epochs and spec.updates_per_task is None:
        key_path = f"stages.{progress.stage}.epochs"
        remarks.append(_fit_schedule(key_path, progress, epochs, spec))
    progress.recipe = text
    return remarks


def _plain(folder: Path, text: str) -> dict[str, Any]:
    """Return a recipe as plain values; keys that its version did not know have their defaults.

    Raises ``TrainingError`` for a checkpoint without a recipe that this version reads.
    """
    try:
        recipe = loads(text)
    except RecipeError as error:
        raise TrainingError(
            f"{folder}: written by another version, and the recipe changed since; "
            f"undo the change, or train anew without --resume"
        ) from error
    plain: dict[str, Any] = yaml.loads(dumps(recipe), "recipe").data
    plain.pop("held_out", None)  # follows from the data, which are compared by themselves
    return plain


def _changes(
    folder: Path, stage: int, before: dict[str, Any], now: dict[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the changed keys with both values; raises ``TrainingError`` for a forbidden change."""
    stages, ours = before["stages"], now["stages"]
    refused = list(differences(before | {"stages": []}, now | {"stages": []}))
    if len(ours) <= stage:
        refused.append((("stages",), f"{len(stages)} stages", f"{len(ours)}"))
    for row, (old, new) in enumerate(zip(stages[: stage + 1], ours, strict=False)):
        for keys, *values in differences(old, new):
            if row == stage and keys[0] in CHANGING:
                yield _format_keys(("stages", row, *keys)), *values
            else:
                refused.append((("stages", row, *keys), *values))
    if refused:
        keys, old, new = refused[0]
        raise TrainingError(
            f"{folder}: {_format_keys(keys)} was {old!r:.60} when this checkpoint was written, "
            f"now it is {new!r:.60}; a run that goes on may change {', '.join(CHANGING)} of the "
            f"stage it is in (stages.{stage}) and all of later ones: undo that, or train anew "
            f"without --resume"
        )
    for row in range(stage + 1, max(len(stages), len(ours))):
        pair = (stages[row : row + 1], ours[row : row + 1])
        for keys, *values in differences(*pair):
            yield _format_keys(("stages", row, *keys[1:])), *values


def _format_keys(keys: Sequence[str | int]) -> str:
    return ".".join(map(str, keys))


def _fit_schedule(key: str, progress: Progress, epochs: float, spec: StageSpec) -> str:
    """Fit the schedule to a new number of epochs, from the current rate; return what was done."""
    last = math.ceil(epochs)
    if progress.epoch == last != epochs:  # the old ones ended within an epoch, which now goes on
        progress.epoch = last - 1
        progress.step_in_epoch = last_epoch_length(epochs, progress.steps_per_epoch)
    position = progress.epochs_done
    if position >= spec.epochs:
        raise TrainingError(
            f"{key}: this run stands at epoch {position:.2f}; expected more, got {spec.epochs:g}"
        )
    if position == 0:
        return f"{key}: nothing was learnt by the old ones yet"
    before = spec.model_copy(update={"epochs": epochs})
    reached = progress.rate_factor(before, position / epochs)
    if reached < _NO_RATE:
        raise TrainingError(
            f"{key}: the rates of this run came to their end at {epochs:g} epochs, so nothing "
            f"more can be learnt with them; name its model as init_from in a recipe instead"
        )
    warmup = progress.warmup_of(before) * epochs / spec.epochs  # the same point in the new epochs
    progress.warmup_share = warmup if warmup < 1 else position / spec.epochs
    progress.lr_scale = 1.0
    progress.lr_scale = reached / progress.rate_factor(spec, position / spec.epochs)
    if spec.lr_schedule == "plateau":
        return f"{key}: rates go on from {100 * reached:.0f} % of their highest"
    if position / spec.epochs < progress.warmup_share:
        over = spec.epochs * (1 - progress.warmup_share)
        return f"{key}: rates rise as before, then fall to 0 over the {over:.2f} epochs left"
    return (
        f"{key}: rates stand at {100 * reached:.0f} % of their highest and fall from there to 0 "
        f"over the {spec.epochs - position:.2f} epochs left"
    )
