"""What a run may have changed when it goes on: nothing that was learnt by, all that comes later.

Of the stage in which the checkpoint stands ``CHANGING`` may change, of later stages all. Where it
has other epochs the rates stay what they are at this point: while they still rise (warmup) they go
on rising to the same height by the same epoch; once they fall they fall on from where they stand,
in a line, to 0 at the new end.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from spanloom.config import yaml
from spanloom.config.override import differences
from spanloom.config.recipe import Recipe, StageSpec, dumps
from spanloom.errors import TrainingError
from spanloom.training.checkpoint import Progress
from spanloom.training.optimizer import SCHEDULES

CHANGING = ("epochs", "patience", "eval_every_epochs")
_NO_RATE = 1e-6  # of the highest; with less nothing is learnt


def apply_changes(folder: Path, progress: Progress, recipe: Recipe) -> list[str]:
    """Let ``progress`` go on by ``recipe``; returns what changed since, a line each.

    ``folder`` is the checkpoint's. Raises ``TrainingError`` where something changed by which was
    learnt so far, and where the new epochs are over already.
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
    if epochs != spec.epochs:
        key_path = f"stages.{progress.stage}.epochs"
        remarks.append(_lay_anew(key_path, progress, epochs, spec))
    progress.recipe = text
    return remarks


def _plain(folder: Path, text: str) -> dict[str, Any]:
    """A recipe as plain values; ``TrainingError`` for a checkpoint that holds none."""
    recipe = yaml.loads(text, "recipe").data
    if not isinstance(recipe, dict):
        raise TrainingError(
            f"{folder}: written by another version, and the recipe changed since; "
            f"undo the change, or train anew without --resume"
        )
    return recipe


def _changes(
    folder: Path, stage: int, before: dict[str, Any], now: dict[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield what changed, by key; raises ``TrainingError`` for what must not."""
    stages, ours = before["stages"], now["stages"]
    refused = list(differences(before | {"stages": []}, now | {"stages": []}))
    if len(ours) <= stage:
        refused.append((("stages",), f"{len(stages)} stages", f"{len(ours)}"))
    for row, (old, new) in enumerate(zip(stages[: stage + 1], ours, strict=False)):
        for keys, *values in differences(old, new):
            if row == stage and keys[0] in CHANGING:
                yield _dotted(("stages", row, *keys)), *values
            else:
                refused.append((("stages", row, *keys), *values))
    if refused:
        keys, old, new = refused[0]
        raise TrainingError(
            f"{folder}: {_dotted(keys)} was {old!r:.60} when this checkpoint was written, now it "
            f"is {new!r:.60}; a run that goes on may change {', '.join(CHANGING)} of the stage "
            f"it is in (stages.{stage}) and all of later ones: undo that, or train anew without "
            f"--resume"
        )
    for row in range(stage + 1, max(len(stages), len(ours))):
        pair = (stages[row : row + 1], ours[row : row + 1])
        for keys, *values in differences(*pair):
            yield _dotted(("stages", row, *keys[1:])), *values


def _dotted(keys: Sequence[str | int]) -> str:
    return ".".join(map(str, keys))


def _lay_anew(key: str, progress: Progress, epochs: float, spec: StageSpec) -> str:
    """Lay the schedule anew over what is left, from the rate reached; returns what was done."""
    position = progress.epoch + progress.step_in_epoch / max(1, progress.steps_per_epoch)
    if position >= spec.epochs:
        raise TrainingError(
            f"{key}: this run stands at epoch {position:.2f}; expected more, got {spec.epochs:g}"
        )
    if position == 0:
        return f"{key}: nothing was learnt by the old ones yet"
    schedule = SCHEDULES[spec.lr_schedule]
    warmup = spec.warmup_ratio if progress.warmup_steps_left is None else progress.warmup_steps_left
    reached = schedule(position / epochs, warmup, progress.lr_halvings) * progress.lr_scale
    if reached < _NO_RATE:
        raise TrainingError(
            f"{key}: the rates of this run came to their end at {epochs:g} epochs, so nothing "
            f"more can be learnt with them; name its model as start: in a recipe instead"
        )
    ahead = warmup * epochs / spec.epochs  # the same place, told in the new epochs
    progress.warmup_steps_left = ahead if ahead < 1 else position / spec.epochs
    progress.lr_scale = 1.0
    progress.lr_scale = reached / schedule(
        position / spec.epochs, progress.warmup_steps_left, progress.lr_halvings
    )
    if spec.lr_schedule == "plateau":
        return f"{key}: rates go on from {100 * reached:.0f} % of their highest"
    if position / spec.epochs < progress.warmup_steps_left:
        over = spec.epochs * (1 - progress.warmup_steps_left)
        return f"{key}: rates rise as before, then fall to 0 over the {over:.2f} epochs left"
    return (
        f"{key}: rates stand at {100 * reached:.0f} % of their highest and fall from there to 0 "
        f"over the {spec.epochs - position:.2f} epochs left"
    )
