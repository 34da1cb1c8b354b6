"""The column of clusters: the way there and back is exact, and broken cells name their word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.coreference_column import ColumnError, clusters, column

WORDS = 7
NAMES = st.sampled_from(["0", "1", "12", "é"])


@st.composite
def mentions(draw):
    """Draw any mentions; those that cross an earlier one in more than a word are left out."""
    kept = []
    for start, end in draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=8)):
        start, end = min(start, end), max(start, end) + 1
        if not any(crosses((start, end), item) for item in kept):
            kept.append((start, end))
    return kept


def crosses(a, b):
    (_, first), (start, end) = sorted((a, b), key=lambda mention: (mention[0], -mention[1]))
    return start + 1 < first < end


@given(st.dictionaries(NAMES, mentions()))
def test_clusters_and_back(drawn):
    cells = column(drawn, WORDS)
    mentions_of = clusters(cells)
    assert {name: sorted(mentions) for name, mentions in mentions_of.items()} == {
        name: sorted(mentions) for name, mentions in drawn.items() if mentions
    }
    assert clusters(column(mentions_of, WORDS)) == mentions_of


@given(st.lists(st.sampled_from(["-", "_", "(0", "0)", "(0)|0)", "(1|(0", "1)"]), max_size=9))
def test_what_is_read_is_spelt_and_read_again(cells):
    try:
        mentions_of = clusters(cells)
    except ColumnError:
        return
    assert clusters(column(mentions_of, len(cells))) == mentions_of


def test_the_example_of_the_head_of_the_file():
    cells = ("(0", "-", "(1)", "(0)|0)", "(1)", "(0)")
    mentions_of = {"0": ((0, 4), (3, 4), (5, 6)), "1": ((2, 3), (4, 5))}
    assert clusters(cells) == mentions_of
    assert column(mentions_of, 6) == cells


def test_no_mention_is_spelt_in_two_ways():
    assert clusters(["-", "_"]) == {}
    assert column({}, 2) == ("-", "-")


def test_mentions_of_one_cluster_nest_and_those_of_two_may_cross():
    assert clusters(["(0", "(0", "0)", "0)"]) == {"0": ((0, 4), (1, 3))}
    crossing = {"0": ((0, 2),), "1": ((1, 3),)}
    assert clusters(["(0", "(1|0)", "1)"]) == crossing
    assert column(crossing, 3) == ("(0", "(1|0)", "1)")


def test_mentions_that_share_one_word():
    shared = {"0": ((0, 3), (2, 5))}
    assert column(shared, 5) == ("(0", "-", "0)|(0", "-", "0)")
    assert clusters(column(shared, 5)) == shared


def test_a_mention_spelt_twice_stands_there_twice():
    twice = {"0": ((0, 2), (0, 2), (2, 3), (2, 3))}
    assert clusters(("(0|(0", "0)|0)", "(0)|(0)")) == twice
    assert column(twice, 3) == ("(0|(0", "0)|0)", "(0)|(0)")


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (["-", "0)"], 1),
        (["(0", "-"], 0),
        (["(0", "1)", "0)"], 1),
        (["0"], 0),
        ([""], 0),
        (["()"], 0),
        (["(0)|"], 0),
        (["-", "(0)|-"], 1),
        (["((0)"], 0),
        (["(0 )"], 0),
    ],
)
def test_broken_cells_name_their_word(cells, word):
    with pytest.raises(ColumnError) as caught:
        clusters(cells)
    assert caught.value.word == word


@pytest.mark.parametrize(
    "named",
    [{"0": [(0, 3), (1, 4)]}, {"0": [(0, 0)]}, {"0": [(3, 5)]}, {"": [(0, 1)]}, {"a b": [(0, 1)]}],
)
def test_clusters_that_no_column_spells(named):
    with pytest.raises(ColumnError):
        column(named, 4)


def test_damaged_columns_raise_nothing_else(damaged):
    for cells in damaged(["(0", "(1)|0)", "-", "(0|(12", "12)|0)"], "()|01_- \x00é"):
        try:
            mentions_of = clusters(cells)
        except ColumnError:
            continue
        assert clusters(column(mentions_of, len(cells))) == mentions_of
