"""Initial weights: of an earlier model, or random for heads that a stage resets."""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain
from typing import cast

import torch
from torch import nn

from spanloom.config.recipe import Recipe
from spanloom.config.specs import StageSpec
from spanloom.embedders._base import Embedder
from spanloom.errors import ModelError
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.model.network import differing, shapes_of
from spanloom.model.plan import SEPARATE, EmbedderPlan, Plan, TaskPlan
from spanloom.model.precision import compute
from spanloom.nn.corpus_vectors import CorpusVectors


def earlier_data(recipe: Recipe) -> tuple[str, ...]:
    """Return the data of the models that a recipe starts from or learns from, and of those before.

    Raises ``ModelError``, and ``RecipeError`` for a model that teaches.
    """
    recipes = [] if recipe.init_from is None else [serialization.load_recipe(recipe.init_from)]
    for index, stage in enumerate(recipe.stages):
        if stage.teacher is not None:
            try:
                recipes.append(serialization.load_recipe(stage.teacher.model))
            except ModelError as error:
                location = recipe.at("stages", index, "teacher", "model")
                raise location.error(str(error)) from error
    data = ((*earlier.pretraining_data, *earlier.all_sources) for earlier in recipes)
    return tuple(dict.fromkeys(chain.from_iterable(data)))


def inherit_trunk(plan: Plan, earlier: Model) -> list[nn.Module]:
    """Build the recipe's embedders with the vocabularies and weights of an earlier model.

    So vocabularies, alphabets and the encoder's shape are the earlier model's, whatever the data.
    Raises ``RecipeError`` where the recipe has other embedders, or of other sizes.
    """
    recipe = plan.recipe
    expected_names, available = ([e.name for e in side.embedders] for side in (plan, earlier.plan))
    if expected_names != available:
        raise recipe.at("trunk").error(
            f"expected the embedders of {recipe.init_from}, {available}, got {expected_names}"
        )
    trunk = []
    for embedder, before, source in zip(
        plan.embedders, earlier.plan.embedders, earlier.network.trunk, strict=True
    ):
        _check_same_files(embedder, before, recipe.init_from)
        part = embedder.type.restore(embedder.options, cast(Embedder, source).extra_files())
        for name, expected, got in differing(shapes_of(source), shapes_of(part)):
            raise embedder.location.error(
                f"{embedder.name} of {recipe.init_from} differs in {name}: "
                f"expected shape {expected}, got {got}"
            )
        part.load_state_dict(source.state_dict())
        trunk.append(part)
    return trunk


def _check_same_files(embedder: EmbedderPlan, before: EmbedderPlan, model: str | None) -> None:
    """Raise ``RecipeError`` if an embedder names other files than those that it was made from."""
    for key in embedder.type.file_options:
        got, expected = getattr(embedder.options, key), getattr(before.options, key)
        if got != expected:
            raise embedder.location.location_of(key).error(
                f"expected {expected!r}, as in {model}, which it goes on from, got {got!r}"
            )


def inherit(model: Model, earlier: Model) -> list[str]:
    """Copy levels, heads and task inputs of an earlier model; return the names of what is new.

    Levels and span layers are matched by name, heads by the names of their tasks if these have the
    same type and vocabulary. A head that tasks share is copied for other tasks, too, if it has the
    same vocabulary: that of extraction has none, and goes on from any such task to any other. A
    module is copied whole, or not at all if its shape differs.
    """
    network, source = model.network, earlier.network
    new = [name for name, level in network.levels.items() if not _copy(level, source.levels, name)]
    layers = network.span_layers.items()
    new += [name for name, layer in layers if not _copy(layer, source.span_layers, name)]
    changed = _changed_heads(model, earlier)
    for name, head in network.heads.items():
        if name in changed or not _copy(head, source.heads, name):
            new.append(name)
    new += _copy_corpus_vectors(model, earlier)
    return [*new, *_copy_task_embeddings(model, earlier), *_copy_task_tokens(model, earlier)]


def _copy(part: nn.Module, sources: nn.ModuleDict, name: str) -> bool:
    """Copy the weights of the module of that name, if there is one of the same shape."""
    if name not in sources or shapes_of(part) != shapes_of(sources[name]):
        return False
    part.load_state_dict(sources[name].state_dict())
    return True


def _changed_heads(model: Model, earlier: Model) -> set[str]:
    """Return heads whose tasks have another type or vocabulary than the earlier model's."""
    return {
        task.route.head
        for task in model.plan.kept_tasks.values()
        if not (_shares_head(model, earlier, task) or _is_known(earlier, task))
    }


def _is_known(earlier: Model, task: TaskPlan) -> bool:
    """Whether an earlier model has a task of the same name, type and vocabulary."""
    before = earlier.plan.kept_tasks.get(task.name)
    if before is None or before.spec.kind != task.spec.kind:
        return False
    return before.vocabulary == task.vocabulary


def _shares_head(model: Model, earlier: Model, task: TaskPlan) -> bool:
    """Whether a task has a shared head which the earlier model has with the same vocabulary."""
    is_shared = task.type.merge_vocabularies is not None
    if not is_shared or SEPARATE in (model.recipe.sharing, earlier.recipe.sharing):
        return False
    others = earlier.plan.kept_tasks.values()
    return any(
        other.type.family == task.type.family and other.head_vocabulary == task.head_vocabulary
        for other in others
    )


def _copy_corpus_vectors(model: Model, earlier: Model) -> Iterable[str]:
    """Copy the vectors of each task's corpora, by name; yield those that are new."""
    for task, part in model.network.corpus_vectors.items():
        table = cast(CorpusVectors, part)
        before = earlier.network.corpus_vectors
        source = cast(CorpusVectors, before[task]) if task in before else None
        for corpus, row in table.rows.items():
            if (
                source is None
                or corpus not in source.rows
                or source.vectors.embedding_dim != table.vectors.embedding_dim
            ):
                yield f"vector of {corpus} of {task}"
            else:
                table.vectors.weight.data[row] = source.vectors.weight.data[source.rows[corpus]]


def _copy_task_embeddings(model: Model, earlier: Model) -> Iterable[str]:
    """Copy each task's embedding; yield the tasks that had none of that size."""
    table, source = model.network.task_embeddings, earlier.network.task_embeddings
    if table is None:
        return
    for task, route in model.network.routes.items():
        before = earlier.network.routes.get(task)
        if source is None or before is None or source.embedding_dim != table.embedding_dim:
            yield f"vector of {task}"
        else:
            table.weight.data[route.row] = source.weight.data[before.row]


def _copy_task_tokens(model: Model, earlier: Model) -> Iterable[str]:
    """Copy the vectors of each task's token; yield the tasks that had none."""
    tables, sources = model.network.task_tokens, earlier.network.task_tokens
    if tables is None:
        return
    for name, task in model.plan.tasks.items():
        if sources is None or name not in earlier.plan.tasks:
            yield f"token of {name}"
            continue
        row = earlier.plan.tasks[name].index
        for part, before in zip(tables, sources, strict=True):  # the embedders are the same
            source = cast(nn.Embedding, before).weight.data[row]
            cast(nn.Embedding, part).weight.data[task.index] = source


def reset_head(model: Model, task: str, seed: str) -> None:
    """Reinitialise the head of a task from ``seed`` and the task's name.

    Tasks that share the head share the new one. The vectors of its corpora are zero again.
    """
    network = model.network
    name = network.routes[task].head
    digest = hashlib.sha256(f"{seed}/{task}".encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:7], "big"))
    head = model.tasks[task].build_head(network.head_input_specs[name])
    network.heads[name].load_state_dict(head.state_dict())
    if task in network.corpus_vectors:
        cast(CorpusVectors, network.corpus_vectors[task]).reset()


def of_stage(model: Model, stage: StageSpec) -> Model:
    """Return the model as a stage trains it: without the tasks it removes, in its precision."""
    config = compute(stage.precision, str(model.compute.device))
    return replace(remove_tasks(model, stage.remove_tasks), compute=config)


def remove_tasks(model: Model, names: Collection[str]) -> Model:
    """Return the model without some tasks, and without heads that no other task uses."""
    if not names:
        return model
    network = model.network
    for name in names:
        network.routes.pop(name, None)
        if name in network.corpus_vectors:
            del network.corpus_vectors[name]
    used = {route.head for route in network.routes.values()}
    for head in [name for name in network.heads if name not in used]:
        del network.heads[head]
    removed = tuple(dict.fromkeys((*model.recipe.removed_tasks, *names)))
    kept = {name: task for name, task in model.tasks.items() if name not in names}
    return replace(model, plan=model.plan.noting(removed_tasks=removed), tasks=kept)
