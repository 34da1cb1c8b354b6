"""Check the conditions of a study's cells: each stands once, and what is compared with exists."""

from collections import Counter
from collections.abc import Iterable

from spanloom.config.options import did_you_mean
from spanloom.errors import RecipeError
from spanloom.studies.spec import Study
from spanloom.studies.study_plan import Cell


def check_conditions(study: Study, cells: Iterable[Cell]) -> None:
    """Raise ``RecipeError`` where two runs are of one condition: they would pass for two seeds."""
    counts = Counter((cell.design, cell.condition, cell.task, cell.variant) for cell in cells)
    for (_, condition, task, _), count in counts.items():
        if count > 1:
            problem = (
                f"designs: {count} times the condition {condition!r} of task {task!r}; "
                "give one of the designs a label"
            )
            raise RecipeError(str(study.path), None, problem)


def check_against(study: Study, cells: Iterable[Cell]) -> None:
    """Raise ``RecipeError`` for a name that the study has no trunk, mode or condition of."""
    conditions = (cell.condition for cell in cells)
    choices = dict.fromkeys((*study.spec.trunks, *study.spec.sharing, *conditions))
    for name in study.spec.against:
        if name not in choices:
            problem = f"against: no trunk, sharing mode or condition {name!r}"
            raise RecipeError(str(study.path), None, f"{problem}{did_you_mean(name, choices)}")
