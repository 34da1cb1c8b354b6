"""Dropout: its rate, its scale, its seed, its gradient."""

import pytest
import torch

from spanloom.nn.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_elements_are_dropped_at_the_rate_and_the_rest_scaled_up(rate):
    torch.manual_seed(0)
    drop = Dropout(rate)
    out = drop(torch.ones(400, 500))
    assert abs(drop.p - rate) <= 1 / 512
    spread = (rate * (1 - rate) / out.numel()) ** 0.5
    assert abs((out == 0).float().mean().item() - drop.p) < 5 * spread
    assert set(out.unique().tolist()) == {0.0, torch.tensor(1 / (1 - drop.p)).item()}


def test_the_seed_decides_what_is_dropped():
    drop, x = Dropout(0.5), torch.ones(100)
    outs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outs.append(drop(x))
    assert outs[0].equal(outs[1])
    assert not outs[0].equal(outs[2])
    assert not drop(x).equal(drop(x))


def test_nothing_is_dropped_in_evaluation_or_at_rate_zero():
    x = torch.randn(5, 3)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_gradient_is_the_mask():
    x = torch.full((50,), 2.0, requires_grad=True)
    out = Dropout(0.5)(x)
    out.sum().backward()
    assert x.grad.equal(out.detach() / 2)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_an_empty_tensor_stays_empty(shape):
    assert Dropout(0.5)(torch.zeros(shape)).shape == shape


def test_a_rate_near_one_keeps_finite_values():
    assert torch.isfinite(Dropout(0.9999)(torch.ones(2000))).all()


def test_the_type_of_numbers_stays():
    x = torch.ones(64, dtype=torch.bfloat16)
    assert Dropout(0.5)(x).dtype == torch.bfloat16
