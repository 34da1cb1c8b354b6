"""Two processes are one: the same losses, the same weights; gradients add up."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from two_processes import torchrun
from workbench import FIRST, LEVELS, SECOND, TASKS

from spanloom.errors import NameNotFound
from spanloom.training import distributed
from spanloom.training.distributed import ProcessGroup
from spanloom.training.loop import METRICS

# A softmax is the same whatever is added to all of its inputs, and of one input (every span here is
# one word) it is 1. So these have no gradient but rounding, which Adam scales up to whole steps.
WITHOUT_GRADIENT = ("key.bias", "attention.score.bias", "attention.score.weight")
CHILD = Path(__file__).with_name("child.py")
SUMS = Path(__file__).with_name("child_sums.py")


class Twin(ProcessGroup):
    """One of two processes that are threads: sums meet the other's at a barrier."""

    def __init__(self, rank, table, barrier):
        self.rank, self.world_size, self.device = rank, 2, torch.device("cpu")
        self.table, self.barrier = table, barrier

    def sum_in_place(self, tensors):
        self.table[self.rank] = [tensor.clone() for tensor in tensors]
        self.barrier.wait(10)
        for tensor, *parts in zip(tensors, *self.table, strict=True):
            tensor.copy_(sum(parts))
        self.barrier.wait(10)


def test_gradients_of_two_processes_add_up_and_untouched_ones_stay_none():
    networks = [nn.Sequential(*(nn.Linear(2, 3) for _ in range(4))) for _ in range(2)]
    for network in networks:
        network[3].requires_grad_(False)
    networks[0][0].weight.grad = torch.full((3, 2), 1.0)
    networks[1][0].weight.grad = torch.full((3, 2), 2.0)
    networks[1][1].bias.grad = torch.tensor([1.0, 2.0, 3.0])
    table, barrier = [None, None], threading.Barrier(2)
    threads = [
        threading.Thread(target=Twin(rank, table, barrier).sum_gradients, args=[networks[rank]])
        for rank in range(2)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for network in networks:
        assert torch.equal(network[0].weight.grad, torch.full((3, 2), 3.0))
        assert torch.equal(network[1].bias.grad, torch.tensor([1.0, 2.0, 3.0]))
        touched = [name for name, each in network.named_parameters() if each.grad is not None]
        assert touched == ["0.weight", "1.bias"]


def test_others_wait_while_the_first_scores_dev_and_tunes_biases(monkeypatch):
    """Half an hour, as torch has it, is less than ten tasks take."""
    given = {}

    def accelerator(**options):
        given.update(options)
        return SimpleNamespace(device=torch.device("cpu"), process_index=0, num_processes=1)

    monkeypatch.setattr(distributed, "Accelerator", accelerator)
    ProcessGroup("cpu")
    (handler,) = given["kwargs_handlers"]
    assert handler.timeout >= timedelta(hours=12)


def test_all_processes_have_the_parameters_of_the_first():
    parameters = [[nn.Parameter(torch.full((2, 3), float(rank)))] for rank in range(2)]
    table, barrier = [None, None], threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        [*pool.map(lambda rank: Twin(rank, table, barrier).share(parameters[rank]), range(2))]
    for (parameter,) in parameters:
        assert torch.equal(parameter.data, torch.zeros(2, 3))


@pytest.mark.parametrize("device", ["cuda:1", "mps", "meta", "gpu"])
def test_other_devices_than_a_cpu_and_gpus_are_refused(device):
    with pytest.raises(NameNotFound, match="no device"):
        ProcessGroup(device)


def test_one_process_is_first_and_changes_nothing():
    alone = ProcessGroup("cpu")
    network = nn.Linear(2, 2)
    alone.sum_gradients(network)
    assert network.weight.grad is None
    assert (alone.is_first, alone.world_size) == (True, 1)
    assert alone.agree("x") == "x"
    assert torch.equal(alone.sum(torch.ones(2)), torch.ones(2))


def calm(spec):
    """A task or level without dropout."""
    return spec | {"dropout": 0.0}


@pytest.mark.slow
def test_sums_of_long_and_short_tensors_are_those_of_all_processes(tmp_path):
    run(*torchrun(), SUMS, tmp_path)
    for rank in range(2):
        sums = load_file(tmp_path / f"{rank}.safetensors")
        assert {name: tuple(each.shape) for name, each in sums.items()} == {
            "long": (300, 200),
            "short": (3, 2),
            "scalar": (),
            "transposed": (400, 100),
        }
        for name, each in sums.items():  # the first process has 1, 2, …, the second ten times that
            first = torch.arange(1, each.numel() + 1.0)
            shape = (100, 400) if name == "transposed" else each.shape
            want = (11 * first).reshape(shape)
            assert torch.equal(each, want.T if name == "transposed" else want), name


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(bench, tmp_path):
    path = bench.write(
        "two.yaml",
        trunk=[{"transformer": str(bench.home / "encoder"), "dropout": 0.0}],
        embedding_dropout=0.0,
        levels=[calm(level) for level in LEVELS],
        tasks={name: calm(task) for name, task in TASKS.items()},
        stages=[FIRST | {"batch_words": 10}, SECOND],
    )
    outs = [tmp_path / "one", tmp_path / "two"]
    for out, how in zip(outs, ([], torchrun()), strict=True):
        run(*how, CHILD, path, out)
    one, two = (losses(out) for out in outs)
    assert one.keys() == two.keys()
    for update, mine in one.items():
        assert two[update] == pytest.approx(mine, abs=1e-5, rel=1e-5)
    weights = [load_file(out / "model.safetensors") for out in outs]
    for name, mine in weights[0].items():
        if not name.endswith(WITHOUT_GRADIENT):
            assert torch.allclose(mine, weights[1][name], atol=1e-5), name


@pytest.mark.slow
def test_two_processes_with_a_batch_each_drop_what_one_drops(bench, tmp_path):
    path = bench.write("whole.yaml", stages=[FIRST | {"epochs": 0.5}])
    outs = [tmp_path / "one", tmp_path / "two"]
    for out, how in zip(outs, ([], torchrun()), strict=True):
        run(*how, CHILD, path, out)
    one, two = (losses(out) for out in outs)
    assert len(one) > 2
    assert [*two] == [*one]
    for update, mine in one.items():
        assert two[update] == pytest.approx(mine)


def run(*arguments):
    """Run Python with one thread a process, off a GPU."""
    quiet = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def losses(out):
    lines = out.with_name(f"{out.name}.run").joinpath(METRICS).read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return {each["step"]: each["losses"] for each in found if "losses" in each}
