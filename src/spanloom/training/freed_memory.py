"""Memory that training frees and takes again with each update."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# options of mallopt in glibc's malloc.h
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
_KEPT = {_TRIM_THRESHOLD: 2**31 - 1, _TOP_PAD: 64 * 2**20, _MMAP_MAX: 0}
_DEFAULTS = {_TRIM_THRESHOLD: 128 * 2**10, _TOP_PAD: 0, _MMAP_MAX: 65_536}
_DEFAULTS |= {_MMAP_THRESHOLD: 128 * 2**10}


@contextmanager
def kept_by_the_process() -> Iterator[None]:
    """Keep freed memory in the process as long as this lasts, where malloc is glibc's.

    Else the gradient of a table of pieces, tens of megabytes, is returned to the system after each
    update and taken again, and the system clears each page: a sixth of an update of 20 short
    sentences with ``minilm``. Afterwards what is free is returned.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is None or not hasattr(libc, "gnu_get_libc_version"):
        yield
        return
    try:
        _set(libc, _KEPT)
        yield
    finally:
        _set(libc, _DEFAULTS)
        libc.malloc_trim(0)


def _set(libc: ctypes.CDLL, options: dict[int, int]) -> None:
    for option, value in options.items():
        libc.mallopt(option, value)
