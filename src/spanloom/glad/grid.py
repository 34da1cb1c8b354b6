"""Which task gains from learning with others: each alone, all jointly, jointly and then by itself.

SpanRel, table 5. One recipe says all: its tasks are learnt in one stage. From it come a recipe a
task with nothing else in it, and one that starts from what all have learnt together. A run that is
there already is not trained again, one that was stopped goes on.
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
    Origin,
    Say,
    commit,
    read_tests,
    said,
    scored,
    spent,
    train_unless_done,
)
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
    """One run: its column, its recipe, where it lies, the tasks that are scored."""

    column: str
    recipe: Recipe
    place: Path
    tasks: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called: ``joint``, else column and task, as ``alone-ner``."""
        return self.column if self.column == JOINT else f"{self.column}-{self.tasks[0]}"


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid that was read: its file, its settings of every run, its cells in their order."""

    path: Path
    settings: Settings
    cells: tuple[Cell, ...]


def read(
    path: Path, out: Path, settings: Sequence[str] = (), only: Sequence[str] | None = None
) -> Grid:
    """Read a grid and work out its runs below ``out``: those named in ``only``, or all.

    Raises ``RecipeError``, and ``NameNotFound`` for a run that the grid does not have.
    """
    loaded = yaml.load(path)
    spec = validate_options(GridSpec, loaded.data, loaded.location)
    joint = recipes.load(path.parent / spec.joint, settings)
    if len(joint.stages) != 1:
        raise loaded.location.location_of("joint").error(
            f"expected a recipe of one stage, got {len(joint.stages)} in {spec.joint}"
        )
    _check(spec, joint, loaded.location)
    whole = recipes.to_plain(joint)
    whole["tasks"] |= spec.extra_tasks
    every = tuple(name for name in joint.stages[0].tasks if name not in spec.joint_only)
    together = out / JOINT
    cells = [
        Cell(
            ALONE, _single(whole, name, spec.single_task.of(name)), out / f"{ALONE}-{name}", (name,)
        )
        for name in (*every, *spec.extra_tasks)
    ]
    cells.append(Cell(JOINT, joint, together, every))
    if joint.stages[0].save_best_per_task:
        cells += [Cell(BEST, joint, train.home(together) / OWN / name, (name,)) for name in every]
    for name in (*every, *spec.extra_tasks):
        tuned = _single({**whole, "init_from": str(together)}, name, spec.fine_tuned.of(name))
        cells.append(Cell(TUNED, tuned, out / f"{TUNED}-{name}", (name,)))
    names = [cell.name for cell in cells]
    for name in only or ():
        if name not in names:
            raise NameNotFound("run of this grid", name, names)
    kept = tuple(cell for cell in cells if only is None or cell.name in only)
    return Grid(path, tuple(settings), kept)


def _check(spec: GridSpec, joint: Recipe, where: SourceLocation) -> None:
    """Raise ``RecipeError`` where a name is none of the tasks', or one of them twice."""
    known = (*joint.tasks, *spec.extra_tasks)
    for key, names, there in (
        ("joint_only", spec.joint_only, tuple(joint.tasks)),
        ("single_task", spec.single_task.tasks, known),
        ("fine_tuned", spec.fine_tuned.tasks, known),
    ):
        for name in names:
            if name not in there:
                raise where.location_of(key).error(f"no task {name!r}{did_you_mean(name, there)}")
    for name in spec.extra_tasks:
        if name in joint.tasks:
            raise where.location_of("extra_tasks", name).error(
                f"{spec.joint} has a task of this name"
            )


def _single(joint: Mapping[str, Any], name: str, settings: Settings) -> Recipe:
    """The recipe with one task alone, changed by settings."""
    task, stage = joint["tasks"][name], joint["stages"][0]
    corpora = {
        key: each for key, each in joint.get("corpora", {}).items() if key == task.get("data")
    }
    weights = {key: value for key, value in stage["loss_weights"].items() if key == name}
    own = {"tasks": [name], "reset_heads": [], "loss_weights": weights, "validation_metric": None}
    single = {
        **joint,
        "tasks": {name: task},
        "levels": _below(joint["levels"], task.get("level", TRUNK)),
        "corpora": corpora,
        "stages": [{**stage, **own, "save_best_per_task": False, "share_batches": False}],
    }
    return recipes.loads(yaml.dump(single), f"{name} of the joint recipe", settings)


def _below(levels: Sequence[dict[str, Any]], top: str) -> list[dict[str, Any]]:
    """The levels that one of them needs, itself too."""
    needed = {top}
    for level in reversed(levels):
        if level["name"] in needed:
            needed.update(level["inputs"])
    return [level for level in levels if level["name"] in needed]


def run(grid: Grid, data: Path, say: Say) -> Iterator[Result]:
    """Train what is not there yet and yield the rows of all runs, a task's column as ``recipe``.

    Raises what training and scoring do.
    """
    command = shlex.join(["spanloom", "glad", "grid", str(grid.path), *said(grid.settings)])
    changed = tuple(each for each in grid.settings if not each.startswith(SEED))
    for cell in grid.cells:
        tests = {
            name: each for name, each in read_tests(cell.recipe, data).items() if name in cell.tasks
        }
        if not any(test.documents for each in tests.values() for test in each):
            say(f"{cell.place}: no test set, left out")
            continue
        say(f"{cell.column}: {', '.join(cell.tasks)}")
        took = None
        if cell.column != BEST:
            train_unless_done(
                cell.recipe, data, cell.place, say, resume=train.home(cell.place).exists()
            )
            took = spent(cell.place, cell.recipe, data, say)
        origin = Origin(cell.column, changed, commit(grid.path), command)
        yield from scored(cell.place, tests, data, origin, took, say)
