"""Run a study: plan it, execute what is missing, plan again when rows allow more."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spanloom.errors import StudyError
from spanloom.studies.designs import plan
from spanloom.studies.earlier_rows import earlier_rows
from spanloom.studies.estimate import Estimates, format_hours
from spanloom.studies.execute import Folders, delete_model
from spanloom.studies.executors import Executor
from spanloom.studies.job import Job, check_encoders
from spanloom.studies.row import Row, Rows
from spanloom.studies.run_checks import check_runs
from spanloom.studies.spec import Study
from spanloom.studies.study_plan import StudyPlan
from spanloom.studies.worker import Outcome

MAX_DEATHS = 5  # of workers over one job, after which it is given up
Log = Callable[[str], None]
Choose = Callable[[Mapping[str, Job]], Mapping[str, Job]]


@dataclass(slots=True)
class _Queue:
    """What is done, running and failed of a study's jobs."""

    folders: Folders
    log: Log
    keep_models: bool
    rows: Mapping[str, Row] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    planned: Mapping[str, Job] = field(default_factory=dict)
    running: dict[str, Job] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)

    def update(self, jobs: Mapping[str, Job], rows: Mapping[str, Row]) -> None:
        """Take over the jobs of a new plan and the rows that are there."""
        self.jobs, self.rows = dict(jobs), rows
        for job in jobs.values():
            if job.before is not None and job.before.key in self.errors:
                self.errors.setdefault(job.key, f"the run before it failed: {job.before.name}")

    @property
    def missing(self) -> list[Job]:
        """The jobs that have neither a row nor an error."""
        return [
            j for j in self.jobs.values() if j.key not in self.rows and j.key not in self.errors
        ]

    def ready(self) -> list[Job]:
        """Return the jobs that can start: none waits for a run before it."""
        awaited = {job.key for job in self.missing}
        return [
            job
            for job in self.missing
            if job.key not in self.running and (job.before is None or job.before.key not in awaited)
        ]

    def finish(self, outcome: Outcome) -> None:
        """Note how a job ended; a job whose worker died is tried again."""
        job = self.running.pop(outcome.key)
        if outcome.error is not None:
            self.errors[job.key] = outcome.error
            self.log(f"{job.name} ({job.key}): failed: {outcome.error}")
        elif outcome.row is None:
            self.deaths[job.key] += 1
            if self.deaths[job.key] >= MAX_DEATHS:
                self.errors[job.key] = f"{MAX_DEATHS} workers died over it"
                self.log(f"{job.name} ({job.key}): given up: {self.errors[job.key]}")
            else:
                self.log(f"{job.name} ({job.key}): its worker died; it goes on from its checkpoint")

    def clean(self) -> None:
        """Delete the models of finished runs from which no run without a row starts.

        Runs that failed or were not chosen count, too: a later command may execute them.
        """
        if self.keep_models:
            return
        without_row = (job for key, job in self.planned.items() if key not in self.rows)
        needed = {job.before.key for job in without_row if job.before is not None}
        for key in (self.jobs.keys() & self.rows.keys()) - needed:
            if (self.folders.runs / f"{key}.lock").exists():
                delete_model(self.jobs[key], self.folders.runs)


def run(
    study: Study,
    folders: Folders,
    executor: Executor,
    log: Log,
    *,
    choose: Choose = lambda jobs: jobs,
    keep_models: bool = False,
) -> tuple[StudyPlan, dict[str, Row]]:
    """Execute the runs of a study that have no row yet; return the whole plan and its rows.

    What a stopped study has finished is not trained again, what it had begun goes on from the last
    checkpoint. ``choose`` returns those of all runs that are wanted. Raises ``ModelError`` before
    any run whose encoder is not there, ``RecipeError`` and ``DataError`` as ``check_runs`` does,
    and ``StudyError`` at the end if runs failed; all others are finished then.
    """
    rows = Rows(folders.results)
    queue = _Queue(folders, log, keep_models)
    while True:
        planned = plan(study, folders.data, rows.read)
        check_runs(study, planned, folders.data)
        queue.planned = planned.jobs
        queue.update(choose(planned.jobs), rows.read(planned.jobs))
        queue.clean()
        if not queue.missing:
            break
        check_encoders(queue.missing, folders.data)
        _drain(queue, rows, executor, Estimates(folders.data, queue.rows.values()))
    _check(queue, planned)
    return planned, rows.read(planned.jobs)


def read_rows(
    study: Study, folders: Folders, *, any_version: bool = False
) -> tuple[StudyPlan, dict[str, Row]]:
    """Return the plan of a study as far as its rows allow, and these rows by the keys of its jobs.

    With ``any_version`` a job without a row gets the newest one of its name and recipe: it was
    trained by an earlier version of the code, or on an earlier one of the data.
    """
    rows = Rows(folders.results)
    planned = plan(study, folders.data, rows.read)
    of_today = rows.read(planned.jobs)
    if not any_version:
        return planned, of_today
    return planned, earlier_rows(planned.jobs, rows.by_name()) | of_today


def _drain(queue: _Queue, rows: Rows, executor: Executor, estimates: Estimates) -> None:
    """Execute jobs until none is missing; the longest first, so that workers end together."""
    start = time.monotonic()
    while queue.missing:
        ready = sorted(queue.ready(), key=estimates.core_hours, reverse=True)
        for job in ready[: executor.size - len(queue.running)]:
            queue.log(f"{job.name} ({job.key}): started")
            queue.running[job.key] = job
            executor.start(job)
        if not queue.running:
            break  # what is left waits for a run that failed
        outcome = executor.wait()
        queue.finish(outcome)
        queue.update(queue.jobs, rows.read(queue.planned))
        if outcome.row is not None:
            estimates.add(outcome.row)
            _report(queue, outcome.row, executor.size, estimates, time.monotonic() - start)
        queue.clean()


def _report(queue: _Queue, row: Row, workers: int, estimates: Estimates, seconds: float) -> None:
    """Log a finished run, how many are left, and about how long they take."""
    done = len(queue.jobs.keys() & queue.rows.keys())
    failed = f", {len(queue.errors)} failed" if queue.errors else ""
    left = format_hours(sum(map(estimates.core_hours, queue.missing)) / workers)
    scores = ", ".join(
        f"{task} {100 * next(iter(splits['dev'].metrics.values())):.2f}"
        for task, splits in row.scores.items()
        if "dev" in splits
    )
    queue.log(
        f"{row.name} ({row.key}): {scores}; {done} of {len(queue.jobs)} runs{failed}, "
        f"{format_hours(seconds / 3600)} so far, about {left} left"
    )


def _check(queue: _Queue, planned: StudyPlan) -> None:
    """Raise ``StudyError`` where runs failed."""
    if not queue.errors:
        return
    key, problem = next(iter(queue.errors.items()))
    names = {**planned.jobs, **queue.jobs}
    name = names[key].name if key in names else key
    failed = (
        "1 run failed:" if len(queue.errors) == 1 else f"{len(queue.errors)} runs failed, the first"
    )
    raise StudyError(f"{failed} {name} ({key}): {problem}")
