"""Memory that torch frees and takes again: kept by the process, or returned to the system."""

import ctypes
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

# options of mallopt in glibc's malloc.h
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
_KEPT = {_TRIM_THRESHOLD: 2**31 - 1, _TOP_PAD: 64 * 2**20, _MMAP_MAX: 0}
_DEFAULTS = {_TRIM_THRESHOLD: 128 * 2**10, _TOP_PAD: 0, _MMAP_MAX: 65_536}
_DEFAULTS |= {_MMAP_THRESHOLD: 128 * 2**10}
_BATCHES = 16

Item = TypeVar("Item")


@contextmanager
def kept_by_the_process() -> Iterator[None]:
    """Keep freed memory in the process as long as this lasts, where malloc is glibc's.

    Else the gradient of a table of pieces, tens of megabytes, is returned to the system after each
    update and taken again, and the system clears each page: a sixth of an update of 20 short
    sentences with ``minilm``. Afterwards what is free is returned.
    """
    libc = _glibc()
    if libc is None:
        yield
        return
    try:
        _set(libc, _KEPT)
        yield
    finally:
        _set(libc, _DEFAULTS)
        libc.malloc_trim(0)


def returned_between(batches: Iterable[Item]) -> Iterator[Item]:
    """Yield batches; after some of them, return freed memory to the system.

    What is predicted lies between large tensors, so the space that they leave is too scattered to
    be used again: 200,000 words would hold twice the memory.
    """
    libc = _glibc()
    for index, batch in enumerate(batches, 1):
        yield batch
        if libc is not None and index % _BATCHES == 0:
            libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "gnu_get_libc_version") else None


def _set(libc: ctypes.CDLL, options: dict[int, int]) -> None:
    for option, value in options.items():
        libc.mallopt(option, value)
