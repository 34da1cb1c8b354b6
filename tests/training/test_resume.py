"""A run that was stopped anywhere and resumed ends as one that was not, bit for bit."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from workbench import events

from spanloom.errors import ModelError, TrainingError
from spanloom.model import serialization
from spanloom.training import checkpoint
from spanloom.training.loop import METRICS, Run

CHILD = Path(__file__).with_name("child.py")
FILES = ("model.safetensors", "recipe.yaml", "config.json", "tokenizer.json", "README.md")


class Stopped(BaseException):
    """As a kill: nothing in between catches it."""


def stop_at(monkeypatch, owner, name, call, *, after):
    """Raise at the so-manyth call of a function, before or after it did its work."""
    real, calls = getattr(owner, name), []

    def stopping(*args, **kwargs):
        calls.append(1)
        if len(calls) == call and not after:
            raise Stopped
        result = real(*args, **kwargs)
        if len(calls) == call:
            raise Stopped
        return result

    monkeypatch.setattr(owner, name, stopping)


def same(one, two):
    for name in FILES:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def each_update_once(out):
    found = events(out)
    updates = [each["step"] for each in found if "losses" in each]
    assert updates == list(range(1, len(updates) + 1))
    assert [each["step"] for each in found] == sorted(each["step"] for each in found)
    return len(updates)


def test_two_runs_of_one_recipe_are_the_same_model(bench, undisturbed, tmp_path):
    bench.train(tmp_path / "again", pace=1e9)
    same(tmp_path / "again", undisturbed)


STOPS = [
    (checkpoint, "save", 2),
    (checkpoint, "save", 7),
    (serialization, "save", 1),
    (serialization, "save", 2),
    (serialization, "load_weights", 1),
    (Run, "_enter_stage", 2),
    (serialization, "load_weights", 2),
    (serialization, "copy", 1),
]


def copy_run(out, copy):
    """Copy what a run has written so far: its folder, and its model where there is one yet."""
    shutil.copytree(out.with_name(f"{out.name}.run"), copy.with_name(f"{copy.name}.run"))
    if out.exists():
        shutil.copytree(out, copy)


def copy_at(monkeypatch, out, folder, owner, name):
    """Copy what a run has written before and after each of the calls of a function."""
    real, calls = getattr(owner, name), []

    def copying(*args, **kwargs):
        calls.append(1)
        copy = f"{name}-{len(calls)}"
        if (owner, name, len(calls)) in STOPS:
            copy_run(out, folder / f"{owner.__name__}-{copy}-before")
        result = real(*args, **kwargs)
        if (owner, name, len(calls)) in STOPS:
            copy_run(out, folder / f"{owner.__name__}-{copy}-after")
        return result

    monkeypatch.setattr(owner, name, copying)


@pytest.fixture(scope="module")
def killed(bench, tmp_path_factory):
    """What runs have written that were killed at any of the stops: copies of one run's files."""
    folder = tmp_path_factory.mktemp("killed")
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in dict.fromkeys(stop[:2] for stop in STOPS):
            copy_at(patch, folder / "model", folder, owner, name)
        bench.train(folder / "model")
    return folder


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(("owner", "name", "call"), STOPS)
def test_stopped_once(bench, undisturbed, killed, owner, name, call, moment):
    out = killed / f"{owner.__name__}-{name}-{call}-{moment}"
    bench.train(out, resume=True)
    same(out, undisturbed)
    assert each_update_once(out) == each_update_once(undisturbed)


def test_stopped_in_the_second_stage_with_no_checkpoint_since(
    bench, undisturbed, tmp_path, monkeypatch
):
    """The best model in the folder is the second stage's by then."""
    with monkeypatch.context() as patch:
        real = serialization.save
        seen = []

        def saving(model, place, *, figures):
            real(model, place, figures=figures)
            seen.append(sorted({name.split(".")[0] for name in figures}))
            if seen[-1] == ["steps"]:
                raise Stopped

        patch.setattr(serialization, "save", saving)
        with pytest.raises(Stopped):
            bench.train(tmp_path / "model", pace=1e9)
    bench.train(tmp_path / "model", resume=True, pace=1e9)
    same(tmp_path / "model", undisturbed)


def test_stopped_behind_the_last_update_nothing_is_learnt_again(
    bench, undisturbed, tmp_path, monkeypatch
):
    out = tmp_path / "model"
    with monkeypatch.context() as patch:
        stop_at(patch, serialization, "copy", 1, after=False)
        with pytest.raises(Stopped):
            bench.train(out, pace=1e9)
    kept = json.loads((out.with_name("model.run") / "state" / "progress.json").read_text())
    assert kept["global_step"] == each_update_once(undisturbed)
    bench.train(out, resume=True, pace=1e9)
    same(out, undisturbed)


def test_a_fresh_run_forgets_the_checkpoint_of_the_last_one(
    bench, undisturbed, tmp_path, monkeypatch
):
    copy_run(undisturbed, tmp_path / "model")
    with monkeypatch.context() as patch:
        stop_at(patch, serialization, "save", 1, after=True)
        with pytest.raises(Stopped):
            bench.train(tmp_path / "model", pace=1e9)
    bench.train(tmp_path / "model", resume=True)
    same(tmp_path / "model", undisturbed)


def test_resuming_what_is_done_changes_nothing(bench, undisturbed, tmp_path):
    copy_run(undisturbed, tmp_path / "model")
    bench.train(tmp_path / "model", resume=True)
    same(tmp_path / "model", undisturbed)


def test_another_recipe_or_other_data_is_refused(bench, tmp_path, monkeypatch):
    one = {"stages": [{"tasks": ["names"], "epochs": 0.1, "precision": "fp32"}]}
    bench.train(tmp_path / "model", **one)
    with pytest.raises(TrainingError, match="seed was 5 when"):
        bench.train(tmp_path / "model", resume=True, seed=6, **one)
    dev = bench.home / "corpus/dev/dev0.ann"
    kept = dev.read_bytes()
    dev.write_bytes(kept.splitlines(keepends=True)[0])
    try:
        with pytest.raises(TrainingError, match="data changed"):
            bench.train(tmp_path / "model", resume=True, **one)
    finally:
        dev.write_bytes(kept)


def test_a_broken_checkpoint_is_refused(bench, tmp_path):
    one = {"stages": [{"tasks": ["names"], "epochs": 0.1, "precision": "fp32"}]}
    bench.train(tmp_path / "model", **one)
    state = tmp_path / "model.run/state/network.safetensors"
    raw = bytearray(state.read_bytes())
    raw[-1] ^= 1
    state.write_bytes(raw)
    with pytest.raises(ModelError, match="SHA-256"):
        bench.train(tmp_path / "model", resume=True, **one)


@pytest.mark.slow
def test_killed_at_random_moments(bench, undisturbed, tmp_path):
    """A process of its own, killed several times; each time it comes a few updates further."""
    chance = random.Random(time.time_ns())
    path, out = bench.write("killed.yaml"), tmp_path / "model"
    metrics = tmp_path / "model.run" / METRICS
    total = each_update_once(undisturbed)
    kills = 0
    while not out.exists():
        command = [sys.executable, str(CHILD), str(path), str(out), "--resume"]
        aim = (total * (kills + 1)) // 5 if kills < 4 else 10**9
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
            while child.poll() is None and updates(metrics) < aim:
                time.sleep(0.005)
            time.sleep(chance.random() * 0.1)
            child.kill() if kills < 4 else child.wait()
        killed = child.returncode == -signal.SIGKILL
        assert killed or child.returncode == 0
        kills += 1
    assert kills > 2
    same(out, undisturbed)
    assert each_update_once(out) == total


def updates(metrics):
    """How far a run came, its last line perhaps half written."""
    if not metrics.exists():
        return 0
    lines = metrics.read_text().splitlines()
    return max([0, *(json.loads(each)["step"] for each in lines if each.endswith("}"))])
