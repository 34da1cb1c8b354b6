"""Check the cells of a study: each condition stands once, what is compared with exists, and runs
that go on from others have their trunk.
"""

from collections import Counter
from collections.abc import Iterable

from spanloom.config.options import did_you_mean
from spanloom.config.specs import Raw
from spanloom.errors import RecipeError
from spanloom.studies.job import Job
from spanloom.studies.spec import Study
from spanloom.studies.study_plan import Cell, StudyPlan


def check_plan(study: Study, planned: StudyPlan) -> None:
    """Raise ``RecipeError`` where the cells of a study, or their runs, contradict each other."""
    _check_conditions(study, planned.cells)
    _check_against(study, planned.cells)
    _check_trunks(study, planned.jobs.values())


def _check_conditions(study: Study, cells: Iterable[Cell]) -> None:
    """Raise ``RecipeError`` where two runs are of one condition: they would pass for two seeds."""
    counts = Counter((cell.design, cell.condition, cell.task, cell.variant) for cell in cells)
    for (_, condition, task, _), count in counts.items():
        if count > 1:
            problem = (
                f"designs: {count} times the condition {condition!r} of task {task!r}; "
                "give one of the designs a label"
            )
            raise RecipeError(str(study.path), None, problem)


def _check_against(study: Study, cells: Iterable[Cell]) -> None:
    """Raise ``RecipeError`` for a name that the study has no trunk, mode or condition of."""
    conditions = (cell.condition for cell in cells)
    choices = dict.fromkeys((*study.spec.trunks, *study.spec.sharing, *conditions))
    for name in study.spec.against:
        if name not in choices:
            problem = f"against: no trunk, sharing mode or condition {name!r}"
            raise RecipeError(str(study.path), None, f"{problem}{did_you_mean(name, choices)}")


def _check_trunks(study: Study, jobs: Iterable[Job]) -> None:
    """Raise ``RecipeError`` for a run with another trunk than the run that it goes on from.

    The run itself would find out, but only after all that comes before it was trained.
    """
    for job in jobs:
        if job.before is None:
            continue
        got, expected = _embedders(job.recipe), _embedders(job.before.recipe)
        if got != expected:
            problem = (
                f"designs: {job.name}: trunk: expected {expected}, as in the run that it goes on "
                f"from, got {got}; change the trunk of both, in settings of the design"
            )
            raise RecipeError(str(study.path), None, problem)


def _embedders(recipe: Raw) -> str:
    """Return what the trunk of a plain recipe is made of: each embedder's name and its file."""
    firsts = [next(iter(embedder.items())) for embedder in recipe["trunk"]]
    return ", ".join(f"{name}: {value}" for name, value in firsts)
