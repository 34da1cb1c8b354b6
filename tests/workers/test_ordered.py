"""Answers come in the order of their jobs, whatever workers do."""

import random
from collections import Counter

import pytest

from spanloom.errors import FormatError, WorkerError
from spanloom.workers.executors import Answer, InProcess
from spanloom.workers.ordered import MAX_DEATHS, in_order


class Shuffled:
    """Ends running jobs in any order; some workers die."""

    def __init__(self, size, seed, deaths=0.0):
        self.size, self.rng, self.deaths = size, random.Random(seed), deaths
        self.running, self.most = {}, 0

    def start(self, key, content):
        assert len(self.running) < self.size
        self.running[key] = content
        self.most = max(self.most, len(self.running))

    def wait(self):
        key = self.rng.choice(list(self.running))
        content = self.running.pop(key)
        return Answer(key, None if self.rng.random() < self.deaths else content.upper())

    def close(self):
        pass


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("deaths", [0.0, 0.1])
def test_order_and_size(size, deaths):
    jobs = [f"job {number}".encode() for number in range(100)]
    executor = Shuffled(size, seed=3, deaths=deaths)
    assert list(in_order(executor, jobs)) == [job.upper() for job in jobs]
    assert executor.most == size


def test_few_jobs_are_read_ahead():
    read = Counter()

    def jobs():
        for number in range(100):
            read["jobs"] += 1
            yield str(number).encode()

    for number, _ in enumerate(in_order(Shuffled(3, seed=1), jobs())):
        assert read["jobs"] <= number + 1 + 4 * 3


def test_a_job_that_cannot_be_read_comes_after_the_answers_before_it():
    def jobs():
        yield b"a"
        yield b"b"
        raise FormatError("in.jsonl", 3, "not JSON")

    answers = in_order(Shuffled(2, seed=1), jobs())
    assert [next(answers), next(answers)] == [b"A", b"B"]
    with pytest.raises(FormatError, match="in.jsonl:3"):
        next(answers)


def test_a_job_that_kills_its_workers_is_given_up():
    with pytest.raises(WorkerError, match=f"{MAX_DEATHS} worker processes died"):
        list(in_order(Shuffled(2, seed=1, deaths=1.0), [b"a"]))


def test_in_process_and_no_jobs():
    assert list(in_order(InProcess(bytes.upper), [b"a", b"b"])) == [b"A", b"B"]
    assert list(in_order(InProcess(bytes.upper), [])) == []
