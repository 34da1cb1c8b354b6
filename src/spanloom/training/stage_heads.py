"""What a stage does to heads before it starts: some begin anew, some leave the model."""

import hashlib
from collections.abc import Collection
from dataclasses import replace

import torch

from spanloom.model.model import Model


def reset_head(model: Model, task: str, seed: str) -> None:
    """Put a freshly made head in the place of a task's; what it starts from follows from ``seed``.

    Tasks that share the head share the new one.
    """
    network = model.network
    name = network.routes[task].head
    digest = hashlib.sha256(f"{seed}/{task}".encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:7], "big"))
    head = model.tasks[task].build_head(network.head_input_specs[name])
    network.heads[name].load_state_dict(head.state_dict())


def remove_tasks(model: Model, tasks: Collection[str]) -> Model:
    """Return the model without some tasks; the heads that nobody uses any more are gone too."""
    if not tasks:
        return model
    network, kept = model.network, {k: v for k, v in model.tasks.items() if k not in tasks}
    for name in tasks:
        network.routes.pop(name, None)
    used = {place.head for place in network.routes.values()}
    for head in [each for each in network.heads if each not in used]:
        del network.heads[head]
    dropped = tuple(dict.fromkeys((*model.recipe.removed_tasks, *tasks)))
    return replace(
        model, recipe=model.recipe.model_copy(update={"removed_tasks": dropped}), tasks=kept
    )
