"""Check, before any run, what else would fail or say nothing after hours of training."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.errors import RecipeError, SpanloomError
from spanloom.model.plan import Plan, resolve
from spanloom.studies.job import Job
from spanloom.studies.metric_checks import check_metrics, example_of
from spanloom.studies.row import own_name
from spanloom.studies.spec import Study
from spanloom.studies.split_checks import check_splits
from spanloom.studies.study_plan import Cell, StudyPlan


def check_runs(study: Study, planned: StudyPlan, data: Path) -> None:
    """Raise ``RecipeError`` or ``DataError`` for what a study cannot train, or cannot score.

    ``data`` holds the corpora.
    """
    plans = {key: _resolve(study, job) for key, job in planned.jobs.items()}
    _check_tasks(study, planned.cells, plans)
    check_metrics(study, planned.cells, plans)
    check_splits(study, planned.cells, data)


def _resolve(study: Study, job: Job) -> Plan:
    """Return the plan of a run's recipe; raises ``RecipeError`` that names study and run."""
    try:
        return resolve(recipes.from_plain(job.recipe, job.name))
    except RecipeError as error:
        raise RecipeError(str(study.path), None, f"{job.name}: {error.problem}") from error
    except SpanloomError as error:
        raise RecipeError(str(study.path), None, f"{job.name}: {error}") from error


def _check_tasks(study: Study, cells: Iterable[Cell], plans: Mapping[str, Plan]) -> None:
    """Raise ``RecipeError`` for measured tasks without scores, or without gold to be given."""
    for kind, cell in {_kind(cell, plans): cell for cell in cells}.items():
        task = example_of(plans[cell.job.key].tasks[own_name(cell.task)])
        if task is None:
            continue
        if not task.predicts:
            problem = (
                f"task {cell.task!r} (kind {kind[1]}) predicts nothing that can be scored; it can "
                "be a link of chains, but not the last one"
            )
            raise RecipeError(str(study.path), None, f"designs: {problem}")
        if own_name(cell.task) in study.spec.gold_inputs and not task.with_gold_inputs().inputs:
            problem = f"task {own_name(cell.task)!r} cannot be given mentions or spans"
            raise yaml.load(study.path).location.location_of("gold_inputs").error(problem)


def _kind(cell: Cell, plans: Mapping[str, Plan]) -> tuple[str, str]:
    """Return a cell's task and its kind."""
    return cell.task, plans[cell.job.key].tasks[own_name(cell.task)].spec.kind
