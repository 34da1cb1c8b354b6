"""Hidden words lose all their pieces, and nothing else changes."""

import torch

from spanloom.data.masking import word_dropout
from spanloom.tensors import Batch

UNKNOWN = 99


def batch():
    ids = torch.tensor([[1, 10, 11, 12, 2], [1, 20, 21, 2, 0]])
    return Batch(
        words=("a", "b", "c"),
        sentences=torch.tensor([[0, 3]]),
        windows=torch.tensor([[0, 3]]),
        instances=torch.tensor([[0, 3]]),
        input_ids=ids,
        attention_mask=ids > 0,
        piece_index=torch.tensor([1, 2, 3, 6, 7]),
        piece_to_word=torch.tensor([0, 0, 1, 2, 2]),
        position_to_word=torch.tensor([[-1, 0, 0, 1, -1], [-1, 2, 2, -1, -1]]),
    )


def test_a_hidden_word_loses_all_its_pieces_and_no_other_piece_changes():
    torch.manual_seed(0)
    seen = set()
    for _ in range(60):
        hidden = word_dropout(batch(), 0.5, UNKNOWN).input_ids.flatten()
        kinds = []
        for word, rows in enumerate(([1, 2], [3], [6, 7])):
            blanked = {bool(hidden[row] == UNKNOWN) for row in rows}
            assert len(blanked) == 1, f"word {word} is hidden in part"
            kinds.append(blanked.pop())
        special = [0, 4, 5, 8, 9]
        assert hidden[special].tolist() == batch().input_ids.flatten()[special].tolist()
        seen.add(tuple(kinds))
    assert len(seen) == 8


def test_a_rate_of_nothing_hides_nothing_and_draws_no_number():
    torch.manual_seed(3)
    assert word_dropout(batch(), 0.0, UNKNOWN).input_ids.equal(batch().input_ids)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert drawn == torch.rand(1)


def test_the_share_of_hidden_words_is_the_rate():
    torch.manual_seed(1)
    one = batch()
    hidden = sum(
        int((word_dropout(one, 0.2, UNKNOWN).input_ids == UNKNOWN).sum()) for _ in range(600)
    )
    assert abs(hidden / (600 * 5) - 0.2) < 0.04
