"""Columns of propositions: the way there and back is exact, and broken cells name their word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.props import (
    Argument,
    Proposition,
    PropsError,
    arguments,
    column,
    columns,
    propositions,
)

LABELS = st.sampled_from(["A0", "A1", "C-A1", "R-A0", "V", "AM-TMP", "é"])
WORDS = 7


@st.composite
def spans(draw):
    """Draw spans that nest, by cutting runs in runs."""
    arguments_ = []
    todo = [(0, WORDS)]
    while todo:
        start, end = todo.pop()
        cut = sorted(draw(st.tuples(st.integers(start, end), st.integers(start, end))))
        if cut[0] == cut[1]:
            continue
        for label in draw(st.lists(LABELS, max_size=2)):
            arguments_.append(Argument(*cut, label))
        if cut[1] - cut[0] < end - start:
            todo += [tuple(cut), (cut[1], end)]
    return tuple(sorted(arguments_, key=lambda argument: (argument.start, -argument.end)))


@given(spans())
def test_a_column_and_back(drawn):
    cells = column(drawn, WORDS)
    assert arguments(cells) == drawn
    assert column(arguments(cells), WORDS) == cells


@given(st.dictionaries(st.integers(0, WORDS - 1), st.tuples(LABELS, spans())))
def test_propositions_and_back(drawn):
    props = tuple(Proposition(word, *drawn[word]) for word in sorted(drawn))
    senses, cells = columns(props[::-1], WORDS)
    assert propositions(senses, cells) == props
    assert columns(propositions(senses, cells), WORDS) == (senses, cells)


def test_the_example_of_the_head_of_the_file():
    senses = ["-", "-", "-", "want", "-", "fly", "-"]
    first = ["(A0*)", "*", "*", "(V*)", "(A1*", "*", "*)"]
    second = ["(A0*", "*", "*)", "*", "*", "(V*)", "*"]
    assert propositions(senses, [first, second]) == (
        Proposition(3, "want", (Argument(0, 1, "A0"), Argument(3, 4, "V"), Argument(4, 7, "A1"))),
        Proposition(5, "fly", (Argument(0, 3, "A0"), Argument(5, 6, "V"))),
    )


def test_nested_cells():
    cells = ("(A0(A1*)", "*", "(C-A0*)", "*)")
    read = arguments(cells)
    assert read == ((0, 4, "A0"), (0, 1, "A1"), (2, 3, "C-A0"))
    assert column(read, 4) == cells


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (["*", "x"], 1),
        (["*)"], 0),
        (["(A0*", "*))"], 1),
        (["(A0*", "(A1*)"], 0),
        ([""], 0),
        (["(*)"], 0),
        (["(A0)"], 0),
        (["*", "*A0)"], 1),
    ],
)
def test_broken_cells_name_their_word(cells, word):
    with pytest.raises(PropsError) as caught:
        arguments(cells)
    assert caught.value.word == word


def test_columns_are_as_many_as_predicates():
    with pytest.raises(PropsError, match="each of 1 predicates, got 0"):
        propositions(["be"], [])


@pytest.mark.parametrize(
    "crossing", [[(0, 2, "A"), (1, 3, "B")], [(0, 0, "A")], [(0, 9, "A")], [(0, 1, "A*")]]
)
def test_spans_that_no_column_spells(crossing):
    with pytest.raises(PropsError):
        column([Argument(*item) for item in crossing], 3)


@pytest.mark.parametrize(
    "props",
    [
        [Proposition(0, "be", ()), Proposition(0, "do", ())],
        [Proposition(3, "be", ())],
        [Proposition(0, "-", ())],
        [Proposition(0, "a b", ())],
    ],
)
def test_predicates_that_no_column_spells(props):
    with pytest.raises(PropsError):
        columns(props, 3)


def test_damaged_columns_raise_nothing_else(damaged):
    for cells in damaged(["(A0*", "*)", "(V*)", "(A1(C-A0*)", "*)"], "()*Aé \x00"):
        try:
            spans_read = arguments(cells)
        except PropsError:
            continue
        assert column(spans_read, len(cells)) == tuple(cells)
