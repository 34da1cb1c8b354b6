"""The queue and the model thread: what goes through together, what is dropped, what fails alone."""

import threading
from concurrent.futures import CancelledError
from contextlib import contextmanager

import pytest
from fake_model import DEADLY, MOOD, NAMES, POISON, Direct, until

from spanloom.cancellation import Cancelled
from spanloom.document import Document
from spanloom.serve.batcher import AnnotationFailed, Batcher, QueueFull, QueueLimits, WorkerStopped
from spanloom.serve.engine import Lost
from spanloom.serve.jobs import AnnotateRequest

dies = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def spell(document):
    return document.text.upper()


def wish(*texts, tasks=(NAMES,), cuts=False):
    return AnnotateRequest(tuple(map(Document, texts)), tasks, spell, cuts)


@contextmanager
def running(fake, room=QueueLimits()):
    with Batcher(Direct(fake), room) as batcher:
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
    until(lambda: fake.batches[-1:] == [["busy"]])
    yield
    fake.door.set()
    assert first.result(30) == ("BUSY",)


def test_what_waits_goes_through_at_once(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            futures = [batcher.submit(wish(each)) for each in "abc"]
        assert [each.result(30) for each in futures] == [("A",), ("B",), ("C",)]
    assert fake.batches[1:] == [["a", "b", "c"]]


def test_a_large_request_lets_small_ones_pass(fake):
    with running(fake, QueueLimits(texts=4)) as batcher:
        with held(fake, batcher):
            large, small = batcher.submit(wish(*"abcdefgh")), batcher.submit(wish("z"))
        assert small.result(30) == ("Z",)
        assert large.result(30) == tuple("ABCDEFGH")
    assert fake.batches[1:] == [["a", "z", "b", "c"], ["d", "e", "f", "g"], ["h"]]


def test_a_batch_has_only_so_many_characters(fake):
    with running(fake, QueueLimits(characters=5)) as batcher:
        with held(fake, batcher):
            done = batcher.submit(wish("aaa", "bb", "cccccccc", "d", "e"))
        done.result(30)
    assert fake.batches[1:] == [["aaa", "bb"], ["cccccccc"], ["d", "e"]]


def test_other_tasks_go_apart(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            asked = [wish("a"), wish("b", tasks=(MOOD,)), wish("c"), wish("d", cuts=True)]
            futures = [batcher.submit(each) for each in asked]
        for each in futures:
            each.result(30)
    assert fake.batches[1:] == [["a", "c"], ["b"], ["d"]]


def test_what_is_cancelled_is_not_computed(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            kept, dropped = batcher.submit(wish("a")), batcher.submit(wish("b", "c"))
            assert dropped.cancel()
        assert kept.result(30) == ("A",)
        with pytest.raises(CancelledError):
            dropped.result()
    assert fake.texts == ["busy", "a"]


def test_the_rest_of_a_request_is_dropped_with_it(fake):
    with running(fake, QueueLimits(texts=1)) as batcher:
        fake.door.clear()
        large = batcher.submit(wish(*"abc"))
        until(lambda: fake.batches[-1:] == [["a"]])
        large.cancel()
        fake.door.set()
        batcher.submit(wish("z")).result(30)
    assert fake.texts == ["a", "z"]


def test_one_bad_text_fails_alone(fake, caplog):
    with running(fake) as batcher:
        with held(fake, batcher):
            asked = ["a", POISON + " secret", "b"]
            futures = [batcher.submit(wish("c", each)) for each in asked]
        with pytest.raises(AnnotationFailed) as failure:
            futures[1].result(30)
        assert failure.value.row == 1
        assert [futures[n].result(30) for n in (0, 2)] == [("C", "A"), ("C", "B")]
        assert batcher.tally.failed == 1
        assert batcher.submit(wish("d")).result(30) == ("D",)
    assert "ValueError at fake_model.py" in caplog.text
    assert "secret" not in caplog.text


def test_too_much_is_refused(fake):
    with running(fake, QueueLimits(requests=2, queued=24)) as batcher:
        with held(fake, batcher):
            large = batcher.submit(wish("a" * 20))  # and 4 that are computed
            assert batcher.is_full
            with pytest.raises(QueueFull):
                batcher.submit(wish("b"))
            large.cancel()
            assert not batcher.is_full
            batcher.submit(wish("b"))  # what was given up takes no room
            assert not batcher.is_full
            batcher.submit(wish("c"))
            assert batcher.is_full
            with pytest.raises(QueueFull):
                batcher.submit(wish("d"))
            assert batcher.waiting == 2


@dies
def test_nobody_waits_for_a_dead_model(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            futures = [batcher.submit(wish(each)) for each in ("a", DEADLY, "b")]
        for each in futures:
            with pytest.raises(WorkerStopped):
                each.result(30)
        until(lambda: not batcher.is_ready)
        with pytest.raises(WorkerStopped):
            batcher.submit(wish("c"))


def test_any_size_goes_where_nothing_is_computed(fake):
    with running(fake, QueueLimits(queued=10)) as batcher:
        assert batcher.submit(wish("a" * 20)).result(30) == ("A" * 20,)


def test_a_model_that_cannot_be_begun_is_never_ready():
    class Broken(Direct):
        def begin(self):
            raise Lost

    died = threading.Event()
    with Batcher(Broken(None), on_death=died.set) as batcher:
        assert died.wait(30)
        until(lambda: not batcher.is_live)
        assert not batcher.is_ready
        with pytest.raises(WorkerStopped):
            batcher.submit(wish("a"))


def test_the_end_answers_what_was_taken(fake):
    with running(fake, QueueLimits(texts=2)) as batcher:
        fake.door.clear()
        futures = [batcher.submit(wish(*"ab", str(n))) for n in range(10)]
        threading.Timer(0.05, fake.door.set).start()
    assert [each.result(0) for each in futures] == [("A", "B", str(n)) for n in range(10)]
    with pytest.raises(WorkerStopped):
        batcher.submit(wish("late"))


class Stepping(Direct):
    """A model that comes to a checkpoint every millisecond; a text of x never ends, but by that.

    A text of k ends the model, which is then begun anew when ``door`` is open.
    """

    def __init__(self, fake):
        super().__init__(fake)
        self.door, self.begun, self.fake = threading.Event(), 0, fake
        self.door.set()

    def begin(self):
        self.door.wait()
        self.begun += 1
        return super().begin()

    def annotate(self, wish, documents, is_over):
        while any("x" in each.text for each in documents):
            if is_over():
                self.fake.batches.append(["stopped"])
                raise Cancelled
            threading.Event().wait(0.001)
        if any("k" in each.text for each in documents):
            raise Lost
        return super().annotate(wish, documents, is_over)


@contextmanager
def stepping(fake, room=QueueLimits()):
    engine = Stepping(fake)
    with Batcher(engine, room) as batcher:
        until(lambda: batcher.is_ready)
        yield engine, batcher


def test_what_nobody_waits_for_is_stopped(fake):
    with stepping(fake) as (_, batcher):
        endless = batcher.submit(wish("x"))
        until(lambda: not batcher.waiting)
        waits = batcher.submit(wish("a"))
        assert endless.cancel()
        assert waits.result(30) == ("A",)
        assert (batcher.tally.stopped, batcher.tally.failed) == (1, 0)
    assert fake.batches == [["stopped"], ["a"]]


def test_a_slow_text_does_not_keep_its_batch(fake):
    with stepping(fake, QueueLimits(patience=0.05)) as (_, batcher):
        with batcher._changed:  # so that all are in one batch
            asked = [batcher.submit(wish(each)) for each in ("xxx", "b", "a", "xx")]
        assert [asked[n].result(30) for n in (1, 2)] == [("B",), ("A",)]
        assert fake.batches == [["stopped"], ["b"], ["a"]]
        for n in (0, 3):  # each goes on by itself until nobody waits for it
            assert asked[n].cancel()


def test_answers_stand_in_the_order_of_the_texts_whatever_came_first(fake):
    with stepping(fake, QueueLimits(patience=0.05)) as (_, batcher):
        with batcher._changed:
            slow, several = batcher.submit(wish("xxxx")), batcher.submit(wish("ccc", "bb", "a"))
        assert several.result(30) == ("CCC", "BB", "A")
        slow.cancel()
    assert fake.texts[:4] == ["stopped", "a", "bb", "ccc"]


def test_a_text_that_ends_the_model_fails_alone(fake, caplog):
    with stepping(fake) as (engine, batcher):
        with batcher._changed:
            asked = [batcher.submit(wish(each)) for each in ("a", "k secret", "b")]
        assert [asked[n].result(30) for n in (0, 2)] == [("A",), ("B",)]
        with pytest.raises(AnnotationFailed):
            asked[1].result(30)
        assert batcher.is_ready
        assert (engine.begun, batcher.tally.lost) == (3, 2)  # once in the batch, once by itself
    assert "secret" not in caplog.text


def test_while_a_model_is_replaced_it_is_neither_ready_nor_live(fake):
    with stepping(fake) as (engine, batcher):
        assert batcher.is_live
        engine.door.clear()
        failed = batcher.submit(wish("k"))
        until(lambda: not batcher.is_live)
        assert not batcher.is_ready
        waits = batcher.submit(wish("a"))
        engine.door.set()
        assert waits.result(30) == ("A",)
        assert batcher.is_ready
        assert batcher.is_live
        assert isinstance(failed.exception(), AnnotationFailed)


def test_a_model_that_goes_on_with_what_is_over_is_not_ready(fake):
    now = [0.0]
    with Batcher(Stuck(fake), clock=lambda: now[0]) as batcher:
        until(lambda: batcher.is_ready)
        stuck = batcher.submit(wish("a"))
        until(lambda: fake.batches)
        try:
            now[0] = 20.0
            assert batcher.is_ready  # somebody waits
            stuck.cancel()
            until(lambda: batcher._over_at == 20.0)
            assert batcher.is_ready  # for a moment
            now[0] = 22.0
            assert not batcher.is_ready
        finally:
            fake.door.set()
        until(lambda: batcher.is_ready)


class Stuck(Direct):
    """A model that asks whether it is over, and does not care."""

    def __init__(self, fake):
        super().__init__(fake)
        fake.door.clear()
        self.door, self.batches = fake.door, fake.batches

    def annotate(self, wish, documents, is_over):
        self.batches.append("stuck")
        while not self.door.wait(0.001):
            is_over()
        raise Cancelled


def test_at_a_cut_nobody_waits_any_more(fake):
    with stepping(fake) as (_, batcher):
        computed = batcher.submit(wish("x"))
        until(lambda: not batcher.waiting)
        waits = batcher.submit(wish("a"))
        batcher.cut()
        for each in (computed, waits):
            with pytest.raises(WorkerStopped):
                each.result(0)
    assert fake.batches == [["stopped"]]
