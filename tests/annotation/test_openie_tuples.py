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
    written = tags(extraction, WORDS)
    assert len(written) == WORDS
    assert extraction_of_tags(written, extraction.head) == extraction


@given(st.lists(tuples(), max_size=3))
def test_spans_and_back(drawn):
    written = layer("openie", drawn, BOUNDS, _fresh())
    assert [*extractions(written, BOUNDS).values()] == drawn
    ids = [annotation.id for annotation in written.annotations()]
    assert len(set(ids)) == len(ids)


def test_gaps_are_one_span_of_several_fragments():
    extraction = extraction_of_tags(["A0-B", "P-B", "P-I", "O", "A0-I", "A1-B", "A1-B", "O"], 2)
    assert extraction.arguments == (
        Argument("A0", (0, 4)),
        Argument("A1", (5,)),
        Argument("A1", (6,)),
    )
    written = layer("openie", [extraction], BOUNDS, _fresh())
    predicate, first, *_ = written.spans
    assert predicate.fragments == ((3, 8),)
    assert first.fragments == ((0, 2), (12, 14))
    assert [(relation.label, relation.head) for relation in written.relations] == [
        ("A0", predicate.id),
        ("A1", predicate.id),
        ("A1", predicate.id),
    ]


@pytest.mark.parametrize(
    ("word_tags", "problem"),
    [
        (["O"], "expected one predicate that P-B begins, got 0"),
        (["P-B", "P-B"], "got 2"),
        (["P-I"], "that P-B begins"),
        (["P-B", "A0"], "expected O, ROLE-B or ROLE-I, got 'A0'"),
        (["P-B", "-B"], "got '-B'"),
    ],
)
def test_malformed_tags(word_tags, problem):
    with pytest.raises(DocumentError, match="expected") as caught:
        extraction_of_tags(word_tags, 0)
    assert problem in str(caught.value)


def test_a_word_is_one_thing():
    with pytest.raises(DocumentError, match="word 0 is P-B and A0"):
        tags(Extraction((0,), 0, (Argument("A0", (0, 1)),)), 2)


def test_what_is_no_whole_word_is_left_out():
    written = layer("openie", [Extraction((1,), 1, (Argument("A0", (0,)),))], BOUNDS, _fresh())
    half = Span(written.spans[1].id, "argument", ((0, 1),))
    changed = type(written)("openie", (written.spans[0], half), written.relations)
    (extraction,) = extractions(changed, BOUNDS).values()
    assert extraction == Extraction((1,), 1)
