"""Where the runs of a study are executed: worker processes here, or a Ray cluster."""

import json
import os
import queue
import subprocess
import sys
import threading
from typing import Any, Protocol

from spanloom.errors import PackageMissing, StudyError
from spanloom.studies.execute import Folders
from spanloom.studies.job import Job
from spanloom.studies.worker import OUTCOME, Outcome, answer, prepare_process

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class Executor(Protocol):
    """Runs jobs, ``size`` at a time."""

    size: int

    def start(self, job: Job) -> None:
        """Start a job; fewer than ``size`` may be running."""

    def wait(self) -> Outcome:
        """Wait until a job ends."""

    def close(self) -> None:
        """Stop what is running, with a checkpoint, and release all workers."""


class LocalWorkers:
    """Worker processes of one thread each, which stay alive from job to job."""

    def __init__(self, size: int, folders: Folders) -> None:
        """Workers are started when jobs come."""
        self.size = size
        self._folders = folders
        self._idle: list[_Worker] = []
        self._busy: dict[str, _Worker] = {}
        self._outcomes: queue.Queue[Outcome] = queue.Queue()

    def start(self, job: Job) -> None:
        """Start a job in an idle worker, or in a new one."""
        worker = self._idle.pop() if self._idle else _Worker(self._folders, self._outcomes)
        self._busy[job.key] = worker
        worker.start(job)

    def wait(self) -> Outcome:
        """Wait until a job ends."""
        outcome = self._outcomes.get()
        worker = self._busy.pop(outcome.key)
        if outcome.row is None and outcome.error is None:
            worker.stop()
            worker.process.wait()
        else:
            self._idle.append(worker)
        return outcome

    def close(self) -> None:
        """Ask all workers to stop, and wait for them."""
        workers = [*self._idle, *self._busy.values()]
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.process.wait()


class _Worker:
    """One worker process; a thread reads its answers."""

    def __init__(self, folders: Folders, outcomes: "queue.Queue[Outcome]") -> None:
        plugins = [part for module in folders.plugins for part in ("--plugin", module)]
        paths = [str(path) for path in (folders.data, folders.runs, folders.results)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spanloom.studies.worker", *paths, *plugins],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,  # ctrl-C reaches the study, which stops its workers itself
        )
        self._outcomes = outcomes
        self._key = ""
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, job: Job) -> None:
        """Send a job; a dead worker's job ends at once."""
        self._key = job.key
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(job.to_json()).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the reading thread reports its end

    def stop(self) -> None:
        """Ask the worker to stop: its run writes a checkpoint."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break  # it died while it answered
                self._key = ""  # before the study can send the next job
                self._outcomes.put(OUTCOME.validate_json(line))
        if self._key:
            self._outcomes.put(Outcome(self._key))


class RayWorkers:
    """Actors of a Ray cluster, one core each; all machines see the same folders."""

    def __init__(self, size: int, folders: Folders, address: str) -> None:
        """Connect to ``address`` (``local``: a cluster of this machine); raises ``StudyError``.

        Raises ``PackageMissing`` without Ray.
        """
        PackageMissing.check("study run --ray", "ray", "ray")
        import ray

        self.size = size
        self._ray: Any = ray
        self._folders = folders
        self._keys: dict[Any, tuple[str, Any]] = {}
        self._idle: list[Any] = []
        environment = {"env_vars": _ONE_THREAD}
        try:
            if address == "local":
                ray.init(num_cpus=size, include_dashboard=False, runtime_env=environment)
            else:
                ray.init(address=address, runtime_env=environment)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise StudyError(f"no Ray cluster at {address}: {error}") from error
        self._actor: Any = ray.remote(num_cpus=1)(RayWorker)

    def start(self, job: Job) -> None:
        """Start a job in an idle actor, or in a new one."""
        actor = self._idle.pop() if self._idle else self._actor.remote(self._folders)
        self._keys[actor.run.remote(job.to_json())] = job.key, actor

    def wait(self) -> Outcome:
        """Wait until a job ends."""
        (done,), _ = self._ray.wait(list(self._keys), num_returns=1)
        key, actor = self._keys.pop(done)
        try:
            outcome: Outcome = self._ray.get(done)
        except self._ray.exceptions.RayError:
            return Outcome(key)
        self._idle.append(actor)
        return outcome

    def close(self) -> None:
        """Leave the cluster; its actors end, and go on from their checkpoints in the next run."""
        self._ray.shutdown()


class RayWorker:
    """What an actor runs; its process stays alive from job to job."""

    def __init__(self, folders: Folders) -> None:
        """Lower the priority, use one thread, load plugins."""
        self._folders = folders
        prepare_process(folders.plugins)

    def run(self, job: dict[str, Any]) -> Outcome:
        """Execute a job and return how it ended."""
        return answer(Job.from_json(job), self._folders)


def open_executor(size: int, folders: Folders, ray_address: str | None) -> Executor:
    """Return local workers, or those of a Ray cluster."""
    if ray_address is None:
        return LocalWorkers(size, folders)
    return RayWorkers(size, folders, ray_address)
