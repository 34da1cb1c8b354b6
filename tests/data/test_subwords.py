"""Words to pieces, against Hugging Face's own way of tokenizing words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_tokenizers import WORDS, bytes_bpe, wordpiece
from transformers import PreTrainedTokenizerFast

from spanloom.data import subwords as room
from spanloom.data.subwords import subword_tokenizer

MADE = {"wordpiece": wordpiece(), "bytes": bytes_bpe()}
UNKNOWN = {"wordpiece": 1, "bytes": 3}
BOTH = pytest.mark.parametrize("kind", MADE)


def _pieces(kind):
    return subword_tokenizer(MADE[kind], padding=0, unknown=UNKNOWN[kind], mask=UNKNOWN[kind])


@BOTH
@given(words=st.lists(st.sampled_from(WORDS), max_size=12))
def test_pieces_are_those_of_hugging_face(kind, words):
    cut = _pieces(kind)
    theirs = PreTrainedTokenizerFast(tokenizer_object=MADE[kind])
    encoding = theirs(words, is_split_into_words=True, add_special_tokens=True)
    mine = cut(words)
    flat = [piece for word in mine for piece in word]
    assert [*cut.prefix, *flat, *cut.suffix] == encoding["input_ids"]
    places = [place for place in encoding.word_ids() if place is not None]
    assert places == [place for place, word in enumerate(mine) for _ in word]
    assert cut(words) == mine


def test_special_pieces_are_found():
    assert (_pieces("wordpiece").prefix, _pieces("wordpiece").suffix) == ((2,), (3,))
    assert (_pieces("bytes").prefix, _pieces("bytes").suffix) == ((0,), (2,))


def test_special_pieces_are_found_where_the_tokenizer_adds_none():
    bare = wordpiece()
    bare.post_processor = None
    cut = subword_tokenizer(bare, padding=0, unknown=1, mask=1)
    assert (cut.prefix, cut.suffix) == ((), ())


def test_settings_that_cut_or_pad_are_switched_off():
    made = wordpiece()
    made.enable_truncation(3)
    made.enable_padding(length=9)
    cut = subword_tokenizer(made, padding=0, unknown=1, mask=1)
    assert (cut.prefix, cut.suffix) == ((2,), (3,))
    assert [len(pieces) for pieces in cut(["abcdefgh", "a"])] == [8, 1]


@pytest.mark.parametrize("word", ["\x00", "\x01", "\ufeff", "\u200d", "\u200b"])
def test_a_word_that_vanishes_becomes_the_unknown_piece(word):
    assert _pieces("wordpiece")(["a", word, "a"])[1] == (1,)


@BOTH
@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=8))
def test_every_word_has_a_piece(kind, words):
    assert all(_pieces(kind)(words))


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(room, "_CACHED_WORDS", 5)
    cut = _pieces("wordpiece")
    for first in range(40):
        words = [f"{row}w" for row in range(first, first + first % 9)]
        assert cut([*words, *words]) == _pieces("wordpiece")([*words, *words])
        assert len(cut.cache) <= 5


def test_long_words_are_not_remembered():
    cut = _pieces("bytes")
    assert len(cut(["a" * 1000])[0]) > 900
    assert not cut.cache
