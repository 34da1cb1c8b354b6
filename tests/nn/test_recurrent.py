"""The recurrent level, against torch's own layer run on one sentence at a time."""

import pytest
import torch

from spanloom.nn.padding import padded_groups
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


@pytest.mark.parametrize("cell", CELLS)
def test_a_level_is_a_literal_loop_over_words(cell):
    """Each direction and layer by torch's cell, one word after the other."""
    torch.manual_seed(0)
    level = Recurrent(CELLS[cell], 5, hidden_size=3, num_layers=2, dropout=0.5).eval()
    runs = torch.tensor([[0, 4], [4, 5], [5, 12], [12, 14]])
    words = torch.randn(14, 5)
    expected = torch.cat([literal(level.rnn, words[a:b]) for a, b in runs.tolist()])
    torch.testing.assert_close(level(words, runs), expected, rtol=1e-4, atol=1e-6)


def test_padded_runs_give_the_vectors_and_gradients_of_packed_ones():
    """A CPU reads an LSTM's runs padded, a GPU packed; long runs among short ones too."""
    torch.manual_seed(0)
    level = Recurrent(torch.nn.LSTM, 5, hidden_size=3, num_layers=2, dropout=0.0)
    ends = torch.tensor([3, 4, 60, 5, 1, 7]).cumsum(0)
    runs = torch.stack([torch.cat([ends.new_zeros(1), ends[:-1]]), ends], dim=1)
    words, weight = torch.randn(80, 5), torch.randn(80, 6)
    results = []
    for read in (level._read_padded, level._read_packed):
        inputs = words.clone().requires_grad_()
        output = read(inputs, runs)
        level.zero_grad()
        (output * weight).sum().backward()
        results.append([output, inputs.grad, *(value.grad for value in level.parameters())])
    for padded, packed in zip(*results, strict=True):
        torch.testing.assert_close(padded, packed, rtol=1e-4, atol=1e-5)


def test_padding_is_never_more_than_its_share():
    lengths = torch.tensor([1, 10, 9, 6, 5, 2, 0])
    runs = torch.stack([lengths.cumsum(0) - lengths, lengths.cumsum(0)], dim=1)
    groups = list(padded_groups(runs, 1000, max_padding=0.4))
    assert [sizes.tolist() for _, sizes in groups] == [[10, 9, 6], [5], [2], [1]]
    assert [index.shape[1] for index, _ in groups] == [10, 5, 2, 1]


def literal(rnn, words):
    one_step = {torch.nn.LSTM: torch.nn.LSTMCell, torch.nn.GRU: torch.nn.GRUCell}[type(rnn)]
    for layer in range(rnn.num_layers):
        directions = []
        for suffix in ("", "_reverse"):
            cell = one_step(words.shape[1], rnn.hidden_size)
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                setattr(cell, name, getattr(rnn, f"{name}_l{layer}{suffix}"))
            state, states = None, []
            for word in words.flip(0) if suffix else words:
                state = cell(word[None], state)
                states.append(state[0] if isinstance(state, tuple) else state)
            states = torch.cat(states)
            directions.append(states.flip(0) if suffix else states)
        words = torch.cat(directions, dim=1)
    return words


def test_xavier_starts_a_level_as_the_paper_does():
    """Bounds of Glorot and Bengio (2010); the gates of a layer are one matrix."""
    torch.manual_seed(0)
    level = build(Options(rnn="gru", num_layers=2, hidden_size=30, initialization="xavier"), 20)
    for name, weight in level.named_parameters():
        if weight.ndim == 1:
            assert not weight.any(), name
            continue
        bound = (6 / sum(weight.shape)) ** 0.5
        assert 0.9 * bound < weight.abs().max() <= bound, name


def test_a_recipe_makes_the_layers_it_names():
    level = build(Options(rnn="gru", num_layers=3, hidden_size=7, dropout=0.2), 4)
    assert (type(level.rnn), level.rnn.num_layers, level.dim) == (torch.nn.GRU, 3, 14)
