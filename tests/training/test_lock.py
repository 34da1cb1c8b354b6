"""One run a folder: a second is told at once who is there, and a dead process holds nothing."""

import os
import re
import signal
from types import SimpleNamespace

import pytest

from spanloom.errors import StorageError, TrainingError
from spanloom.training.distributed import ProcessGroup
from spanloom.training.lock import hold_lock
from spanloom.training.train import run_folder


@pytest.fixture
def alone():
    return ProcessGroup("cpu")


def test_a_second_run_is_told_who_trains_there_and_since_when(bench, alone, tmp_path):
    out = tmp_path / "model"
    run_folder(out).mkdir()
    with hold_lock(run_folder(out), alone), pytest.raises(TrainingError) as refused:
        bench.train(out)
    told = str(refused.value)
    assert re.search(rf"model\.run: process {os.getpid()} on \S+ \(since \d{{4}}-\S+\) ", told)
    assert "\n" not in told
    assert [each.name for each in run_folder(out).iterdir()] == ["lock"]  # nothing was touched
    with hold_lock(run_folder(out), alone):
        pass


def test_what_a_run_forks_has_no_part_in_its_lock(alone, tmp_path):
    """Else a worker that outlives a killed run would refuse the next one."""
    told, tell = os.pipe()
    with hold_lock(tmp_path, alone):
        child = os.fork()
        if child == 0:
            os.write(tell, b".")
            signal.pause()
        os.read(told, 1)
    try:
        with hold_lock(tmp_path, alone):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_lock_ends_with_its_process(alone, tmp_path):
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        with hold_lock(tmp_path, alone):
            os.write(tell, b".")
            signal.pause()
    os.read(told, 1)
    try:
        with pytest.raises(TrainingError, match=f"process {child} "), hold_lock(tmp_path, alone):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with hold_lock(tmp_path, alone):
        assert str(os.getpid()) in (tmp_path / "lock").read_text()


def test_other_processes_learn_of_a_refusal_and_lock_nothing(tmp_path):
    other = SimpleNamespace(is_first=False, agree=lambda value: "process 7 on a (since b)")
    with pytest.raises(TrainingError, match="process 7 on a"), hold_lock(tmp_path, other):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_holder_that_has_not_said_who_it_is(alone, tmp_path):
    with hold_lock(tmp_path, alone):
        (tmp_path / "lock").write_bytes(b"")
        with pytest.raises(TrainingError, match="another process trains here"):
            with hold_lock(tmp_path, alone):
                pass


def test_a_place_where_nothing_can_be_written(alone, tmp_path):
    (tmp_path / "lock").mkdir()
    with pytest.raises(StorageError, match="lock: could not be opened"), hold_lock(tmp_path, alone):
        pass
