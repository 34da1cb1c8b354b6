"""Worker processes: any bytes come back, a killed one loses nothing, none outlives its parent."""

import io
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from spanloom.workers import executors
from spanloom.workers.executors import Answer, LocalWorkers
from spanloom.workers.frames import read_frame, write_frame
from spanloom.workers.ordered import in_order
from spanloom.workers.process import module_command
from spanloom.workers.ray_workers import RayWorkers

ECHO = """
import os, sys, time
from functools import partial
from spanloom.workers.process import answer_jobs

def answer(content):
    print("printed, which is no answer")
    if content == b"sleep":
        time.sleep(60)
    if content.startswith(b"once "):
        path = content[5:].decode()
        if not os.path.exists(path):
            open(path, "w").close()
            os.kill(os.getpid(), 9)
    return f"{os.getpid()} {os.environ['OMP_WAIT_POLICY']} ".encode() + content[::-1]

def make_answerer():
    print("printed at the start, which is no answer either")
    return answer

answer_jobs(make_answerer, at_end=partial(os._exit, 0))
"""
COMMAND = [sys.executable, "-c", ECHO]


@pytest.fixture
def workers():
    made = LocalWorkers(2, COMMAND)
    yield made
    made.close()


def test_frames():
    stream = io.BytesIO()
    for content in (b"", b"\n\x00\xff", b"x" * 100_000):
        write_frame(stream, "key 1", content)
    raw = stream.getvalue()
    stream.seek(0)
    assert [len(read_frame(stream)[1]) for _ in range(3)] == [0, 3, 100_000]
    assert read_frame(stream) is None
    torn = io.BytesIO(raw[:-1])
    assert [read_frame(torn) is None for _ in range(3)] == [False, False, True]
    assert read_frame(io.BytesIO(b"12 ke")) is None
    assert read_frame(io.BytesIO(b"loading \xff\n")) is None


def test_a_process_that_prints_where_answers_go_is_dead():
    """Nobody waits for an answer that it can no longer give."""
    workers = LocalWorkers(1, [sys.executable, "-c", "print('no frame'); input()"])
    workers.start("a", b"")
    assert workers.wait() == Answer("a", None)
    workers.close()


def test_modules_come_from_where_this_process_has_them(tmp_path, monkeypatch):
    """A file in the current folder that is called like a module of Python's is not imported."""
    (tmp_path / "queue.py").write_text("raise SystemExit('the wrong queue')")
    monkeypatch.chdir(tmp_path)
    run = partial(subprocess.run, capture_output=True, input=b"", check=False)
    clean = [entry for entry in sys.path if entry not in ("", str(tmp_path))]
    monkeypatch.setattr(sys, "path", clean)
    assert run(module_command("spanloom.corpora.call_worker")).returncode == 0
    monkeypatch.setattr(sys, "path", ["", *clean])
    assert b"the wrong queue" in run(module_command("spanloom.corpora.call_worker")).stderr


def test_answers_of_processes_that_stay(workers):
    jobs = [bytes([number, 10, 13, 0]) * 1000 for number in range(20)]
    answers = list(in_order(workers, jobs))
    assert [answer.split(b" ", 2)[2] for answer in answers] == [job[::-1] for job in jobs]
    assert {answer.split(b" ", 2)[1] for answer in answers} == {b"PASSIVE"}
    assert len({answer.split(b" ", 2)[0] for answer in answers}) == 2


def test_a_killed_worker_loses_nothing(workers, tmp_path):
    jobs = [f"once {tmp_path / str(number)}".encode() for number in range(3)]
    answers = list(in_order(workers, jobs))
    assert [answer.split(b" ", 2)[2] for answer in answers] == [job[::-1] for job in jobs]


def test_a_worker_that_is_killed_from_outside(workers):
    workers.start("a", b"sleep")
    workers._busy["a"].process.kill()
    assert workers.wait() == Answer("a", None)


def test_a_worker_that_was_killed_while_it_waited(workers):
    workers.start("a", b"first")
    assert workers.wait().content.endswith(b"tsrif")
    (worker,) = workers._idle
    worker.process.kill()
    worker.process.wait()
    time.sleep(0.1)
    assert list(in_order(workers, [b"second"]))[0].endswith(b"dnoces")


def test_a_worker_that_does_not_react_is_killed(monkeypatch):
    """Also if ctrl-C came while a job was sent to it."""
    monkeypatch.setattr(executors, "_PATIENCE", 0.2)
    workers = LocalWorkers(1, COMMAND)
    workers.start("a", b"first")
    workers.wait()
    (worker,) = workers._idle
    worker.process.send_signal(signal.SIGSTOP)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            workers.start("b", bytes(10_000_000))
    finally:
        signal.signal(signal.SIGALRM, before)
    workers.close()
    assert worker.process.returncode == -signal.SIGKILL


def test_workers_end_with_the_process_that_started_them():
    script = (
        "import sys; from spanloom.workers.executors import LocalWorkers\n"
        "workers = LocalWorkers(1, [sys.executable, '-c', sys.argv[1]])\n"
        "workers.start('a', b'first'); print(workers.wait().content.split()[0].decode())\n"
        "sys.stdout.flush(); workers.start('b', b'sleep'); workers.wait()\n"
    )
    command = [sys.executable, "-c", script, ECHO]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        worker = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    for _ in range(500):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("the worker is still there")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_actors():
    pytest.importorskip("ray")
    workers = RayWorkers(2, "local", partial(getattr, bytes, "upper"))
    try:
        jobs = [f"job {number}".encode() for number in range(10)]
        assert list(in_order(workers, jobs)) == [job.upper() for job in jobs]
    finally:
        workers.close()
