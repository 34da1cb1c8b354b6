"""Check, before any run, the splits that a study scores: test is there, dev was not learnt from."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from spanloom.corpora import folder
from spanloom.corpora.folder import locate
from spanloom.corpora.raw_text import is_raw_text
from spanloom.errors import DataError
from spanloom.studies.job import Job
from spanloom.studies.spec import Study
from spanloom.studies.study_plan import Cell


def check_splits(study: Study, cells: Iterable[Cell], data: Path) -> None:
    """Raise ``DataError`` for what cannot be scored honestly; ``data`` holds the corpora."""
    cells = list(cells)
    _check_test_splits(study, cells, data)
    _check_held_out(study, cells, data)


def _check_held_out(study: Study, cells: Iterable[Cell], data: Path) -> None:
    """Raise ``DataError`` where a run before one of another seed has learnt from its dev.

    A corpus without a dev split holds out a part of train by the seed.
    """
    for job in (cell.job for cell in cells):
        seed = job.recipe["seed"]
        others = [before for before in _runs_before(job) if before.recipe["seed"] != seed]
        learnt = {source: before for before in others for source in _sources(before)}
        for source in sorted(_sources(job) & learnt.keys()):
            if not _has_dev(locate(source, data)):
                raise DataError(
                    f"{study.path}: prefix_seed: {source} has no dev split, so each seed holds out "
                    f"another part of it, and runs of seed {learnt[source].recipe['seed']} have "
                    f"learnt from the part of seed {seed}; leave prefix_seed out, or divide "
                    f"{source}"
                )


def _runs_before(job: Job) -> Iterator[Job]:
    """Yield the runs that a run goes on from, the last one first."""
    while job.before is not None:
        job = job.before
        yield job


def _sources(job: Job) -> set[str]:
    """Return the corpora and folders that the tasks of a run learn from."""
    return {source for name in job.recipe["tasks"] for source in task_sources(job.recipe, name)}


def _has_dev(path: Path) -> bool:
    """Return whether a corpus has a dev split, or is raw text, whose tasks are never scored."""
    return (path.is_dir() and is_raw_text(path)) or {"train", "dev"} <= folder.splits(path).keys()


def _check_test_splits(study: Study, cells: Iterable[Cell], data: Path) -> None:
    """Raise ``DataError`` that names the measured tasks without a test split to be scored on.

    Tasks that a run only passes through, as the first links of chains, need none.
    """
    if study.spec.score != "test":
        return
    sources = {
        (cell.task, source)
        for cell in cells
        if cell.task in cell.job.recipe["tasks"]  # others are tasks that are given gold once more
        for source in task_sources(cell.job.recipe, cell.task)
    }
    is_scored = {source: _is_scored(locate(source, data)) for _, source in sources}
    scored_tasks = {task for task, source in sources if is_scored[source]}
    missing = sorted((task, source) for task, source in sources if task not in scored_tasks)
    if missing:
        names = ", ".join(f"{task} ({source})" for task, source in missing)
        problem = f"score: expected a test split of each task, got none of {names}"
        raise DataError(f"{study.path}: {problem}; score: dev needs none")


def task_sources(recipe: Mapping[str, Any], task: str) -> list[str]:
    """Return the corpora and folders that a task of a plain recipe learns from."""
    name = recipe["tasks"][task]["data"]
    parts = recipe.get("corpora", {}).get(name)
    return [part["data"] for part in parts] if parts else [name]


def _is_scored(path: Path) -> bool:
    """Return whether a corpus has a test split, or is raw text, whose tasks are never scored."""
    return (path.is_dir() and is_raw_text(path)) or "test" in folder.splits(path)
