"""Subsequences: every way to take words from a sentence is tried, and words are found in texts."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.word_index import find_words, first_match, match_runs

WORDS = st.lists(st.sampled_from("abc"), max_size=9)


def ways(words, kept):
    """All places from which the kept words can be taken, in order."""
    choices = combinations(range(len(words)), len(kept))
    return [way for way in choices if [words[index] for index in way] == kept]


def count(indices):
    return sum(index - 1 not in indices for index in indices)


@given(words=WORDS, kept=st.lists(st.sampled_from("abc"), max_size=5))
def test_runs_are_as_few_as_any_way_has_and_early(words, kept):
    all_ways = ways(words, kept)
    runs = match_runs(words, kept)
    assert (runs is None) == (not all_ways)
    if all_ways:
        fewest = min(map(count, all_ways))
        indices = tuple(index for start, end in runs for index in range(start, end))
        assert indices == min(way for way in all_ways if count(way) == fewest)
        assert len(runs) == fewest
        assert first_match(words, kept) == list(all_ways[0])
    else:
        assert not ways(words, kept[: len(first_match(words, kept)) + 1])


def test_long_sentences_take_the_first_words_that_fit():
    words = ["a", "b", "x"] + ["a", "b"] * 2000
    assert match_runs(words, ["a", "b"] * 2001) == [(0, 2), (3, 4003)]
    assert match_runs(["a", "x", "a"] + ["b"] * 3000, ["a"] + ["b"] * 3000)[0] == (0, 1)


@given(
    pieces=st.lists(st.tuples(st.sampled_from(["", " ", "- ", '("']), st.text("a.é7'", min_size=1)))
)
def test_words_are_found_where_they_came_from(pieces):
    text = "".join(gap + word for gap, word in pieces)
    words = [word for _, word in pieces]
    bounds = find_words(text, words)
    assert bounds is not None
    assert [text[start:end] for start, end in bounds] == words
    assert bounds == sorted(bounds)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a b c", ["a", "c"]), ("a b", ["b"]), ("a b", ["a"]), ("ab", ["c"]), ("3.5", ["35"])],
)
def test_no_letter_is_passed_over(text, words):
    assert find_words(text, words) is None
