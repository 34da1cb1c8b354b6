"""How long training takes, from a few updates: all kinds of them are among these."""

import pytest

from spanloom.training import estimate
from spanloom.training.loop import StageTrainer


@pytest.mark.parametrize("sampler", ["round-robin", "proportional"])
def test_each_task_is_timed_however_updates_alternate(bench, monkeypatch, sampler):
    """One task is slow: its share of the time is told whatever the order of tasks is."""
    timed, words = [], {}

    def update(self, draws, pace, batches=None):
        (batch,) = draws
        timed.append(batch.tasks)
        clock[0] += batch.num_words * (9.0 if batch.tasks == ("names",) else 1.0)

    clock = [0.0]
    monkeypatch.setattr(StageTrainer, "update", update)
    monkeypatch.setattr(estimate.time, "monotonic", lambda: clock[0])
    stage = {"tasks": ["steps", "names"], "batch_words": 24, "precision": "fp32"}
    stage |= {"sampler": sampler, "epochs": 3}
    model, prepared = bench.fresh(stages=[stage])
    seconds = estimate.estimate(model, prepared, "cpu").stage_seconds[0]
    for name, data in prepared.data.items():
        words[name] = sum(len(document.words) for document in data.tokenized)
    assert {("steps",), ("names",)} <= set(timed)
    if sampler == "proportional":  # each text once an epoch
        assert seconds == pytest.approx(3 * (words["steps"] + 9 * words["names"]))
