"""Casing vectors: one for each kind of spelling."""

import pytest
import torch

from spanloom.embedders.casing import Casing, shape
from spanloom.tensors import Batch

KINDS = [
    ["50", "7", "٣"], ["ml", "a", "the", "中文"], ["A"], ["DNA", "US"], ["Ada", "Ca"], ["mL", "pH"],
    ["McD"], [",", "👩\u200d👧", "--"], ["µg/L", "Ab1", "x2", "a-b"], [""],
]  # fmt: skip


def _batch(words):
    none, bounds = torch.zeros(0, dtype=torch.long), torch.tensor([[0, len(words)]])
    return Batch(
        tuple(words),
        bounds,
        bounds,
        bounds,
        none[None],
        none[None].bool(),
        *(none, none, none[None]),
    )


@pytest.mark.parametrize("words", KINDS)
def test_words_of_one_kind_share_a_vector(words):
    assert len({shape(word) for word in words}) == 1


def test_kinds_differ_and_each_has_a_row():
    rows = [shape(words[0]) for words in KINDS]
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(range(Casing(3).embedding.num_embeddings))


def test_a_batch_gets_one_vector_a_word():
    table, words = Casing(4), ["DNA", "the", "RNA"]
    vectors = table(_batch(words))
    assert vectors.shape == (3, table.dim)
    assert vectors[0].equal(vectors[2])
    assert vectors[0].equal(table.embedding.weight[shape("DNA")])
