"""English words by stored rules, against spaCy itself."""

import json
import runpy
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spanloom import english_words as room
from spanloom.english_words import english_words

ROOT = Path(__file__).parents[1]
TEXTS = [
    "Mr. O'Neill doesn't think they'll go to the U.K. (or U.S.A.) before 9 a.m. on Dec. 5th.",
    "See http://example.org/a?b=c, or mail ada@example.org; it's ~$3.50/kg -- i.e. 10km/h.",
    'He said:"No..."and left :-) ;-( \\o/ C++ and/or well-known word1word x.y.z',
    "don't,can't;won't   Don't\u00a0cannot \u2014 gonna\n\tgimme 'cause y'all're 'S 's",
    "((a)) :) :-)) :) ) 8) x:)y <3 </3 >:( a\u2026b \u201cquoted\u201d 1,000.50 3.5.7 50% \u00a35",
]


@pytest.fixture(scope="module")
def tokenizer():
    return spacy.blank("en").tokenizer


def words_of(tokenizer, text):
    return [(token.idx, token.idx + len(token)) for token in tokenizer(text) if not token.is_space]


def test_stored_rules_are_those_of_spacy():
    rules = runpy.run_path(str(ROOT / "benchmarks/english_rules.py"))["rules"]()
    assert json.loads(room.RULES_FILE.read_text(encoding="utf-8")) == rules


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_those_of_spacy(tokenizer, text):
    assert english_words(text) == words_of(tokenizer, text)


@given(
    st.text(
        st.sampled_from(" \n.,:;-()'\"!?/0a|@#$%&*^_+=<>[]{}\u2026\u20ac\u00e9x\u4e2dDS"),
        max_size=30,
    )
)
def test_words_of_odd_texts_are_those_of_spacy(text):
    assert english_words(text) == words_of(spacy_once(), text)


@given(
    st.lists(
        st.sampled_from(
            sorted(json.loads(room.RULES_FILE.read_text(encoding="utf-8"))["exceptions"])
        ),
        max_size=5,
    ),
    st.data(),
)
def test_exceptions_side_by_side_are_split_as_by_spacy(words, data):
    text = "".join(word + data.draw(st.sampled_from(["", " ", "  ", "a"])) for word in words)
    assert english_words(text) == words_of(spacy_once(), text)


_TOKENIZERS = []


def spacy_once():
    if not _TOKENIZERS:
        _TOKENIZERS.append(spacy.blank("en").tokenizer)
    return _TOKENIZERS[0]


def test_the_memory_of_runs_is_bounded(monkeypatch):
    monkeypatch.setattr(room, "MAX_CACHED", 3)
    splitter = room.RunSplitter(room.load_rules())
    for number in range(10):
        splitter(f"a{number}.b")
    assert len(splitter.parts) <= 3
