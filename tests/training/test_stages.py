"""What a stage does to heads and losses: some begin anew, some leave, some weigh more."""

from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from test_resume import Stopped, same, stop_at
from workbench import events

from spanloom.model import serialization
from spanloom.training import biases, checkpoint, loop, warm_start
from spanloom.training.checkpoint import is_better
from spanloom.training.loop import BEST, OWN, StageTrainer
from spanloom.training.progress_line import LogIntervals
from spanloom.training.validation import TrainingPredictor
from spanloom.training.warm_start import remove_tasks, reset_head

BOTH = {"tasks": ["steps", "names"], "epochs": 1, "batch_words": 40, "precision": "fp32"}
ALONE = BOTH | {"tasks": ["steps"]}


def weights(network, start):
    state = network.state_dict()
    return {name: each.clone() for name, each in state.items() if name.startswith(start)}


def equal(one, two):
    return one.keys() == two.keys() and all(one[name].equal(two[name]) for name in one)


@pytest.fixture
def model(bench):
    return bench.fresh()[0]


def test_a_new_head_follows_from_its_seed_alone(model):
    network, found = model.network, []
    rest = {k: v for k, v in weights(network, "").items() if not k.startswith("heads.steps.")}
    before = weights(network, "heads.steps.")
    for state, seed in ((1, "5/1"), (2, "5/1"), (1, "5/2"), (1, "6/1")):
        torch.manual_seed(state)
        reset_head(model, "steps", seed)
        found.append(weights(network, "heads.steps."))
    assert not equal(found[0], before)
    assert equal(found[0], found[1])
    assert not equal(found[0], found[2])
    assert not equal(found[0], found[3])
    now = {k: v for k, v in weights(network, "").items() if not k.startswith("heads.steps.")}
    assert equal(rest, now)


def test_what_is_dropped_is_gone_and_the_rest_stays(model):
    kept = weights(model.network, "heads.names.")
    left = remove_tasks(model, ["steps"])
    assert list(left.tasks) == ["names"]
    assert list(left.network.heads) == ["names"]
    assert left.recipe.removed_tasks == ("steps",)
    assert left.recipe.kept_tasks == ("names",)
    assert equal(weights(left.network, "heads.names."), kept)
    assert not weights(left.network, "heads.steps.")
    assert remove_tasks(left, []) is left
    assert remove_tasks(left, ["steps"]).recipe.removed_tasks == ("steps",)


def test_a_shared_head_stays_while_anyone_uses_it(model):
    network = model.network
    del network.heads["names"]
    network.routes["names"] = network.routes["steps"]
    assert list(remove_tasks(model, ["steps"]).network.heads) == ["steps"]


@pytest.mark.parametrize(("fresh", "anew"), [([], False), (["steps"], True)])
def test_a_fresh_head_starts_anew_and_all_else_goes_on(bench, tmp_path, monkeypatch, fresh, anew):
    run = bench.run(tmp_path, stages=[BOTH, ALONE | {"reset_heads": fresh}])
    starts = []
    real = loop.build_optimizer

    def making(network, spec):
        starts.append(weights(network, ""))
        return real(network, spec)

    monkeypatch.setattr(loop, "build_optimizer", making)
    with monkeypatch.context() as patch:
        patch.setattr(loop.StageTrainer, "_out_of_patience", lambda self: self.progress.stage == 1)
        run.train(LogIntervals(1e9), resume=False)
    best = load_file(tmp_path / BEST / "model.safetensors")
    head = {name for name in best if name.startswith("heads.steps.")}
    assert all(starts[1][name].equal(best[name]) for name in best.keys() - head)
    assert all(starts[1][name].equal(best[name]) for name in head) != anew
    if anew:
        warm_start.reset_head(run.model, "steps", "5/1")
        assert equal(weights(run.model.network, "heads.steps."), _of(starts[1], "heads.steps."))


def _of(state, start):
    return {name: each for name, each in state.items() if name.startswith(start)}


def test_a_stage_that_drops_a_task_leaves_a_model_without_it(bench, tmp_path):
    bench.train(tmp_path / "model", stages=[BOTH, ALONE | {"remove_tasks": ["names"]}])
    loaded = serialization.load(tmp_path / "model", device="cpu")
    assert list(loaded.tasks) == ["steps"]
    assert list(loaded.network.heads) == ["steps"]
    assert loaded.recipe.removed_tasks == ("names",)
    assert loaded("add warm buffer .").layers[0].name == "main"


SHORT = ALONE | {"batch_words": 100}
CHANGED = SHORT | {"remove_tasks": ["names"], "reset_heads": ["steps"]}
DROPPING = {"stages": [BOTH | {"batch_words": 100}, CHANGED, SHORT]}


@pytest.fixture(scope="module")
def through(bench, tmp_path_factory):
    """The model of a run of three stages that nobody interrupted."""
    out = tmp_path_factory.mktemp("through") / "model"
    bench.train(out, **DROPPING)
    return out


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (warm_start, "reset_head", 1),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                (warm_start, "remove_tasks", 2),
                (warm_start, "remove_tasks", 3),
                (serialization, "save", 2),
                (serialization, "save", 3),
                (serialization, "load_weights", 2),
                *((checkpoint, "save", call) for call in (2, 5, 8, 10)),
            )
        ),
    ],
)
def test_a_run_stopped_where_heads_change_goes_on(
    bench, through, tmp_path, monkeypatch, owner, name, call, after
):
    with monkeypatch.context() as patch:
        stop_at(patch, owner, name, call, after=after)
        with pytest.raises(Stopped):
            bench.train(tmp_path / "model", **DROPPING)
    bench.train(tmp_path / "model", resume=True, **DROPPING)
    same(tmp_path / "model", through)


@pytest.mark.parametrize("weight", [0.25, 3.0])
def test_a_weight_multiplies_the_gradients_of_its_task_alone(bench, tmp_path, weight):
    found = []
    for row, weighed in enumerate(({}, {"steps": weight})):
        run = bench.run(tmp_path / str(row), stages=[BOTH | {"loss_weights": weighed}])
        stage = StageTrainer(run, run.recipe.stages[0])
        found.append({name: _gradients(stage, name) for name in BOTH["tasks"]})
    plain, weighed = found
    for name, factor in (("steps", weight), ("names", 1.0)):
        for key, grad in plain[name].items():
            torch.testing.assert_close(weighed[name][key], grad * factor, rtol=1e-3, atol=1e-5)


def _gradients(stage, name):
    stage.optimizer.zero_grad(set_to_none=True)
    draw = next(draw for update in stage.draw_epoch() for draw in update if draw.tasks == (name,))
    torch.manual_seed(0)
    stage.backward((draw,))
    every = stage.model.network.named_parameters()
    return {key: each.grad.clone() for key, each in every if each.grad is not None}


def test_what_is_told_of_losses_is_not_weighed(bench, tmp_path):
    told = []
    for row, weighed in enumerate(({}, {"names": 9.0})):
        run = bench.run(tmp_path / str(row), stages=[BOTH | {"loss_weights": weighed}])
        stage = StageTrainer(run, run.recipe.stages[0])
        draw = next(
            draw for update in stage.draw_epoch() for draw in update if draw.tasks == ("names",)
        )
        torch.manual_seed(0)
        told.append(stage.backward((draw,))["names.span"].item())
    assert told[0] == pytest.approx(told[1])


def test_weights_reach_a_whole_run(bench, tmp_path):
    """A weight of nearly nothing leaves what only that task learns nearly where it was."""
    moved = []
    for row, weighed in enumerate(({}, {"names": 1e-12})):
        stage = BOTH | {
            "loss_weights": weighed,
            "optimizer": "adam",
            "max_grad_norm": None,
            "warmup_updates": 0,
        }
        stage["weight_decay"] = 0
        run = bench.run(tmp_path / str(row), stages=[stage])
        before = weights(run.model.network, "heads.names.")
        steps = StageTrainer(run, run.recipe.stages[0])
        for update in steps.draw_epoch():
            steps.update(update, SimpleNamespace(log=10**9, checkpoint=1e9))
        after = weights(run.model.network, "heads.names.")
        moved.append(max(float((after[k] - before[k]).abs().max()) for k in before))
    assert moved[1] < moved[0] / 10


def test_each_tasks_own_best_is_kept_beside_the_best_for_all(bench, tmp_path):
    said = bench.train(
        tmp_path / "model",
        stages=[
            BOTH | {"epochs": 2, "eval_every_epochs": 0.5, "save_best_per_task": True},
            ALONE | {"save_best_per_task": True},
        ],
    )
    scored = [each["dev"] for each in events(tmp_path / "model") if "dev" in each]
    run = tmp_path / "model.run"
    assert sorted(each.name for each in (run / OWN).iterdir()) == ["names", "steps"]
    for task, figure in (("steps", "mean_f1"), ("names", "span_f1")):
        best = max(each[f"{task}.{figure}"] for each in scored if f"{task}.{figure}" in each)
        kept = serialization.load(run / OWN / task, device="cpu", precision="fp32")
        dev = bench.fresh()[1].data[task].dev
        again = kept.tasks[task].score(TrainingPredictor(kept), dev)
        assert again[figure] == best, said


def test_an_own_best_of_a_stage_with_more_tasks_is_tuned_as_it_was(bench, tmp_path, monkeypatch):
    """The best of ``steps`` is of the first stage, so it has the head of ``names``, too."""
    monkeypatch.setattr(biases, "MIN_SPANS", 1)
    monkeypatch.setattr(
        loop.validation,
        "evaluate",
        lambda model, stage, data: {
            f"{name}.{metric}": 0.5 * (len(stage.tasks) > 1)
            for name, metric in (("steps", "mean_f1"), ("names", "span_f1"))
            if name in stage.tasks
        },
    )
    first, second = BOTH | {"save_best_per_task": True}, ALONE | {"remove_tasks": ["names"]}
    bench.train(tmp_path / "model", stages=[first, second])
    kept = serialization.load(tmp_path / "model.run" / OWN / "steps", device="cpu")
    assert set(kept.tasks) == {"steps", "names"}
    assert list(serialization.load(tmp_path / "model", device="cpu").tasks) == ["steps"]


def test_an_own_best_is_kept_of_a_stage_that_does_not_ask_for_it(bench, tmp_path, monkeypatch):
    """The score of an own best is that of all stages, so is the model."""
    score = {"steps": 0.5, "names": 0.5}
    monkeypatch.setattr(
        loop.validation,
        "evaluate",
        lambda model, stage, data: {
            f"{name}.span_f1": score[name] + 0.1 * (len(stage.tasks) == 1) for name in stage.tasks
        },
    )
    progress = bench.run(tmp_path, stages=[BOTH | {"save_best_per_task": True}, ALONE]).train(
        LogIntervals(1e9), resume=False
    )
    assert progress.best_per_task == {"steps": 0.6, "names": 0.5}
    own, best = (
        load_file(tmp_path / name / "model.safetensors") for name in (f"{OWN}/steps", BEST)
    )
    assert equal(own, best)


def test_each_stage_computes_in_its_own_precision(bench, tmp_path, monkeypatch):
    seen = []
    backward = StageTrainer.backward

    def watch(trainer, update, batches):
        seen.append((trainer.progress.stage, trainer.model.compute.bf16))
        return backward(trainer, update, batches)

    monkeypatch.setattr(StageTrainer, "backward", watch)
    bench.train(tmp_path / "model", stages=[BOTH, BOTH | {"precision": "bf16"}])
    assert set(seen) == {(0, False), (1, True)}


@pytest.mark.parametrize(
    ("score", "best", "better"),
    [(0.0, None, True), (0.0, 0.0, True), (0.5, 0.5, False), (0.6, 0.5, True), (0.0, 0.5, False)],
)
def test_of_models_that_find_nothing_the_later_is_kept(score, best, better):
    assert is_better(score, best) == better
