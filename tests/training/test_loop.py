"""What the loop promises: who is touched, when it stops, what a stage starts from."""

import json
import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file

from spanloom.errors import RecipeError, TrainingError
from spanloom.training import loop, validation
from spanloom.training.batch_schedule import draw_epoch
from spanloom.training.interrupt import Stopped
from spanloom.training.loop import BEST, METRICS, StageTrainer
from spanloom.training.progress_line import LogIntervals

CONTEXTS = [
    {"name": "low", "rnn": "lstm", "hidden_size": 4},
    {"name": "high", "rnn": "gru", "hidden_size": 4, "inputs": ["low"]},
]


def levelled(level):
    return {"data": "corpus", "kind": "entities", "level": level, "hidden_size": 16}


def test_an_update_touches_its_head_its_level_and_those_below(bench, tmp_path):
    tasks = {name: levelled(level) for name, level in (("a", "trunk"), ("b", "low"), ("c", "high"))}
    stages = [{"tasks": list(tasks), "epochs": 1, "precision": "fp32"}]
    run = bench.run(tmp_path, tasks=tasks, levels=CONTEXTS, stages=stages)
    stage = StageTrainer(run, run.recipe.stages[0])
    draws = sum(stage.draw_epoch(), ())
    below = {"a": ["trunk"], "b": ["trunk", "levels.low"], "c": ["trunk", "levels.low"]}
    below["c"].append("levels.high")
    for name in tasks:
        stage.optimizer.zero_grad(set_to_none=True)
        draw = next(draw for draw in draws if draw.tasks == (name,))
        stage.backward((draw,))
        network = run.model.network
        touched = {
            ".".join(each.split(".")[: 1 if each.startswith("trunk") else 2])
            for each, value in network.named_parameters()
            if value.grad is not None
        }
        assert touched == {*below[name], f"heads.{name}"}


def scripted(monkeypatch, values):
    """Dev scores as given, the last one again and again."""
    left = list(values)

    def score(model, stage, data):
        value = left.pop(0) if len(left) > 1 else left[0]
        return {f"{name}.span_f1": value for name in stage.tasks}

    monkeypatch.setattr(loop.validation, "evaluate", score)


def one(**changes):
    stage = {"tasks": ["names"], "batch_words": 1000, "precision": "fp32", "epochs": 9} | changes
    return {"stages": [stage]}


@pytest.mark.parametrize(
    ("values", "patience", "stopped", "best"),
    [
        ([0.5, 0.6, 0.5], 2, 4, 2),
        ([0.5, 0.4, 0.6, 0.6], 2, 5, 3),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], 1, 9, 9),
        ([0.5], 1, 2, 1),
        ([0.5], None, 9, 1),
    ],
)
def test_patience_counts_epochs_without_a_better_score(
    bench, tmp_path, monkeypatch, values, patience, stopped, best
):
    scripted(monkeypatch, values)
    monkeypatch.setattr(StageTrainer, "update", lambda self, update, pace, batches: None)
    run = bench.run(tmp_path, **one(patience=patience))
    progress = run.train(LogIntervals(1e9), resume=False)
    assert (progress.epoch, progress.best_epoch) == (stopped, best)


def test_patience_shorter_than_the_interval_of_dev_scores_waits_for_the_next(
    bench, tmp_path, monkeypatch
):
    scripted(monkeypatch, [0.5, 0.6, 0.5])
    monkeypatch.setattr(StageTrainer, "update", lambda self, update, pace, batches: None)
    run = bench.run(tmp_path, **one(patience=1, eval_every_epochs=2))
    progress = run.train(LogIntervals(1e9), resume=False)
    assert (progress.epoch, progress.best_epoch) == (6, 4)


def test_a_run_resumed_inside_an_epoch_is_not_out_of_patience_there(bench, tmp_path, monkeypatch):
    """Patience is over at 2.5 epochs; it is asked for at the end of the third, when 0.6 is best."""
    scores = [0.1, 0.2, 0.5, 0.4, 0.3, 0.6, 0.6, 0.6, 0.6]
    recipe = one(patience=1, eval_every_epochs=0.5, batch_words=24)

    def stop_behind(epochs):
        monkeypatch.setattr(
            StageTrainer,
            "update",
            lambda self, update, pace, batches: self.progress.epochs_done >= epochs,
        )

    scripted(monkeypatch, scores)
    stop_behind(math.inf)
    whole = bench.run(tmp_path / "whole", **recipe).train(LogIntervals(1e9), resume=False)
    assert (whole.epoch, whole.best_epoch) == (4, 3)
    scripted(monkeypatch, scores)
    stop_behind(2.5)
    with pytest.raises(Stopped):
        bench.run(tmp_path / "stopped", **recipe).train(LogIntervals(1e9), resume=False)
    scripted(monkeypatch, scores[5:])
    stop_behind(math.inf)
    resumed = bench.run(tmp_path / "stopped", **recipe).train(LogIntervals(1e9), resume=True)
    assert (resumed.epoch, resumed.best_epoch) == (4, 3)


def test_a_plateau_halves_where_dev_stopped_rising(bench, tmp_path, monkeypatch):
    scripted(monkeypatch, [0.5, 0.4, 0.6, 0.6, 0.7])
    run = bench.run(tmp_path, **one(epochs=5, lr_schedule="plateau", warmup_updates=0))
    rates = []
    real = loop.set_rates
    monkeypatch.setattr(loop, "set_rates", lambda o, f: (rates.append(f), real(o, f)))
    run.train(LogIntervals(1e9), resume=False)
    assert rates == [1, 1, 0.5, 0.5, 0.25]


def test_rates_are_halved_after_as_many_scores_in_a_row_as_lr_patience(
    bench, tmp_path, monkeypatch
):
    scripted(monkeypatch, [0.5, 0.4, 0.6, 0.6, 0.6, 0.6, 0.6])
    changes = {"lr_schedule": "plateau", "warmup_updates": 0, "lr_patience": 2}
    run = bench.run(tmp_path, **one(epochs=7, **changes))
    rates = []
    real = loop.set_rates
    monkeypatch.setattr(loop, "set_rates", lambda o, f: (rates.append(f), real(o, f)))
    run.train(LogIntervals(1e9), resume=False)
    assert rates == [1, 1, 1, 1, 1, 0.5, 0.5]


@pytest.mark.parametrize(
    ("metric", "hint"),
    [
        ("names.span_f", "names.span_f1"),
        ("names.relation_f1", "names.span_f1"),
        ("names", "names.span_f1"),
    ],
)
def test_a_figure_that_no_task_has_is_refused_before_training(bench, metric, hint):
    with pytest.raises(
        RecipeError, match=f"stages.0.validation_metric: no metric '{metric}'.*{hint}"
    ):
        bench.fresh(**one(validation_metric=metric))


def test_figures_watched_are_the_figures_told(bench, tmp_path):
    run = bench.run(tmp_path)
    told = validation.evaluate(run.model, run.recipe.stages[0], run.prepared.data)
    known = [f"{n}.{each}" for n, task in run.model.tasks.items() for each in task.metric_names]
    assert list(told) == known


@pytest.mark.parametrize(
    ("metric", "expected"),
    [(None, (0.2 + 0.8) / 2), ("steps.span_f1", 0.3), ("names.span_f1", 0.8)],
)
def test_what_decides_is_the_metric_or_the_mean_of_first_figures(bench, tmp_path, metric, expected):
    stage = {"tasks": ["steps", "names"], "precision": "fp32", "validation_metric": metric}
    run = bench.run(tmp_path, stages=[stage])
    figures = {
        **{"steps.mean_f1": 0.2, "steps.span_f1": 0.3, "steps.relation_f1": 0.1},
        "names.span_f1": 0.8,
    }
    assert validation.selection_score(figures, run.recipe.stages[0]) == pytest.approx(expected)


def test_a_stage_starts_from_the_best_weights_of_the_last_with_a_fresh_optimiser(
    bench, tmp_path, monkeypatch
):
    stage = one(epochs=4)["stages"][0]
    scripted(monkeypatch, [0.1, 0.9, 0.3])
    run = bench.run(tmp_path, stages=[stage, stage | {"epochs": 1}])
    best, seen = {}, []
    real_save, real_optimiser = loop.serialization.save, loop.build_optimizer

    def saving(model, place, *, figures):
        real_save(model, place, figures=figures)
        best.setdefault(run.progress.stage, {}).update(load_file(place / "model.safetensors"))

    def making(network, spec):
        made = real_optimiser(network, spec)
        now = {name: each.clone() for name, each in network.state_dict().items()}
        seen.append((now, len(made.state)))
        return made

    monkeypatch.setattr(loop.serialization, "save", saving)
    monkeypatch.setattr(loop, "build_optimizer", making)
    run.train(LogIntervals(1e9), resume=False)
    started, state = seen[1]
    assert state == 0
    assert all(torch.equal(each, best[0][name]) for name, each in started.items())
    assert any(not torch.equal(each, seen[0][0][name]) for name, each in started.items())


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_the_run_and_names_the_update(bench, tmp_path, bad):
    run = bench.run(tmp_path, **one())
    with torch.no_grad():
        for each in run.model.network.heads["names"].parameters():
            each.fill_(bad)
    before = {name: each.clone() for name, each in run.model.network.named_parameters()}
    with pytest.raises(TrainingError, match=r"update 1: .*lr"):
        run.train(LogIntervals(1e9), resume=False)
    for name, each in run.model.network.named_parameters():
        assert torch.equal(each.nan_to_num(), before[name].nan_to_num())


def test_a_frozen_trunk_stays_and_has_no_part_in_the_gradient(bench, tmp_path, monkeypatch):
    scripted(monkeypatch, [0.1, 0.2])  # the first update has a rate of 0
    run = bench.run(tmp_path, **one(epochs=2, lr={"encoder": 0, "task": 0.01}))
    before = {name: each.clone() for name, each in run.model.network.named_parameters()}
    run.train(LogIntervals(1e9), resume=False)
    for name, each in run.model.network.named_parameters():
        if ".encoder." in name:
            assert torch.equal(each, before[name]), name
            assert each.grad is None, name
        if name.startswith(("trunk.0.layers", "heads.names.spans")):
            assert each.grad is not None, name
    assert not torch.equal(run.model.network.trunk[0].layers.scale, before["trunk.0.layers.scale"])


def test_fractions_of_an_epoch_stop_where_they_say(bench, tmp_path):
    changes = one(epochs=1.5, batch_words=10)
    run = bench.run(tmp_path, **changes)
    spec, data = run.recipe.stages[0], run.prepared.data
    how = {"seed": "5/0", "window": 64, "tokenize_prompt": run.model.tokenize_prompt}
    lengths = [len(draw_epoch(spec, data, epoch=n, **how)) for n in (0, 1)]
    progress = run.train(LogIntervals(1e9), resume=False)
    assert progress.global_step == lengths[0] + round(lengths[1] / 2)


def test_the_best_model_is_what_the_folder_holds(bench, tmp_path, monkeypatch):
    scripted(monkeypatch, [0.2, 0.9, 0.1])
    run = bench.run(tmp_path, **one(epochs=3))
    progress = run.train(LogIntervals(1e9), resume=False)
    assert progress.metrics == {"names.span_f1": 0.9}
    assert "| names.span_f1 | 90.00 |" in (tmp_path / BEST / "README.md").read_text()
    there = load_file(tmp_path / BEST / "model.safetensors")
    network = run.model.network.state_dict()
    assert all(torch.equal(each, network[name]) for name, each in there.items())


def test_each_tasks_updates_to_its_best_score_are_counted(bench, tmp_path):
    run = bench.run(tmp_path / "run")
    progress = run.train(LogIntervals(0.0), resume=False)
    drawn = Counter()
    fresh = bench.run(tmp_path / "again")
    for number, spec in enumerate(fresh.recipe.stages):
        fresh.progress.stage = number
        stage = StageTrainer(fresh, spec)
        for epoch in range(math.ceil(spec.epochs)):
            fresh.progress.epoch = epoch
            updates = stage.draw_epoch()
            for update in updates[: math.ceil((spec.epochs - epoch) * len(updates))]:
                drawn.update({task for batch in update for task in batch.tasks})
    assert progress.task_updates == drawn
    assert progress.best_updates.keys() == progress.best_per_task.keys()
    assert all(0 < n <= drawn[task] for task, n in progress.best_updates.items())
    lines = [json.loads(line) for line in (tmp_path / "run" / METRICS).read_text().splitlines()]
    counted = [line["task_updates"] for line in lines if "dev" in line]
    assert counted[-1] == progress.task_updates
    assert all(a[task] <= b[task] for a, b in pairwise(counted) for task in a)
