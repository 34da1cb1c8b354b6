"""Half a surrogate pair is a character of Python's, but of no tokenizer's."""

import pytest
from tiny_tokenizers import bytes_bpe, wordpiece

from spanloom.data.instances import tokenize
from spanloom.data.subwords import subword_tokenizer
from spanloom.document import Document, Query
from spanloom.tokenization import word_tokenizer


@pytest.mark.parametrize("make", [wordpiece, bytes_bpe])
def test_a_lone_surrogate_is_cut_as_a_question_mark(make):
    known = subword_tokenizer(make(), padding=0, unknown=1, mask=1)
    split = word_tokenizer("char-class", "newline")
    odd = tokenize(Document("a \ud800 b\udfff", queries=(Query("Q1", "\ud800 cat"),)), split, known)
    assert odd.tokens == ("a", "\ud800", "b", "\udfff")
    even = tokenize(Document("a ? b?"), split, known)
    assert odd.pieces == even.pieces
    assert list(odd.queries[0].pieces) == known(["?", "cat"])
