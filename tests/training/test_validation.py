"""Evaluation on dev: one pass of the encoder for the tasks that read the same texts."""

import pytest

from spanloom.document import Document, Layer, Span
from spanloom.formats import jsonl
from spanloom.model.model import Model
from spanloom.training import validation
from spanloom.training.validation import TrainingPredictor


@pytest.fixture
def passes(monkeypatch):
    """The tasks that each call of ``Model.predict`` asked for."""
    calls = []
    predict = Model.predict

    def counted(model, documents, *names):
        calls.append(names)
        return predict(model, documents, *names)

    monkeypatch.setattr(Model, "predict", counted)
    return calls


TEXTS = ["add warm water", "wash the cells", "mix cold buffer"]


@pytest.fixture(scope="module")
def pair(bench):
    """Two corpora whose texts have names, and one whose texts differ; each word has a tag."""
    for folder, end in (("first", ""), ("second", ""), ("other", " and spin")):
        documents = [annotated(text + end, f"doc{row}") for row, text in enumerate(TEXTS)]
        (bench.home / folder).mkdir()
        for split in ("train", "dev"):
            lines = jsonl.dumps(documents)
            (bench.home / folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return bench


def annotated(text, name):
    bounds, start = [], 0
    for word in text.split():
        bounds.append((start, start + len(word)))
        start += len(word) + 1
    tags = [Span(f"T{n}", f"L{n % 2}", (bound,)) for n, bound in enumerate(bounds)]
    layers = (Layer("tags", tuple(tags)), Layer("names", (Span("T9", "Thing", (bounds[-1],)),)))
    return Document(text, name=name, layers=layers)


def tasks(**changes):
    """Names, and tags of words with some changes."""
    tags = {"data": "first", "kind": "sequence_tagging", "layer": "tags", "scheme": "none"}
    names = {"data": "first", "kind": "entities", "layer": "names", "hidden_size": 8}
    return {"names": names, "tags": tags | changes}


def alone(run, name):
    task = run.model.tasks[name]
    gold = [document for document in run.prepared.data[name].dev if task.has_gold(document)]
    values = task.score(TrainingPredictor(run.model), gold)
    return {f"{name}.{metric}": value for metric, value in values.items()}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [("names", "tags")]),
        ({"data": "second"}, [("names", "tags")]),
        ({"data": "other"}, [("names",), ("tags",)]),
        ({"layer": "names", "scheme": "BIO"}, [("names",), ("tags",)]),
    ],
)
def test_tasks_of_the_same_texts_share_a_pass(pair, tmp_path, passes, changes, expected):
    stages = [{"tasks": ["tags", "names"], "precision": "fp32"}]
    run = pair.run(tmp_path, tasks=tasks(**changes), stages=stages, levels=[])
    metrics = validation.evaluate(run.model, run.recipe.stages[0], run.prepared.data)
    assert sorted(map(sorted, passes)) == sorted(map(sorted, expected))
    assert metrics == alone(run, "tags") | alone(run, "names")
    assert list(metrics)[0].startswith("tags.")


def test_a_model_is_evaluated_in_one_pass(pair, tmp_path, passes):
    stages = [{"tasks": ["tags", "names"], "precision": "fp32"}]
    model = pair.run(tmp_path, tasks=tasks(), stages=stages, levels=[]).model
    documents = list(jsonl.read(pair.home / "first" / "dev.jsonl"))
    tags_alone = [document.unannotated(["tags"]) for document in documents]
    assert list(model.evaluate(documents)) == ["names", "tags"]
    assert passes == [("names", "tags")]
    assert list(model.evaluate(tags_alone)) == ["tags"]
    assert passes[1:] == [("tags",)]
