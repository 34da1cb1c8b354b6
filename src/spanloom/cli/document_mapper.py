"""What calls the functions of ``check`` and ``convert``: this process, or worker processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spanloom.cli.worker_count import DOCUMENT_WORK, default_workers
from spanloom.corpora.call_worker import open_calls
from spanloom.corpora.files import total_bytes
from spanloom.workers.calls import Mapper, map_here

SMALL_BYTES = 2_000_000  # of input, about a second's work: a worker takes as long to start


@contextmanager
def open_mapper(workers: int | None, source: Path) -> Iterator[Mapper]:
    """Yield what calls functions; worker processes where there is enough work for them.

    ``workers`` None is as many as are worth it. Workers end with the block, however it ends.
    """
    num_bytes = total_bytes(source.rglob("*") if source.is_dir() else [source])
    size = workers or default_workers(num_bytes, "cpu", DOCUMENT_WORK)
    if size == 1 or num_bytes < SMALL_BYTES:
        yield map_here
        return
    with open_calls(size) as calls:
        yield calls
