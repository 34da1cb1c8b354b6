"""Output biases of new heads start at the frequencies of labels among candidates."""

import pytest
import torch
from workbench import LEVELS, TASKS

from spanloom.training.loop import Run, StageTrainer
from spanloom.training.progress_line import LogIntervals

STAGE = {"tasks": ["names"], "epochs": 1, "precision": "fp32", "batch_words": 10_000}


def trainer(bench, out, **changes):
    run = bench.run(out, tasks={"names": TASKS["names"]}, levels=[], stages=[STAGE], **changes)
    return run, StageTrainer(run, run.recipe.stages[0])


def test_labels_start_at_their_frequencies_among_all_candidates(bench, tmp_path):
    run, stage = trainer(bench, tmp_path)
    head = run.model.network.heads["names"]
    torch.nn.init.zeros_(head.spans.output.labels.weight)  # so that only the biases decide
    stage.fit_biases(["names"])
    ((batch,),) = stage.draw_epoch()
    num_candidates = 0
    num_gold = dict.fromkeys(range(len(run.model.tasks["names"].vocabulary.spans) + 1), 0)
    width = run.model.tasks["names"].vocabulary.max_span_width
    for instance in batch.instances:
        for start, end in instance.sentences:
            num_candidates += sum(min(width, end - first) for first in range(start, end))
        gold = run.prepared.data["names"].gold[instance.document]
        for start, end, label in gold.spans:
            last = instance.first_word + len(instance.tokens)
            num_gold[label] += instance.first_word <= start and end <= last
    num_gold[0] = num_candidates - sum(num_gold.values())
    expected = torch.tensor([num_gold[label] / num_candidates for label in num_gold])
    torch.testing.assert_close(
        head.spans.output.labels.bias.softmax(0), expected, rtol=0.1, atol=2e-3
    )


def test_only_heads_that_are_new_are_fitted(bench, tmp_path, monkeypatch):
    fitted = []
    monkeypatch.setattr(StageTrainer, "fit_biases", lambda self, names: fitted.append(names))
    first = {"epochs": 0.1, "precision": "fp32", "batch_words": 100}
    stages = [
        first | {"tasks": ["names"]},
        first | {"tasks": ["names", "steps"]},
        first | {"tasks": ["steps"], "reset_heads": ["steps"]},
        first | {"tasks": ["steps"]},
    ]
    run = bench.run(tmp_path, tasks=TASKS, levels=LEVELS, stages=stages)
    assert isinstance(run, Run)
    run.train(LogIntervals(1e9), resume=False)
    assert fitted == [["names"], ["steps"], ["steps"], []]


@pytest.mark.parametrize("name", ["names", "steps"])
def test_nothing_but_biases_moves(bench, tmp_path, name):
    run = bench.run(tmp_path, tasks=TASKS, levels=LEVELS, stages=[STAGE | {"tasks": [name]}])
    before = {key: p.detach().clone() for key, p in run.model.network.named_parameters()}
    StageTrainer(run, run.recipe.stages[0]).fit_biases([name])
    now = dict(run.model.network.named_parameters())
    moved = {key for key, p in now.items() if not torch.equal(p, before[key])}
    biases = {"spans.output.labels.bias"} | (
        {"pairs.output.labels.bias"} if name == "steps" else set()
    )
    assert moved == {f"heads.{name}.{key}" for key in biases}
    assert all(p.grad is None for p in now.values())


def test_no_epoch_is_drawn_for_heads_without_output_biases(bench, tmp_path, monkeypatch):
    run, stage = trainer(bench, tmp_path)
    monkeypatch.setattr(type(run.model.tasks["names"]), "output_biases", lambda self, head: [])
    monkeypatch.setattr(StageTrainer, "draw_epoch", lambda self: pytest.fail("drawn"))
    stage.fit_biases(["names"])
