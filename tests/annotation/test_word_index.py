from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.word_index import WordIndex, WordSpan, word_runs
from spanloom.document import Span
from spanloom.tokenization import Tokenization

# "ab cd. ef": two sentences
WORDS = Tokenization(((0, 2), (3, 5), (5, 6), (7, 9)), ((0, 3), (3, 4)))


def place(*fragments):
    return WordIndex(WORDS).locate(Span("T1", "A", fragments))


def test_places_by_hand():
    assert place((0, 2)) == WordSpan(0, 1, 0, 0, True)
    assert place((0, 6)) == WordSpan(0, 3, 0, 0, True)
    assert place((1, 5)) == WordSpan(0, 2, 0, 0, False)
    assert place((3, 9)) == WordSpan(1, 4, 0, 1, True)
    assert place((0, 2), (5, 6)) == WordSpan(0, 3, 0, 0, True)
    assert place((0, 3)).aligned is False


def test_spans_that_touch_no_word():
    assert place((2, 3)).width == 0
    assert place((5, 5)).width == 0
    assert not place((2, 3)).aligned
    assert not WordIndex(Tokenization((), ())).locate(Span("T1", "A", ((0, 4),))).aligned


@given(start=st.integers(0, 9), width=st.integers(0, 9))
def test_touched_words_equal_brute_force(start, width):
    end = min(9, start + width)
    touched = [i for i, (a, b) in enumerate(WORDS.words) if a < end and start < b and start < end]
    word_span = place((start, end))
    assert list(range(word_span.first, word_span.end)) == touched
    exact = bool(touched) and (WORDS.words[touched[0]][0], WORDS.words[touched[-1]][1])
    assert word_span.aligned == (exact == (start, end))
    if touched:
        owner = [0, 0, 0, 1]
        assert (word_span.sentence, word_span.last_sentence) == (
            owner[touched[0]],
            owner[touched[-1]],
        )


def test_covered_words_are_whole_and_in_the_order_of_their_fragments():
    index = WordIndex(WORDS)
    assert index.covered_words([(5, 6), (0, 5)]) == (2, 0, 1)
    assert index.covered_words([(3, 5), (7, 8)]) == ()
    assert index.covered_words([(5, 5)]) == index.covered_words([(2, 3)]) == ()


def test_runs_of_words():
    assert word_runs([0, 1, 4, 3, 5, 6]) == [(0, 2), (4, 5), (3, 4), (5, 7)]
    assert word_runs([]) == []
