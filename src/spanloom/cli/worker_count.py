"""How many worker processes a command starts by itself."""

import os
from pathlib import Path

_WORKER_BYTES = 900_000_000  # of memory that a process takes with torch, a model and its batches
_SHORT_BYTES = 300_000  # of input, about a minute's work: another process would start for little
_CGROUP = Path("/sys/fs/cgroup")
_NVIDIA = Path("/dev/nvidiactl")  # there if CUDA can be; asking torch would take seconds


def default_workers(input_bytes: int, device: str | None) -> int:
    """Return how many processes to use: 1 for a short input or a GPU, else one per free core.

    Memory for each must be there. ``input_bytes`` is 0 if unknown, ``device`` None if not chosen.
    """
    uses_cpu = device == "cpu" or (device is None and not _NVIDIA.exists())
    if input_bytes < _SHORT_BYTES or not uses_cpu:
        return 1
    return max(1, min(_free_cores(), available_memory() // _WORKER_BYTES))


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
