"""What a stage does to heads before it starts: some begin anew, some leave the model."""

import hashlib
from collections.abc import Collection
from dataclasses import replace

import torch

from spanloom.model.model import Model


def renew(model: Model, task: str, seed: str) -> None:
    """Put a freshly made head in the place of a task's; what it starts from follows from ``seed``.

    Tasks that share the head share the new one.
    """
    network = model.network
    name = network.places[task].head
    digest = hashlib.sha256(f"{seed}/{task}".encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:7], "big"))
    head = model.tasks[task].head(network.grounds[name])
    network.heads[name].load_state_dict(head.state_dict())


def without(model: Model, tasks: Collection[str]) -> Model:
    """Return the model without some tasks; the heads that nobody uses any more are gone too."""
    if not tasks:
        return model
    network, kept = model.network, {k: v for k, v in model.tasks.items() if k not in tasks}
    for name in tasks:
        network.places.pop(name, None)
    used = {place.head for place in network.places.values()}
    for head in [each for each in network.heads if each not in used]:
        del network.heads[head]
    dropped = tuple(dict.fromkeys((*model.recipe.dropped, *tasks)))
    return replace(model, recipe=model.recipe.model_copy(update={"dropped": dropped}), tasks=kept)
