"""Cosine between the gradients of tasks in the parameters that they share.

Tasks whose losses pull the shared weights of a common model the same way should help each other
(Yu et al. 2020, section 2, call a negative cosine a conflict).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from spanloom.config.specs import StageSpec
from spanloom.errors import DataError
from spanloom.model.model import Model
from spanloom.training.batch_schedule import draw_epoch
from spanloom.training.collation import Collation
from spanloom.training.distributed import ProcessGroup
from spanloom.training.gradients import GradientSum
from spanloom.training.prepare import PreparedData, prepare

Gradient = dict[str, Tensor]  # by parameter; those that a task does not use are missing


@dataclass(frozen=True, slots=True)
class TaskGradient:
    """The gradient of a task's loss, summed over each of two halves of its batches."""

    halves: tuple[Gradient, Gradient]

    @property
    def total(self) -> Gradient:
        """The sum over all batches, whose direction is that of the mean."""
        first, second = self.halves
        both = {name: first[name] + second[name] for name in first.keys() & second.keys()}
        return {**first, **second, **both}


def cosine(a: Gradient, b: Gradient) -> float:
    """Return the cosine of two gradients in the parameters that both have; 0 without any."""
    shared = sorted(a.keys() & b.keys())
    dot, square_a, square_b = (
        sum(float((x[name].double() * y[name].double()).sum()) for name in shared)
        for x, y in ((a, b), (a, a), (b, b))
    )
    norm = float((square_a * square_b) ** 0.5)
    return dot / norm if norm > 0 else 0.0


def gradient_cosines(
    model: Model, data: Path, names: Iterable[str], num_batches: int
) -> dict[tuple[str, str], float]:
    """Return the cosine of each two tasks of a common model, in both orders.

    Gradients are those of ``num_batches`` batches of train of each task, without dropout, in trunk
    and levels. The cosine of a task with itself is the ceiling that so few batches allow: what that
    of two halves of its batches lets expect of twice as many (Spearman and Brown 1910). Tasks that
    the model lacks are left out. Raises ``DataError`` where the data have other labels than it
    learnt.
    """
    learnt = [name for name in names if name in model.tasks]
    prepared = _prepare(model, data)
    gradients = {name: _gradient(model, prepared, name, num_batches) for name in learnt}
    cosines = {}
    for row, a in enumerate(learnt):
        cosines[a, a] = _of_twice_as_many(cosine(*gradients[a].halves))
        for b in learnt[row + 1 :]:
            value = cosine(gradients[a].total, gradients[b].total)
            cosines[a, b] = cosines[b, a] = value
    return cosines


def _of_twice_as_many(of_halves: float) -> float:
    """Return the cosine that two gradients of twice as many batches of one task would have."""
    return 2 * of_halves / (1 + of_halves) if of_halves > 0 else of_halves


def _prepare(model: Model, data: Path) -> PreparedData:
    """Read what a model learnt from; raises ``DataError`` for other labels."""
    plan = replace(model.plan, recipe_dir=data)
    prepared = prepare(plan, model.word_tokenizer, model.subword_tokenizer)
    inferred, learnt = (
        json.dumps(r.vocabulary, sort_keys=True) for r in (prepared.plan.recipe, model.recipe)
    )
    if inferred != learnt:  # a saved one has lists for tuples
        raise DataError(f"{data}: other labels than those that the common model learnt")
    return prepared


def _gradient(model: Model, prepared: PreparedData, name: str, num_batches: int) -> TaskGradient:
    """Return a task's gradient in trunk and levels; even batches are one half, odd ones another."""
    spec = _stage_of(model.recipe.stages[-1], name)
    updates = draw_epoch(
        spec,
        prepared.data,
        seed=f"{model.recipe.seed}/gradients",
        epoch=0,
        window=model.recipe.window,
        tokenize_prompt=model.tokenize_prompt,
    )[:num_batches]
    if len(updates) < 2:
        raise DataError(f"task {name!r}: expected two batches of train at least, got 1")
    processes = ProcessGroup("cpu")
    collation = Collation(model, prepared, processes)
    sums = GradientSum(model, prepared, processes, spec)
    halves = []
    for half in (updates[::2], updates[1::2]):
        model.network.eval().zero_grad(set_to_none=True)
        for update in half:
            sums.add(collation.collate(update, _row), _row)
        halves.append(_shared_gradient(model))
    model.network.zero_grad(set_to_none=True)
    return TaskGradient((halves[0], halves[1]))


def _row(row: int, *part: int) -> int:
    """Return the row of a batch in its update as its random seed."""
    return row


def _stage_of(stage: StageSpec, name: str) -> StageSpec:
    """Return the stage of one task alone, each update one batch as it is."""
    own: Mapping[str, object] = {
        "tasks": (name,),
        "sampler": "proportional",
        "loss_weights": {},
        "teacher": None,
        "share_batches": False,
        "gradient_accumulation_steps": 1,
        "word_dropout": 0.0,
    }
    return stage.model_copy(update=dict(own))


def _shared_gradient(model: Model) -> Gradient:
    """Return the gradient of trunk and levels."""
    return {
        name: parameter.grad.clone()
        for name, parameter in model.network.named_parameters()
        if name.startswith(("trunk.", "levels.")) and parameter.grad is not None
    }
