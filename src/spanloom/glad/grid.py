"""Compare tasks learnt alone, jointly, and jointly with fine-tuning (SpanRel, table 5).

A grid has one joint recipe, whose tasks are learnt in one stage. From it follow, for each task, a
recipe of that task alone and one that starts from the joint model. A finished run is not trained
again, a stopped one is resumed.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.options import Options, did_you_mean, validate_options
from spanloom.config.recipe import TRUNK, Recipe
from spanloom.config.yaml import SourceLocation
from spanloom.errors import NameNotFound
from spanloom.glad.result import Result
from spanloom.glad.run import (
    SEED,
    Log,
    Origin,
    commit,
    read_tests,
    score,
    set_options,
    train_unless_done,
    training_cost,
)
from spanloom.model.plan import Plan, resolve
from spanloom.model.serialization import load
from spanloom.training import train
from spanloom.training.loop import OWN

ALONE, JOINT, BEST, TUNED = COLUMNS = ("alone", "joint", "joint-own-best", "joint-tuned")
Settings = tuple[str, ...]


class Part(Options):
    """What is changed for the runs of one column: ``all_tasks`` for all, ``tasks`` for some."""

    all_tasks: Settings = Field(
        default=(), description="settings of each run, as stages.0.epochs=5"
    )
    tasks: dict[str, Settings] = Field(default={}, description="further settings by task")

    def of(self, task: str) -> Settings:
        """Return the settings of one task, the later ones stronger."""
        return (*self.all_tasks, *self.tasks.get(task, ()))


class GridSpec(Options):
    """A grid: ``{joint: FILE, single_task: {...}, fine_tuned: {...}, joint_only: [...]}``."""

    joint: str = Field(min_length=1, description="the recipe of all, from the folder of this file")
    single_task: Part = Field(default=Part(), description="what is other where a task learns alone")
    fine_tuned: Part = Field(default=Part(), description="what is other where it goes on by itself")
    joint_only: tuple[str, ...] = Field(default=(), description="tasks that only learn jointly")
    extra_tasks: dict[str, dict[str, Any]] = Field(
        default={},
        description="tasks that learn alone and on from the others, which never see them",
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: its column, its plan, its folder, the tasks that are scored."""

    column: str
    plan: Plan
    folder: Path
    tasks: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the run: ``joint``, else column and task, as ``alone-ner``."""
        return _run_name(self.column, self.tasks)


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid: its file, the settings of all runs, its runs in their order."""

    path: Path
    settings: Settings
    cells: tuple[Cell, ...]


def read(
    path: Path,
    data: Path,
    out: Path,
    settings: Sequence[str] = (),
    only: Sequence[str] | None = None,
) -> Grid:
    """Read a grid and plan its runs below ``out``: those named in ``only``, or all.

    ``data`` holds the prepared datasets. Raises ``RecipeError``, and ``NameNotFound`` for a run
    that the grid does not have.
    """
    loaded = yaml.load(path)
    spec = validate_options(GridSpec, loaded.data, loaded.location)
    joint = recipes.load(path.parent / spec.joint, settings)
    if len(joint.stages) != 1:
        raise loaded.location.location_of("joint").error(
            f"expected a recipe of one stage, got {len(joint.stages)} in {spec.joint}"
        )
    _check(spec, joint, loaded.location)
    runs = _runs(spec, joint, out)
    names = [_run_name(column, tasks) for column, _, _, tasks in runs]
    for name in only or ():
        if name not in names:
            raise NameNotFound("run of this grid", name, names)
    shared = resolve(joint, data)
    cells = (
        Cell(column, shared if recipe is joint else resolve(recipe, data), folder, tasks)
        for name, (column, recipe, folder, tasks) in zip(names, runs, strict=True)
        if only is None or name in only
    )
    return Grid(path, tuple(settings), tuple(cells))


def _run_name(column: str, tasks: Sequence[str]) -> str:
    return column if column == JOINT else f"{column}-{tasks[0]}"


def _runs(
    spec: GridSpec, joint: Recipe, out: Path
) -> list[tuple[str, Recipe, Path, tuple[str, ...]]]:
    """Return column, recipe, folder and scored tasks of each run."""
    plain = recipes.to_plain(joint)
    plain["tasks"] |= spec.extra_tasks
    jointly = tuple(name for name in joint.stages[0].tasks if name not in spec.joint_only)
    joint_folder = out / JOINT
    tuned = {**plain, "init_from": str(joint_folder)}
    cells: list[tuple[str, Recipe, Path, tuple[str, ...]]] = [
        (ALONE, _single(plain, name, spec.single_task.of(name)), out / f"{ALONE}-{name}", (name,))
        for name in (*jointly, *spec.extra_tasks)
    ]
    cells.append((JOINT, joint, joint_folder, jointly))
    if joint.stages[0].save_best_per_task:
        cells += [(BEST, joint, train.home(joint_folder) / OWN / name, (name,)) for name in jointly]
    for name in (*jointly, *spec.extra_tasks):
        recipe = _single(tuned, name, spec.fine_tuned.of(name))
        cells.append((TUNED, recipe, out / f"{TUNED}-{name}", (name,)))
    return cells


def _check(spec: GridSpec, joint: Recipe, location: SourceLocation) -> None:
    """Raise ``RecipeError`` for the name of an unknown task, or one that the recipe has already."""
    all_tasks = (*joint.tasks, *spec.extra_tasks)
    for key, names, valid_names in (
        ("joint_only", spec.joint_only, tuple(joint.tasks)),
        ("single_task", spec.single_task.tasks, all_tasks),
        ("fine_tuned", spec.fine_tuned.tasks, all_tasks),
    ):
        for name in names:
            if name not in valid_names:
                hint = did_you_mean(name, valid_names)
                raise location.location_of(key).error(f"no task {name!r}{hint}")
    for name in spec.extra_tasks:
        if name in joint.tasks:
            raise location.location_of("extra_tasks", name).error(
                f"{spec.joint} has a task of this name"
            )


def _single(joint: Mapping[str, Any], name: str, settings: Settings) -> Recipe:
    """Return the recipe of one task alone, changed by settings."""
    task, stage = joint["tasks"][name], joint["stages"][0]
    weights = {key: value for key, value in stage["loss_weights"].items() if key == name}
    own = {"tasks": [name], "reset_heads": [], "loss_weights": weights, "validation_metric": None}
    corpora = joint.get("corpora", {})
    single = {
        **joint,
        "tasks": {name: task},
        "levels": _below(joint["levels"], task.get("level", TRUNK)),
        "corpora": {key: parts for key, parts in corpora.items() if key == task.get("data")},
        "stages": [{**stage, **own, "save_best_per_task": False, "share_batches": False}],
    }
    return recipes.loads(yaml.dump(single), f"{name} of the joint recipe", settings)


def _below(levels: Sequence[dict[str, Any]], top: str) -> list[dict[str, Any]]:
    """Return a level and those that it reads, in their order."""
    needed = {top}
    for level in reversed(levels):
        if level["name"] in needed:
            needed.update(level["inputs"])
    return [level for level in levels if level["name"] in needed]


def run(grid: Grid, data: Path, log: Log) -> Iterator[Result]:
    """Train what is missing and yield the results of all runs, with the column as ``recipe``.

    Raises what training and scoring do.
    """
    command = shlex.join(["spanloom", "glad", "grid", str(grid.path), *set_options(grid.settings)])
    changed = tuple(setting for setting in grid.settings if not setting.startswith(SEED))
    for cell in grid.cells:
        plan, folder = cell.plan, cell.folder
        tests = {name: some for name, some in read_tests(plan).items() if name in cell.tasks}
        if not any(test.documents for some in tests.values() for test in some):
            log(f"{folder}: no test set, left out")
            continue
        log(f"{cell.column}: {', '.join(cell.tasks)}")
        cost = None
        if cell.column != BEST:
            train_unless_done(plan, folder, log, resume=train.home(folder).exists())
            cost = training_cost(plan, folder, log)
        origin = Origin(cell.column, changed, commit(grid.path), command)
        yield from score(load(folder), folder, tests, data, origin, cost, log)
