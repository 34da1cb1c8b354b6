"""One update, and exactly which weights it moves: its task's head, its level, those below."""

from dataclasses import replace

import pytest
import torch

from spanloom.config.specs import StageSpec
from spanloom.training.clipping import clipping_warning, iter_weight_warnings
from spanloom.training.loop import StageTrainer
from spanloom.training.progress_line import LogIntervals

LEVELS = [
    {"name": "low", "rnn": "lstm", "hidden_size": 4},
    {"name": "middle", "rnn": "gru", "hidden_size": 4, "inputs": ["trunk", "low"]},
    {"name": "high", "rnn": "lstm", "hidden_size": 4, "inputs": ["middle"], "scope": "sentence"},
    {"name": "beside", "rnn": "lstm", "hidden_size": 4, "inputs": ["trunk"]},
]
BELOW = {
    "ground": (),
    "a": ("low",),
    "b": ("low", "middle"),
    "c": ("low", "middle", "high"),
    "d": ("beside",),
}
TASKS = {
    "ground": {"data": "corpus", "kind": "entities", "hidden_size": 16},
    "a": {"data": "corpus", "kind": "entities", "level": "low", "hidden_size": 16},
    "b": {"data": "corpus", "kind": "relations", "level": "middle", "hidden_size": 16},
    "c": {
        "data": "corpus",
        "kind": "relations",
        "level": "high",
        "hidden_size": 16,
        "gold_spans": True,
    },
    "d": {"data": "corpus", "kind": "entities", "level": "beside", "hidden_size": 16},
}
UNTOUCHED = {"c": ("spans.",)}  # spans that are given are not scored

COREFERENCE = {"kind": "coreference", "gold_mentions": True}


@pytest.fixture(scope="module")
def stage(bench, tmp_path_factory):
    stages = [{"tasks": list(TASKS), "epochs": 1, "precision": "fp32"}]
    run = bench.run(tmp_path_factory.mktemp("run"), tasks=TASKS, levels=LEVELS, stages=stages)
    return StageTrainer(run, run.recipe.stages[0])


@pytest.mark.parametrize("name", TASKS)
def test_an_update_moves_its_head_its_level_and_all_below_and_nothing_else(stage, name):
    network = stage.model.network
    stage.optimizer.zero_grad(set_to_none=True)
    draw = next(draw for update in stage.draw_epoch() for draw in update if draw.tasks == (name,))
    stage.backward((draw,))
    mine = ("trunk.", f"heads.{name}.", *(f"levels.{level}." for level in BELOW[name]))
    without = tuple(f"heads.{name}.{part}" for part in UNTOUCHED.get(name, ()))
    expected = {
        key
        for key, _ in network.named_parameters()
        if key.startswith(mine) and not key.startswith(without)
    }
    touched = {key for key, each in network.named_parameters() if each.grad is not None}
    assert touched == expected
    moved = {key for key, each in network.named_parameters() if key in touched and each.grad.any()}
    for part in mine:
        assert any(key.startswith(part) for key in moved), part


def test_levels_that_nobody_asks_for_are_not_run(stage):
    network, ran = stage.model.network, []
    hooks = [
        level.register_forward_hook(lambda *_, name=name: ran.append(name))
        for name, level in network.levels.items()
    ]
    for name in TASKS:
        ran.clear()
        draw = next(
            draw for update in stage.draw_epoch() for draw in update if draw.tasks == (name,)
        )
        stage.backward((draw,))
        assert tuple(ran) == BELOW[name]
    for hook in hooks:
        hook.remove()


def test_one_pass_for_several_tasks_gives_the_gradients_of_each(stage):
    network = stage.model.network.eval()  # no dropout: both ways compute the same
    every = next(draw for update in stage.draw_epoch() for draw in update)
    asked = ("ground", "a", "b")

    def gradients(*groups):
        stage.optimizer.zero_grad(set_to_none=True)
        for names in groups:
            stage.backward((replace(every, tasks=names),))
        return {key: p.grad.clone() for key, p in network.named_parameters() if p.grad is not None}

    apart, together = gradients(*((name,) for name in asked)), gradients(asked)
    assert apart.keys() == together.keys()
    for key, grad in apart.items():
        torch.testing.assert_close(together[key], grad, msg=key)


def _gradient(stage, *updates):
    """Return the gradient of some updates; without dropout, so it follows from the batches."""
    network = stage.model.network.eval()
    stage.optimizer.zero_grad(set_to_none=True)
    losses = [stage.backward(update) for update in updates]
    named = network.named_parameters()
    return {key: p.grad.clone() for key, p in named if p.grad is not None}, losses


def test_an_update_is_the_same_however_its_batches_are_divided(stage):
    """A loss is a mean over the words of the whole update, not of a batch."""
    draw = next(draw for update in stage.draw_epoch() for draw in update if draw.tasks == ("a",))
    parts = tuple(
        replace(draw, instances=part) for part in (draw.instances[:1], draw.instances[1:])
    )
    whole, (losses,) = _gradient(stage, (draw,))
    divided, (same,) = _gradient(stage, parts)
    for name, loss in losses.items():
        torch.testing.assert_close(same[name], loss)
    for key, grad in whole.items():
        torch.testing.assert_close(divided[key], grad, rtol=1e-4, atol=1e-6)


def test_a_doubled_weight_moves_an_update_of_several_tasks(bench, tmp_path):
    """The trunk's step turns towards the task with the larger weight."""
    steps = []
    for row, weight in enumerate((1.0, 2.0)):
        stages = [
            {
                "tasks": ["ground", "a"],
                "sampler": "balanced",
                "epochs": 1,
                "precision": "fp32",
                "loss_weights": {"a": weight},
                "warmup_updates": 0,
            }
        ]
        tasks = {name: TASKS[name] for name in ("ground", "a")}
        run = bench.run(tmp_path / str(row), tasks=tasks, levels=LEVELS[:1], stages=stages)
        stage = StageTrainer(run, run.recipe.stages[0])
        weights = dict(run.model.network.named_parameters())
        key = next(key for key in weights if key.startswith("trunk.") and "encoder" in key)
        before = weights[key].detach().clone()
        (update, *_) = stage.draw_epoch()
        assert {name for batch in update for name in batch.tasks} == {"ground", "a"}
        stage.update(update, LogIntervals(log=10**9))
        assert stage.progress.num_clipped == 0
        steps.append(weights[key].detach() - before)
    assert not torch.allclose(*steps, rtol=1e-3)


@pytest.mark.parametrize(
    ("weights", "tasks", "share", "limit", "lines"),
    [
        ({}, ["a"], 1.0, 1.0, 0),
        ({"a": 2.0}, ["a"], 0.0, 1.0, 1),
        ({"a": 2.0}, ["a", "b"], 0.4, 1.0, 0),
        ({"a": 2.0}, ["a", "b"], 0.6, 1.0, 1),
    ],
)
def test_weights_that_cannot_act_are_told(weights, tasks, share, limit, lines):
    spec = StageSpec(tasks=tasks, loss_weights=weights, max_grad_norm=limit)
    warnings = [*iter_weight_warnings(0, spec), clipping_warning(share, spec)]
    assert len([warning for warning in warnings if warning]) == lines


TAGGERS = {
    name: {"data": "corpus", "kind": "sequence_tagging", "level": "low", "layer": layer}
    for name, layer in (("names", "main"), ("others", "main"))
}


@pytest.mark.parametrize("sharing", ["separate-heads", "task-embedding", "task-token"])
def test_without_a_transformer_the_batches_of_tasks_are_encoded_at_once(bench, tmp_path, sharing):
    """One pass over all sentences gives the gradients of each task's own pass."""
    stages = [{"tasks": list(TAGGERS), "sampler": "balanced", "precision": "fp32"}]
    stages[0]["batch_sentences"] = 4
    made = {"tasks": TAGGERS, "levels": LEVELS[:1], "stages": stages, "sharing": sharing}
    run = bench.run(tmp_path, trunk=[{"characters": "gru"}], **made)
    trainer = StageTrainer(run, run.recipe.stages[0])
    update = trainer.draw_epoch()[0]
    assert [batch.tasks for batch in update] == [("names",), ("others",)]
    passes = []
    run.model.network.levels["low"].register_forward_hook(lambda *_: passes.append(1))
    together, (losses,) = _gradient(trainer, update)
    assert len(passes) == 1
    apart, parts = _gradient(trainer, *((batch,) for batch in update))
    assert len(passes) == 3
    assert together.keys() == apart.keys()
    for key, grad in apart.items():
        torch.testing.assert_close(together[key], grad, msg=key)
    for part in parts:
        for name, loss in part.items():
            torch.testing.assert_close(losses[name], loss, msg=name)


@pytest.mark.parametrize("kind", [{"kind": "relations", "gold_spans": True}, COREFERENCE])
@pytest.mark.parametrize("encoder_lr", [1e-4, 0])
def test_given_spans_without_pairs_teach_nothing_and_stop_nothing(
    bench, tmp_path, kind, encoder_lr
):
    """Most sentences have one span, so most batches have no pair, and a loss without a graph."""
    text = "add water\nmix\nspin\n"
    spans = {"add": "0 3", "water": "4 9", "mix": "10 13", "spin": "14 18"}
    lines = [f"T{n}\tThing {at}\t{word}" for n, (word, at) in enumerate(spans.items(), 1)]
    lines.append("R1\tActs Arg1:T1 Arg2:T2")
    for name in ("train/a", "train/b", "dev/c"):
        path = tmp_path / "few" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".txt").write_text(text)
        path.with_suffix(".ann").write_text("\n".join(lines) + "\n")
    stage = {"tasks": ["pairs"], "epochs": 2, "batch_sentences": 1, "precision": "fp32"}
    run = bench.run(
        tmp_path / "out",
        trunk=[{"transformer": str(bench.home / "encoder"), "layers": "last"}],
        levels=[],
        tasks={"pairs": {"data": str(tmp_path / "few"), "hidden_size": 16, **kind}},
        stages=[stage | {"lr": {"encoder": encoder_lr, "task": 1e-3}}],
    )
    assert run.train(LogIntervals(1e9), resume=False).global_step == 12
