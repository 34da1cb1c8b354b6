"""Check, before any run, the splits that a study scores: test is there, dev was not learnt from."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spanloom.corpora import folder
from spanloom.corpora.folder import locate
from spanloom.corpora.raw_text import is_raw_text
from spanloom.errors import DataError
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
    for cell in cells:
        earlier, seed = cell.job.before, cell.job.recipe["seed"]
        names = cell.job.recipe["tasks"]
        sources = {source for name in names for source in task_sources(cell.job.recipe, name)}
        while earlier is not None:
            recipe = earlier.recipe
            learnt = {source for name in recipe["tasks"] for source in task_sources(recipe, name)}
            both = sorted(learnt & sources) if recipe["seed"] != seed else []
            for source in both:
                if not _has_dev(locate(source, data)):
                    raise DataError(
                        f"{study.path}: prefix_seed: {source} has no dev split, so each seed holds "
                        f"out another part of it, and runs of seed {recipe['seed']} have learnt "
                        f"from the part of seed {seed}; leave prefix_seed out, or divide {source}"
                    )
            earlier = earlier.before


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
