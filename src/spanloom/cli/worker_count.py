"""How many worker processes a command starts by itself."""

import os
from dataclasses import dataclass
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_NVIDIA = Path("/dev/nvidiactl")  # there if CUDA can be; asking torch would take seconds


@dataclass(frozen=True, slots=True)
class WorkKind:
    """The memory of a process, and below which input another one would start for little.

    Input is measured in bytes, or, where a whole corpus is one piece of work, in corpora.
    """

    worker_bytes: int
    short_size: int


ANNOTATION_WORK = WorkKind(900_000_000, 300_000)  # torch, a model, batches; about a minute
DOCUMENT_WORK = WorkKind(250_000_000, 20_000_000)  # documents alone; some ten seconds
CORPUS_WORK = WorkKind(2_000_000_000, 2)  # all documents of a corpus, which may be large


def default_workers(input_size: int, device: str | None, work: WorkKind = ANNOTATION_WORK) -> int:
    """Return how many processes to use: 1 for a short input or a GPU, else one per free core.

    Memory for each must be there. ``input_size`` is 0 if unknown, ``device`` None if not chosen.
    """
    uses_cpu = device == "cpu" or (device is None and not _NVIDIA.exists())
    if input_size < work.short_size or not uses_cpu:
        return 1
    return max(1, min(_free_cores(), available_memory() // work.worker_bytes))


def _free_cores() -> int:
    """Return how many cores this process may use that others leave free, at least 1."""
    busy = round(os.getloadavg()[0])
    return max(1, len(os.sched_getaffinity(0)) - busy)


def available_memory() -> int:
    """Return the bytes of memory that are free, in the machine and in this container."""
    import psutil

    available = int(psutil.virtual_memory().available)
    try:
        limit, used = (
            int((_CGROUP / name).read_text()) for name in ("memory.max", "memory.current")
        )
    except (OSError, ValueError):  # no such control group, or no limit, which reads "max"
        return available
    return min(available, limit - used)
