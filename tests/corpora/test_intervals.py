from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from spanloom.corpora.reachability import count_nested, crossing_pairs, crossings, disjoint, laminar

intervals = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 4)).map(
        lambda interval: (interval[0], sum(interval))
    ),
    max_size=9,
)


def cross(a, b):
    (a, b), (c, d) = sorted([a, b])
    return a < c < b < d


def overlap(a, b):
    return a[0] < b[1] and b[0] < a[1]


def largest(items, clash):
    for size in range(len(items), -1, -1):
        for subset in combinations(items, size):
            if not any(clash(a, b) for a, b in combinations(subset, 2)):
                return size
    raise AssertionError("the empty set never clashes")


@given(intervals)
def test_count_nested_equals_brute_force(items):
    distinct = set(items)
    inside = [a for a in distinct for b in distinct if a != b and b[0] <= a[0] and a[1] <= b[1]]
    assert count_nested(items) == len(set(inside))


@given(intervals)
def test_crossings_equal_brute_force(items):
    expected = {frozenset(pair) for pair in combinations(set(items), 2) if cross(*pair)}
    pairs = crossings(items)
    assert len(pairs) == len(expected) == crossing_pairs(items)
    assert {frozenset(pair) for pair in pairs} == expected


@given(intervals)
def test_disjoint_is_the_largest_subset_without_overlap(items):
    kept = disjoint(items)
    assert kept <= set(items)
    assert not any(overlap(a, b) for a, b in combinations(kept, 2))
    assert len(kept) == largest(sorted(set(items)), overlap)


@given(intervals)
def test_laminar_keeps_no_crossing_and_cannot_grow(items):
    kept = laminar(items)
    assert kept <= set(items)
    assert not any(cross(a, b) for a, b in combinations(kept, 2))
    for interval in set(items) - kept:
        assert any(cross(interval, item) for item in kept)


@given(intervals)
def test_laminar_is_the_largest_where_crossings_form_no_circle(items):
    pairs = crossings(items)
    parent = {item: item for item in items}

    def root(node):
        while parent[node] != node:
            node = parent[node]
        return node

    for a, b in pairs:
        if root(a) == root(b):
            return
        parent[root(a)] = root(b)
    assert len(laminar(items)) == largest(sorted(set(items)), cross)


def test_a_long_row_of_intervals_is_quick():
    row = [(i, i + 3) for i in range(20_000)]
    assert len(crossings(row)) == 2 * 20_000 - 3
    assert len(disjoint(row)) == 6667
    assert count_nested(row) == 0
