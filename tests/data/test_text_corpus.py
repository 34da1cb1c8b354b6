"""Words and annotated spans of blocks of a corpus, wherever they begin."""

import numpy as np

from spanloom.data.text_corpus import TextCorpus


def test_spans_are_those_of_the_words_of_a_block_that_begins_inside_a_word():
    sizes = (1, 10, 1, 1, 1)
    ends = np.cumsum(sizes).tolist()
    words = [tuple(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)]
    corpus = TextCorpus.of([(words, [(0, 5)], [(3, 5)])])
    for start in (0, 1, 8, 11, 12):
        block = corpus.words(start, 14)
        ((first, last),) = corpus.spans_within(start, 14)
        assert [tuple(block[row]) for row in range(first, last)] == [(12,), (13,)]
