"""Equal documents have equal contents whatever their ids, and nested events cost linear time."""

import random
import time

import pytest

from spanloom.annotation.comparable import comparable
from spanloom.annotation.events import collect, contents
from spanloom.document import Argument, Document, Event, Layer, Span


def nested(size, arguments, *, shift=0, cycle=False):
    """Events of which each has the next one as an argument, several times; perhaps in a circle."""
    number = lambda row: 1 + (row + shift) % size  # noqa: E731
    spans = tuple(Span(f"T{number(row)}", "a", ((row, row + 1),)) for row in range(size))
    events = []
    for row in range(size):
        targets = [f"E{number(row + 1)}"] if cycle or row + 1 < size else []
        own = tuple(Argument(f"r{n}", target) for target in targets for n in range(arguments))
        events.append(Event(f"E{number(row)}", "a", f"T{number(row)}", own))
    random.Random(shift).shuffle(events)
    return Document("x" * size, (Layer("main", spans, (), tuple(events)),))


@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("arguments", [1, 3])
def test_ids_and_order_are_no_matter(cycle, arguments):
    documents = [nested(6, arguments, shift=shift, cycle=cycle) for shift in (0, 2, 5)]
    assert len({repr(comparable(document)) for document in documents}) == 1
    assert comparable(documents[0]) != comparable(nested(6, arguments + 1, cycle=cycle))
    assert comparable(documents[0]) != comparable(nested(6, arguments, cycle=not cycle))


@pytest.mark.parametrize("cycle", [False, True])
def test_long_chains_of_events_take_linear_time(cycle):
    start = time.process_time()
    document = nested(3000, 2, cycle=cycle)
    comparable(document)
    layer = document["main"]
    assert len(contents(layer, collect([layer]))) == 3000
    assert time.process_time() - start < 10  # one event more took twice the time
