"""Clusters, against the transitive closure of the links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.decoding.clusters import antecedents, clusters


@st.composite
def _links(draw):
    n = draw(st.integers(0, 12))
    return [draw(st.integers(-1, row - 1)) for row in range(n)]


def _closure(links):
    """Which rows are joined: links both ways, paths of growing length until nothing is added."""
    n = len(links)
    joined = {(row, row) for row in range(n)}
    joined |= {pair for row, to in enumerate(links) if to >= 0 for pair in ((row, to), (to, row))}
    while True:
        more = {(a, d) for a, b in joined for c, d in joined if b == c} - joined
        if not more:
            return joined
        joined |= more


@given(links=_links())
def test_two_mentions_share_a_cluster_if_links_join_them(links):
    found = clusters(links)
    together = {(a, b) for rows in found for a in rows for b in rows if a != b}
    assert together == {pair for pair in _closure(links) if pair[0] != pair[1]}


@given(links=_links())
def test_clusters_are_ascending_apart_and_by_first_mention(links):
    found = clusters(links)
    assert all(len(rows) > 1 and list(rows) == sorted(set(rows)) for rows in found)
    assert [rows[0] for rows in found] == sorted(rows[0] for rows in found)
    every = [row for rows in found for row in rows]
    assert len(every) == len(set(every))


@given(links=_links(), data=st.data())
def test_any_of_the_antecedents_leads_back_to_the_clusters(links, data):
    found = clusters(links)
    choices = antecedents([rows[::-1] for rows in found], len(links))
    again = [data.draw(st.sampled_from(rows)) if rows else -1 for rows in choices]
    assert clusters(again) == found


@given(links=_links())
def test_antecedents_are_all_earlier_rows_of_the_cluster(links):
    joined = _closure(links)
    for row, earlier in enumerate(antecedents(clusters(links), len(links))):
        assert earlier == [before for before in range(row) if (before, row) in joined]


def test_an_example():
    assert clusters([-1, -1, 0, 1, 2, -1]) == [(0, 2, 4), (1, 3)]
    assert antecedents([(0, 2, 4), (1, 3)], 6) == [[], [], [0], [1], [0, 2], []]


def test_nothing_links_nothing():
    assert clusters([]) == clusters([-1, -1]) == []
    assert antecedents([], 2) == [[], []]


@pytest.mark.parametrize("links", [[0], [-1, 2, -1], [-2]])
def test_an_antecedent_that_is_not_earlier_is_refused(links):
    with pytest.raises(ValueError, match="expected an earlier row or -1"):
        clusters(links)


def test_a_chain_of_a_hundred_thousand_mentions_is_one_cluster():
    assert clusters(list(range(-1, 99_999))) == [tuple(range(100_000))]
