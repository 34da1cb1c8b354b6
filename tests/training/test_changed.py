"""What may change when a run goes on, what not, and what becomes of the rates."""

import json

import pytest
from workbench import FIRST, SECOND, events

from spanloom.config import recipe as recipes
from spanloom.config.recipe import dumps
from spanloom.errors import TrainingError
from spanloom.training import loop
from spanloom.training.checkpoint import Progress
from spanloom.training.interrupt import Stopped
from spanloom.training.optimizer import SCHEDULES
from spanloom.training.progress_line import LogIntervals
from spanloom.training.resume import apply_changes

LINEAR = FIRST | {"lr_schedule": "linear", "epochs": 4, "warmup_updates": 100}


def rate(progress, spec, at):
    warmup = progress.warmup_of(spec)
    return (
        SCHEDULES[spec.lr_schedule](at / spec.epochs, warmup, progress.lr_halvings)
        * progress.lr_scale
    )


def interrupted_at(monkeypatch, update):
    """Interrupt training at that update; returns the list that the rates of all updates go to."""
    rates, real = [], loop.set_rates

    def setting(chosen, factor):
        rates.append(factor)
        if len(rates) == update:
            raise KeyboardInterrupt
        real(chosen, factor)

    monkeypatch.setattr(loop, "set_rates", setting)
    return rates


@pytest.fixture
def taken(bench, tmp_path):
    """Take up a run of these stages that stands at an epoch of one, by other stages."""

    def take(before, now, *, at=0.0, stage=0, **changes):
        old = bench.recipe(stages=before)
        progress = Progress(dumps(old), "data", stage=stage, steps_per_epoch=100)
        progress.epoch, progress.step_in_epoch = int(at), round(100 * (at - int(at)))
        new = bench.recipe(stages=now, **changes)
        return progress, new, apply_changes(tmp_path, progress, new)

    return take


@pytest.mark.parametrize("epochs", [2.6, 3, 5, 8.5, 100])
@pytest.mark.parametrize("at", [1.0, 1.75, 2.5])
def test_rates_fall_from_where_they_stand_in_a_line_to_0(taken, at, epochs):
    progress, recipe, said = taken([LINEAR], [LINEAR | {"epochs": epochs}], at=at)
    spec, reached = recipe.stages[0], (4 - at) / 3
    left = epochs - at
    for part in (0, 0.25, 0.5, 0.9, 1):
        expected = reached * (1 - part)
        assert rate(progress, spec, at + part * left) == pytest.approx(expected, abs=1e-9)
    assert (
        said[0]
        == f"stages.0.epochs was 4.0 when this run began, from here on {epochs!r}.0"[
            : None if isinstance(epochs, int) else -2
        ]
    )
    assert f"stand at {100 * reached:.0f} % of their highest and fall from there to 0" in said[1]
    assert f"over the {left:.2f} epochs left" in said[1]


@pytest.mark.parametrize("epochs", [2, 3, 8, 50])
def test_rates_that_still_rise_rise_on_and_then_fall_to_0(taken, epochs):
    progress, recipe, said = taken([LINEAR], [LINEAR | {"epochs": epochs}], at=0.5)
    rates = [rate(progress, recipe.stages[0], at) for at in (0.5, 0.75, 1, (1 + epochs) / 2)]
    assert rates == pytest.approx([0.5, 0.75, 1, 0.5])
    assert rate(progress, recipe.stages[0], epochs) == 0
    assert f"then fall to 0 over the {epochs - 1:.2f} epochs left" in said[1]


def test_rates_changed_twice_never_jump(taken):
    progress, recipe, _ = taken([LINEAR], [LINEAR | {"epochs": 7}], at=2.5)
    progress.epoch, progress.step_in_epoch = 4, 0
    before = rate(progress, recipe.stages[0], 4)
    assert before == pytest.approx(0.5 * 3 / 4.5)
    again = recipe.model_copy(
        update={"stages": (recipe.stages[0].model_copy(update={"epochs": 10.0}),)}
    )
    apply_changes(None, progress, again)
    assert rate(progress, again.stages[0], 4) == pytest.approx(before)
    assert rate(progress, again.stages[0], 7) == pytest.approx(before / 2)


def test_fewer_epochs_than_the_rise_takes(taken):
    progress, recipe, _ = taken([LINEAR], [LINEAR | {"epochs": 0.8}], at=0.5)
    assert rate(progress, recipe.stages[0], 0.5) == pytest.approx(0.5)
    assert rate(progress, recipe.stages[0], 0.65) == pytest.approx(0.25)


def test_a_plateau_keeps_its_halvings(taken):
    plateau = LINEAR | {"lr_schedule": "plateau"}
    progress, recipe, said = taken([plateau], [plateau | {"epochs": 9}], at=2)
    assert rate(progress, recipe.stages[0], 2) == rate(progress, recipe.stages[0], 8.9) == 1
    assert "go on from 100 %" in said[1]


def test_nothing_changed_nothing_said(taken):
    progress, _, said = taken([LINEAR], [LINEAR], at=2)
    assert (said, progress.warmup_share, progress.lr_scale) == ([], None, 1.0)


def test_a_key_that_the_version_before_did_not_know_has_its_default(bench, tmp_path):
    """As the rows of studies, runs outlive new keys of recipes."""
    recipe = bench.recipe(stages=[LINEAR])
    lines = dumps(recipe).splitlines(keepends=True)
    before = "".join(line for line in lines if line.strip() != "teacher: null")
    assert len(before) < len("".join(lines))
    assert apply_changes(tmp_path, Progress(before, "data"), recipe) == []
    taught = LINEAR | {"teacher": {"model": "large", "tasks": ["names"]}}
    with pytest.raises(TrainingError, match="stages.0.teacher was None when .* now it is {"):
        apply_changes(tmp_path, Progress(before, "data"), bench.recipe(stages=[taught]))


@pytest.mark.parametrize("text", ["0" * 64, "stages: []\nlost: 1\n"])
def test_a_recipe_that_this_version_cannot_read_is_refused(bench, tmp_path, text):
    with pytest.raises(TrainingError, match="written by another version, and the recipe changed"):
        apply_changes(tmp_path, Progress(text, "data"), bench.recipe(stages=[LINEAR]))


def test_later_stages_and_what_looks_at_dev_may_change(taken):
    ours = LINEAR | {"patience": 3, "eval_every_epochs": 0.25}
    *_, said = taken([LINEAR, SECOND], [ours, SECOND | {"batch_words": 7}, SECOND], at=2)
    assert [line.split(" ")[0] for line in said] == [
        "stages.0.patience",
        "stages.0.eval_every_epochs",
        "stages.1.batch_words",
        "stages.2",
    ]


@pytest.mark.parametrize(
    ("now", "stage", "changes", "told"),
    [
        (
            [LINEAR | {"batch_words": 7}, SECOND],
            0,
            {},
            "stages.0.batch_words was 24 when .* now it is 7;",
        ),
        ([LINEAR | {"epochs": 5}, SECOND], 1, {}, "stages.0.epochs was 4.0 when .* is 5.0"),
        ([LINEAR], 1, {}, "stages was '2 stages' when .* now it is '1'"),
        ([LINEAR, SECOND], 0, {"seed": 6}, "seed was 5 when .* now it is 6"),
        ([LINEAR, SECOND], 1, {"embedding_dropout": 0.1}, "embedding_dropout was 0.3 when"),
    ],
)
def test_what_was_learnt_by_may_not_change(taken, now, stage, changes, told):
    with pytest.raises(TrainingError, match=told) as error:
        taken([LINEAR, SECOND], now, stage=stage, at=0.5, **changes)
    assert "may change epochs, patience, eval_every_epochs of the stage it is in" in str(
        error.value
    )


def test_epochs_that_are_over_already(taken):
    with pytest.raises(TrainingError, match=r"stands at epoch 2.50; expected more, got 2$"):
        taken([LINEAR], [LINEAR | {"epochs": 2}], at=2.5)
    with pytest.raises(
        TrainingError, match=r"came to their end at 4 epochs.*init_from in a recipe"
    ):
        taken([LINEAR], [LINEAR | {"epochs": 9}], at=4)


def test_epochs_are_no_matter_where_updates_are_counted(taken):
    counted = LINEAR | {"updates_per_task": 9}
    progress, recipe, said = taken([counted], [counted | {"epochs": 2}], at=2.5)
    assert (len(said), progress.warmup_share, progress.lr_scale) == (1, None, 1.0)
    assert progress.recipe == dumps(recipe)


def test_a_run_that_ends_before_dev_was_ever_scored_is_scored(bench, tmp_path, monkeypatch):
    """It does not end with the model that an earlier run left in the same folder."""
    out, stage = tmp_path / "model", {"tasks": ["names"], "batch_words": 12, "precision": "fp32"}
    bench.train(out, stages=[stage], seed=1)
    earlier = (out / "model.safetensors").read_bytes()
    interrupted_at(monkeypatch, 4)
    with pytest.raises(KeyboardInterrupt):
        bench.train(out, stages=[stage])
    folder = out.with_name("model.run")
    progress = json.loads((folder / "state" / "progress.json").read_text())
    assert (progress["step_in_epoch"], progress["best"]) == (3, None)
    shorter = (progress["step_in_epoch"] + 0.2) / progress["steps_per_epoch"]
    bench.train(out, stages=[stage | {"epochs": shorter}], resume=True)
    assert (out / "model.safetensors").read_bytes() != earlier
    assert [event["step"] for event in events(out) if "dev" in event] == [3]


@pytest.mark.parametrize("epochs", [2, 3])
def test_a_run_that_ended_within_an_epoch_goes_on_with_the_rest_of_it(bench, tmp_path, epochs):
    one = {key: value for key, value in FIRST.items() if key != "ema_decay"}
    one |= {"epochs": 1.5, "eval_every_epochs": 1}
    bench.run(tmp_path / "out", stages=[one]).train(LogIntervals(1e9), resume=False)
    longer = [one | {"epochs": epochs}]
    resumed = bench.run(tmp_path / "out", stages=longer).train(LogIntervals(1e9), resume=True)
    anew = bench.run(tmp_path / "anew", stages=longer).train(LogIntervals(1e9), resume=False)
    assert resumed.global_step == anew.global_step


def test_a_run_goes_on_for_longer(bench, tmp_path, monkeypatch):
    """It is stopped, and goes on with more epochs: no rate jumps, the recipe saved is the last."""
    out, one = tmp_path / "model", {"tasks": ["names"], "batch_words": 24, "precision": "fp32"}
    rates = interrupted_at(monkeypatch, 8)
    with pytest.raises(KeyboardInterrupt) as stop:
        bench.train(out, stages=[one | {"epochs": 2}])
    assert not isinstance(stop.value, Stopped)
    said = bench.train(out, resume=True, stages=[one | {"epochs": 3}])
    (line,) = [line for line in said if "of their highest" in line]
    assert "to 0 over the 2.00 epochs left" in line
    resumed = rates[8:]
    assert resumed[0] == pytest.approx(rates[7])
    steps = [one - two for one, two in zip(resumed, resumed[1:], strict=False)]
    # in a line, to 0; epochs are of nearly as many updates
    assert steps == pytest.approx([resumed[-1]] * len(steps), rel=0.3)
    assert recipes.load(out / "recipe.yaml").stages[0].epochs == 3
