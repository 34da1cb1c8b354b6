"""Execute one run of a study in this process: train it, score it, write its row."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from spanloom.atomic_io import report_os_errors
from spanloom.config import recipe as recipes
from spanloom.corpora.folder import fingerprint
from spanloom.document import Document
from spanloom.file_lock import open_locked
from spanloom.glad import speed
from spanloom.glad.run import read_tests, train_unless_done
from spanloom.model import evaluation
from spanloom.model.model import Model
from spanloom.model.plan import Plan, resolve
from spanloom.model.precision import ComputeConfig, compute
from spanloom.model.serialization import WEIGHTS, load
from spanloom.studies import row as rows
from spanloom.studies.job import Job
from spanloom.studies.row import Row, Split, SplitScore, given_gold, row_path
from spanloom.training import train
from spanloom.training.split_corpus import read_dev

Log = Callable[[str], None]
Documents = dict[str, tuple[Document, ...]]  # by task
Splits = Sequence[tuple[Split, Documents]]
TaskScores = dict[str, dict[Split, SplitScore]]


@dataclass(frozen=True, slots=True)
class Folders:
    """Corpora, models in training, and rows; and the plugins that recipes need."""

    data: Path
    runs: Path
    results: Path
    plugins: tuple[str, ...] = ()


def execute(job: Job, folders: Folders, log: Log) -> Row:
    """Return the row of a run; train and score it first unless its row is there.

    A run that was stopped goes on from its last checkpoint. If the model that it starts from is
    missing, that is trained again. Waits while another process executes the same run. Raises what
    training and scoring do.
    """
    runs, path = folders.runs, row_path(folders.results, job.key)
    with _hold_lock(runs, job.key):
        if path.is_file():
            return rows.from_json(path.read_bytes(), str(path))
        if job.before is not None:
            _train_before(job.before, folders.data, runs, log)
        start = time.process_time()
        if not train.run_folder(runs / job.key).exists():
            _delete(runs / job.key)  # its row is lost, and so are its curves and own best weights
        plan = _train(job, folders.data, runs, log)
        row = _row(job, plan, runs / job.key, start, log)
        rows.save(row, folders.results)
        _delete(train.run_folder(runs / job.key))
    return row


def delete_model(job: Job, runs: Path) -> None:
    """Delete the model and the checkpoints of a finished run."""
    with _hold_lock(runs, job.key):
        for folder in (train.run_folder(runs / job.key), runs / job.key):
            _delete(folder)
        (runs / f"{job.key}.lock").unlink(missing_ok=True)


@contextmanager
def _hold_lock(runs: Path, key: str) -> Iterator[None]:
    """Hold the lock of a run; wait while another process holds it."""
    with report_os_errors(runs):
        runs.mkdir(parents=True, exist_ok=True)
    with open_locked(runs / f"{key}.lock", os.O_RDWR | os.O_CREAT):
        yield


def _delete(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _train_before(job: Job, data: Path, runs: Path, log: Log) -> None:
    """Train a run that another one starts from, and those before it, unless its model is there."""
    out = runs / job.key
    if out.exists() and not train.is_unfinished(out):
        return
    if job.before is not None:
        _train_before(job.before, data, runs, log)
    with _hold_lock(runs, job.key):
        _train(job, data, runs, log)


def _train(job: Job, data: Path, runs: Path, log: Log) -> Plan:
    """Train a run, unless its model is there; return its plan."""
    start = None if job.before is None else runs / job.before.key
    plain = {**job.recipe, "init_from": None if start is None else str(start.resolve())}
    plan = resolve(recipes.from_plain(plain, job.name), data)
    out = runs / job.key
    train_unless_done(plan, out, log, resume=train.run_folder(out).exists(), used=job.tasks)
    return plan


def _row(job: Job, plan: Plan, out: Path, start: float, log: Log) -> Row:
    """Score a trained run, on the device and in the precision of its training; return its row.

    ``start`` is the CPU time when it was begun.
    """
    scoring_start = time.process_time()
    cost = speed.read_training_cost(out, plan.recipe.stages[-1])
    trained_on = compute(plan.recipe.stages[-1].precision)
    scores, own_scores = _score_tasks(job, plan, out, trained_on, log)
    now = time.process_time()
    training = 60 * (cost.minutes or 0.0) if cost else 0.0
    return Row(
        key=job.key,
        name=job.name,
        recipe=job.recipe,
        scores=scores,
        before=None if job.before is None else job.before.key,
        updates=cost.updates if cost else 0,
        epoch=cost.epoch if cost else 0.0,
        train_words_per_s=cost.speed and round(cost.speed, 1) if cost else None,
        train_cpu_minutes=cost.minutes and round(cost.minutes, 3) if cost else None,
        other_cpu_minutes=round(max(now - start - training, now - scoring_start) / 60, 4),
        model_megabytes=round((out / WEIGHTS).stat().st_size / 1e6, 1),
        compute=str(trained_on),
        processor=speed.processor(trained_on.device),
        version=version("spanloom"),
        date=datetime.now(UTC).date().isoformat(),
        own_scores=own_scores,
        best_updates=cost.best_updates if cost else {},
        dev_curves=cost.dev_curves if cost else {},
    )


def _score_tasks(
    job: Job, plan: Plan, out: Path, trained_on: ComputeConfig, log: Log
) -> tuple[TaskScores, TaskScores]:
    """Return the scores of a run's tasks, and those with their own best weights beside them."""
    precision = plan.recipe.stages[-1].precision
    load_here = partial(load, device=str(trained_on.device), precision=precision)
    splits: list[tuple[Split, Documents]] = [("dev", read_dev(plan, job.tasks))]
    if job.score == "test":
        tests = {
            name: tuple(document for test in datasets for document in test.documents)
            for name, datasets in read_tests(plan, job.tasks).items()
        }
        splits.append(("test", tests))
    scores: TaskScores = {}
    own_scores: TaskScores = {}
    for name in job.tasks:
        own = train.own_model(train.run_folder(out), name)
        used = out if own is None or job.weights == "shared" else own
        model = load_here(used)
        scores[name] = _score_splits(model, name, splits, log)
        if name in job.gold_inputs:
            given = model.with_gold_inputs()
            scores[given_gold(name)] = _score_splits(given, name, splits, log)
        if own is not None and own != used:
            own_scores[name] = _score_splits(load_here(own), name, splits, log)
        for part in (scores, own_scores):
            _log_test_evaluation(job, plan, out, name, dict(splits), part)
    return scores, own_scores


def _score_splits(model: Model, name: str, splits: Splits, log: Log) -> dict[Split, SplitScore]:
    """Return the scores of a task on the splits that have its layer."""
    return {
        split: score
        for split, documents in splits
        if (score := _score(model, name, documents[name], log)) is not None
    }


def _log_test_evaluation(
    job: Job, plan: Plan, out: Path, name: str, documents: Mapping[str, Documents], part: TaskScores
) -> None:
    """Log the evaluations of a task on test, if there were any."""
    look = f"spanloom study run: {job.name}", str(out), plan.tasks[name].spec.data, "test"
    for scored in (name, given_gold(name)):
        if "test" in part.get(scored, {}):
            metrics, test = {scored: part[scored]["test"].metrics}, documents["test"][name]
            evaluation.log_test_evaluation(evaluation.LOG, *look, test, plan.recipe.seed, metrics)


def _score(model: Model, name: str, documents: Sequence[Document], log: Log) -> SplitScore | None:
    """Return the scores of a task, main metric first; None where no document has its layer.

    The mean of two metrics has no counts of its own, so those of every metric are kept.
    """
    report = evaluation.evaluate_task(model, name, documents, log)
    if report is None:
        return None
    metrics = model.tasks[name].metrics(report)
    counts = report.per_document_counts()
    by_metric = {key: counts[key].dumps() for key in metrics if key in counts}
    return SplitScore(metrics, by_metric, fingerprint(documents))
