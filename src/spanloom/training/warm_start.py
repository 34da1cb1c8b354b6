"""A model that starts from the weights of an earlier one: joint training, then a task by itself."""

from collections.abc import Iterable
from typing import cast

from torch import nn

from spanloom.config.recipe import Recipe
from spanloom.embedders._base import Embedder, EmbedderType
from spanloom.model import build
from spanloom.model.model import Model
from spanloom.model.network import differing, shapes_of


def initial_recipe(recipe: Recipe, earlier: Recipe) -> Recipe:
    """Return a recipe that tells what the model it starts from has learnt from, and before that."""
    known = dict.fromkeys((*earlier.pretraining_data, *earlier.all_sources))
    return recipe.model_copy(update={"pretraining_data": tuple(known)})


def trunk(recipe: Recipe, earlier: Model) -> list[nn.Module]:
    """Make the recipe's embedders with what those of an earlier model know, and their weights.

    So vocabularies, alphabets and the encoder's shape are the earlier model's, whatever the data.
    Raises ``RecipeError`` where the recipe has other embedders.
    """
    mine, theirs = ([part.name for part in each.trunk] for each in (recipe, earlier.recipe))
    where = recipe.at("trunk")
    if mine != theirs:
        raise where.error(f"expected the embedders of {recipe.init_from}, {theirs}, got {mine}")

    def made(row: int, kind: EmbedderType, options: object) -> nn.Module:
        part = earlier.network.trunk[row]
        again = kind.restore(options, cast(Embedder, part).extra_files())
        _check(part, again, f"{mine[row]} of {recipe.init_from}", recipe, row)
        again.load_state_dict(part.state_dict())
        return again

    return build.trunk(recipe, made)


def inherit(model: Model, earlier: Model) -> list[str]:
    """Give ``model`` levels, heads and what is a task's own of an earlier one; say what began anew.

    Levels are taken by name, heads by the names of their tasks where these are of the same kind and
    collected the same labels and limits; each is taken whole or, where its shape differs, not at
    all.
    """
    mine, theirs = model.network, earlier.network
    anew = []
    for name, level in mine.levels.items():
        if not _taken(level, theirs.levels, name):
            anew.append(name)
    others = _others(model, earlier)
    for name, head in mine.heads.items():
        if name in others or not _taken(head, theirs.heads, name):
            anew.append(name)
    anew += _take_vectors(model, earlier)
    anew += _take_tokens(model, earlier)
    return anew


def _taken(part: nn.Module, others: nn.ModuleDict, name: str) -> bool:
    """Give a part the weights of its namesake, if there is one of the same shape."""
    if name not in others or shapes_of(part) != shapes_of(others[name]):
        return False
    part.load_state_dict(others[name].state_dict())
    return True


def _others(model: Model, earlier: Model) -> set[str]:
    """Heads of a task that is of another kind, or has other labels, than in the earlier model."""
    return {
        place.head
        for task, place in model.network.routes.items()
        if task not in earlier.tasks
        or model.recipe.tasks[task].kind != earlier.recipe.tasks[task].kind
        or model.recipe.vocabulary[task] != earlier.recipe.vocabulary[task]
    }


def _take_vectors(model: Model, earlier: Model) -> Iterable[str]:
    """Give each task its own vector; return the tasks that had none of that size."""
    mine, theirs = model.network.task_vectors, earlier.network.task_vectors
    if mine is None:
        return
    for task, place in model.network.routes.items():
        before = earlier.network.routes.get(task)
        if theirs is None or before is None or theirs.embedding_dim != mine.embedding_dim:
            yield f"vector of {task}"
        else:
            mine.weight.data[place.row] = theirs.weight.data[before.row]


def _take_tokens(model: Model, earlier: Model) -> Iterable[str]:
    """Give each task the vectors of its own token; return the tasks that had none."""
    mine, theirs = model.network.task_tokens, earlier.network.task_tokens
    if mine is None:
        return
    numbers = {name: row for row, name in enumerate(earlier.recipe.tasks)}
    for row, task in enumerate(model.recipe.tasks):
        if theirs is None or task not in numbers:
            yield f"token of {task}"
            continue
        for part, before in zip(mine, theirs, strict=True):  # the embedders are the same
            table, known = cast(nn.Embedding, part).weight, cast(nn.Embedding, before).weight
            table.data[row] = known.data[numbers[task]]


def _check(part: nn.Module, again: nn.Module, what: str, recipe: Recipe, row: int) -> None:
    """Raise ``RecipeError`` where an embedder has other sizes than the recipe gives it."""
    for name, there, wanted in differing(shapes_of(part), shapes_of(again)):
        raise recipe.at("trunk", row).error(
            f"{what} differs in {name}: expected shape {there}, got {wanted}"
        )
