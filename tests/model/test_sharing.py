"""Heads of one's own or shared, and what is read in one pass: by every way of sharing."""

import json

import pytest
import tiny_judged
import torch

from spanloom.annotation.comparable import comparable
from spanloom.annotation.text_pairs import TEXT_PAIR, classification_of, join_texts
from spanloom.config import recipe as recipes
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits
from spanloom.document import Document, Layer, Span
from spanloom.errors import RecipeError
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training.train import new_model
from spanloom.training.warm_start import remove_tasks

WAYS = ["separate-heads", "task-embedding", "task-token", "shared-head"]
EVERY = pytest.mark.parametrize("way", WAYS)
ONE = Document("add warm a .")
TWO = join_texts("two", "add warm a .", "mix warm b .")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tiny_judged.corpora(tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="module")
def made(place):
    """Models with random weights, one a way of sharing."""
    found = {}
    for way in WAYS:
        recipe = recipes.loads(json.dumps(tiny_judged.recipe(place, sharing=way)))
        found[way], _ = new_model(resolve(recipe, place), "cpu")
        torch.manual_seed(4)
        with torch.no_grad():
            for each in found[way].network.heads.parameters():
                each.normal_()
    return found


def said(model, names=None):
    return [comparable(each) for each in model.annotate([ONE, TWO], names)]


@EVERY
def test_heads_are_as_many_as_the_table_says(made, way):
    model = made[way]
    assert len(model.network.heads) == (3 if way == "separate-heads" else 1)
    assert (model.network.task_embeddings is not None) == (way == "task-embedding")
    labels = 2 if way == "separate-heads" else 6
    assert all(len(task.head_labels) == labels for task in model.tasks.values())


@EVERY
def test_a_task_says_its_own_labels_alone(made, way):
    (one, two) = made[way].annotate([ONE, TWO])
    for name, known in tiny_judged.LABELS.items():
        assert classification_of(one, name).label in known
        assert classification_of(two, name).label in known


@EVERY
def test_tasks_that_read_alike_are_one_pass(made, way):
    names = list(tiny_judged.TASKS)
    passes = made[way].encoder_passes()
    assert passes == ([(name,) for name in names] if way == "task-token" else [tuple(names)])
    assert made[way].encoder_passes(["match", "heat"]) == (
        [("match",), ("heat",)] if way == "task-token" else [("match", "heat")]
    )


@EVERY
def test_each_task_says_together_what_it_says_alone(made, way):
    together = list(made[way].annotate([ONE, TWO]))
    for name in tiny_judged.TASKS:
        for among, alone in zip(together, made[way].annotate([ONE, TWO], [name]), strict=True):
            mine, yours = classification_of(among, name), classification_of(alone, name)
            assert mine == yours


def test_what_tells_tasks_apart_reaches_the_scores(made):
    """The same head on the same text: only a task's vector or token makes its score another."""
    for way, apart in (("task-embedding", True), ("task-token", True), ("shared-head", False)):
        scores = []
        for task in ("heat", "act"):
            model, reading = made[way], made[way].tasks[task].reader
            units = list(
                reading.instances(
                    0, model.tokenize(ONE), InstanceLimits(64, 64), model.tokenize_prompt
                )
            )
            batch = collate(units, model.subword_tokenizer, 64)
            with torch.no_grad():
                scores.append(model.network.eval().head_inputs(batch, [task])[task].cls_vectors)
        assert scores[0].equal(scores[1]) != apart


@EVERY
@pytest.mark.parametrize("dropped", [["heat"], ["act", "match"]])
def test_what_is_left_when_tasks_are_dropped_is_saved_and_says_the_same(
    place, way, dropped, tmp_path
):
    recipe = recipes.loads(json.dumps(tiny_judged.recipe(place, sharing=way)))
    model, _ = new_model(resolve(recipe, place), "cpu")
    names = [name for name in tiny_judged.TASKS if name not in dropped]
    before = said(model, names)
    model = remove_tasks(model, dropped)
    assert said(model) == before
    serialization.save(model, tmp_path / "left", figures={})
    loaded = serialization.load(tmp_path / "left", device="cpu", precision="fp32")
    assert list(loaded.tasks) == names
    assert said(loaded) == before
    assert loaded.network.heads.keys() == {loaded.network.routes[name].head for name in names}


@pytest.mark.parametrize("way", WAYS[1:])
def test_kinds_that_cannot_share_are_told_with_their_line(place, way):
    tasks = {"spans": {"data": "judged", "kind": "entities", "layer": "heat"}}
    raw = tiny_judged.recipe(place, sharing=way, tasks=tasks)
    raw["stages"] = [{"tasks": ["spans"]}]
    with pytest.raises(RecipeError, match=r"tasks.spans.kind: 'entities' cannot share"):
        new_model(resolve(recipes.loads(json.dumps(raw)), place), "cpu")


def family_recipe(place, **names):
    """Two tasks of one family, and one of a kind that cannot share, named as told."""
    raw = tiny_judged.recipe(place, sharing="family-heads")
    spans = names.get("spans", "spans")
    raw["tasks"] |= {spans: {"data": "judged", "kind": "entities", "layer": "heat"}}
    raw["stages"] = [{**raw["stages"][0], "tasks": [*raw["stages"][0]["tasks"], spans]}]
    return resolve(recipes.loads(json.dumps(raw)), place)


def test_families_share_and_other_kinds_have_heads_of_their_own(place):
    plan = family_recipe(place)
    heads = {name: task.route.head for name, task in plan.tasks.items()}
    families = {name: task.type.family for name, task in plan.tasks.items()}
    assert heads.pop("spans") == "spans"
    assert all(heads[name] == families[name] for name in heads)
    assert len(set(heads.values())) < len(heads)
    model, _ = new_model(plan, "cpu")
    assert set(model.network.heads) == {*heads.values(), "spans"}


def test_a_task_with_the_name_of_a_shared_head_is_refused(place):
    family = next(
        task.type.family for task in family_recipe(place).tasks.values() if task.type.family
    )
    with pytest.raises(RecipeError, match="is the name of the head that several tasks share"):
        family_recipe(place, spans=family)


def test_what_was_given_stays_so_that_answers_can_refer_to_it(made):
    document = TWO.with_layer(Layer("heat", (Span("T7", "warm", ((0, 3),)),)))
    (found,) = made["separate-heads"].annotate([document], ["match", "heat"])
    assert found[TEXT_PAIR] == document[TEXT_PAIR]
    (relation,) = found["match"].relations
    assert {relation.head, relation.tail} == {span.id for span in document[TEXT_PAIR].spans}
    assert len(found.annotations()) == 2 + 2
