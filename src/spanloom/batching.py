"""Lists of items whose sizes add up to about the same."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batch_by_size(
    items: Iterable[T], size_of: Callable[[T], int], size: int, max_items: int | None = None
) -> Iterator[list[T]]:
    """Yield items in lists that end as soon as they have ``size`` or ``max_items`` (None: any)."""
    batch: list[T] = []
    batch_size = 0
    for item in items:
        batch.append(item)
        batch_size += size_of(item)
        if batch_size >= size or len(batch) == max_items:
            yield batch
            batch, batch_size = [], 0
    if batch:
        yield batch
