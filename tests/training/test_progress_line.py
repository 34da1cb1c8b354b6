"""What a user sees while a model trains, and that looking changes nothing."""

from types import SimpleNamespace

import pytest
import tiny
import torch

from spanloom.config import recipe as recipes
from spanloom.model.plan import resolve
from spanloom.model.serialization import WEIGHTS
from spanloom.training import progress_line, train
from spanloom.training.progress_line import LogIntervals, ProgressLine, Status

LOSSES = {"a": torch.tensor(0.5), "b": torch.tensor(0.25)}


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress_line.time, "monotonic", lambda: now.seconds)
    return now


def make_line(lines, clock, status=None):
    progress = SimpleNamespace(words=3000, seconds=2.0, epochs_done=1.5)
    share = SimpleNamespace(done=0.0, may_end_early=False)
    share.share_done = lambda _: share.done
    pace = LogIntervals(status=status)
    return ProgressLine(lines.append, pace, progress, share), share


def test_a_line_comes_after_ten_seconds_and_then_seldom(clock):
    lines = []
    line, share = make_line(lines, clock)
    for step in range(100):
        clock.seconds, share.done = 100 + step, step / 200
        line.update(LOSSES)
    assert len(lines) == 3
    assert lines[0] == "█░░░░░░░░░░░░░░░░░░░ 5%  loss 0.750  1500 words/s  3 min left"


def test_a_stage_that_may_end_early_takes_that_long_at_most(clock):
    lines = []
    line, share = make_line(lines, clock)
    share.may_end_early = True
    for clock.seconds, share.done in ((100, 0.0), (110, 0.05)):
        line.update(LOSSES)
    assert lines[0].endswith("at most 3 min left")


def test_a_terminal_gets_lines_that_are_replaced(clock):
    lines, shown = [], []
    line, share = make_line(lines, clock, Status(shown.append, 0.5))
    for step in range(10):
        clock.seconds, share.done = 100 + 0.25 * step, step / 20
        line.update(LOSSES)
    assert lines == []
    assert len(shown) == 4


def test_the_figure_on_dev_has_its_trend(clock):
    lines = []
    line, _ = make_line(lines, clock)
    for score, trend in ((0.5, "dev 50.0"), (0.6, "dev 60.0 ↑"), (0.55, "dev 55.0 ↓")):
        line.show_scores({"ner.span_f1": score, "ner.other": 0.0}, "8", better=True)
        clock.seconds += 31
        line.update(LOSSES)
        assert lines[-1].endswith(trend)
    assert lines[0] == "epoch 1.50/8  ner.span_f1 50.00  ner.other 0.00  (2 s, 1500 words/s)  best"


def test_looking_early_changes_no_weight(tmp_path):
    tiny.corpus(tmp_path / "corpus", dev=8)
    path = tiny.recipe(tmp_path, epochs=3)
    files, looks = [], []
    for name, look in (("seldom", 1e9), ("soon", 0.0)):
        lines = []
        plan = resolve(recipes.load(path, ["stages.0.eval_every_epochs=3"]), tmp_path)
        train.train(plan, tmp_path / name, lines.append, pace=LogIntervals(look=look))
        files.append((tmp_path / name / WEIGHTS).read_bytes())
        looks.append([line for line in lines if line.startswith("first look, at part of dev:")])
    assert files[0] == files[1]
    assert [len(lines) for lines in looks] == [0, 1]
