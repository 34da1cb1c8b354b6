"""Our GRU of training on a CPU, against torch's own layers."""

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence

from spanloom.nn.gru import read_packed
from spanloom.nn.padding import pack
from spanloom.nn.recurrent import Recurrent


@pytest.mark.parametrize("lengths", [[1], [3, 1, 7, 7, 2], [40, 1, 1, 2]])
def test_states_and_gradients_are_those_of_torch(lengths):
    torch.manual_seed(0)
    gru = torch.nn.GRU(5, 4, num_layers=2, bidirectional=True, dtype=torch.float64)
    words, weight = torch.randn(2, sum(lengths), 8, dtype=torch.float64)
    words = words[:, :5]
    results = []
    for read in (read_packed, lambda gru, packed: gru(packed)[0]):
        inputs = words.clone().requires_grad_()
        packed = read(gru, pack(inputs, torch.tensor(lengths)))
        assert isinstance(packed, PackedSequence)
        gru.zero_grad()
        (packed.data * weight).sum().backward()
        results.append([packed.data, inputs.grad, *(value.grad for value in gru.parameters())])
    for ours, torchs in zip(*results, strict=True):
        torch.testing.assert_close(ours, torchs, rtol=1e-10, atol=1e-12)


def test_the_gradient_of_finite_differences():
    torch.manual_seed(0)
    gru = torch.nn.GRU(2, 3, bidirectional=True, dtype=torch.float64)
    words = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([3, 1, 2])

    def states(inputs, *_):
        return read_packed(gru, pack(inputs, lengths)).data

    assert torch.autograd.gradcheck(states, (words, *gru.parameters()))


def test_layers_between_drop_values_in_training_alone():
    torch.manual_seed(0)
    gru = torch.nn.GRU(3, 50, num_layers=2, bidirectional=True, dropout=0.5)
    packed = pack(torch.randn(4, 3), torch.tensor([4]))
    first, second = (read_packed(gru, packed).data for _ in range(2))
    assert not torch.equal(first, second)
    gru.eval()
    torch.testing.assert_close(read_packed(gru, packed).data, gru(packed)[0].data)


def test_training_reads_as_prediction_does():
    torch.manual_seed(0)
    level = Recurrent(torch.nn.GRU, 5, hidden_size=3, num_layers=2, dropout=0.0)
    words, runs = torch.randn(9, 5), torch.tensor([[0, 4], [4, 5], [5, 9]])
    trained = level(words, runs)
    assert trained.requires_grad
    with torch.inference_mode():
        torch.testing.assert_close(level(words, runs), trained.detach())
