"""Annotation stops between its steps when it is over, and the model works on as if nothing was."""

from itertools import count

import pytest

from spanloom.cancellation import Cancelled, cancellable
from spanloom.document import Document

LONG = "Add 5 ml of buffer .\n" * 400


def steps(model, *texts):
    """How many checkpoints the annotation of some texts passes."""
    asked = count()
    with cancellable(lambda: next(asked) < 0):
        list(model.annotate([Document(each) for each in texts], ["steps"]))
    return next(asked)


def test_each_batch_each_window_and_each_head_is_a_step(model):
    short = steps(model, "Add water .")
    assert short >= 7  # cut twice, a batch, a group of windows, a head, its spans and its pairs
    assert steps(model, LONG) > short + 2


def test_it_stops_at_any_step(model):
    text = "Add 5 ml of buffer ."
    expected = next(model.annotate([Document(text)], ["steps"]))
    for last in range(steps(model, text)):
        asked = count()
        with cancellable(lambda last=last, asked=asked: next(asked) == last):
            with pytest.raises(Cancelled):
                list(model.annotate([Document(text)], ["steps"]))
        assert next(asked) == last + 1
    assert next(model.annotate([Document(text)], ["steps"])) == expected
