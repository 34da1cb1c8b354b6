"""Half a surrogate pair is a character of Python's, but of no tokenizer's."""

import pytest
from tiny_tokenizers import bytes_bpe, wordpiece

from spanloom.data.pieces import pieces
from spanloom.data.units import cut
from spanloom.document import Document, Query
from spanloom.words import splitter


@pytest.mark.parametrize("make", [wordpiece, bytes_bpe])
def test_a_lone_surrogate_is_cut_as_a_question_mark(make):
    known = pieces(make(), padding=0, unknown=1, mask=1)
    split = splitter("fine", "line")
    odd = cut(Document("a \ud800 b\udfff", queries=(Query("Q1", "\ud800 cat"),)), split, known)
    assert odd.forms == ("a", "\ud800", "b", "\udfff")
    even = cut(Document("a ? b?"), split, known)
    assert odd.pieces == even.pieces
    assert list(odd.queries[0].pieces) == known(["?", "cat"])
