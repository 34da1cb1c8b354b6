"""Models with a span layer: what is refused, what is computed once, what is saved and inherited."""

import json

import pytest
import tiny
import torch

from spanloom.annotation.comparable import comparable
from spanloom.annotation.source_corpus import set_source_corpus
from spanloom.config import recipe as recipes
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits
from spanloom.document import Document
from spanloom.errors import RecipeError
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training.train import new_model
from spanloom.training.warm_start import remove_tasks

SPANS = {"name": "spans", "level": "context", "hidden_size": 24, "boundary_context": True}
ON_LAYER = {"data": "corpus", "level": "context", "span_layer": "spans"}
TASKS = {
    "steps": ON_LAYER | {"kind": "relations"},
    "names": ON_LAYER | {"kind": "entities", "max_span_width": 2, "coarse_spans_per_word": 2},
    "own": {"data": "corpus", "kind": "entities", "hidden_size": 16},
}
TEXTS = [Document("add warm buffer . mix cold water ."), Document("wash tube .")]


def changed(home, **changes):
    stages = [{"tasks": [*changes.get("tasks", TASKS)], "epochs": 1, "precision": "fp32"}]
    settings = {
        "trunk": [{"transformer": str(home / "encoder")}, {"casing": 4}],
        "levels": [{"name": "context", "rnn": "gru", "hidden_size": 8}],
        "span_layers": [SPANS],
        "tasks": TASKS,
        "stages": stages,
        "window": 64,
    }
    return recipes.loads(json.dumps(settings | changes))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("span-layers")
    tiny.recipe(place)
    return place


@pytest.fixture(scope="module")
def model(home):
    made, _ = new_model(resolve(changed(home), home), "cpu")
    torch.manual_seed(3)
    with torch.no_grad():
        for part in (made.network.heads, made.network.span_layers):
            for weight in part.parameters():
                weight.normal_()
    return made


def said(model, names=None):
    return [comparable(document) for document in model.annotate(TEXTS, names)]


def test_heads_on_the_layer_have_no_projection_and_no_attention(model):
    heads = model.network.heads
    names = {name for head in ("steps", "names") for name, _ in heads[head].named_parameters()}
    assert not any("projection" in name or "attention" in name for name in names)
    assert heads["own"].attention is not None
    assert heads["names"].spans.output.hidden.in_features == SPANS["hidden_size"]


def test_the_layer_is_computed_once_per_batch_and_only_where_it_is_read(model, monkeypatch):
    layer, calls = model.network.span_layers["spans"], []
    hook = layer.register_forward_hook(lambda *_: calls.append(1))
    said(model)
    assert len(calls) == 1
    said(model, ["own"])
    hook.remove()
    assert len(calls) == 1


def test_a_task_says_the_same_alone_and_beside_others(model):
    def spans_of(layer):
        return [(span.label, span.fragments) for span in layer.spans]

    together = {layer.name: layer for layer in next(model.annotate(TEXTS)).layers}
    assert any(spans_of(layer) for layer in together.values())
    for name in TASKS:
        (alone,) = next(model.annotate(TEXTS, [name])).layers
        assert spans_of(alone) == spans_of(together[alone.name])


def test_saved_and_loaded_it_says_the_same(model, tmp_path):
    serialization.save(model, tmp_path / "saved", figures={})
    loaded = serialization.load(tmp_path / "saved", precision="fp32", device="cpu")
    assert loaded.recipe.span_layers == model.recipe.span_layers
    assert said(loaded) == said(model)


def test_one_task_is_tuned_from_a_joint_model(model, home, tmp_path):
    serialization.save(model, tmp_path / "joint", figures={})
    tasks = {"names": TASKS["names"]}
    recipe = changed(home, tasks=tasks, init_from=str(tmp_path / "joint"))
    tuned, prepared = new_model(resolve(recipe, home), "cpu")
    assert prepared.notes[-1].endswith("anew: nothing")
    source = model.network.state_dict()
    for name, weight in tuned.network.state_dict().items():
        assert weight.equal(source[name]), name


def test_a_layer_of_another_size_is_new(model, home, tmp_path):
    serialization.save(model, tmp_path / "joint", figures={})
    spans = [SPANS | {"hidden_size": 32}]
    recipe = changed(home, span_layers=spans, init_from=str(tmp_path / "joint"))
    _, prepared = new_model(resolve(recipe, home), "cpu")
    assert any("spans" in note and "names" in note for note in prepared.notes)


def test_a_model_without_some_of_its_tasks_keeps_the_layer(home, tmp_path):
    model, _ = new_model(resolve(changed(home), home), "cpu")
    left = remove_tasks(model, ["steps", "names"])
    serialization.save(left, tmp_path / "left", figures={})
    loaded = serialization.load(tmp_path / "left", precision="fp32", device="cpu")
    assert list(loaded.tasks) == ["own"]


def test_corpus_vectors_shift_the_spans_of_their_task_alone(home):
    corpora = {"both": [{"data": "corpus"}, {"data": "other"}]}
    if not (home / "other").exists():
        tiny.corpus(home / "other")
    tasks = {
        "apart": TASKS["names"] | {"data": "both", "corpus_vectors": True},
        "plain": TASKS["names"],
    }
    model, _ = new_model(resolve(changed(home, corpora=corpora, tasks=tasks), home), "cpu")
    network = model.network.eval()
    torch.nn.init.normal_(network.corpus_vectors["apart"].vectors.weight)
    documents = [set_source_corpus(text, "other") for text in TEXTS]
    instances = [
        instance
        for row, text in enumerate(documents)
        for instance in model.tasks["apart"].reader.instances(
            row, model.tokenize(text), InstanceLimits(64, 64), model.tokenize_prompt
        )
    ]
    batch = collate(instances, model.subword_tokenizer, 64)
    bounds = torch.tensor([[0, 1], [1, 3]])
    with torch.no_grad():
        inputs = network.head_inputs(batch, ["apart", "plain"])
        vectors = [inputs[name].span_vectors.gather(bounds) for name in ("apart", "plain")]
        added = network.corpus_vectors["apart"].of_instances(batch)[:1]
        shift = network.span_layers["spans"].shift(added)
    torch.testing.assert_close(vectors[0] - vectors[1], shift.expand(2, -1), rtol=1e-4, atol=1e-5)
    assert shift.abs().sum() > 0


NAMES = TASKS["names"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": TASKS | {"names": NAMES | {"span_layer": "span"}}},
         "tasks.names.span_layer: no span layer 'span'; did you mean 'spans'"),
        ({"tasks": TASKS | {"names": NAMES | {"level": "trunk"}}},
         "tasks.names.span_layer: reads context, expected the level of the task, trunk: got the "
         "span layer 'spans'"),
        ({"span_layers": [SPANS, SPANS | {"name": "more"}]},
         "span_layers.1: no task reads the span layer 'more'"),
        ({"span_layers": [SPANS, SPANS]}, "span_layers.1.name: 'spans' is taken"),
        ({"span_layers": [SPANS | {"level": "contex"}]},
         "span_layers.0.level: no level 'contex'; did you mean 'context'"),
        ({"span_layers": [SPANS | {"hidden_size": 4}]}, "span_layers.0.hidden_size"),
        ({"span_layers": [SPANS | {"size": 128}]}, "span_layers.0"),
        ({"tasks": TASKS | {"names": NAMES | {"kind": "sequence_tagging"}}},
         "tasks.names.span_layer: needs a kind that scores spans, got 'sequence_tagging'"),
        ({"tasks": TASKS | {"names": NAMES | {"hidden_size": 64}}},
         "tasks.names.hidden_size: is for heads with a projection of their own, this one reads the "
         "span layer 'spans'"),
        ({"tasks": TASKS | {"names": NAMES | {"boundary_context": True}}},
         "tasks.names.boundary_context: is for heads with a projection"),
        ({"tasks": TASKS | {"steps": TASKS["steps"] | {"pair_scorer": "spanrel"}}},
         "tasks.steps.pair_scorer: is for heads with a projection"),
        ({"span_layers": [SPANS | {"name": "keys"}],
          "tasks": {"names": NAMES | {"span_layer": "keys"}}}, "the name 'keys' is taken"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_the_line_is_named(home, changes, message):
    with pytest.raises(RecipeError) as error:
        resolve(changed(home, **changes), home)
    assert message in str(error.value)


def test_a_layer_needs_heads_of_their_own(home):
    tasks = {"names": {**ON_LAYER, "kind": "entities"}}
    with pytest.raises(RecipeError, match=r"needs a head of its own \(sharing: separate-heads\)"):
        resolve(changed(home, tasks=tasks, sharing="family-heads"), home)


def test_a_recipe_without_span_layers_is_written_without_the_key(home):
    plain = changed(home, span_layers=[], tasks={"own": TASKS["own"]})
    assert "span_layers" not in recipes.to_plain(plain)
    again = recipes.loads(recipes.dumps(changed(home)))
    assert again.span_layers == changed(home).span_layers


def test_heads_read_what_their_products_would_convert_to(model):
    """The network's vectors stay as they are; heads get them in bf16, and the same products."""
    instances = [
        instance
        for row, text in enumerate(TEXTS)
        for instance in model.tasks["own"].reader.instances(
            row, model.tokenize(text), InstanceLimits(64, 64), model.tokenize_prompt
        )
    ]
    batch = collate(instances, model.subword_tokenizer, 64)
    model.network.eval()
    level = model.network.routes["own"].level
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        encoded = model.network.encode(batch, [level])[level].word_vectors
        words = model.network.head_inputs(batch, ["own"])["own"].word_vectors
        layer = torch.nn.Linear(words.shape[1], 5)
        assert (encoded.dtype, words.dtype) == (torch.float32, torch.bfloat16)
        assert layer(words).equal(layer(encoded))
    with torch.autocast("cpu", torch.bfloat16):
        learnt = model.network.head_inputs(batch, ["own"])["own"].word_vectors
        assert learnt.dtype == torch.float32
