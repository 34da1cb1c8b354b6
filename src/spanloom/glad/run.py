"""Train a recipe on prepared datasets and score it on their test sets: one result per task."""

import shlex
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.override import differences
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
from spanloom.model.plan import Plan, TaskPlan, resolve
from spanloom.model.serialization import RECIPE, load
from spanloom.training import train
from spanloom.training.split_corpus import data_identity, part_documents

Log = Callable[[str], None]
INTERVAL = "f1_interval"
# what training adds to the recipe of a model, and what changes nothing that it learns
NOTED = ("vocabulary", "removed_tasks", "pretraining_data", "held_out", "biases", "card")
SEED = "seed="
_SECTIONS = {"span_f1": "spans", "relation_f1": "relations"}  # of a report, by metric
_MEASURED_IN_TRAINING = ("updates", "epoch", "train_cpu_minutes", "train_words_per_s")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a result comes from: a recipe's name, settings, commit, the command."""

    recipe: str
    settings: tuple[str, ...]
    commit: str
    command: str


@dataclass(frozen=True, slots=True)
class Test:
    """The test split of a dataset, empty where it has none: as it is, and as a task sees it.

    Documents of one of several datasets are named after it, as those of train and dev are.
    ``labels`` maps its labels to the task's, where the task learns from several datasets.
    """

    dataset: str
    raw: tuple[Document, ...]
    documents: tuple[Document, ...]
    labels: dict[str, str | None]


def run(
    recipe: Path, data: Path, out: Path, log: Log, settings: Sequence[str] = (), *, resume: bool
) -> Iterator[Result]:
    """Train ``recipe`` and yield a result for each task whose dataset has a test split.

    ``data`` holds the prepared datasets that the recipe names. A model that is at ``out`` already
    is only scored; ``DataError`` where another recipe or other settings made it. Raises what
    training does, and ``DataError`` where no task has a test set. Each evaluation on one is logged
    in ``test-evaluations.jsonl``.
    """
    plan = resolve(recipes.load(recipe, settings), data)
    tests = read_tests(plan)  # before training: a label that no map names is better told now
    train_unless_done(plan, out, log, resume=resume)
    changed = tuple(setting for setting in settings if not setting.startswith(SEED))
    command = shlex.join(["spanloom", "glad", "run", str(recipe), *set_options(settings)])
    origin = Origin(recipe.stem, changed, commit(recipe), command)
    cost = training_cost(plan, out, log)
    yield from score(load(out), out, tests, data, origin, cost, log)


def train_unless_done(
    plan: Plan, out: Path, log: Log, *, resume: bool, used: Collection[str] | None = None
) -> None:
    """Train a plan, unless its model is there already; raises ``DataError`` for another one.

    Only the biases of the tasks ``used`` are tuned; None stands for all.
    """
    if not out.exists() or train.is_unfinished(out):
        train.train(plan, out, log, resume=resume, used=used)
    _check_same(plan.recipe, recipes.load(out / RECIPE), out)


def training_cost(plan: Plan, out: Path, log: Log) -> Trained | None:
    """Return the cost of a model's training; None, and a log line, if its run is gone.

    Raises ``DataError`` where it learnt from other data.
    """
    cost = speed.read_training_cost(out, plan.recipe.stages[-1])
    if cost is None:
        problem = f"not what made {out}, or not whole; what training took is unknown"
        log(f"{train.run_folder(out)}: {problem}")
    elif cost.data != data_identity(plan):
        data = plan.recipe_dir
        raise DataError(f"{out}: train and dev below {data} are not what this model learnt from")
    return cost


def score(
    model: Model,
    model_dir: Path,
    tests: Mapping[str, Sequence[Test]],
    data: Path,
    origin: Origin,
    cost: Trained | None,
    log: Log,
) -> Iterator[Result]:
    """Yield a result for each test set of a model's tasks; ``DataError`` where there is none.

    Each evaluation is logged in ``test-evaluations.jsonl``.
    """
    tasks = [name for name in tests if name in model.tasks and model.tasks[name].predicts]
    pairs = [(name, test) for name in tasks for test in tests[name]]
    if not any(test.documents for _, test in pairs):
        raise DataError(f"{data}: no task of {origin.recipe} has a test split")
    for name, test in pairs:
        row = _row(model, name, test, log)
        if row is not None:
            metrics, seed = {name: row["metrics"]}, model.recipe.seed
            entry = origin.command, str(model_dir), test.dataset, "test", test.raw, seed, metrics
            evaluation.log_test_evaluation(evaluation.LOG, *entry)
            prepared = prepare.read_summary(data, test.dataset)
            has_card = test.dataset in cards.names()
            yield Result(
                dataset=test.dataset,
                version=cards.load(test.dataset).version if has_card else "",
                key=prepared.key if prepared else "",
                task=name,
                labels=test.labels,
                seed=seed,
                date=datetime.now(UTC).date().isoformat(),
                **asdict(origin),
                **_training(cost),
                **row,
            )


def _check_same(wanted: Recipe, saved: Recipe, out: Path) -> None:
    """Raise ``DataError`` that names the first key in which a model's recipe is another one."""
    for keys, expected, stored in differences(_plain(wanted), _plain(saved)):
        raise DataError(
            f"{out}: a model of another recipe: its {'.'.join(map(str, keys))} is {stored!r:.40}, "
            f"asked for is {expected!r:.40}; ask for the same (--set), or choose another -o"
        )


def _plain(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as it is saved, without what training notes in it."""
    plain = yaml.loads(recipes.dumps(recipe), "recipe").data
    return {key: value for key, value in plain.items() if key not in NOTED}


def _training(cost: Trained | None) -> dict[str, Any]:
    """Return the fields of a result that tell of training."""
    if cost is None:
        return dict.fromkeys(_MEASURED_IN_TRAINING) | {"dev": {}}
    return {
        "dev": cost.dev,
        "updates": cost.updates,
        "epoch": cost.epoch,
        "train_cpu_minutes": _round(cost.minutes, 2),
        "train_words_per_s": _round(cost.speed, 1),
    }


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def set_options(settings: Sequence[str]) -> list[str]:
    """Return the command line options of some settings."""
    return [part for setting in settings for part in ("--set", setting)]


def read_tests(plan: Plan, names: Iterable[str] | None = None) -> dict[str, list[Test]]:
    """Return the test splits of the datasets of some tasks, or all; raises what reading does."""
    tasks = plan.kept_tasks
    return {name: list(_tests(plan, tasks[name])) for name in (tasks if names is None else names)}


def _tests(plan: Plan, task: TaskPlan) -> Iterator[Test]:
    """Yield the test splits of the datasets that a task learns from."""
    for row, source in enumerate(task.sources):
        path = locate(source, plan.recipe_dir)
        raw = folder.read(path, "test").documents if "test" in folder.splits(path) else ()
        part = task.parts[row] if task.parts else None
        labels = part.label_map or {} if part else {}
        documents = part_documents(task, part, raw) if part else raw
        yield Test(path.name, raw, documents, labels)


def _row(model: Model, name: str, test: Test, log: Log) -> dict[str, Any] | None:
    """Evaluate one task and its speed; None where there is nothing to measure."""
    documents = test.documents
    if not documents:
        log(f"task {name}: {test.dataset} has no test split, not scored")
        return None
    report = evaluation.evaluate_task(model, name, documents, log)
    if report is None:
        return None
    task, numbers = model.tasks[name], report.to_json()
    metrics = task.metrics(report)
    bare = (task.without_gold(document) for document in documents if task.has_gold(document))
    rates = speed.speeds(model, speed.first(model, bare), [name])
    return {
        "kind": model.recipe.tasks[name].kind,
        "gold_inputs": tuple(task.inputs),
        "metrics": metrics,
        "intervals": _intervals(metrics, numbers),
        "annotate_words_per_s": round(rates.annotated, 1),
        "encoder_words_per_s": _round(rates.encoder, 1),
        "relative_speed": _round(rates.ratio, 3),
        "compute": str(model.compute),
        "report": numbers,
        "per_document_counts": {
            metric: counts.dumps()
            for metric, counts in report.per_document_counts().items()
            if metric in metrics
        },
    }


def _intervals(metrics: Mapping[str, float], report: Mapping[str, Any]) -> dict[str, Bounds]:
    """Return the intervals of a report by metric; a top-level one is that of the main metric."""
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
        result = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=recipe.resolve().parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip()
