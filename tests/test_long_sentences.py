"""Where a sentence of hundreds of words is parted: every word once, short parts, good places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.long_sentences import LONGEST, merge_parts, split_long
from spanloom.tokenization import blank_words

GAPS = st.sampled_from([" ", " ", " ", "  ", "\n", " \u2028", ", ", ".\t", '" '])


def _sentence(text):
    words = blank_words(text)
    return words, *split_long(text, words, [(0, len(words))])


@given(st.lists(st.integers(1, 700), min_size=1, max_size=4), st.data())
def test_every_word_is_in_one_part_and_no_part_is_long(lengths, data):
    ends = [sum(lengths[: row + 1]) for row in range(len(lengths))]
    sentences = list(zip([0, *ends], ends, strict=False))
    gap = data.draw(GAPS)
    text = "".join(f"w{gap if row % 97 == 0 else ' '}" for row in range(ends[-1]))
    parts, inner = split_long(text, blank_words(text), sentences)
    assert [word for a, b in parts for word in range(a, b)] == list(range(ends[-1]))
    assert all(0 < b - a <= LONGEST for a, b in parts)
    assert all(b - a > LONGEST // 8 or (a, b) in sentences for a, b in parts)
    assert merge_parts(parts, inner) == tuple(sentences)
    assert inner == {a for a, _ in parts} - {a for a, _ in sentences}


def test_sentences_that_are_short_stay_as_they_are():
    text = "w " * LONGEST
    assert _sentence(text)[1:] == (((0, LONGEST),), frozenset())
    assert split_long("", [], []) == ((), frozenset())
    assert merge_parts((), frozenset()) == ()


@pytest.mark.parametrize(
    ("gaps", "begins"),
    [
        ({}, 256),
        ({200: ", "}, 200),
        ({200: ", ", 210: ") "}, 210),
        ({200: ", ", 210: " ("}, 200),
        ({200: "\n", 210: ", "}, 200),
        ({200: " \u2028 "}, 200),
        ({200: "  "}, 200),
        ({200: "  ", 150: ", "}, 150),
        ({100: "\n"}, 256),
        ({256: ", "}, 256),
        ({257: "\n"}, 256),
    ],
)
def test_a_part_ends_where_a_reader_would_pause(gaps, begins):
    text = "".join(gaps.get(row, " ") * (row > 0) + "w" for row in range(1000))
    words, parts, _ = _sentence(text)
    assert len(words) == 1000
    assert parts[1][0] == begins


def test_the_last_two_parts_share_what_is_left():
    text = "w " * (LONGEST + 1)
    assert _sentence(text)[1] == ((0, 129), (129, 257))
