"""The recurrent level, against torch's own layer run on one sentence at a time."""

import pytest
import torch

from spanloom.nn.recurrent import CELLS, Options, Recurrent, build


@pytest.mark.parametrize("cell", CELLS)
def test_each_run_is_read_by_itself(cell):
    torch.manual_seed(0)
    level = Recurrent(CELLS[cell], 5, hidden_size=3, num_layers=2, dropout=0.5).eval()
    runs = torch.tensor([[0, 4], [4, 5], [5, 12], [12, 14]])
    words = torch.randn(14, 5)
    slow = torch.cat([level.rnn(words[a:b][None])[0][0] for a, b in runs.tolist()])
    fast = level(words, runs)
    assert fast.shape == (14, level.dim)
    torch.testing.assert_close(fast, slow, rtol=1e-4, atol=1e-6)


def test_a_recipe_makes_the_layers_it_names():
    level = build(Options(rnn="gru", num_layers=3, hidden_size=7, dropout=0.2), 4)
    assert (type(level.rnn), level.rnn.num_layers, level.dim) == (torch.nn.GRU, 3, 14)
