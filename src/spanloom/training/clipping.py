"""Clipping of gradients, and loss weights that cannot act.

Clipping protects from a rare long gradient. Where it cuts most updates it sets their length, and
weights of losses only change the direction of updates that sum several tasks.
"""

import math
from collections.abc import Iterator

from torch import nn
from torch.nn.utils import clip_grad_norm_

from spanloom.config.specs import StageSpec
from spanloom.errors import TrainingError

_MOST = 0.5  # of the updates; where more are cut weights hardly act


def clip_gradient(network: nn.Module, spec: StageSpec, update: int) -> float:
    """Cut the gradient to the stage's longest norm; return the norm that it had.

    Raises ``TrainingError`` for a norm that is not finite; ``update`` is the number it names.
    """
    norm = float(clip_grad_norm_(network.parameters(), spec.max_grad_norm or math.inf))
    if not math.isfinite(norm):
        problem = f"the gradient is {norm}; lower the rates (lr) or use precision: fp32"
        raise TrainingError(f"update {update}: {problem}")
    return norm


def is_clipped(norm: float, spec: StageSpec) -> bool:
    """Return whether a gradient of that norm is cut."""
    return spec.max_grad_norm is not None and norm > spec.max_grad_norm


def iter_weight_warnings(stage: int, spec: StageSpec) -> Iterator[str]:
    """Yield a line for loss weights that change nothing, as Adam divides by a gradient's size."""
    if spec.loss_weights and len(spec.tasks) == 1:
        (task,) = spec.tasks
        yield f"stages.{stage}.loss_weights: changes nothing, {task!r} is the stage's only task"


def clipping_warning(share: float, spec: StageSpec) -> str:
    """Return a line that warns of weights where most updates were cut, else an empty one."""
    if not spec.loss_weights or share <= _MOST:
        return ""
    cut = f"{100 * share:.0f} % of the updates were cut to {spec.max_grad_norm:g}"
    return f"loss_weights hardly act: {cut} (max_grad_norm)"
