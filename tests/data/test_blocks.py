"""Blocks of text: against literal loops over documents, and against the shares asked for."""

from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_tokenizers import letters

from spanloom.data.blocks import FULL, BlockReader, cut_blocks, divide, exchange
from spanloom.data.collate import collate
from spanloom.data.text_corpus import SENTENCE, WORD, TextCorpus, concatenate, encode, whole_words
from spanloom.document import Document
from spanloom.tokenization import word_tokenizer

# a document: sentences of words of so many pieces
DOCUMENTS = st.lists(
    st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=9), max_size=8),
    min_size=1,
    max_size=5,
)


def corpus_of(documents):
    """A corpus whose pieces are all different."""
    parts, piece = [], 100
    for sentences in documents:
        words, bounds = [], []
        for sentence in sentences:
            bounds.append((len(words), len(words) + len(sentence)))
            for size in sentence:
                words.append(tuple(range(piece, piece + size)))
                piece += size
        parts.append((words, bounds, ()))
    return TextCorpus.of(parts)


def long_corpus(num_documents=8, seed=1):
    rng = Random(seed)
    sentences = lambda: [  # noqa: E731
        [rng.choice((1, 1, 1, 2, 3)) for _ in range(rng.randint(3, 60))]
        for _ in range(rng.randint(20, 90))
    ]
    return corpus_of([sentences() for _ in range(num_documents)])


@given(documents=DOCUMENTS, window=st.integers(5, 40))
def test_blocks_hold_every_piece_once_whole_words_and_one_document(documents, window):
    corpus = corpus_of(documents)
    blocks = cut_blocks(corpus, window)
    bounds = blocks.bounds[:, 2:].tolist()
    assert [i for a, b in bounds for i in range(a, b)] == list(range(len(corpus.pieces)))
    edges = set(corpus.documents[:, 1].tolist())
    for (a, b), num_words, instance in zip(bounds, blocks.num_words, blocks, strict=True):
        assert 0 < b - a <= window
        assert corpus.flags[a] & WORD
        assert any(x <= a and b <= y for x, y in corpus.documents.tolist())
        assert [p for word in instance.pieces for p in word] == corpus.pieces[a:b].tolist()
        assert len(instance.tokens) == len(instance.pieces) == num_words
        if b not in edges:  # longest possible, or up to a sentence's end in the last tenth
            later = [i for i in range(b + 1, a + window + 1) if corpus.flags[i] & WORD]
            is_end = corpus.flags[b] & SENTENCE and b - a >= FULL * window
            assert is_end or not later


def test_blocks_are_full_but_at_the_ends_of_documents():
    corpus = long_corpus()
    blocks = cut_blocks(corpus, 512)
    inner = ~np.isin(blocks.bounds[:, 3], corpus.documents[:, 1])
    assert inner.sum() > 10
    assert (blocks.num_pieces[inner] >= FULL * 512).all()


def test_a_word_of_more_pieces_than_a_window_is_cut():
    corpus = corpus_of([[[1, 30, 1]]])
    pieces = [list(sum(block.pieces, ())) for block in cut_blocks(corpus, 8)]
    assert sum(pieces, []) == corpus.pieces.tolist()
    assert max(map(len, pieces)) == 8


@given(documents=DOCUMENTS, window=st.integers(6, 30), seed=st.integers(0, 99))
def test_two_segments_follow_each_other_and_part_at_a_sentence_if_there_is_one(
    documents, window, seed
):
    corpus = corpus_of(documents)
    whole = cut_blocks(corpus, window)
    pairs = divide(whole, Random(seed))
    wholes = {(a, b): None for a, b in whole.bounds[:, 2:].tolist()}
    for (a, b, c, d), instance in zip(pairs.bounds.tolist(), pairs, strict=True):
        assert (a, d) in wholes
        assert a < b == c < d
        inner = corpus.flags[a + 1 : d]
        assert corpus.flags[b] & (SENTENCE if (inner & SENTENCE).any() else WORD)
        assert instance.is_next
        assert sum(instance.prompt.pieces, ()) == tuple(corpus.pieces[a:b].tolist())
        assert sum(instance.pieces, ()) == tuple(corpus.pieces[c:d].tolist())
    left_out = len(whole) - len(pairs)
    single_words = sum(len(block.tokens) == 1 for block in whole)
    assert left_out == single_words


def test_half_of_the_second_segments_come_from_other_documents():
    corpus = long_corpus(30)
    pairs = divide(cut_blocks(corpus, 127), Random(1))
    drawn = exchange(pairs, Random(2))

    def document(piece):
        return next(i for i, (a, b) in enumerate(corpus.documents.tolist()) if a <= piece < b)

    is_next = []
    for before, (a, b, c, d), words, instance in zip(
        pairs.bounds.tolist(), drawn.bounds.tolist(), drawn.num_words, drawn, strict=True
    ):
        assert before[0] <= a < b == before[1]
        is_next.append(instance.is_next)
        assert instance.is_next == (document(a) == document(c)) == (b == c)
        assert document(c) == document(d - 1)
        assert corpus.flags[c] & WORD
        assert words == len(instance.prompt.tokens) + len(instance.tokens)
        assert instance.num_pieces <= 127
    assert sorted(drawn.bounds[:, 2:].tolist()) == sorted(pairs.bounds[:, 2:].tolist())
    share = sum(is_next) / len(is_next)
    assert abs(share - 0.5) < 4 * 0.5 / len(is_next) ** 0.5
    assert drawn.share_exchanged == pytest.approx(1 - share)


def test_neither_bounds_nor_lengths_of_two_segments_tell_whether_they_follow():
    """Any rule on these cues alone is right as often as the two distributions differ."""
    corpus = long_corpus(120)
    drawn = exchange(divide(cut_blocks(corpus, 127), Random(1)), Random(2))
    begins = np.append(corpus.flags & SENTENCE, SENTENCE).astype(bool)
    cues = {True: Counter(), False: Counter()}
    for (a, b, c, d), instance in zip(drawn.bounds.tolist(), drawn, strict=True):
        assert instance.is_next == (b == c)
        is_full = d - c + b - a >= 125
        cues[instance.is_next][begins[c], begins[d], is_full, (d - c) // 32] += 1
    true, false = cues.values()
    assert min(true.total(), false.total()) > 1000
    gaps = [abs(true[x] / true.total() - false[x] / false.total()) for x in true | false]
    assert sum(gaps) / 2 < 0.1  # chance alone is near 0.05


def test_one_document_has_no_other_to_draw_from():
    pairs = divide(cut_blocks(long_corpus(1), 127), Random(1))
    drawn = exchange(pairs, Random(2))
    assert (drawn.bounds == pairs.bounds).all()
    assert drawn.share_exchanged == cut_blocks(pairs.corpus, 127).share_exchanged == 0


def test_two_segments_are_read_between_special_pieces_in_one_window():
    corpus, pieces = long_corpus(2), letters()
    small = concatenate([corpus])
    small.pieces[:] %= 50
    for block in list(BlockReader("pair").draw(small, 64, Random(0)))[:5]:
        batch = collate([block], pieces, 64)
        assert len(batch.input_ids) == 1
        first, second = (sum(part, ()) for part in (block.prompt.pieces, block.pieces))
        row = [*pieces.prefix, *first, *pieces.suffix, *second, *pieces.suffix]
        assert batch.input_ids[0].tolist() == row
        types = [0] * (len(row) - len(second) - len(pieces.suffix))
        assert batch.token_type_ids[0].tolist() == types + [1] * (len(row) - len(types))


def test_batches_hold_each_block_once_and_follow_the_seed():
    blocks = cut_blocks(long_corpus(), 64)
    batches = blocks.batches(100, Random(3))
    rows = [tuple(row) for batch in batches for row in batch.bounds.tolist()]
    assert sorted(rows) == sorted(map(tuple, blocks.bounds.tolist()))
    assert all(batch.num_words.sum() <= 100 or len(batch) == 1 for batch in batches)
    again = blocks.batches(100, Random(3))
    assert all((a.bounds == b.bounds).all() for a, b in zip(batches, again, strict=True))
    other = [tuple(row) for batch in blocks.batches(100, Random(4)) for row in batch.bounds]
    assert rows != other
    assert blocks[1:5:2][1] == blocks[3]


def test_spans_of_a_layer_are_found_again_as_words_of_a_block():
    split, text = word_tokenizer("char-class", "newline"), "Ada Lovelace met Charles.\nShe went on."
    spans = [(0, 12), (4, 12), (17, 24), (26, 29), (1, 3), (0, 99)]
    words = [text[a:b] for a, b in split(text).words]
    corpus = encode(Document(text), split, letters(), spans)
    joined = concatenate([encode(Document("one two"), split, letters()), corpus])
    for block in cut_blocks(joined, 300):
        covered = [" ".join(words[a:b]) for a, b in block.maskable]
        assert covered == ([] if len(block.tokens) == 2 else ["Lovelace", "Charles", "She"])
    starts = [a for (a, _), (b, _) in pairwise(whole_words(spans, np.array(split(text).words)))]
    assert starts == sorted(starts)


def test_unigrams_count_the_selected_documents_alone():
    corpus = corpus_of([[[2, 1]], [[1]], [[3]]])
    corpus.pieces[:] = [1, 2, 1, 5, 2, 2, 0]
    assert corpus.unigrams(6).tolist() == [1, 2, 3, 0, 0, 1]
    assert corpus.select(np.array([0, 2])).unigrams(6).tolist() == [1, 2, 3, 0, 0, 0]


def test_a_corpus_without_documents_has_no_blocks():
    empty = TextCorpus.of([])
    assert not len(cut_blocks(empty, 9))
    with pytest.raises(IndexError):
        cut_blocks(empty, 9)[0]
