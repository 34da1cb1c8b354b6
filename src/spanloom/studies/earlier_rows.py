"""Rows of earlier versions of the code or the data, found by what was trained."""

from collections.abc import Mapping, Sequence

from spanloom.config import recipe as recipes
from spanloom.config.specs import Raw
from spanloom.errors import RecipeError
from spanloom.studies.job import Job
from spanloom.studies.row import Row, own_name


def earlier_rows(
    jobs: Mapping[str, Job], rows_by_name: Mapping[str, Sequence[Row]]
) -> dict[str, Row]:
    """Return the newest row of each job, by its key, that differs in code or data at most.

    Recipe, scored tasks and split, and the run before are the job's. Of two such rows of one day
    neither is taken, as nothing says which is newer.
    """
    by_key = {row.key: row for rows in rows_by_name.values() for row in rows}
    earlier = {}
    for key, job in jobs.items():
        fitting = [row for row in rows_by_name.get(job.name, ()) if _is_of(row, job, by_key)]
        last_date = max((row.date for row in fitting), default="")
        newest = [row for row in fitting if row.date == last_date]
        if len(newest) == 1:
            earlier[key] = newest[0]
    return earlier


def _is_of(row: Row, job: Job, by_key: Mapping[str, Row]) -> bool:
    """Return whether a row is of a job as far as rows tell."""
    if {own_name(task) for task in row.scores} != {*job.tasks}:
        return False
    # a task that only trains an encoder, such as masked_lm, has no scores on any split
    if any(splits and job.score not in splits for splits in row.scores.values()):
        return False
    if row.own_scores and job.weights == "own":
        return False
    if not row.own_scores and job.weights == "shared" and len(job.tasks) > 1:
        return False  # with shared weights each task's own best ones are scored, too
    if (row.before is None) != (job.before is None) or not _is_same(row.recipe, job.recipe):
        return False
    if job.before is None or row.before is None:
        return True
    before = by_key.get(row.before)
    return before is not None and _is_of(before, job.before, by_key)


def _is_same(earlier: Raw, today: Raw) -> bool:
    """Return whether two recipes are equal but for where they start, and for keys that are new."""
    return _without_start(_with_new_keys(earlier)) == _without_start(today)


def _with_new_keys(recipe: Raw) -> Raw:
    """Return a plain recipe with the keys that it lacks at their defaults."""
    try:
        return recipes.to_plain(recipes.from_plain(_without_start(recipe), "row"))
    except RecipeError:  # a key has gone, or is another one now
        return recipe


def _without_start(recipe: Raw) -> Raw:
    return {key: value for key, value in recipe.items() if key != "init_from"}
