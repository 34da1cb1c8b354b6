"""Spans that join a set as ends of relations, against the definitions, tried one by one."""

import random
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spanloom.decoding.relation_ends import fits_into_set, greedy_relations

BOUNDS = st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda pair: (pair[0], sum(pair)))
SPANS = st.lists(BOUNDS, max_size=10, unique=True)
NESTED = pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])


def may_stand_together(one, two, nested):
    words, other = set(range(*one)), set(range(*two))
    if one == two:
        return False
    return not words & other or (nested and (words <= other or other <= words))


def tensor_of(bounds):
    return torch.tensor(bounds, dtype=torch.long).reshape(-1, 2)


@NESTED
@given(spans=SPANS, selected=SPANS)
def test_a_span_fits_where_it_fits_each_selected_one(nested, spans, selected):
    spans = [span for span in spans if span not in selected]
    fits = fits_into_set(tensor_of(spans), tensor_of(selected), nested=nested)
    assert fits.tolist() == [
        all(may_stand_together(span, other, nested) for other in selected) for span in spans
    ]


@NESTED
@given(data=st.data(), selected=SPANS, spans=SPANS.filter(bool))
def test_pairs_are_accepted_best_first_where_their_spans_fit(nested, data, selected, spans):
    alone = [
        span
        for i, span in enumerate(selected)
        if all(may_stand_together(span, other, nested) for other in selected[:i])
    ]
    free = [s for s in spans if all(may_stand_together(s, other, nested) for other in alone)]
    bounds = alone + free
    if not bounds:
        return
    index = st.integers(0, len(bounds) - 1)
    pairs = data.draw(
        st.lists(st.tuples(index, index).filter(lambda p: p[0] != p[1]), max_size=12)
        if len(bounds) > 1
        else st.just([])
    )
    is_selected = [i < len(alone) for i in range(len(bounds))]
    written, expected = set(range(len(alone))), []
    for row, pair in enumerate(pairs):
        union = sorted(written | set(pair))
        if all(
            may_stand_together(bounds[i], bounds[j], nested)
            for i in union
            for j in union
            if i < j and not (is_selected[i] and is_selected[j])
        ):
            written, expected = set(union), [*expected, row]
    assert greedy_relations(bounds, is_selected, pairs, nested=nested) == expected


@pytest.mark.slow
@NESTED
def test_time_grows_with_the_text(nested):
    def seconds(size):
        rng = random.Random(1)
        starts = [3 * i + rng.randrange(3) for i in range(size)]
        bounds = sorted({(start, start + rng.randint(1, 5)) for start in starts})
        pairs = [(i, i + 1) for i in range(len(bounds) - 1)]
        rng.shuffle(pairs)
        began = time.process_time()
        selected = tensor_of(bounds[::7])
        fits_into_set(tensor_of(bounds), selected, nested=nested)
        greedy_relations(bounds, [False] * len(bounds), pairs, nested=nested)
        return time.process_time() - began

    small = min(seconds(5_000) for _ in range(3))
    assert min(seconds(40_000) for _ in range(3)) < 8 * 3 * small
