"""Our BERT: the shapes it takes, and that nothing of transformers is needed to use it."""

import json
import subprocess
import sys

import pytest
import tiny
import torch
from transformers import CONFIG_MAPPING, BertConfig, BertModel, PreTrainedModel

from spanloom.config import recipe as recipes
from spanloom.embedders.transformer import KIND, Options
from spanloom.errors import ModelError
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training import train

SMALL = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
SMALL |= {"intermediate_size": 12, "max_position_embeddings": 16}


def restored(values):
    """The encoder that a saved model with this configuration has, with random weights."""
    return KIND.restore(Options(), {"config.json": json.dumps(values)}).encoder


def test_every_key_that_transformers_writes_is_accepted(tmp_path):
    tiny.recipe(tmp_path)
    model, _ = train.new_model(resolve(recipes.load(tmp_path / "recipe.yaml"), tmp_path), "cpu")
    serialization.save(model, tmp_path / "saved", figures={})
    kept = json.loads((tmp_path / "saved" / "config.json").read_text())
    values = CONFIG_MAPPING["bert"]().to_dict() | kept
    assert values.keys() > kept.keys()
    serialization.rewrite(tmp_path / "saved", {"config.json": json.dumps(values)})
    loaded = serialization.load(tmp_path / "saved", device="cpu", precision="fp32")
    assert loaded.network.transformer.extra_files() == model.network.transformer.extra_files()


@pytest.mark.parametrize("act", ["gelu", "relu"])
def test_segments_vectors_and_hidden_places_are_read_as_hugging_face_reads_them(act):
    torch.manual_seed(3)
    reference = BertModel(BertConfig(**SMALL, hidden_act=act, attn_implementation="eager"))
    values = reference.config.to_dict()
    model = restored(values).eval()
    assert not isinstance(model, PreTrainedModel)
    weights = reference.eval().state_dict()
    model.load_state_dict({name: weights[name] for name in model.state_dict()})
    inputs = {
        "inputs_embeds": torch.randn(3, 7, 8),
        "attention_mask": torch.tensor([[1] * 7, [1] * 4 + [0] * 3, [1] + [0] * 6]),
        "token_type_ids": torch.tensor([[0, 0, 1, 1, 1, 0, 0]] * 3),
    }
    with torch.no_grad():
        output = reference(**inputs, output_hidden_states=True, output_attentions=True)
        expected = output.hidden_states
        actual = model(**inputs).hidden_states
        top = model(**inputs, output_hidden_states=False).hidden_states
        with_maps = model(**inputs, output_attentions=True)
    assert len(actual) == len(expected) == 3
    for a, b in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, b)
    assert len(top) == 1
    assert top[0].equal(actual[-1])
    assert model(**inputs).attentions is None
    assert with_maps.hidden_states[-1].equal(actual[-1])
    for a, b in zip(with_maps.attentions, output.attentions, strict=True):
        torch.testing.assert_close(a, b)


def test_long_windows_are_read_alike_with_and_without_gradients():
    torch.manual_seed(4)
    long = {**SMALL, "max_position_embeddings": 300}
    model = restored({"model_type": "bert", **long}).eval()
    inputs = {
        "input_ids": torch.randint(0, 30, (2, 200)),
        "attention_mask": torch.ones(2, 200, dtype=torch.long),
    }
    inputs["attention_mask"][1, 140:] = 0
    with torch.no_grad():
        actual = model(**inputs).hidden_states[-1]
    expected = model(**inputs).hidden_states[-1].detach()
    torch.testing.assert_close(actual[0], expected[0])
    torch.testing.assert_close(actual[1, :140], expected[1, :140])


def test_weights_start_as_those_of_hugging_face_do():
    config = BertConfig(vocab_size=2_000, hidden_size=64, num_hidden_layers=1)
    config.num_attention_heads = 2
    model, reference = restored(config.to_dict()), BertModel(config)
    for name, weight in model.state_dict().items():
        expected = reference.state_dict()[name]
        assert weight.shape == expected.shape
        assert abs(weight.std() - expected.std()) < 0.002, name
        assert abs(weight.mean() - expected.mean()) < 0.01, name


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("hidden_size", "8", "expected a whole number from 1, got '8'"),
        ("hidden_size", 9, "a multiple of num_attention_heads"),
        ("num_hidden_layers", True, "a whole number from 1"),
        ("num_hidden_layers", 0, "a whole number from 1, got 0"),
        ("layer_norm_eps", None, "a number from 0, got None"),
        ("layer_norm_eps", float("nan"), "a number from 0, got nan"),
        ("pad_token_id", -1, "a whole number from 0"),
    ],
)
def test_a_shape_that_is_none_is_refused(name, value, message):
    with pytest.raises(ModelError, match=f"{name}: .*{message}"):
        restored({"model_type": "bert", **SMALL, name: value})


@pytest.mark.parametrize("other", [{"hidden_act": "gelu_new"}, {"is_decoder": True}])
def test_what_it_does_not_compute_is_left_to_transformers(other):
    assert isinstance(restored(BertConfig(**SMALL, **other).to_dict()), PreTrainedModel)


USE = """
import sys
from spanloom.document import Document
from spanloom.model.serialization import load
print(len(next(load().annotate([Document("Ada met Bob.")])).layers))
print(*sorted({"transformers", "torch._dynamo", "huggingface_hub"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_to_use_the_default_model_neither_transformers_nor_a_compiler_is_imported():
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, check=True)
    layers, heavy = done.stdout.split("\n")[:2]
    assert int(layers) == 9  # relations run on request only
    assert heavy == ""
