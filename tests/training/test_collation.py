"""Batches are the same whether the process that trains collates them or workers do."""

import multiprocessing
import os
import signal
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer, processors
from workbench import TASKS, Bench

from spanloom.errors import FormatError, WorkerError
from spanloom.training import collation, loop
from spanloom.training.collation import count_workers
from spanloom.training.loop import StageTrainer

STAGES = [{"tasks": ["steps", "names", "text"], "epochs": 2, "batch_words": 24}]
TEXT = {"data": "corpus", "kind": "masked_lm"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A bench whose tokenizer puts special pieces around a text, so that it can be masked."""
    bench = Bench(tmp_path_factory.mktemp("bench"))
    file = str(bench.home / "encoder" / "tokenizer.json")
    tokenizer = Tokenizer.from_file(file)
    ends = [(piece, tokenizer.token_to_id(piece)) for piece in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    tokenizer.save(file)
    return bench


@pytest.fixture
def recipe():
    return {"tasks": TASKS | {"text": TEXT}, "stages": STAGES}


def tensors(value):
    """All tensors of nested values, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [leaf for name in sorted(value) for leaf in tensors(value[name])]
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in tensors(item)]
    names = getattr(value, "__dataclass_fields__", ())
    return [leaf for name in names for leaf in tensors(getattr(value, name))]


@pytest.mark.parametrize("workers", [1, 2])
def test_other_processes_collate_the_same_in_the_same_order(bench, tmp_path, recipe, workers):
    run = bench.run(tmp_path, **recipe)
    stage = StageTrainer(run, run.recipe.stages[0])
    updates = stage.draw_epoch()
    seeds = [stage._seed_of(row) for row in range(len(updates))]
    here = list(stage.collation.prefetch(updates, seeds, 0))
    before = torch.get_rng_state()
    there = list(stage.collation.prefetch(updates, seeds, workers))
    assert torch.equal(torch.get_rng_state(), before)
    assert len(here) == len(there) == len(updates) > 3
    for batches, same in zip(here, there, strict=True):
        assert [part.shard for part in batches] == [part.shard for part in same]
        assert [part.batch.words for part in batches] == [part.batch.words for part in same]
        mine = tensors([(part.batch, dict(part.targets)) for part in batches])
        others = tensors([(part.batch, dict(part.targets)) for part in same])
        assert len(mine) == len(others) > 5
        assert all(map(torch.equal, mine, others))


def test_a_run_learns_the_same_with_batches_of_other_processes(
    bench, tmp_path, recipe, monkeypatch
):
    asked = []

    def two(processes, num_updates):
        asked.append(num_updates)
        return 2

    alone = bench.run(tmp_path / "alone", **recipe)
    alone.train(loop.LogIntervals(10**9), resume=False)
    monkeypatch.setattr(loop, "count_workers", two)
    ahead = bench.run(tmp_path / "ahead", **recipe)
    ahead.train(loop.LogIntervals(10**9), resume=False)
    assert len(asked) == 2
    weights, same = alone.model.network.state_dict(), ahead.model.network.state_dict()
    assert all(torch.equal(weight, same[name]) for name, weight in weights.items())


@pytest.fixture
def broken(bench, tmp_path, recipe, monkeypatch):
    """A function that lets a worker call something when it collates, and returns its batches."""

    def batches_of(call):
        run = bench.run(tmp_path, **recipe)
        stage = StageTrainer(run, run.recipe.stages[0])
        updates = stage.draw_epoch()
        monkeypatch.setattr(collation, "collate", call)
        return stage.collation.prefetch(updates, [stage._seed_of(0)] * len(updates), 1)

    return batches_of


def test_the_error_of_a_worker_is_raised_as_it_is(broken):
    def fail(*_):
        raise FormatError("a.txt", 7, f"leads its group: {os.getpgid(0) == os.getpid()}")

    with pytest.raises(FormatError) as caught:
        next(broken(fail))
    assert str(caught.value) == "a.txt:7: leads its group: True"
    assert caught.value.line == 7


@pytest.mark.slow
def test_a_worker_that_dies_is_told_of_where_its_batch_is_waited_for(broken):
    before = signal.getsignal(signal.SIGCHLD)
    batches = broken(lambda *_: os._exit(3))
    with pytest.raises(WorkerError, match="a process that makes batches has ended"):
        next(batches)
    assert signal.getsignal(signal.SIGCHLD) == before


def test_workers_end_with_the_epoch_they_collate_for(bench, tmp_path, recipe):
    run = bench.run(tmp_path, **recipe)
    stage = StageTrainer(run, run.recipe.stages[0])
    updates = stage.draw_epoch()
    batches = stage.collation.prefetch(updates, [stage._seed_of(0)] * len(updates), 2)
    others = set(multiprocessing.active_children())
    next(batches)
    workers = set(multiprocessing.active_children()) - others
    assert len(workers) == 2
    batches.close()
    assert not any(worker.is_alive() for worker in workers)


@pytest.mark.parametrize(
    ("device", "num_updates", "threads", "expected"),
    [("cpu", 999, 16, 0), ("cuda", 999, 16, 4), ("cuda", 9, 16, 0), ("cuda", 999, 2, 1)]
    + [("cuda", 999, 1, 0)],
)
def test_processes_collate_beside_a_gpu_alone_where_cores_are_idle(
    monkeypatch, device, num_updates, threads, expected
):
    monkeypatch.setattr(collation.torch, "get_num_threads", lambda: threads)
    processes = SimpleNamespace(device=torch.device(device))
    assert count_workers(processes, num_updates) == expected
    monkeypatch.setattr(multiprocessing, "current_process", lambda: SimpleNamespace(daemon=True))
    assert count_workers(processes, num_updates) == 0
