"""Train a recipe on prepared datasets and score it on their test sets: one row a task."""

import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.differences import differences
from spanloom.config.recipe import Recipe
from spanloom.corpora import card as cards
from spanloom.corpora import folder, prepare
from spanloom.corpora.folder import locate
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.glad import speed
from spanloom.glad.result import Bounds, Result
from spanloom.glad.speed import Trained
from spanloom.model import evaluation
from spanloom.model.model import Model
from spanloom.model.serialization import RECIPE, load
from spanloom.training import prepare as prepare_training
from spanloom.training import train

Say = Callable[[str], None]
INTERVAL = "f1_interval"
# what training adds to the recipe of a model, and what changes nothing that it learns
NOTED = ("vocabulary", "removed_tasks", "pretraining_data", "card")
SEED = "seed="
_SECTIONS = {"span_f1": "spans", "relation_f1": "relations"}  # of a report, by metric
_MEASURED_IN_TRAINING = ("updates", "epoch", "train_cpu_minutes", "train_words_per_s")


@dataclass(frozen=True, slots=True)
class Origin:
    """What a row says of where it comes from: a recipe's name, settings, commit, the command."""

    recipe: str
    settings: tuple[str, ...]
    commit: str
    command: str


@dataclass(frozen=True, slots=True)
class Test:
    """The test split of a dataset, empty where it has none: as it is, and as a task sees it.

    ``labels`` maps its labels to the task's, where the task learns from several datasets.
    """

    dataset: str
    raw: tuple[Document, ...]
    documents: tuple[Document, ...]
    labels: dict[str, str | None]


def run(
    recipe: Path, data: Path, out: Path, say: Say, settings: Sequence[str] = (), *, resume: bool
) -> Iterator[Result]:
    """Train ``recipe`` and yield a row for each task whose dataset has a test split.

    ``data`` holds the prepared datasets that the recipe names. A model that is at ``out`` already
    is scored, not trained again; ``DataError`` where it was made by another recipe or other
    settings. Raises what training does, and ``DataError`` where no task of the recipe has a test
    set; each look at one is noted in ``test-evaluations.jsonl``.
    """
    asked = recipes.load(recipe, settings)
    # read before training: a label that no map names is better told now
    tests = read_tests(asked, data)
    train_unless_done(asked, data, out, say, resume=resume)
    changed = tuple(each for each in settings if not each.startswith(SEED))
    command = shlex.join(["spanloom", "glad", "run", str(recipe), *said(settings)])
    origin = Origin(recipe.stem, changed, commit(recipe), command)
    took = spent(out, asked, data, say)
    yield from scored(out, tests, data, origin, took, say)


def train_unless_done(asked: Recipe, data: Path, out: Path, say: Say, *, resume: bool) -> None:
    """Train a recipe, unless its model is there already; raises ``DataError`` for another one."""
    if not out.exists() or train.unfinished(out):
        train.train(asked, data, out, say, resume=resume)
    _check_same(asked, recipes.load(out / RECIPE), out)


def spent(out: Path, asked: Recipe, data: Path, say: Say) -> Trained | None:
    """Return what the training of a model took; None, and a line, where its run is gone.

    Raises ``DataError`` where it learnt from other data.
    """
    took = speed.trained(out, asked.stages[-1])
    if took is None:
        say(f"{train.home(out)}: not what made {out}, or not whole; what training took is unknown")
    elif took.data != prepare_training.data_identity(asked, data):
        raise DataError(f"{out}: train and dev below {data} are not what this model learnt from")
    return took


def scored(
    place: Path,
    tests: Mapping[str, Sequence[Test]],
    data: Path,
    origin: Origin,
    took: Trained | None,
    say: Say,
) -> Iterator[Result]:
    """Yield a row for each test set of a model's tasks; ``DataError`` where there is none.

    Each look at one is noted in ``test-evaluations.jsonl``.
    """
    model = load(place)
    tasks = [name for name in tests if name in model.tasks and model.tasks[name].predicts]
    found = [(name, test) for name in tasks for test in tests[name]]
    if not any(test.documents for _, test in found):
        raise DataError(f"{data}: no task of {origin.recipe} has a test split")
    for name, test in found:
        row = _row(model, name, test, say)
        if row is not None:
            metrics, seed = {name: row["metrics"]}, model.recipe.seed
            look = origin.command, str(place), test.dataset, "test", test.raw, seed, metrics
            evaluation.log_test_evaluation(evaluation.LOG, *look)
            prepared = prepare.read_summary(data, test.dataset)
            known = test.dataset in cards.names()
            yield Result(
                dataset=test.dataset,
                version=cards.load(test.dataset).version if known else "",
                key=prepared.key if prepared else "",
                task=name,
                labels=test.labels,
                seed=seed,
                date=datetime.now(UTC).date().isoformat(),
                **asdict(origin),
                **_training(took),
                **row,
            )


def _check_same(asked: Recipe, saved: Recipe, out: Path) -> None:
    """Raise ``DataError`` that names the first key in which a model's recipe is another one."""
    for keys, mine, other in differences(_plain(asked), _plain(saved)):
        raise DataError(
            f"{out}: a model of another recipe: its {'.'.join(map(str, keys))} is {other!r:.40}, "
            f"asked for is {mine!r:.40}; ask for the same (--set), or choose another -o"
        )


def _plain(recipe: Recipe) -> dict[str, Any]:
    """A recipe as it is saved, without what training notes in it."""
    whole = yaml.loads(recipes.dumps(recipe), "recipe").data
    return {key: value for key, value in whole.items() if key not in NOTED}


def _training(took: Trained | None) -> dict[str, Any]:
    """What a row says of training."""
    if took is None:
        return dict.fromkeys(_MEASURED_IN_TRAINING) | {"dev": {}}
    return {
        "dev": took.dev,
        "updates": took.updates,
        "epoch": took.epoch,
        "train_cpu_minutes": _rounded(took.minutes, 2),
        "train_words_per_s": _rounded(took.speed, 1),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def said(settings: Sequence[str]) -> list[str]:
    """Return the options of a command that make settings."""
    return [part for each in settings for part in ("--set", each)]


def read_tests(
    recipe: Recipe, data: Path, names: Iterable[str] | None = None
) -> dict[str, list[Test]]:
    """Return the test splits of the datasets of some tasks, or all; raises what reading does."""
    chosen = recipe.kept_tasks if names is None else names
    return {name: list(_tests(recipe, name, data)) for name in chosen}


def _tests(recipe: Recipe, task: str, data: Path) -> Iterator[Test]:
    """The test splits of the datasets that a task learns from."""
    parts = recipe.corpora.get(recipe.tasks[task].data, ())
    for row, source in enumerate(recipe.sources(task)):
        place = locate(source, data)
        raw = folder.read(place, "test").documents if "test" in folder.splits(place) else ()
        part = parts[row] if parts else None
        labels = part.label_map or {} if part else {}
        yield Test(place.name, raw, evaluation.map_to_task_labels(recipe, task, part, raw), labels)


def _row(model: Model, name: str, test: Test, say: Say) -> dict[str, Any] | None:
    """What was measured of one task, None where there is nothing to measure."""
    documents = test.documents
    if not documents:
        say(f"task {name}: {test.dataset} has no test split, not scored")
        return None
    report = evaluation.evaluate_task(model, name, documents, say)
    if report is None:
        return None
    task, told = model.tasks[name], report.to_json()
    metrics = task.metrics(report)
    bare = (task.without_gold(each) for each in documents if task.has_gold(each))
    rates = speed.speeds(model, speed.first(model, bare), [name])
    return {
        "kind": model.recipe.tasks[name].kind,
        "gold_inputs": tuple(task.inputs),
        "metrics": metrics,
        "intervals": _intervals(metrics, told),
        "annotate_words_per_s": round(rates.annotated, 1),
        "encoder_words_per_s": _rounded(rates.encoder, 1),
        "relative_speed": _rounded(rates.ratio, 3),
        "compute": str(model.compute),
        "report": told,
        "per_document_counts": {
            metric: counts.dumps()
            for metric, counts in report.per_document_counts().items()
            if metric in metrics
        },
    }


def _intervals(metrics: Mapping[str, float], report: Mapping[str, Any]) -> dict[str, Bounds]:
    """Return the intervals of a report by metric; one at its top level is the main metric's."""
    main = next(iter(metrics))
    sections = {name: report.get(_SECTIONS.get(name, name)) for name in metrics}
    if INTERVAL in report:
        sections[main] = report
    return {
        name: (section[INTERVAL]["low"], section[INTERVAL]["high"])
        for name, section in sections.items()
        if isinstance(section, dict) and INTERVAL in section
    }


def commit(recipe: Path) -> str:
    """Return the commit of a recipe's folder, with a + where files differ; "" without git."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=recipe.resolve().parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip()
