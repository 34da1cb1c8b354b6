"""Spans with gaps, several labels on a span and several events on a trigger, there and back."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation import fragments, label_sets
from spanloom.annotation.event_division import MOST, divide, dividing_roles
from spanloom.annotation.events import (
    collect,
    contents,
    losses,
    project,
    restore,
    with_division,
)
from spanloom.document import Argument, Attribute, Event, Layer, Relation, Span

TRIGGER = "bind"


def span(id_, label, *bounds):
    return Span(id_, label, bounds)


def content(spans):
    return Counter((each.label, tuple(sorted(each.fragments))) for each in spans)


starts = st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True)
gappy = st.lists(st.tuples(st.sampled_from("AB"), starts), max_size=5)


@given(gappy)
def test_spans_come_back_from_their_fragments_or_are_named_as_lost(drawn):
    spans = tuple(
        span(f"T{row}", label, *((2 * start, 2 * start + 1) for start in sorted(words)))
        for row, (label, words) in enumerate(drawn)
    )
    apart = len({fragment for one in spans for fragment in one.fragments}) == sum(
        len(one.fragments) for one in spans
    )
    split = fragments.split_fragments(Layer("x", spans))
    assert all(len(one.fragments) == 1 for one in split.spans)
    assert len({one.id for one in split.spans}) == len(split.spans)
    assert content(fragments.join_fragments(split).spans) == content(spans)
    lost = fragments.losses(spans)
    assert lost <= {one.id for one in spans if len(one.fragments) > 1}
    if apart:
        assert not lost


def test_a_shared_fragment_belongs_to_both_spans():
    left, right = span("T1", "A", (0, 4), (15, 19)), span("T2", "A", (9, 14), (15, 19))
    assert not fragments.losses([left, right])
    assert fragments.losses([left, span("T2", "B", (0, 4), (9, 14))]) == {"T2"}


def test_what_refers_to_a_span_refers_to_its_first_fragment():
    spans = span("T1", "A", (0, 2), (6, 8)), span("T2", "B", (3, 5))
    relation, attribute = Relation("R1", "r", "T1", "T2"), Attribute("A1", "sure", "T1")
    layer = Layer("x", spans, (relation,), attributes=(attribute,))
    split = fragments.split_fragments(layer)
    assert split.relations == (relation, Relation("T1:2-", fragments.NEXT, "T1", "T1:2"))
    assert fragments.join_fragments(split) == layer
    wrong = Attribute("A2", "sure", "T1:2"), Relation("R2", "r", "T2", "T1:2")
    more = Layer("x", split.spans, (*split.relations, wrong[1]), attributes=(attribute, wrong[0]))
    joined = fragments.join_fragments(more)
    assert joined.attributes == (attribute,)
    assert joined.relations == (relation, Relation("R2", "r", "T2", "T1"))


def test_links_that_lead_back_in_the_text_join_nothing():
    spans = span("T1", "A", (0, 2)), span("T2", "A", (3, 5))
    layer = Layer("x", spans, (Relation("R1", fragments.NEXT, "T2", "T1"),))
    assert fragments.join_fragments(layer) == Layer("x", spans)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 3)), max_size=8, unique=True))
def test_sets_of_labels_come_back(drawn):
    spans = tuple(
        span(f"T{row}", label, (start, start + 1)) for row, (label, start) in enumerate(drawn)
    )
    joined = label_sets.join_labels(Layer("x", spans))
    assert len(joined.spans) == len({start for _, start in drawn})
    numbers = count(100)
    back = label_sets.split_labels(
        joined, label_sets.count_owners([]), lambda prefix: f"{prefix}{next(numbers)}"
    )
    assert content(back.spans) == content(spans)
    assert len({one.id for one in back.spans}) == len(spans)


def test_relations_and_attributes_go_to_the_label_that_they_went_with_most():
    spans = span("T1", "A", (0, 1)), span("T2", "B", (0, 1)), span("T3", "C", (2, 3))
    relations = Relation("R1", "b", "T2", "T3"), Relation("R2", "a", "T3", "T1")
    layer = Layer("x", spans, relations, attributes=(Attribute("A1", "sure", "T2"),))
    joined = label_sets.join_labels(layer)
    assert [(one.id, one.label) for one in joined.spans] == [("T1", "A & B"), ("T3", "C")]
    assert [(one.head, one.tail) for one in joined.relations] == [("T1", "T3"), ("T3", "T1")]
    owners = label_sets.count_owners([layer])
    back = label_sets.split_labels(joined, owners, lambda prefix: f"{prefix}9")
    assert [(one.head, one.tail) for one in back.relations] == [("T9", "T3"), ("T3", "T1")]
    assert [one.target for one in back.attributes] == ["T9"]


def bind(*events):
    return [[(role, target, 0) for role, target in event] for event in events]


def test_arguments_of_roles_that_divide_make_events():
    arguments = [("Theme", "a", 0), ("Site", "s", 0), ("Theme", "b", 0)]
    assert divide(arguments, ()) == [arguments]
    assert divide(arguments, {"Theme"}) == [arguments[:2], arguments[1:]]
    assert divide([], {"Theme"}) == [[]]
    many = [(role, str(row), 0) for role in "xyz" for row in range(9)]
    assert len(divide(many, set("xyz"))) == MOST


def test_roles_divide_where_that_brings_more_events_back():
    one_each = bind([("Theme", "a"), ("Site", "s")], [("Theme", "b"), ("Site", "s")])
    together = bind([("Theme", "a"), ("Theme", "b")])
    assert dividing_roles([one_each, one_each, together]) == {"Theme"}
    assert dividing_roles([one_each, together, together, together]) == frozenset()
    assert dividing_roles([]) == frozenset()


def made_layer(*events):
    words = {target for event in events for _, target in event if target[0] == "T"} | {"T0"}
    spans = tuple(
        span(id_, TRIGGER if id_ == "T0" else "gene", (row, row + 1))
        for row, id_ in enumerate(sorted(words))
    )
    return Layer(
        "x",
        spans,
        events=tuple(
            Event(f"E{row}", TRIGGER, "T0", tuple(Argument(*argument) for argument in event))
            for row, event in enumerate(events, 1)
        ),
    )


ONE_EACH = made_layer([("Theme", "T1"), ("Site", "T3")], [("Theme", "T2"), ("Site", "T3")])


def test_events_on_one_trigger_come_back_divided():
    plain = collect([ONE_EACH])
    assert losses(ONE_EACH, plain).shared == 1
    scheme = with_division(plain, [ONE_EACH])
    assert scheme.dividing == {(TRIGGER, "Theme")}
    assert losses(ONE_EACH, scheme).shared == 0
    together = made_layer([("Theme", "T1"), ("Theme", "T2")], [("Site", "T3")])
    assert losses(together, scheme).shared == 2


def test_an_event_of_a_divided_event_is_divided_too():
    up = Span("T9", "up", ((9, 10),))
    over = tuple(
        Event(f"E{row + 2}", "up", "T9", (Argument("Theme", f"E{row}"),)) for row in (1, 2)
    )
    layer = Layer("x", (*ONE_EACH.spans, up), events=(*ONE_EACH.events, *over))
    scheme = with_division(collect([layer]), [layer])
    back = restore(*project(layer, scheme), scheme)
    assert sorted(contents(back, scheme)) == sorted(contents(layer, scheme))


@pytest.mark.parametrize("other", ["E1", "E2"])
def test_events_in_a_circle_are_no_endless_ones(other):
    layer = made_layer([("Theme", "T1"), ("Cause", "E2")], [("Theme", "T2"), ("Cause", other)])
    scheme = with_division(collect([layer]), [layer])
    assert restore(*project(layer, scheme), scheme).events
    assert losses(layer, scheme).shared <= 2
