"""The queue and the model thread: what goes through together, what is dropped, what fails alone."""

import threading
from concurrent.futures import CancelledError
from contextlib import contextmanager

import pytest
from fake_model import DEADLY, MOOD, NAMES, POISON, TWINS, Direct, until

from spanloom.cancellation import Cancelled
from spanloom.document import Document
from spanloom.serve.batcher import Batcher
from spanloom.serve.engine import ProcessLost
from spanloom.serve.jobs import AnnotateRequest, ChoicesRefused
from spanloom.serve.model_thread import AnnotationFailed
from spanloom.serve.request_queue import QueueFull, QueueLimits, WorkerStopped

dies = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def spell(document):
    return document.text.upper()


def request_for(*texts, tasks=(NAMES,), with_tokens=False):
    return AnnotateRequest(tuple(map(Document, texts)), tasks, spell, with_tokens)


@contextmanager
def running(fake, limits=QueueLimits()):
    with Batcher([Direct(fake)], limits) as batcher:
        until(lambda: batcher.is_ready)
        try:
            yield batcher
        finally:
            fake.door.set()


@contextmanager
def held(fake, batcher):
    """While the model is busy with a text, so that whatever comes waits."""
    fake.door.clear()
    first = batcher.submit(request_for("busy"))
    until(lambda: fake.batches[-1:] == [["busy"]])
    yield
    fake.door.set()
    assert first.result(30) == ("BUSY",)


def test_what_waits_goes_through_at_once(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            futures = [batcher.submit(request_for(character)) for character in "abc"]
        assert [future.result(30) for future in futures] == [("A",), ("B",), ("C",)]
    assert fake.batches[1:] == [["a", "b", "c"]]


def test_choices_that_are_refused_count_as_no_failed_text_and_harm_no_neighbour(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            good = batcher.submit(request_for("a", tasks=(MOOD,)))
            documents = tuple(map(Document, "bc"))
            request = AnnotateRequest(documents, (MOOD,), spell, choices=TWINS[0])
            wrong = [batcher.submit(request) for _ in range(2)]
        for future in wrong:
            with pytest.raises(ChoicesRefused, match="^the choices are alike$"):
                future.result(30)
        assert good.result(30) == ("A",)
        assert (batcher.tally.failed, batcher.tally.texts) == (0, 2)
    assert fake.batches[1:] == [["a"], ["b", "b", "c", "c"]]  # refused once, not text by text


def test_a_large_request_lets_small_ones_pass(fake):
    with running(fake, QueueLimits(texts=4)) as batcher:
        with held(fake, batcher):
            large, small = (
                batcher.submit(request_for(*"abcdefgh")),
                batcher.submit(request_for("z")),
            )
        assert small.result(30) == ("Z",)
        assert large.result(30) == tuple("ABCDEFGH")
    assert fake.batches[1:] == [["a", "z", "b", "c"], ["d", "e", "f", "g"], ["h"]]


def test_a_batch_has_only_so_many_characters(fake):
    with running(fake, QueueLimits(characters=5)) as batcher:
        with held(fake, batcher):
            done = batcher.submit(request_for("aaa", "bb", "cccccccc", "d", "e"))
        done.result(30)
    assert fake.batches[1:] == [["aaa", "bb"], ["cccccccc"], ["d", "e"]]


def test_other_tasks_go_apart(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            asked = [
                request_for("a"),
                request_for("b", tasks=(MOOD,)),
                request_for("c"),
                request_for("d", with_tokens=True),
            ]
            futures = [batcher.submit(request) for request in asked]
        for future in futures:
            future.result(30)
    assert fake.batches[1:] == [["a", "c"], ["b"], ["d"]]


def test_what_is_cancelled_is_not_computed(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            kept, dropped = batcher.submit(request_for("a")), batcher.submit(request_for("b", "c"))
            assert dropped.cancel()
        assert kept.result(30) == ("A",)
        with pytest.raises(CancelledError):
            dropped.result()
    assert fake.texts == ["busy", "a"]


def test_the_rest_of_a_request_is_dropped_with_it(fake):
    with running(fake, QueueLimits(texts=1)) as batcher:
        fake.door.clear()
        large = batcher.submit(request_for(*"abc"))
        until(lambda: fake.batches[-1:] == [["a"]])
        large.cancel()
        fake.door.set()
        batcher.submit(request_for("z")).result(30)
    assert fake.texts == ["a", "z"]


def test_one_bad_text_fails_alone(fake, caplog):
    with running(fake) as batcher:
        with held(fake, batcher):
            asked = ["a", POISON + " secret", "b"]
            futures = [batcher.submit(request_for("c", text)) for text in asked]
        with pytest.raises(AnnotationFailed) as failure:
            futures[1].result(30)
        assert failure.value.index == 1
        assert [futures[n].result(30) for n in (0, 2)] == [("C", "A"), ("C", "B")]
        assert batcher.tally.failed == 1
        assert batcher.submit(request_for("d")).result(30) == ("D",)
    assert "ValueError at fake_model.py" in caplog.text
    assert "secret" not in caplog.text


def test_too_much_is_refused(fake):
    with running(fake, QueueLimits(requests=2, queued=24)) as batcher:
        with held(fake, batcher):
            large = batcher.submit(request_for("a" * 20))  # and 4 that are computed
            assert batcher.is_full
            with pytest.raises(QueueFull):
                batcher.submit(request_for("b"))
            large.cancel()
            assert not batcher.is_full
            batcher.submit(request_for("b"))  # what was given up takes no room
            assert not batcher.is_full
            batcher.submit(request_for("c"))
            assert batcher.is_full
            with pytest.raises(QueueFull):
                batcher.submit(request_for("d"))
            assert batcher.waiting == 2


@dies
def test_nobody_waits_for_a_dead_model(fake):
    with running(fake) as batcher:
        with held(fake, batcher):
            futures = [batcher.submit(request_for(text)) for text in ("a", DEADLY, "b")]
        for future in futures:
            with pytest.raises(WorkerStopped):
                future.result(30)
        until(lambda: not batcher.is_ready)
        with pytest.raises(WorkerStopped):
            batcher.submit(request_for("c"))


def test_any_size_goes_where_nothing_is_computed(fake):
    with running(fake, QueueLimits(queued=10)) as batcher:
        assert batcher.submit(request_for("a" * 20)).result(30) == ("A" * 20,)


def test_a_model_that_cannot_be_begun_is_never_ready():
    class Broken(Direct):
        def begin(self):
            raise ProcessLost

    died = threading.Event()
    with Batcher([Broken(None)], on_death=died.set) as batcher:
        assert died.wait(30)
        until(lambda: not batcher.is_live)
        assert not batcher.is_ready
        with pytest.raises(WorkerStopped):
            batcher.submit(request_for("a"))


def test_the_end_answers_what_was_taken(fake):
    with running(fake, QueueLimits(texts=2)) as batcher:
        fake.door.clear()
        futures = [batcher.submit(request_for(*"ab", str(n))) for n in range(10)]
        threading.Timer(0.05, fake.door.set).start()
    assert [future.result(0) for future in futures] == [("A", "B", str(n)) for n in range(10)]
    with pytest.raises(WorkerStopped):
        batcher.submit(request_for("late"))


class Stepping(Direct):
    """A model that comes to a checkpoint every millisecond; a text of x never ends, but by that.

    A text of k ends the model, which is then begun anew when ``door`` is open.
    """

    def __init__(self, fake):
        super().__init__(fake)
        self.door, self.begun, self.fake = threading.Event(), 0, fake
        self.killed_from_outside = 0  # so many batches more
        self.door.set()

    def begin(self):
        self.door.wait()
        self.begun += 1
        return super().begin()

    def annotate(self, request, documents, is_over):
        while any("x" in document.text for document in documents):
            if is_over():
                self.fake.batches.append(["stopped"])
                raise Cancelled
            threading.Event().wait(0.001)
        if self.killed_from_outside:
            self.killed_from_outside -= 1
            raise ProcessLost
        if any("k" in document.text for document in documents):
            raise ProcessLost
        return super().annotate(request, documents, is_over)


@contextmanager
def stepping(fake, limits=QueueLimits()):
    engine = Stepping(fake)
    with Batcher([engine], limits) as batcher:
        until(lambda: batcher.is_ready)
        yield engine, batcher


def test_what_nobody_waits_for_is_stopped(fake):
    with stepping(fake) as (_, batcher):
        endless = batcher.submit(request_for("x"))
        until(lambda: not batcher.waiting)
        waits = batcher.submit(request_for("a"))
        assert endless.cancel()
        assert waits.result(30) == ("A",)
        assert (batcher.tally.stopped, batcher.tally.failed) == (1, 0)
    assert fake.batches == [["stopped"], ["a"]]


def test_several_models_empty_one_queue(fake):
    engines = [Stepping(fake), Stepping(fake), Stepping(fake)]
    with Batcher(engines) as batcher:
        until(lambda: batcher.is_ready)
        endless = []
        for text in ("x1", "x2"):
            endless.append(batcher.submit(request_for(text)))
            until(lambda: not batcher.waiting)
        several = batcher.submit(request_for(*"abcd"))
        assert several.result(30) == tuple("ABCD")
        assert not any(future.done() for future in endless)
        for future in endless:
            assert future.cancel()
        until(lambda: batcher.tally.stopped == 2)
        assert batcher.is_ready
        assert batcher.tally.texts == 4


def test_a_slow_text_does_not_keep_its_batch(fake):
    with stepping(fake, QueueLimits(patience=0.05)) as (_, batcher):
        with held(fake, batcher):  # so that all are in one batch
            asked = [batcher.submit(request_for(text)) for text in ("xxx", "b", "a", "xx")]
        assert [asked[n].result(30) for n in (1, 2)] == [("B",), ("A",)]
        assert fake.batches == [["busy"], ["stopped"], ["b"], ["a"]]
        for n in (0, 3):  # each goes on by itself until nobody waits for it
            assert asked[n].cancel()


def test_answers_stand_in_the_order_of_the_texts_whatever_came_first(fake):
    with stepping(fake, QueueLimits(patience=0.05)) as (_, batcher):
        with held(fake, batcher):
            slow, several = (
                batcher.submit(request_for("xxxx")),
                batcher.submit(request_for("ccc", "bb", "a")),
            )
        assert several.result(30) == ("CCC", "BB", "A")
        slow.cancel()
    assert fake.texts[:5] == ["busy", "stopped", "a", "bb", "ccc"]


def test_a_text_that_ends_the_model_fails_alone(fake, caplog):
    with stepping(fake) as (engine, batcher):
        with held(fake, batcher):
            asked = [batcher.submit(request_for(text)) for text in ("a", "k secret", "b")]
        assert [asked[n].result(30) for n in (0, 2)] == [("A",), ("B",)]
        with pytest.raises(AnnotationFailed):
            asked[1].result(30)
        assert batcher.is_ready
        assert (engine.begun, batcher.tally.lost) == (3, 2)  # once in the batch, once by itself
    assert "secret" not in caplog.text


def test_a_text_whose_process_was_killed_from_outside_is_annotated_by_the_next(fake):
    with stepping(fake) as (engine, batcher):
        engine.killed_from_outside = 1
        assert batcher.submit(request_for("a")).result(30) == ("A",)
        assert (engine.begun, batcher.tally.lost, batcher.tally.failed) == (2, 1, 0)
        with pytest.raises(AnnotationFailed):  # this one ends every process
            batcher.submit(request_for("k")).result(30)
        assert (engine.begun, batcher.tally.lost, batcher.tally.failed) == (4, 3, 1)


def test_while_a_model_is_replaced_it_is_neither_ready_nor_live(fake):
    with stepping(fake) as (engine, batcher):
        assert batcher.is_live
        engine.door.clear()
        failed = batcher.submit(request_for("k"))
        until(lambda: not batcher.is_live)
        assert not batcher.is_ready
        waits = batcher.submit(request_for("a"))
        engine.door.set()
        assert waits.result(30) == ("A",)
        assert batcher.is_ready
        assert batcher.is_live
        assert isinstance(failed.exception(), AnnotationFailed)


def test_a_model_that_goes_on_with_what_is_over_is_not_ready(fake):
    now = [0.0]
    engine = Stuck(fake)
    with Batcher([engine], clock=lambda: now[0]) as batcher:
        until(lambda: batcher.is_ready)
        stuck = batcher.submit(request_for("a"))
        until(lambda: fake.batches)
        try:
            now[0] = 20.0
            assert batcher.is_ready  # somebody waits
            stuck.cancel()
            until(lambda: engine.saw_the_end)
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
        self.door, self.batches, self.saw_the_end = fake.door, fake.batches, False

    def annotate(self, request, documents, is_over):
        self.batches.append("stuck")
        while not self.door.wait(0.001):
            self.saw_the_end |= is_over()
        raise Cancelled


def test_at_a_cut_nobody_waits_any_more(fake):
    with stepping(fake) as (_, batcher):
        computed = batcher.submit(request_for("x"))
        until(lambda: not batcher.waiting)
        waits = batcher.submit(request_for("a"))
        batcher.abort()
        for future in (computed, waits):
            with pytest.raises(WorkerStopped):
                future.result(0)
    assert fake.batches == [["stopped"]]
