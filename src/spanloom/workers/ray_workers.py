"""Jobs answered on many machines: actors of a Ray cluster, see https://docs.ray.io."""

from collections.abc import Callable
from typing import Any

from spanloom.errors import ClusterError, PackageMissing
from spanloom.workers.executors import ONE_THREAD, Answer
from spanloom.workers.process import Answerer

LOCAL = "local"  # the address of a cluster of this machine alone


class RayWorkers:
    """Actors of a Ray cluster, one core each; all machines see the same folders."""

    def __init__(self, size: int | None, address: str, make: Callable[[], Answerer]) -> None:
        """Connect to ``address``; ``make``, called in each actor, returns what answers its jobs.

        ``size`` None is one actor per free core of the cluster; more than that would wait, with
        their jobs, until others leave.

        Raises ``ClusterError`` where no cluster can be reached, ``PackageMissing`` without Ray.
        """
        PackageMissing.check("--ray", "ray", "ray")
        import ray

        self._ray: Any = ray
        self._make = make
        self._running: dict[Any, tuple[str, Any]] = {}
        self._idle: list[Any] = []
        environment = {"env_vars": ONE_THREAD}
        try:
            if address == LOCAL:
                ray.init(num_cpus=size, include_dashboard=False, runtime_env=environment)
            else:
                ray.init(address=address, runtime_env=environment)
            num_cores = self._count_cores()
        except Exception as error:  # Ray raises bare ones, too, such as for a node's slow start
            problem = " ".join(str(error).split())
            raise ClusterError(f"no Ray cluster at {address}: {problem}") from error
        self.size = min(size or num_cores, num_cores)
        self._actor: Any = ray.remote(num_cpus=1)(_Actor)

    def _count_cores(self) -> int:
        """Return how many cores are free; all of the cluster's where it does not say, or none is.

        What is free becomes known a moment after a cluster has begun.
        """
        free = int(self._ray.available_resources().get("CPU", 0))
        return free or int(self._ray.cluster_resources().get("CPU", 1))

    def start(self, key: str, content: bytes) -> None:
        """Start a job in an idle actor, or in a new one."""
        actor = self._idle.pop() if self._idle else self._actor.remote(self._make)
        self._running[actor.answer.remote(content)] = key, actor

    def wait(self) -> Answer:
        """Wait until a job ends."""
        (done,), _ = self._ray.wait(list(self._running), num_returns=1)
        key, actor = self._running.pop(done)
        try:
            content: bytes = self._ray.get(done)
        except self._ray.exceptions.RayError:
            return Answer(key, None)
        self._idle.append(actor)
        return Answer(key, content)

    def close(self) -> None:
        """Leave the cluster; its actors end."""
        self._ray.shutdown()


class _Actor:
    """What runs in the process of an actor, which stays alive from job to job."""

    def __init__(self, make: Callable[[], Answerer]) -> None:
        self._answer = make()

    def answer(self, content: bytes) -> bytes:
        """Answer a job."""
        return self._answer(content)
