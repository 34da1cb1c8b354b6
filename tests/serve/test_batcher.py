"""The queue and the model thread: what goes through together, what is dropped, what fails alone."""

import threading
from concurrent.futures import CancelledError
from contextlib import contextmanager

import pytest
from fake_model import DEADLY, MOOD, NAMES, POISON, until

from spanloom.document import Document
from spanloom.serve.batcher import Batcher, Failed, Full, Room, Stopped, Wish

dies = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def spell(document):
    return document.text.upper()


def wish(*texts, tasks=(NAMES,), cuts=False):
    return Wish(tuple(map(Document, texts)), tasks, spell, cuts)


@contextmanager
def running(fake, room=Room()):
    with Batcher(fake, room, warm=wish("warm")) as batcher:
        until(lambda: batcher.is_ready)
        try:
            yield batcher
        finally:
            fake.door.set()


@contextmanager
def held(fake, batcher):
    """While the model is busy with a text, so that whatever comes waits."""
    fake.door.clear()
    first = batcher.submit(wish("busy"))
    until(lambda: fake.batches[-1] == ["busy"])
    yield
    fake.door.set()
    assert first.result(10) == ("BUSY",)


def test_what_waits_goes_through_at_once(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            futures = [batcher.submit(wish(each)) for each in "abc"]
        assert [each.result(10) for each in futures] == [("A",), ("B",), ("C",)]
    assert fake.batches[2:] == [["a", "b", "c"]]


def test_a_large_request_lets_small_ones_pass(fake):
    with running(fake, Room(texts=4)) as batcher:
        with held(fake, batcher):
            large, small = batcher.submit(wish(*"abcdefgh")), batcher.submit(wish("z"))
        assert small.result(10) == ("Z",)
        assert large.result(10) == tuple("ABCDEFGH")
    assert fake.batches[2:] == [["a", "z", "b", "c"], ["d", "e", "f", "g"], ["h"]]


def test_a_batch_has_only_so_many_characters(fake):
    with running(fake, Room(characters=5)) as batcher:
        with held(fake, batcher):
            done = batcher.submit(wish("aaa", "bb", "cccccccc", "d", "e"))
        done.result(10)
    assert fake.batches[2:] == [["aaa", "bb"], ["cccccccc"], ["d", "e"]]


def test_other_tasks_go_apart(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            asked = [wish("a"), wish("b", tasks=(MOOD,)), wish("c"), wish("d", cuts=True)]
            futures = [batcher.submit(each) for each in asked]
        for each in futures:
            each.result(10)
    assert fake.batches[2:] == [["a", "c"], ["b"], ["d"]]


def test_what_is_cancelled_is_not_computed(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            kept, dropped = batcher.submit(wish("a")), batcher.submit(wish("b", "c"))
            assert dropped.cancel()
        assert kept.result(10) == ("A",)
        with pytest.raises(CancelledError):
            dropped.result()
    assert fake.texts == ["busy", "a"]


def test_the_rest_of_a_request_is_dropped_with_it(fake):
    with running(fake, Room(texts=1)) as batcher:
        fake.door.clear()
        large = batcher.submit(wish(*"abc"))
        until(lambda: fake.batches[-1] == ["a"])
        large.cancel()
        fake.door.set()
        batcher.submit(wish("z")).result(10)
    assert fake.texts == ["a", "z"]


def test_one_bad_text_fails_alone(fake, caplog):
    with running(fake) as batcher:
        with held(fake, batcher):
            asked = ["a", POISON + " secret", "b"]
            futures = [batcher.submit(wish("c", each)) for each in asked]
        with pytest.raises(Failed) as failure:
            futures[1].result(10)
        assert failure.value.row == 1
        assert [futures[n].result(10) for n in (0, 2)] == [("C", "A"), ("C", "B")]
        assert batcher.tally.failed == 1
        assert batcher.submit(wish("d")).result(10) == ("D",)
    assert "ValueError at fake_model.py" in caplog.text
    assert "secret" not in caplog.text


def test_too_much_is_refused(fake):
    with running(fake, Room(requests=2, queued=10)) as batcher:
        with held(fake, batcher):
            large = batcher.submit(wish("a" * 20))  # nothing waits, so it may
            assert batcher.is_full
            with pytest.raises(Full):
                batcher.submit(wish("b"))
            large.cancel()
            assert not batcher.is_full
            batcher.submit(wish("b"))  # what was given up takes no room
            assert not batcher.is_full
            batcher.submit(wish("c"))
            assert batcher.is_full
            with pytest.raises(Full):
                batcher.submit(wish("d"))
            assert batcher.waiting == 2


@dies
def test_nobody_waits_for_a_dead_model(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            futures = [batcher.submit(wish(each)) for each in ("a", DEADLY, "b")]
        for each in futures:
            with pytest.raises(Stopped):
                each.result(2)
        until(lambda: not batcher.is_ready, seconds=2)
        with pytest.raises(Stopped):
            batcher.submit(wish("c"))


@dies
def test_a_model_that_cannot_be_warmed_is_never_ready():
    def broken(documents, tasks, cuts):
        raise SystemExit

    with Batcher(broken, warm=wish("warm")) as batcher:
        until(lambda: not any(each.name == "model" for each in threading.enumerate()))
        assert not batcher.is_ready
        with pytest.raises(Stopped):
            batcher.submit(wish("a"))


def test_the_end_answers_what_was_taken(fake):
    with running(fake, Room(texts=2)) as batcher:
        fake.door.clear()
        futures = [batcher.submit(wish(*"ab", str(n))) for n in range(10)]
        threading.Timer(0.05, fake.door.set).start()
    assert [each.result(0) for each in futures] == [("A", "B", str(n)) for n in range(10)]
    with pytest.raises(Stopped):
        batcher.submit(wish("late"))
