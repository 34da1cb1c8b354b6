"""Agreement of gold and predicted, by counting pairs one by one."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from spanloom.viewer.agreement import agreements
from spanloom.viewer.compare import compare
from spanloom.viewer.marks import Arc, DrawnDocument, SpanBox

_SPAN = st.tuples(st.sampled_from("ABC"), st.integers(0, 6), st.integers(1, 3))
_LINK = st.tuples(st.sampled_from("xy"), st.integers(0, 3), st.integers(0, 3))


def drawing(spans, links):
    marks = tuple(
        SpanBox(f"T{at}", label, ((start, start + size),), label, layer="main")
        for at, (label, start, size) in enumerate(spans)
    )
    arcs = tuple(
        Arc(f"R{at}", label, f"T{head}", f"T{tail}", label, layer="main")
        for at, (label, head, tail) in enumerate(links)
        if max(head, tail) < len(marks)
    )
    return DrawnDocument(marks, arcs)


def contents(drawn):
    """Labels and what makes items equal: locations, and those of both ends."""
    boxes = {box.id: (box.label, box.fragments) for box in drawn.marks}
    spans = [(box.label, box.fragments) for box in drawn.marks]
    links = [(arc.label, boxes[arc.source], boxes[arc.target]) for arc in drawn.links]
    return {"spans": spans, "links": links}


SIDE = st.tuples(st.lists(_SPAN, max_size=6), st.lists(_LINK, max_size=4))


@given(st.lists(st.tuples(SIDE, SIDE), max_size=3))
def test_counts_are_those_of_the_multisets(documents):
    pairs = [(drawing(*gold), drawing(*predicted)) for gold, predicted in documents]
    compared = [(*pair, compare(*pair).differences) for pair in pairs]
    found = agreements(compared, {"main": "spans"})
    for what in ("spans", "links"):
        sides = [[Counter(contents(side)[what]) for side in pair] for pair in pairs]
        agreement = found.get(("main", what))
        if agreement is None:
            assert not any(counter for pair in sides for counter in pair)
            continue
        for side, counted in enumerate((agreement.gold, agreement.predicted)):
            labels = Counter(item[0] for pair in sides for item in pair[side].elements())
            assert counted == labels
        shared = [(gold & predicted).elements() for gold, predicted in sides]
        assert +agreement.equal == Counter(item[0] for items in shared for item in items)


@given(st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=3))
def test_each_unequal_item_is_counted_once_as_confused_or_moved(documents):
    pairs = [(drawing(*gold), drawing(*predicted)) for gold, predicted in documents]
    compared = [(*pair, compare(*pair).differences) for pair in pairs]
    for agreement in agreements(compared, {}).values():
        for side, counted in enumerate((agreement.gold, agreement.predicted)):
            confused = Counter()
            for labels, times in agreement.confusions.items():
                if labels[side] is not None:
                    confused[labels[side]] += times
            assert counted == +(agreement.equal + agreement.moved + confused)


def test_words_of_trees_are_no_annotation():
    both = DrawnDocument((SpanBox("w1", "word", ((0, 1),), "word", layer="tree"),))
    assert agreements([(both, both, ())], {"tree": "dependency"}) == {}
