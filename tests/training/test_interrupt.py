"""Ctrl-C and SIGTERM: the update is finished and kept, and what is left can be used."""

import os
import shutil
import signal
import threading

import pytest
from test_distributed import Twin
from test_resume import each_update_once, same
from torch import nn
from workbench import events

from spanloom.document import Document
from spanloom.model import serialization
from spanloom.termination import terminable
from spanloom.training import checkpoint, validation
from spanloom.training.interrupt import Stopped, defer_interrupt
from spanloom.training.loop import BEST, StageTrainer
from spanloom.training.train import is_unfinished, run_folder

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def usual_signals():
    """What a shell's foreground jobs begin with: others may be deaf to Ctrl-C."""
    usual = zip(SIGNALS, (signal.default_int_handler, signal.SIG_DFL), strict=True)
    before = {number: signal.signal(number, handler) for number, handler in usual}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def told(number):
    os.kill(os.getpid(), number)


def at_call(monkeypatch, owner, name, call, number):
    """Send this process a signal at the so-manyth call of a function."""
    real, calls = getattr(owner, name), []

    def telling(*args, **kwargs):
        calls.append(1)
        if len(calls) == call:
            told(number)
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, telling)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_is_noted_the_second_ends(number):
    with terminable(), defer_interrupt() as interrupt:
        told(number)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            told(number)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_of_several_processes_holds_all_of_them():
    with defer_interrupt(patient=True) as interrupt:
        for number in SIGNALS * 2:
            told(number)
        assert interrupt.asked


@pytest.mark.parametrize("before", [True, False])
def test_at_once_ends_a_block(before):
    reached = []

    def block(interrupt):
        with interrupt.at_once():
            reached.append(1)
            told(signal.SIGTERM)

    with defer_interrupt() as interrupt:
        if before:
            told(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            block(interrupt)
        assert interrupt.asked
        assert bool(reached) is not before


def test_sigterm_is_as_ctrl_c_and_the_handler_of_others_stays():
    with pytest.raises(KeyboardInterrupt), terminable():
        told(signal.SIGTERM)
    heard = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        with terminable():
            told(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert heard == [1]


@pytest.mark.parametrize("asks", [(0,), (1,), (0, 1), ()])
def test_processes_agree_on_whether_to_stop(asks):
    table, barrier, agreed = [None, None], threading.Barrier(2), {}

    def summed(rank):
        twin = Twin(rank, table, barrier)
        agreed[rank] = twin.sum_gradients(nn.Linear(2, 2), stop=rank in asks)

    threads = [threading.Thread(target=summed, args=[rank]) for rank in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert agreed == {0: bool(asks), 1: bool(asks)}


def stopped(bench, out, pace=1e9, **changes):
    with pytest.raises(Stopped) as stop:
        bench.train(out, pace=pace, **changes)
    return str(stop.value)


def annotates(model):
    (made,) = serialization.load(model, device="cpu").annotate(
        [Document("add warm buffer .")], ["names"]
    )
    return bool({"main", "names"} & {each.name for each in made.layers})


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM]
)
def test_stopped_before_dev_was_scored_a_model_is_left(
    bench, undisturbed, tmp_path, monkeypatch, number
):
    out = tmp_path / "model"
    with monkeypatch.context() as patch:
        at_call(patch, StageTrainer, "backward", 1, number)
        said = stopped(bench, out, pace=0.0)
    assert said == f"the model as it stands after 1 updates, dev never scored: {out}"
    assert annotates(out)
    assert is_unfinished(out)
    progress = checkpoint.read_progress(run_folder(out) / "state", bench.fresh()[1].fingerprint)
    assert progress.global_step == 1
    shutil.copytree(run_folder(out), run_folder(tmp_path / "again"))
    note = f"{run_folder(tmp_path / 'again')}: has a run that was stopped; --resume goes on with it"
    assert any(line.startswith(note) for line in bench.train(tmp_path / "again"))
    assert not any("was stopped" in line for line in bench.train(out, resume=True))
    same(out, undisturbed)
    assert not is_unfinished(out)
    assert each_update_once(out) == each_update_once(undisturbed)


def test_stopped_while_dev_is_scored_it_is_scored_anew(bench, undisturbed, tmp_path, monkeypatch):
    out = tmp_path / "model"
    with monkeypatch.context() as patch:
        at_call(patch, validation, "evaluate", 2, signal.SIGTERM)
        said = stopped(bench, out)
    assert said.startswith("the best model so far, of epoch 0.")
    assert said.endswith(f": {out}")
    assert (out / "model.safetensors").read_bytes() == (
        run_folder(out) / BEST / "model.safetensors"
    ).read_bytes()
    with monkeypatch.context() as patch:  # once more, right after that scoring
        at_call(patch, StageTrainer, "_report", 1, signal.SIGINT)
        stopped(bench, out, resume=True)
    bench.train(out, resume=True)
    same(out, undisturbed)
    looks = [each["step"] for each in events(out) if "dev" in each]
    assert looks == [each["step"] for each in events(undisturbed) if "dev" in each]


def test_stopped_in_a_later_stage_the_best_of_the_one_before_is_left(
    bench, undisturbed, tmp_path, monkeypatch
):
    out = tmp_path / "model"
    with monkeypatch.context() as patch:
        at_call(patch, checkpoint, "save", 2, signal.SIGTERM)  # as the second stage begins
        said = stopped(bench, out)
    assert said == f"the best model of stage 0: {out}"
    bench.train(out, resume=True)
    same(out, undisturbed)


def test_a_model_that_stands_there_is_not_replaced(bench, undisturbed, tmp_path, monkeypatch):
    out, one = tmp_path / "model", [{"tasks": ["names"], "epochs": 0.2, "precision": "fp32"}]
    bench.train(out, stages=one)
    before = (out / "manifest.json").read_bytes()
    with monkeypatch.context() as patch:
        at_call(patch, StageTrainer, "backward", 1, signal.SIGTERM)
        said = stopped(bench, out)
    assert said.endswith(f": {run_folder(out) / BEST}")
    assert (out / "manifest.json").read_bytes() == before
    assert annotates(run_folder(out) / BEST)
    bench.train(out, resume=True)
    same(out, undisturbed)
