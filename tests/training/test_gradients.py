"""One update, and exactly which weights it moves: its task's head, its level, those below."""

from dataclasses import replace

import pytest
import torch

from spanloom.training.loop import StageTrainer

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
