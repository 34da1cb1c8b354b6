"""Memory that torch frees and takes again: kept by the process, or returned to the system."""

import ctypes
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

# options of mallopt in glibc's malloc.h
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
_KEPT = {_TRIM_THRESHOLD: 2**31 - 1, _TOP_PAD: 64 * 2**20, _MMAP_MAX: 0}
_DEFAULTS = {_TRIM_THRESHOLD: 128 * 2**10, _TOP_PAD: 0, _MMAP_MAX: 65_536}
_DEFAULTS |= {_MMAP_THRESHOLD: 128 * 2**10}
Item = TypeVar("Item")


def keep() -> None:
    """Keep freed memory in the process from now on, where malloc is glibc's.

    Else large tensors are returned to the system and taken again with each batch, and the system
    clears each of their pages: a thirtieth of the time of annotating with ``spanloom-en``.
    """
    _set(_KEPT)


@contextmanager
def kept_by_the_process() -> Iterator[None]:
    """Keep freed memory in the process as long as this lasts; then return what is free.

    The gradient of a table of pieces has tens of megabytes: a sixth of an update of 20 short
    sentences with ``minilm`` went into its pages.
    """
    keep()
    try:
        yield
    finally:
        _set(_DEFAULTS)
        _return()


def returned_between(batches: Iterable[Item], every: int = 16) -> Iterator[Item]:
    """Yield batches; after each so many of them, return freed memory to the system.

    What is predicted lies between large tensors, so the space that they leave is too scattered to
    be used again: 200,000 words would hold twice the memory.
    """
    for index, batch in enumerate(batches, 1):
        yield batch
        if index % every == 0:
            _return()


@cache
def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "gnu_get_libc_version") else None


def _set(options: Mapping[int, int]) -> None:
    if (libc := _glibc()) is not None:
        for option, value in options.items():
            libc.mallopt(option, value)


def _return() -> None:
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)
