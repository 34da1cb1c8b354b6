"""Where the runs of a study are executed: worker processes here, or a Ray cluster."""

import json
from functools import partial
from typing import Protocol

from spanloom.studies.execute import Folders
from spanloom.studies.job import Job
from spanloom.studies.worker import OUTCOME, Outcome, make_answerer
from spanloom.workers import executors
from spanloom.workers.process import module_command
from spanloom.workers.ray_workers import RayWorkers


class Executor(Protocol):
    """Runs jobs, ``size`` at a time."""

    size: int

    def start(self, job: Job) -> None:
        """Start a job; fewer than ``size`` may be running."""

    def wait(self) -> Outcome:
        """Wait until a job ends."""

    def close(self) -> None:
        """Stop what is running, with a checkpoint, and release all workers."""


class StudyWorkers:
    """Runs of a study in workers of any place."""

    def __init__(self, workers: executors.Executor) -> None:
        self.size = workers.size
        self._workers = workers

    def start(self, job: Job) -> None:
        """Start a job."""
        self._workers.start(job.key, json.dumps(job.to_json()).encode())

    def wait(self) -> Outcome:
        """Wait until a job ends; it has neither row nor error if its worker died."""
        answer = self._workers.wait()
        if answer.content is None:
            return Outcome(answer.key)
        return OUTCOME.validate_json(answer.content)

    def close(self) -> None:
        """Stop the workers; on a cluster, runs go on from their checkpoints in the next one."""
        self._workers.close()


def open_executor(size: int, folders: Folders, ray_address: str | None) -> StudyWorkers:
    """Return local workers, or those of a Ray cluster; raises as ``RayWorkers`` does."""
    if ray_address is None:
        return StudyWorkers(executors.LocalWorkers(size, _command(folders)))
    return StudyWorkers(RayWorkers(size, ray_address, partial(make_answerer, folders)))


def _command(folders: Folders) -> list[str]:
    """Return the command that starts a worker process."""
    plugins = [part for module in folders.plugins for part in ("--plugin", module)]
    paths = [str(path) for path in (folders.data, folders.runs, folders.results)]
    return module_command("spanloom.studies.worker", *paths, *plugins)
