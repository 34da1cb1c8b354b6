"""Subsequences: every way to take words from a sentence is tried, and words are found in texts."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.word_index import find_words, first_match, match_runs

WORDS = st.lists(st.sampled_from("abc"), max_size=9)


def ways(words, kept):
    """All places from which the kept words can be taken, in order."""
    every = combinations(range(len(words)), len(kept))
    return [way for way in every if [words[at] for at in way] == kept]


def count(places):
    return sum(place - 1 not in places for place in places)


@given(words=WORDS, kept=st.lists(st.sampled_from("abc"), max_size=5))
def test_runs_are_as_few_as_any_way_has_and_early(words, kept):
    every = ways(words, kept)
    found = match_runs(words, kept)
    assert (found is None) == (not every)
    if every:
        fewest = min(map(count, every))
        places = tuple(at for start, end in found for at in range(start, end))
        assert places == min(way for way in every if count(way) == fewest)
        assert len(found) == fewest
        assert first_match(words, kept) == list(every[0])
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
    found = find_words(text, words)
    assert found is not None
    assert [text[start:end] for start, end in found] == words
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a b c", ["a", "c"]), ("a b", ["b"]), ("a b", ["a"]), ("ab", ["c"]), ("3.5", ["35"])],
)
def test_no_letter_is_passed_over(text, words):
    assert find_words(text, words) is None
