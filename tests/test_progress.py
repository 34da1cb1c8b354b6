"""Work that was stopped anywhere goes on, and ends in the very bytes of work that was not."""

import errno
import fcntl
import os
import subprocess
import sys
from contextlib import nullcontext, suppress

import pytest

from spanloom.errors import StorageError
from spanloom.progress import log_of, open_work

WORK = {"model": "a", "tasks": "ner"}
INPUTS = [f"input {number}".encode() for number in range(7)]
UNITS = (2, 1, 4)  # inputs in each
WHOLE = b"".join(content.upper() + b"\n" for content in INPUTS)


def go(path, *, resume, most=len(UNITS), work=WORK, inputs=INPUTS):
    """Do some units of the work, finish it if all are done; returns how many inputs were new."""
    with open_work(path, work, resume=resume) as under_way:
        done = under_way.done
        under_way.repeat(inputs[: done.inputs])
        rest, new = list(inputs[done.inputs :]), 0
        for size in UNITS[done.units : most]:
            for content in rest[:size]:
                under_way.add(content, content.upper() + b"\n")
                new += 1
            del rest[:size]
            under_way.acknowledge()
        if under_way.done.units == len(UNITS):
            under_way.finish(path.with_name("whole"))
    return new


def stopped(path, units):
    """The work after some units, and the start of the next result."""
    go(path, resume=False, most=units)
    with path.open("ab") as torn:
        torn.write(b"INPU")


def test_work_at_a_stretch_leaves_nothing_but_its_results(tmp_path):
    assert go(tmp_path / "a.part", resume=False) == len(INPUTS)
    assert os.listdir(tmp_path) == ["whole"]
    assert (tmp_path / "whole").read_bytes() == WHOLE


@pytest.mark.parametrize(("units", "new"), [(1, 5), (2, 4)])
def test_what_was_done_is_not_done_again(tmp_path, units, new):
    stopped(tmp_path / "a.part", units)
    assert go(tmp_path / "a.part", resume=True) == new
    assert (tmp_path / "whole").read_bytes() == WHOLE
    assert os.listdir(tmp_path) == ["whole"]


@pytest.mark.parametrize("which", ["results", "log"])
def test_files_cut_at_any_byte_lose_units_at_most(tmp_path, which):
    part = tmp_path / "a.part"
    log = log_of(part)
    stopped(part, 2)
    before = part.read_bytes(), log.read_bytes()
    news = []
    head = before[1].index(b"\n") + 1 if which == "log" else 0
    for size in range(head, len(before[which == "log"]) + 1):
        part.write_bytes(before[0])
        log.write_bytes(before[1])
        os.truncate(part if which == "results" else log, size)
        news.append(go(part, resume=True))
        assert (tmp_path / "whole").read_bytes() == WHOLE
    assert news == sorted(news, reverse=True)
    assert set(news) == {7, 5, 4}


@pytest.mark.parametrize("which", ["results", "log"])
def test_a_changed_byte_loses_units_at_most(tmp_path, which):
    part = tmp_path / "a.part"
    log = log_of(part)
    stopped(part, 2)
    before = part.read_bytes(), log.read_bytes()
    header = before[1].index(b"\n") + 1 if which == "log" else 0
    for offset in range(header, len(before[which == "log"])):
        part.write_bytes(before[0])
        log.write_bytes(before[1])
        with (part if which == "results" else log).open("r+b") as file:
            file.seek(offset)
            file.write(b"\0")
        # a changed count or digest of inputs is other work
        with suppress(StorageError) if which == "log" else nullcontext():
            go(part, resume=True)
            assert (tmp_path / "whole").read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"work": {**WORK, "model": "b"}}, "begun with model 'a', now model is 'b'"),
        ({"work": {**WORK, "form": "x"}}, "begun with form None, now form is 'x'"),
        ({"work": {"model": "a"}}, "begun with tasks 'ner', now tasks is None"),
        ({"inputs": [b"other", *INPUTS[1:]]}, "its 2 inputs are not the first ones"),
        ({"inputs": INPUTS[:1]}, "its 2 inputs are not the first ones"),
        ({"inputs": [b"input 0inp", b"ut 1", *INPUTS[2:]]}, "are not the first ones"),
    ],
)
def test_other_work_is_refused_and_what_is_done_is_kept(tmp_path, changes, message):
    stopped(tmp_path / "a.part", 1)
    with pytest.raises(StorageError, match=message):
        go(tmp_path / "a.part", resume=True, **changes)
    assert go(tmp_path / "a.part", resume=True) == 5
    assert (tmp_path / "whole").read_bytes() == WHOLE


def test_a_log_of_another_format_is_refused(tmp_path):
    stopped(tmp_path / "a.part", 1)
    log = log_of(tmp_path / "a.part")
    log.write_bytes(log.read_bytes().replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(StorageError, match="expected a log of format 1"):
        go(tmp_path / "a.part", resume=True)


def test_without_resume_work_begins_anew_and_says_what_is_given_up(tmp_path):
    stopped(tmp_path / "a.part", 2)
    with open_work(tmp_path / "a.part", WORK, resume=False) as under_way:
        assert (under_way.replaced, under_way.done.inputs) == (3, 0)
    assert not os.listdir(tmp_path)  # no unit was done


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("log", [None, b"", b"a log of others\n", b'{"format": 1, "work"'])
def test_results_of_another_origin_are_refused(tmp_path, resume, log):
    part = tmp_path / "a.part"
    part.write_bytes(b"mine")
    if log is not None:
        log_of(part).write_bytes(log)
    with pytest.raises(StorageError, match=r"a.part: not replaced, for no a.part.log says"):
        go(part, resume=resume)
    assert part.read_bytes() == b"mine"
    assert not log or log_of(part).read_bytes() == log
    part.write_bytes(b"")
    assert go(part, resume=resume) == 7


def test_nothing_to_go_on_with_begins_anew(tmp_path):
    assert go(tmp_path / "a.part", resume=True) == 7


def test_only_one_process_works_and_is_named(tmp_path):
    code = (
        "import sys, pathlib; from spanloom.progress import open_work\n"
        "with open_work(pathlib.Path(sys.argv[1]), {}, resume=False):\n"
        "    print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.part")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout.readline() == "open\n"
        for resume in (False, True):
            with pytest.raises(StorageError, match=f"process {other.pid} is at work here"):
                go(tmp_path / "a.part", resume=resume)
        other.kill()
    assert go(tmp_path / "a.part", resume=True) == 7


def test_a_disk_without_locks_does(tmp_path, monkeypatch):
    def unable(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unable)
    assert go(tmp_path / "a.part", resume=False) == 7


def test_a_full_disk_keeps_what_was_acknowledged(tmp_path, monkeypatch):
    part = tmp_path / "a.part"
    write = os.write

    def full(handle, data):
        if bytes(data).startswith(b"INPUT 5"):
            write(handle, data[:3])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match=r"a.part: could not be written: No space left"):
        go(part, resume=False)
    monkeypatch.undo()
    assert go(part, resume=True) == 4
    assert (tmp_path / "whole").read_bytes() == WHOLE


def test_pipes_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(StorageError, match="could not be written"):
            go(tmp_path / name, resume=False)
    with pytest.raises(StorageError, match="no folder"):
        go(tmp_path / "no" / "a.part", resume=False)
