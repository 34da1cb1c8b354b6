"""A model that starts from the weights of an earlier one: joint training, then a task by itself."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from spanloom.errors import ModelError
from spanloom.model.folder import load
from spanloom.model.model import Model


def inherit(model: Model, place: str, near: Path) -> str:
    """Give ``model`` the weights of the model at ``place``, and say in words what began anew.

    ``place`` is a folder near the recipe, or a hub id. The trunk has to be the same; levels are
    taken by name, and heads by name where they know the same labels. What else ``model`` has stays
    as it was made. Raises ``ModelError`` where the earlier model is none, or has another trunk.
    """
    folder = near / place
    earlier = load(folder if folder.is_dir() else place, device="cpu")
    mine, theirs = model.network.state_dict(), earlier.network.state_dict()
    _check_trunk(mine, theirs, place)
    if model.pieces.tokenizer.to_str() != earlier.pieces.tokenizer.to_str():
        raise ModelError(f"{place}: cuts words into other pieces than the recipe's trunk")
    others = _others(model, earlier)
    taken = {
        name: weights
        for name, weights in theirs.items()
        if name in mine
        and weights.shape == mine[name].shape
        and not name.startswith(tuple(f"heads.{head}." for head in others))
    }
    model.network.load_state_dict(taken, strict=False)
    anew = dict.fromkeys(_part(name) for name in mine if name not in taken)
    return f"starting from {place}; anew: {', '.join(anew) or 'nothing'}"


def _check_trunk(mine: Mapping[str, Tensor], theirs: Mapping[str, Tensor], place: str) -> None:
    """Raise ``ModelError`` for a trunk of other parts or sizes."""
    for name in sorted({*mine, *theirs}):
        shapes = [tuple(each[name].shape) if name in each else None for each in (mine, theirs)]
        if name.startswith("trunk.") and shapes[0] != shapes[1]:
            raise ModelError(
                f"{place}: another trunk than the recipe's: {name}: "
                f"expected shape {shapes[0]}, got {shapes[1]}"
            )


def _others(model: Model, earlier: Model) -> set[str]:
    """Heads whose tasks are of another kind, or have other labels, than in the earlier model."""
    return {
        place.head
        for task, place in model.network.places.items()
        if task not in earlier.tasks
        or model.recipe.tasks[task].kind != earlier.recipe.tasks[task].kind
        or model.recipe.collected[task] != earlier.recipe.collected[task]
    }


def _part(name: str) -> str:
    """The part of a network that a weight belongs to: a head or level by its name."""
    first, second, *_ = name.split(".")
    return second if first in ("heads", "levels") else first
