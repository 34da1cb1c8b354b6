"""Documents to units: whole sentences, nothing lost, the same at every draw of one seed."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_tokenizers import letters

from spanloom.data.units import Sizes, cut, shorten, units
from spanloom.document import Document
from spanloom.words import splitter

SPLIT = splitter("fine", "line")
LETTERS = letters()
TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "the", "abc", "q" * 9, "\x01"]), max_size=8).map(" ".join),
    max_size=12,
).map("\n".join)
SEEDS = st.one_of(st.none(), st.integers(0, 99))


def _units(text, limit, seed=None, windows=1):
    whole = cut(Document(text), SPLIT, LETTERS)
    draw = None if seed is None else random.Random(seed)
    return whole, list(units(7, whole, Sizes(limit, windows * limit, draw)))


@given(text=TEXTS, limit=st.integers(1, 30), seed=SEEDS, windows=st.integers(1, 4))
def test_units_hold_every_sentence_once_and_whole(text, limit, seed, windows):
    whole, made = _units(text, limit, seed, windows)
    found = [(each.first + a, each.first + b) for each in made for a, b in each.sentences]
    assert found == list(whole.sentences)
    assert sum((each.words for each in made), ()) == whole.words
    assert sum((each.forms for each in made), ()) == tuple(text.split())
    assert sum((each.pieces for each in made), ()) == whole.pieces
    assert all(each.document == 7 and each.words for each in made)


@given(text=TEXTS, limit=st.integers(1, 30), seed=SEEDS)
def test_units_keep_the_limit_unless_one_sentence_breaks_it(text, limit, seed):
    for each in _units(text, limit, seed)[1]:
        assert each.length == sum(map(len, each.pieces))
        assert each.length <= limit or len(each.sentences) == 1
        assert each.contexts == ((0, len(each.words)),)


@given(text=TEXTS, limit=st.integers(1, 30), seed=SEEDS, windows=st.integers(1, 4))
def test_windows_of_a_unit_are_the_units_of_one_window(text, limit, seed, windows):
    _, small = _units(text, limit, seed)
    _, large = _units(text, limit, seed, windows)
    found = [(each.first + a, each.first + b) for each in large for a, b in each.contexts]
    assert found == [(each.first, each.first + len(each.words)) for each in small]
    assert all(each.length <= limit * windows or len(each.contexts) == 1 for each in large)


@given(text=TEXTS, limit=st.integers(1, 30), seed=st.integers(0, 99))
def test_a_draw_is_decided_by_its_seed(text, limit, seed):
    assert _units(text, limit, seed) == _units(text, limit, seed)


def test_a_draw_makes_units_of_many_sizes():
    _, made = _units("a\n" * 2000, 16, 1)
    assert {each.length for each in made[:-1]} == set(range(2, 17))


@given(text=TEXTS, longest=st.integers(1, 9))
def test_sentences_are_cut_at_a_length_where_the_caller_asks(text, longest):
    whole = cut(Document(text), SPLIT, LETTERS)
    short = replace(whole, sentences=tuple(shorten(whole.sentences, longest)))
    assert (short.words, short.forms, short.pieces) == (whole.words, whole.forms, whole.pieces)
    assert all(0 < b - a <= longest for a, b in short.sentences)
    borders = {b for _, b in short.sentences}
    assert [place for a, b in short.sentences for place in range(a, b)] == list(
        range(len(whole.words))
    )
    assert {b for _, b in whole.sentences} <= borders
    assert len(short.sentences) == sum(-(-(b - a) // longest) for a, b in whole.sentences)


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_a_text_without_words_makes_no_unit(text):
    assert _units(text, 8)[1] == []


def test_words_lead_back_to_characters():
    text = "the 50ml\n\n  abc"
    for each in _units(text, 2)[1]:
        assert tuple(text[a:b] for a, b in each.words) == each.forms
