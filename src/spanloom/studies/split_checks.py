"""Check, before any run, that a study which scores test has test splits to score."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spanloom.corpora import folder
from spanloom.corpora.folder import locate
from spanloom.corpora.raw_text import is_raw_text
from spanloom.errors import DataError
from spanloom.studies.spec import Study
from spanloom.studies.study_plan import Cell


def check_test_splits(study: Study, cells: Iterable[Cell], data: Path) -> None:
    """Raise ``DataError`` that names the measured tasks without a test split to be scored on.

    Tasks that a run only passes through, as the first links of chains, need none. ``data`` holds
    the corpora.
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
