"""Expressions are tags and back, and tags that mean nothing are refused: all short ones."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.multiword_expressions import (
    ExpressionError,
    Expressions,
    Lexical,
    expressions,
    flags,
    groups,
    tags,
)

FLAGS = ("O", "o", "B", "b", "I_", "I~", "i_", "i~")
# Schneider et al. (2014): what stands in a gap, then sequences of words and expressions
GAP = r"(?:o|b(?:i[_~])+)*"
GRAMMAR = re.compile(rf"(?:O|B(?:{GAP}I[_~])+)*")


def test_every_short_sequence_is_one_of_the_grammar_or_refused():
    for length in range(6):
        seen = set()
        for drawn in product(FLAGS, repeat=length):
            if GRAMMAR.fullmatch("".join(drawn)) is None:
                with pytest.raises(ExpressionError):
                    groups(drawn)
                continue
            strong_and_weak = groups(drawn)
            assert flags(length, *strong_and_weak) == list(drawn)
            seen.add(repr(strong_and_weak))
        assert len(seen) == sum(
            GRAMMAR.fullmatch("".join(flags)) is not None for flags in product(FLAGS, repeat=length)
        )


GROUPS = st.lists(
    st.sets(st.integers(0, 7), min_size=2, max_size=4).map(lambda group: tuple(sorted(group))),
    max_size=3,
)


@given(GROUPS, GROUPS)
def test_what_can_be_said_is_read_again(strong, weak):
    try:
        written = flags(8, strong, weak)
    except ExpressionError:
        return
    assert groups(written) == (sorted(strong), sorted(weak))


LETTERS = st.text("NVPnvp.", min_size=1, max_size=4)


@st.composite
def sentences(draw):
    """Tags of the grammar, with categories and senses where they may stand."""
    unit = st.sampled_from(["O", "O", "B I_", "B I~ I_", "B o I_", "B b i~ o I~", "B I_ o o I~"])
    bare = " ".join(draw(st.lists(unit, max_size=4))).split()
    strong, _ = groups(bare)
    later = {word for group in strong for word in group[1:]}
    found = []
    for word, flag in enumerate(bare):
        said = ["", *map("-".join, product(["", "_"], [draw(LETTERS)]))]
        ends = st.sampled_from(["", f"-{draw(LETTERS)}", f"-{draw(LETTERS)}-x-{draw(LETTERS)}"])
        found.append(flag if word in later else flag + draw(ends | st.just(f"-_-{said[1][1:]}")))
    return found


@given(sentences())
def test_tags_come_back(drawn):
    assert tags(expressions(drawn)) == drawn


def test_streusles_own_example():
    drawn = ["B-V-v.social", "o-DET", "o-N-n.PERSON", "I~-V.VPC.full-v.cognition", "I_", "O-PUNCT"]
    assert expressions(drawn) == Expressions(
        (
            Lexical((0,), "V", "v.social"),
            Lexical((1,), "DET"),
            Lexical((2,), "N", "n.PERSON"),
            Lexical((3, 4), "V.VPC.full", "v.cognition"),
            Lexical((5,), "PUNCT"),
        ),
        ((0, 3, 4),),
    )


@pytest.mark.parametrize(
    ("strong", "weak", "problem"),
    [
        ([(0, 1), (1, 2)], [], "share it"),
        ([(0, 2), (1, 3)], [], "cross"),
        ([(0, 5), (1, 3)], [], "gap within a gap"),
        ([(0, 1)], [(0, 1)], "part of a weak one"),
        ([(0, 1)], [(1, 2)], "some words"),
        ([(0, 2)], [(0, 1, 2)], "without gaps"),
        ([(0,)], [], "expected two ascending words"),
        ([(1, 0)], [], "expected two ascending words"),
        ([(0, 9)], [], "expected two ascending words"),
    ],
)
def test_what_no_tag_says_is_refused(strong, weak, problem):
    with pytest.raises(ExpressionError, match=problem):
        flags(6, strong, weak)
