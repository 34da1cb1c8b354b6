"""Rates, groups, and the running average, each against plain arithmetic."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from spanloom.config.specs import LearningRates, StageSpec
from spanloom.training import checkpoint
from spanloom.training.checkpoint import Progress
from spanloom.training.optimizer import (
    EMA,
    build_optimizer,
    freeze,
    is_pretrained,
    linear,
    plateau,
    set_rates,
    trainable_parameters,
)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
        self.mix = nn.Linear(2, 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.ModuleList([Encoder()])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


def stage(**changes):
    return StageSpec(tasks=("a",), lr=LearningRates(encoder=0.1, task=0.2), **changes)


@pytest.mark.parametrize(
    ("done", "warmup", "factor"),
    [(0, 0.1, 0), (0.05, 0.1, 0.5), (0.1, 0.1, 1), (0.55, 0.1, 0.5), (1, 0.1, 0), (0, 0, 1)]
    + [(0.5, 0, 0.5), (0.5, 1, 0.5), (1, 1, 1)],
)
def test_linear(done, warmup, factor):
    assert linear(done, warmup, 0) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("done", "warmup", "halvings", "factor"),
    [(0, 0.1, 0, 0), (0.05, 0.1, 0, 0.5), (0.5, 0.1, 0, 1), (0.5, 0.1, 3, 0.125), (0, 0, 1, 0.5)],
)
def test_plateau(done, warmup, halvings, factor):
    assert plateau(done, warmup, halvings) == pytest.approx(factor)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 50))
def test_factors_stay_between_0_and_1(done, warmup, halvings):
    assert 0 <= linear(done, warmup, halvings) <= 1
    assert 0 <= plateau(done, warmup, halvings) <= 1


def groups(net, made):
    """Name of each parameter: (rate, decay)."""
    names = {id(each): name for name, each in net.named_parameters()}
    return {
        names[id(each)]: (group["lr"], group["weight_decay"])
        for group in made.param_groups
        for each in group["params"]
    }


def test_rates_by_origin_and_no_decay_on_biases_and_norms(net):
    found = groups(net, build_optimizer(net, stage(weight_decay=0.3)))
    assert found == {
        name: (0.1 if ".encoder." in name else 0.2, 0.3 if each.ndim > 1 else 0.0)
        for name, each in net.named_parameters()
    }


def test_rows_of_tasks_that_are_not_trained_stay_as_they_are(net):
    net.task_embeddings, net.task_tokens = nn.Embedding(3, 4), nn.ModuleList([nn.Embedding(3, 4)])
    tables = net.task_embeddings.weight, net.task_tokens[0].weight
    before = [table.detach().clone() for table in tables]
    optimizer = build_optimizer(net, stage(weight_decay=0.3))
    sum(table[0].sum() for table in tables).backward()
    optimizer.step()
    for table, old in zip(tables, before, strict=True):
        assert torch.equal(table[1:], old[1:])
        assert not torch.isclose(table[0], old[0]).any()


def test_a_trunk_rate_of_0_freezes_encoders_alone_and_can_be_undone(net):
    net.trunk[0].encoder[0].weight.requires_grad_(False)  # as frozen embeddings
    names = trainable_parameters(net)
    net.trunk[0].encoder[0].bias.grad = torch.ones(4)
    freeze(net, names, LearningRates(encoder=0, task=0.2))
    learnt = {name for name, each in net.named_parameters() if each.requires_grad}
    assert learnt == {name for name, _ in net.named_parameters() if not is_pretrained(name)}
    assert all(each.grad is None for each in net.parameters())
    assert groups(net, build_optimizer(net, stage())).keys() == learnt
    freeze(net, names, LearningRates())
    assert trainable_parameters(net) == names


def test_set_rates_scales_from_the_top_every_time(net):
    made = build_optimizer(net, stage())
    for factor in (0.5, 0.25, 1.0):
        set_rates(made, factor)
        assert {group["lr"] for group in made.param_groups} == {0.1 * factor, 0.2 * factor}


def test_the_average_is_the_recurrence_by_hand(net):
    average = EMA(net, 0.6)
    expected = {name: each.detach().clone() for name, each in net.named_parameters()}
    for step in range(1, 8):
        for each in net.parameters():
            each.data.add_(torch.randn_like(each))
        average.update(net, step)
        decay = min(0.6, (1 + step) / (10 + step))
        for name, each in net.named_parameters():
            expected[name] = decay * expected[name] + (1 - decay) * each.detach()
    for name, each in expected.items():
        assert torch.allclose(average.weights[name], each, atol=1e-6)


def test_swapping_twice_is_as_before(net):
    average = EMA(net, 0.9)
    for each in net.parameters():
        each.data.add_(1)
    average.update(net, 1)
    mine, theirs = copy.deepcopy(net.state_dict()), copy.deepcopy(average.weights)
    average.swap(net)
    assert all(torch.equal(each, theirs[name]) for name, each in net.named_parameters())
    average.swap(net)
    assert all(torch.equal(each, mine[name]) for name, each in net.state_dict().items())
    assert all(torch.equal(each, theirs[name]) for name, each in average.weights.items())


def learn(net, made, average, steps, seed):
    """Some steps on noise; head b is never touched."""
    torch.manual_seed(seed)
    for step in range(1, steps + 1):
        made.zero_grad()
        hidden = net.trunk[0].encoder(torch.randn(5, 3))
        (net.heads["a"](hidden).square().sum() + net.trunk[0].mix.weight.sum()).backward()
        made.step()
        average.update(net, step)


@pytest.mark.parametrize("kind", ["adamw", "adam"])
@pytest.mark.parametrize("steps", [0, 3])
def test_a_checkpoint_goes_on_to_the_last_bit(net, tmp_path, kind, steps):
    spec = stage(optimizer=kind)
    made, average = build_optimizer(net, spec), EMA(net, 0.9)
    learn(net, made, average, steps, seed=1)
    checkpoint.save(tmp_path / "state", Progress("r", "d"), net, made, average)
    learn(net, made, average, 3, seed=2)
    other = Net()
    again, again_average = build_optimizer(other, spec), EMA(other, 0.9)
    checkpoint.restore(tmp_path / "state", other, again, again_average)
    learn(other, again, again_average, 3, seed=2)
    for name, each in net.state_dict().items():
        assert torch.equal(other.state_dict()[name], each), name
    for name, each in average.weights.items():
        assert torch.equal(again_average.weights[name], each), name
    theirs = again.state_dict()["state"]
    assert theirs.keys() == made.state_dict()["state"].keys()


def test_a_checkpoint_of_another_shape_is_refused(net, tmp_path):
    from spanloom.errors import TrainingError

    checkpoint.save(
        tmp_path / "state", Progress("r", "d"), net, build_optimizer(net, stage()), None
    )
    other = nn.ModuleDict({"encoder": nn.Linear(2, 2)})
    with pytest.raises(TrainingError, match="does not fit"):
        checkpoint.restore(tmp_path / "state", other, build_optimizer(net, stage()), None)


class Layered(nn.Module):
    """Named as a Hugging Face encoder names its parts."""

    def __init__(self):
        super().__init__()
        encoder = nn.Module()
        encoder.embeddings = nn.Embedding(5, 2)
        encoder.encoder = nn.Module()
        encoder.encoder.layer = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
        encoder.final_norm = nn.LayerNorm(2)
        part = nn.Module()
        part.encoder, part.mix = encoder, nn.Linear(2, 2)
        self.trunk = nn.ModuleList([part])


def test_each_layer_learns_more_slowly_than_the_one_above():
    net = Layered()
    spec = StageSpec(tasks=("a",), lr=LearningRates(encoder=0.8, task=3.0, layerwise_decay=0.5))
    rates = {name: rate for name, (rate, _) in groups(net, build_optimizer(net, spec)).items()}
    inside = "trunk.0.encoder.encoder.layer"
    assert {name: rate for name, rate in rates.items() if name.endswith("weight")} == {
        f"{inside}.2.weight": 0.8,
        f"{inside}.1.weight": 0.4,
        f"{inside}.0.weight": 0.2,
        "trunk.0.encoder.embeddings.weight": 0.1,
        "trunk.0.encoder.final_norm.weight": 0.8,
        "trunk.0.mix.weight": 3.0,
    }


def test_what_is_learnt_below_a_frozen_encoder_is_frozen_too():
    """Else the whole encoder would have a backward pass for it."""
    net = Layered()
    net.trunk[0].casing_embedding = nn.Embedding(3, 2)
    every = trainable_parameters(net)
    freeze(net, every, LearningRates(encoder=0, task=0.1))
    assert trainable_parameters(net) == {"trunk.0.mix.weight", "trunk.0.mix.bias"}
    freeze(net, every, LearningRates(encoder=0.1, task=0.1))
    assert trainable_parameters(net) == every
