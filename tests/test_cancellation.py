"""A computation stops at its next checkpoint when it is over, and no other does."""

import threading

import pytest

from spanloom.cancellation import Cancelled, cancellable, checkpoint


def test_without_anybody_to_ask_it_goes_on():
    checkpoint()
    with cancellable(lambda: False):
        checkpoint()


def test_it_stops_when_it_is_over():
    asked = iter([False, False, True])
    with cancellable(lambda: next(asked)):
        checkpoint()
        checkpoint()
        with pytest.raises(Cancelled):
            checkpoint()
    checkpoint()


def test_the_inner_one_counts():
    with cancellable(lambda: True):
        with cancellable(lambda: False):
            checkpoint()
        with pytest.raises(Cancelled):
            checkpoint()


def test_other_threads_go_on():
    went_on = []

    def other():
        checkpoint()
        went_on.append(True)

    with cancellable(lambda: True):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert went_on == [True]
