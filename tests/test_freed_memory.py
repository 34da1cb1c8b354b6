"""Freed memory: kept while training, returned afterwards."""

import resource
import subprocess
import sys

import pytest

from spanloom.freed_memory import kept_by_the_process, returned_between

LARGE = 48 * 2**20  # above what malloc ever keeps by itself
FAULTS = """
import resource, torch
from spanloom.freed_memory import kept_by_the_process

def faults(times=10):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        torch.zeros(12 * 2**20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

faults()
with kept_by_the_process():
    faults()
    kept, held = faults(), resident()
print(kept, faults(), held - resident())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_pages_are_taken_once_and_returned_at_the_end():
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    )
    kept, afterwards, returned = map(int, done.stdout.split())
    pages = 10 * LARGE // resource.getpagesize()
    assert kept < pages / 100
    assert afterwards > pages / 1_000  # huge pages are few
    assert returned > LARGE / 2


SCATTERED = """
import resource
from spanloom.freed_memory import returned_between

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

def hold(batches):
    before, results = resident(), []
    for batch in batches:
        tensors = []
        for _ in range(1_000):
            tensors.append(bytearray(100_000))
            results.append(bytes(600))
        del tensors
    return resident() - before

print(hold(returned_between(range(32))), hold(range(32)))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_what_lies_between_small_results_is_returned():
    done = subprocess.run(
        [sys.executable, "-c", SCATTERED], capture_output=True, text=True, check=True
    )
    returned, scattered = map(int, done.stdout.split())
    assert returned < 60e6  # 19 MB of results
    assert scattered > 90e6


def test_batches_pass_in_order():
    assert list(returned_between(iter(range(40)))) == list(range(40))


def test_an_error_passes_through():
    with pytest.raises(ValueError, match="stopped"), kept_by_the_process():
        raise ValueError("stopped")
