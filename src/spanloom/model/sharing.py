"""What tasks share beside trunk and levels: heads, task vectors, task tokens.

| ``sharing`` | heads | what tells tasks apart |
|---|---|---|
| ``heads`` | one a task | the heads (SpanRel; HMTL; MULTI-DEC of Changpinyo et al. 2018) |
| ``task-embedding`` | one a family of tasks | a vector beside each word the head reads (TE⊕Dec) |
| ``task-token`` | one a family of tasks | a word before each sentence (TE⊕Enc): a pass a task |
| ``none`` | one a family of tasks | nothing but what is read (SpEx) |
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from spanloom.config.options import validate_options
from spanloom.config.recipe import Recipe
from spanloom.model.network import HeadRoute
from spanloom.tasks import load
from spanloom.tasks._base import Task, TaskType

_OF_HEADS = ("hidden_size", "dropout", "crf")  # options that shape a head
OWN, EMBEDDED, TOKEN, NONE = "separate-heads", "task-embedding", "task-token", "shared-head"


def tasks(recipe: Recipe) -> dict[str, Task]:
    """Make the recipe's tasks with the labels that were collected for each from train.

    Tasks that share a head are made with the labels of all of them, those that were dropped too:
    the head knows them. Raises ``RecipeError`` where their kinds cannot share one.
    """
    kinds = {name: load(spec.kind) for name, spec in recipe.tasks.items()}
    chosen = {
        name: validate_options(kind.options, recipe.tasks[name].options, recipe.at("tasks", name))
        for name, kind in kinds.items()
    }
    united = _united(recipe, kinds, chosen)
    made, numbers = {}, {name: row for row, name in enumerate(recipe.tasks)}
    for name in recipe.kept_tasks:
        kind, layer = kinds[name], recipe.tasks[name].layer
        own: dict[str, Any] = recipe.vocabulary[name]
        made[name] = kind.build(name, layer, chosen[name], own, united.get(kind.family, own))
        if recipe.sharing == TOKEN:
            made[name] = made[name].with_task_token(numbers[name])
    return made


def _agree(recipe: Recipe, names: Sequence[str], chosen: Mapping[str, BaseModel]) -> None:
    """Raise ``RecipeError`` where tasks that share a head want it of different shapes."""
    first = names[0]
    for name in names[1:]:
        for key in _OF_HEADS:
            mine, theirs = (getattr(chosen[each], key, None) for each in (first, name))
            if mine != theirs:
                raise recipe.at("tasks", name).error(
                    f"shares its head with {first!r}, so both need the same {key}: "
                    f"expected {mine!r}, got {theirs!r}"
                )


def routes(recipe: Recipe) -> dict[str, HeadRoute]:
    """Say for each task what it reads, by which head, and which task vector is its own."""
    found = {}
    for row, (name, spec) in enumerate(recipe.tasks.items()):
        kind = load(spec.kind)
        head = name if recipe.sharing == OWN else kind.family
        mine = row if recipe.sharing == EMBEDDED else None
        found[name] = HeadRoute(kind.level or spec.level, head, mine)
    return {name: found[name] for name in recipe.kept_tasks}


def _united(
    recipe: Recipe, kinds: Mapping[str, TaskType], chosen: Mapping[str, BaseModel]
) -> dict[str, dict[str, Any]]:
    """What was collected for the tasks of each family, as one; nothing where none share a head."""
    if recipe.sharing == OWN:
        return {}
    families: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        if kind.merge_vocabularies is None:
            where = recipe.at("tasks", name, "kind")
            raise where.error(
                f"{recipe.tasks[name].kind!r} cannot share its head, as sharing: "
                f"{recipe.sharing} asks (sharing: heads gives each task its own)"
            )
        families.setdefault(kind.family, []).append(name)
    joined = {}
    for family, names in families.items():
        unite = kinds[names[0]].merge_vocabularies
        _agree(recipe, names, chosen)
        levels = {recipe.tasks[name].level for name in names}
        if len(levels) > 1:
            where = recipe.at("tasks", names[-1], "level")
            raise where.error(f"tasks that share a head read one level, got {sorted(levels)}")
        assert unite is not None, "checked above"
        joined[family] = unite([recipe.vocabulary[name] for name in names])
    return joined
