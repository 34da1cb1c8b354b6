"""Extractions as tags and as spans, and back."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.openie_tuples import (
    Argument,
    Extraction,
    extraction_of_tags,
    extractions,
    layer,
    tags,
)
from spanloom.document import Span
from spanloom.errors import DocumentError

WORDS = 8
BOUNDS = [(3 * place, 3 * place + 2) for place in range(WORDS)]


@st.composite
def tuples(draw):
    """A tuple whose words are all different, as tags want it."""
    who = draw(st.lists(st.sampled_from(["", "P", "A0", "A1", "A10"]), min_size=8, max_size=8))
    who[draw(st.integers(0, WORDS - 1))] = "P"
    words = {role: tuple(n for n, name in enumerate(who) if name == role) for role in {*who}}
    arguments = tuple(
        Argument(role, words[role], draw(st.booleans()))
        for role in ("A0", "A1", "A10")
        if role in words
    )
    return Extraction(words["P"], draw(st.integers(0, WORDS - 1)), arguments)


def _fresh():
    numbers = count(1)
    return lambda letter: f"{letter}{next(numbers)}"


@given(tuples())
def test_tags_and_back(extraction):
    made = tags(extraction, WORDS)
    assert len(made) == WORDS
    assert extraction_of_tags(made, extraction.head) == extraction


@given(st.lists(tuples(), max_size=3))
def test_spans_and_back(found):
    made = layer("openie", found, BOUNDS, _fresh())
    assert [*extractions(made, BOUNDS).values()] == found
    ids = [annotation.id for annotation in made.annotations()]
    assert len(set(ids)) == len(ids)


def test_gaps_are_one_span_of_several_fragments():
    found = extraction_of_tags(["A0-B", "P-B", "P-I", "O", "A0-I", "A1-B", "A1-B", "O"], 2)
    assert found.arguments == (
        Argument("A0", (0, 4)),
        Argument("A1", (5,)),
        Argument("A1", (6,)),
    )
    made = layer("openie", [found], BOUNDS, _fresh())
    predicate, first, *_ = made.spans
    assert predicate.fragments == ((3, 8),)
    assert first.fragments == ((0, 2), (12, 14))
    assert [(relation.label, relation.head) for relation in made.relations] == [
        ("A0", predicate.id),
        ("A1", predicate.id),
        ("A1", predicate.id),
    ]


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (["O"], "expected one predicate that P-B begins, got 0"),
        (["P-B", "P-B"], "got 2"),
        (["P-I"], "that P-B begins"),
        (["P-B", "A0"], "expected O, ROLE-B or ROLE-I, got 'A0'"),
        (["P-B", "-B"], "got '-B'"),
    ],
)
def test_malformed_tags(made, problem):
    with pytest.raises(DocumentError, match="expected") as caught:
        extraction_of_tags(made, 0)
    assert problem in str(caught.value)


def test_a_word_is_one_thing():
    with pytest.raises(DocumentError, match="word 0 is P-B and A0"):
        tags(Extraction((0,), 0, (Argument("A0", (0, 1)),)), 2)


def test_what_is_no_whole_word_is_left_out():
    made = layer("openie", [Extraction((1,), 1, (Argument("A0", (0,)),))], BOUNDS, _fresh())
    half = Span(made.spans[1].id, "argument", ((0, 1),))
    changed = type(made)("openie", (made.spans[0], half), made.relations)
    (found,) = extractions(changed, BOUNDS).values()
    assert found == Extraction((1,), 1)
