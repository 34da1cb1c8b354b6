"""How alike tasks are: attention, gradients and spans, against loops and by what must hold."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.specs import TeacherSpec
from spanloom.document import Document, Layer, Span
from spanloom.errors import DataError, FormatError, ModelError
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.studies import similarity as similarities
from spanloom.studies.attention import head_similarities
from spanloom.studies.job import subset
from spanloom.studies.similarity import compare_tasks, measure, open_model, read
from spanloom.studies.similarity_page import write_page
from spanloom.studies.span_overlap import dice, span_overlap
from spanloom.studies.task_gradients import TaskGradient, cosine, gradient_cosines
from spanloom.training import train

RECIPES = Path(__file__).parents[2] / "recipes" / "studies"


def saved(folder, names, seed):
    """Save an untrained model of some tasks of the tiny joint recipe; weights depend on seed."""
    base = recipes.to_plain(recipes.load(RECIPES / "tiny-joint.yaml"))
    recipe = subset(base, names, (f"seed={seed}",), "tiny")
    plan = resolve(recipes.loads(yaml.dump(recipes.to_plain(recipe))), RECIPES)
    model, _ = train.new_model(plan, "cpu")
    with torch.no_grad():
        for parameter in model.network.transformer.parameters():
            parameter.mul_(8)  # so that attention is no longer nearly uniform
    serialization.save(model, folder, figures={})
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Folders of models: two seeds of ner, one of steps, and a joint one."""
    folder = tmp_path_factory.mktemp("models")
    return {
        "ner": saved(folder / "ner", ["ner"], 1),
        "ner2": saved(folder / "ner2", ["ner"], 2),
        "steps": saved(folder / "steps", ["steps"], 3),
        "joint": saved(folder / "joint", ["pos", "ner", "steps"], 4),
    }


def load(path):
    return serialization.load(path, device="cpu", precision="fp32")


def literal_similarity(a, b, documents, head):
    """Minus the mean Frobenius norm of the first layer's map of a head, a sentence at a time."""
    from spanloom.data.collate import collate
    from spanloom.data.instance_readers import SentenceReader
    from spanloom.data.instances import InstanceLimits

    norms = []
    for document in documents:
        limits = InstanceLimits(64, 64, isolate_sentences=True)
        reader = SentenceReader()
        for sentence in reader.instances(0, a.tokenize(document), limits, a.tokenize_prompt):
            batch = collate([sentence], a.subword_tokenizer, 64)
            with torch.no_grad():
                maps = [m.network.transformer.attentions(batch)[0][0, head] for m in (a, b)]
            difference = (maps[0] - maps[1]).double()
            norms.append(sum(float(x) ** 2 for x in difference.flatten()) ** 0.5)
    return -sum(norms) / len(norms), len(norms)


def test_similarity_is_the_papers_equation(models):
    a = open_model(models["ner"], RECIPES, 100)
    b = load(models["steps"])
    (heads,), num_sentences = head_similarities(a.model, [b], a.documents, 100)
    assert heads.shape == (2, 2)
    for head in range(2):
        value, count = literal_similarity(a.model, b, a.documents, head)
        assert heads[0, head] == pytest.approx(value, rel=1e-5)
        assert num_sentences == count
    assert (heads < 0).all()


def test_a_model_is_as_like_itself_as_can_be(models):
    a = open_model(models["ner"], RECIPES, 100)
    (heads,), num_sentences = head_similarities(a.model, [load(models["ner"])], a.documents, 3)
    assert num_sentences == 3
    assert np.abs(heads).max() == 0


def test_models_of_other_pieces_cannot_be_compared(models):
    a = load(models["ner"])
    with pytest.raises(ModelError, match="other word pieces"):
        head_similarities(a, [serialization.load(device="cpu", precision="fp32")], [], 1)


def test_a_gradient_is_as_like_itself_as_can_be_and_scale_does_not_count():
    a = {"x": torch.tensor([3.0, 4.0]), "y": torch.tensor([[1.0]])}
    b = {"x": torch.tensor([-4.0, 3.0]), "z": torch.ones(9)}
    assert cosine(a, a) == pytest.approx(1)
    assert cosine(a, {name: -2 * value for name, value in a.items()}) == pytest.approx(-1)
    assert cosine(a, b) == pytest.approx(0)  # in x alone
    assert cosine(a, {"z": torch.ones(1)}) == 0


def test_the_gradient_of_all_batches_is_the_sum_over_those_of_both_halves():
    halves = {"x": torch.tensor([2.0, 0.0])}, {"x": torch.tensor([0.0, 1.0]), "y": torch.ones(1)}
    total = TaskGradient(halves).total
    assert {name: each.tolist() for name, each in total.items()} == {"x": [2.0, 1.0], "y": [1.0]}


def test_gradient_cosines_are_those_of_losses_without_dropout(models):
    cosines = gradient_cosines(load(models["joint"]), RECIPES, ["ner", "steps", "absent"], 4)
    again = gradient_cosines(load(models["joint"]), RECIPES, ["steps", "ner"], 4)
    names = ("ner", "steps")
    assert cosines.keys() == {(a, b) for a in names for b in names}
    assert cosines["ner", "steps"] == cosines["steps", "ner"]
    assert cosines == pytest.approx(again)
    assert all(-1 <= value <= 1 for value in cosines.values())
    assert cosines["ner", "ner"] > cosines["ner", "steps"]


def test_gradients_are_those_of_gold_even_where_a_teacher_was(models):
    model = load(models["joint"])
    teacher = TeacherSpec(model="/no/where", tasks=("ner",))
    (stage,) = model.recipe.stages
    taught = replace(
        model, plan=model.plan.noting(stages=(stage.model_copy(update={"teacher": teacher}),))
    )
    assert gradient_cosines(taught, RECIPES, ["ner"], 4) == gradient_cosines(
        model, RECIPES, ["ner"], 4
    )


def test_a_common_model_of_other_labels_is_refused(models, tmp_path):
    model = load(models["joint"])
    vocabulary = {**model.recipe.vocabulary, "ner": {"labels": ["planet"]}}
    other = replace(model, plan=model.plan.noting(vocabulary=vocabulary))
    with pytest.raises(DataError, match="other labels"):
        gradient_cosines(other, RECIPES, ["ner"], 4)


def test_dice_is_twice_the_common_part():
    a, b = {(0, 0, 3), (0, 4, 9), (1, 0, 3)}, {(0, 0, 3), (1, 4, 9)}
    assert dice(a, b) == pytest.approx(2 * 1 / 5)
    assert (dice(a, a), dice(set(), set()), dice(a, set())) == (1, 0, 0)


class Finds:
    """A model that finds the same spans in each document, and must not see gold."""

    def __init__(self, task, bounds):
        self.tasks, self.bounds = {"found": task}, bounds

    def predict(self, documents, name):
        for document in documents:
            assert not document.layers
            spans = [Span(f"T{n}", "X", ((a, b),)) for n, (a, b) in enumerate(self.bounds)]
            yield document.with_layer(Layer("found", tuple(spans)))


def test_overlap_compares_a_models_spans_with_gold(models):
    task = replace(load(models["ner"]).tasks["ner"], layer="found")
    gold = Layer("gold", (Span("T1", "A", ((0, 3),)), Span("T2", "B", ((4, 7),))))
    documents = [Document("Ada met Bob", layers=(gold,))]
    assert span_overlap(Finds(task, [(0, 3), (8, 11)]), "found", documents, "gold") == 0.5
    assert span_overlap(Finds(task, [(0, 3), (4, 7)]), "found", documents, "gold") == 1


def test_tasks_are_compared_in_both_directions_and_two_seeds_are_the_ceiling(models, tmp_path):
    paths = [models[name] for name in ("ner", "ner2", "steps")]
    found = measure(paths, RECIPES, models["joint"], 10, 4, lambda line: None)
    assert [(pair.source, pair.target) for pair in found.pairs] == [
        ("ner", "ner"),
        ("steps", "ner"),
        ("ner", "steps"),
        ("ner", "steps"),
    ]
    ceiling, *others = found.pairs
    assert ceiling.is_ceiling
    assert (ceiling.source_model, ceiling.target_model) == tuple(map(str, paths[1::-1]))
    assert all(pair.gradient_cosine is not None for pair in found.pairs)
    for pair in found.pairs:
        assert pair.attention == pytest.approx(np.mean(pair.heads))
    page, values = write_page(found, tmp_path / "page.html")
    assert read(values) == found
    assert page.read_text().count("<svg") == 2


def test_a_model_of_several_tasks_is_refused(models):
    with pytest.raises(DataError, match="expected a model of one task, got one of pos, ner, steps"):
        open_model(models["joint"], RECIPES, 10)
    with pytest.raises(DataError, match="two models at least, got 1"):
        measure([models["ner"]], RECIPES, None, 10, 4, print)


def test_without_a_common_model_there_is_no_cosine(models):
    opened = [open_model(models[name], RECIPES, 5) for name in ("ner", "steps")]
    found = compare_tasks(opened, {}, 5, lambda line: None)
    assert {pair.gradient_cosine for pair in found.pairs} == {None}
    assert found.sentences["ner"] == 5


def test_a_damaged_file_is_told(tmp_path):
    with pytest.raises(DataError, match="study similarity makes it"):
        read(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text(json.dumps({"pairs": 1}))
    with pytest.raises(FormatError, match="no similarity of tasks"):
        similarities.read(tmp_path / "bad.json")
