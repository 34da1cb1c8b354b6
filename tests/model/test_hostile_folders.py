"""Folders that lie, leak or bite: each is refused in one line, and nothing in it is run."""

import copy
import dataclasses
import hashlib
import json
import os
import pickle
import re
import resource

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from spanloom.document import Document
from spanloom.errors import ModelError, RecipeError
from spanloom.model import serialization
from spanloom.model.skip_init import SkipInit, limit_parameters


class Bite:
    """Its pickle writes a file when it is loaded."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


@pytest.fixture
def victim(saved, tmp_path):
    serialization.copy(saved, tmp_path / "victim")
    return tmp_path / "victim"


def seal(place):
    """Make the manifest fit again: the attacker wrote the folder."""
    files = {
        each.name: {
            "sha256": hashlib.sha256(each.read_bytes()).hexdigest(),
            "size": each.stat().st_size,
        }
        for each in place.iterdir()
        if each.name != "manifest.json" and not each.is_symlink()
    }
    (place / "manifest.json").write_text(json.dumps({"files": files}))


def change(place, name, *pairs):
    text = (place / name).read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (place / name).write_text(text)
    seal(place)


def configure(place, **keys):
    path = place / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))
    seal(place)


def refused(place, match, kind=ModelError):
    """One line, nothing allocated, nothing left beside."""
    before = set(place.parent.iterdir())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(kind, match=match) as caught:
        serialization.load(place)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 300_000  # KiB
    assert set(place.parent.iterdir()) == before


def test_a_sealed_copy_loads(victim):
    seal(victim)
    serialization.load(victim)


def test_a_pickle_beside(victim, tmp_path):
    (victim / "pytorch_model.bin").write_bytes(pickle.dumps(Bite(tmp_path / "bitten")))
    seal(victim)
    refused(victim, "pickled")
    assert not (tmp_path / "bitten").exists()


def test_a_pickle_instead_of_weights(victim, tmp_path):
    (victim / "model.safetensors").write_bytes(pickle.dumps(Bite(tmp_path / "bitten")))
    seal(victim)
    refused(victim, "safetensors")
    assert not (tmp_path / "bitten").exists()


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", "a/../../b", "..\\b"])
def test_a_name_that_leads_out(victim, name):
    listed = json.loads((victim / "manifest.json").read_text())
    listed["files"][name] = {"sha256": "0" * 64, "size": 1}
    (victim / "manifest.json").write_text(json.dumps(listed))
    refused(victim, "manifest.json is broken")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "manifest.json"])
def test_a_link(victim, tmp_path, name):
    (victim / name).rename(tmp_path / "elsewhere")
    (victim / name).symlink_to(tmp_path / "elsewhere")
    refused(victim, "link")


@pytest.mark.parametrize("name", ["recipe.yaml", "model.safetensors", "tokenizer.json"])
def test_a_torn_file(victim, name):
    with (victim / name).open("r+b") as stream:
        stream.truncate(os.path.getsize(victim / name) // 2)
    refused(victim, name)


@pytest.mark.parametrize("part", [0.01, 0.3, 0.9])
def test_one_flipped_bit(victim, part):
    raw = bytearray((victim / "model.safetensors").read_bytes())
    raw[int(len(raw) * part)] ^= 1
    (victim / "model.safetensors").write_bytes(raw)
    refused(victim, "SHA-256")


def test_weights_cut_short_by_who_sealed_them(victim):
    raw = (victim / "model.safetensors").read_bytes()
    (victim / "model.safetensors").write_bytes(raw[:-100])
    seal(victim)
    refused(victim, "not a whole safetensors file")


@pytest.mark.parametrize("name", ["recipe.yaml", "config.json", "tokenizer.json"])
def test_a_missing_file(victim, name):
    (victim / name).unlink()
    seal(victim)
    refused(victim, f"no {name}")


def test_weights_of_another_shape(victim):
    weights = load_file(victim / "model.safetensors")
    name = next(iter(weights))
    weights[name] = torch.zeros(3, 3, 3)
    save_file(weights, victim / "model.safetensors")
    seal(victim)
    refused(victim, "expected shape")


def test_weights_too_many(victim):
    weights = load_file(victim / "model.safetensors")
    save_file(weights | {"more": torch.zeros(3)}, victim / "model.safetensors")
    seal(victim)
    refused(victim, "more: expected shape None")


@pytest.mark.parametrize(
    "keys",
    [
        {"hidden_size": 10**9},
        {"hidden_size": 10**400},
        {"vocab_size": 10**9},
        {"intermediate_size": 10**18},
        {"num_hidden_layers": 10**6},
        {"num_hidden_layers": 5},
        {"num_attention_heads": 10**9},
        {"num_attention_heads": 0},
        {"num_attention_heads": 3},
        {"max_position_embeddings": 10**12},
        {"max_position_embeddings": 8},
        {"hidden_size": 0},
        {"hidden_size": -1},
        {"hidden_size": None},
        {"hidden_size": "16"},
        {"hidden_size": 16.5},
        {"hidden_size": [16]},
        {"layer_norm_eps": float("inf")},
        {"hidden_act": "no such thing"},
        {"hidden_act": ["gelu"]},
        {"pad_token_id": 10**6},
        {"type_vocab_size": 7},
        {"is_decoder": True},
        {"return_dict": False},
        {"dtype": "float16"},
        {"torch_dtype": "float16"},
        {"auto_map": {"AutoModel": "evil--code.Model"}},
        {"quantization_config": {"quant_method": "awq"}},
        {"attn_implementation": "evil/kernels"},
        {"_attn_implementation": "evil/kernels"},
        {"_attn_implementation_internal": "evil/kernels"},
        {"use_kernels": True},
        {"hidden_act": "x" * 10**6},
        {"architectures": [["deep" * 10**5]]},
        {"id2label": {str(row): "x" for row in range(100_000)}},
    ],
    ids=lambda keys: f"{next(iter(keys))}={str(next(iter(keys.values())))[:20]}",
)
def test_a_configuration_that_lies(victim, keys):
    configure(victim, **keys)
    refused(victim, "config.json|model.safetensors")


@pytest.mark.parametrize(
    "kind", ["gpt2", "t5", "clip", "whisper", "llama", "nothing", "", None, 5, ["bert"], {"a": 1}]
)
def test_no_encoder_of_text(victim, kind):
    configure(victim, model_type=kind)
    refused(victim, "config.json: (model_type .* is no encoder of text|unknown key)")


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, '{"a":' * 100_000, "\0"])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_json_that_is_none_or_too_deep(victim, name, text):
    (victim / name).write_text(text)
    seal(victim)
    refused(victim, name)


def test_bytes_that_are_no_text(victim):
    for name, kind in (
        ("config.json", ModelError),
        ("tokenizer.json", ModelError),
        ("recipe.yaml", RecipeError),
    ):
        kept = (victim / name).read_bytes()
        (victim / name).write_bytes(b"\xff\xfe\x00")
        seal(victim)
        refused(victim, name, kind)
        (victim / name).write_bytes(kept)


def test_a_tokenizer_whose_pieces_the_encoder_does_not_know(victim):
    path = victim / "tokenizer.json"
    data = json.loads(path.read_text())
    data["model"]["vocab"]["beyond"] = 10**6
    path.write_text(json.dumps(data))
    seal(victim)
    refused(victim, "expected pieces")


@pytest.mark.parametrize("kind", ["Unigram", "BPE", "WordLevel", "Evil"])
def test_a_tokenizer_of_another_kind(victim, kind):
    path = victim / "tokenizer.json"
    data = json.loads(path.read_text())
    data["model"] = {"type": kind}
    path.write_text(json.dumps(data))
    seal(victim)
    refused(victim, "tokenizer.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed: 1", "seed: !!python/object/apply:os.mkdir [bitten]"),
        ("seed: 1", "seed: &a [*a]"),
        ("seed: 1", "seed: one"),
        ("seed: 1", "seed: 1\nplugin: evil"),
        ("hidden_size: 16", "hidden_size: 1000000000000"),
        ("hidden_size: 16", "hidden_size: 4000"),
        ("kind: entities", "kind: evil"),
        ("kind: entities", "kind: ../../evil"),
        ("kind: entities", "kind: _base"),
        ("  steps:\n    span_labels:", "  other:\n    span_labels:"),
        ("max_span_width: 1", "max_span_width: 1000000000000"),
        ("max_span_width: 1", "max_span_width: -1"),
        ("max_span_width: 1", "max_span_width: [1]"),
        ("max_span_width: 1", "max_span_width: .inf"),
        ("span_labels: [Action, Modifier, Place, Reagent]", "span_labels: 5"),
        ("span_labels: [Action, Modifier, Place, Reagent]", "span_labels: [1, 2, 3, 4]"),
        ("span_labels: [Action, Modifier, Place, Reagent]", "span_labels: []"),
        ("span_labels: [Action, Modifier, Place, Reagent]", "labels: []"),
        ("trigger_labels: [Action]", "trigger_labels: [[Action]]"),
        ("pad: 0", "pad: -1"),
        ("pad: 0", "pad: true"),
        ("unk: 1", "unk: 1000000"),
        ("unk: 1", "other: 1"),
        ("window: 64", "window: 1000000"),
        ("casing: 4", "casing: 1000000"),
        ("casing: 4", "evil: 4"),
        ("level: trunk", "level: nowhere"),
    ],
)
def test_a_recipe_that_lies(victim, old, new, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    change(victim, "recipe.yaml", (old, new))
    refused(victim, "recipe|model.safetensors|config.json", (ModelError, RecipeError))
    assert not (tmp_path / "bitten").exists()


def test_a_recipe_as_deep_as_it_is_long(victim):
    (victim / "recipe.yaml").write_text("[" * 10_000)
    seal(victim)
    refused(victim, "deeper", RecipeError)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 1e30, -1e30])
@pytest.mark.parametrize("where", ["trunk.", "heads."])
def test_weights_that_are_no_numbers_or_out_of_all_proportion(victim, where, number):
    weights = load_file(victim / "model.safetensors")
    name = max(key for key in weights if key.startswith(where) and weights[key].ndim > 1)
    weights[name][-1, -1] = number
    save_file(weights, victim / "model.safetensors")
    seal(victim)
    refused(victim, f"{re.escape(name)}: expected numbers up to 1e.08")


def test_numbers_that_overflow_when_they_are_computed_with(model):
    made = copy.deepcopy(model.network)
    with torch.no_grad():
        for each in made.trunk.parameters():
            each.fill_(3e38)
    broken = dataclasses.replace(model, network=made)
    with pytest.raises(ModelError, match="vectors are nan or inf") as caught:
        next(broken.annotate([Document("add warm buffer")], ["steps"]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["bert", "roberta", "albert", "longformer", "xlm"])
def test_no_more_is_made_than_weights_fill(kind):
    """Whatever an architecture calls its sizes."""
    weights = {f"w{row}": (40, 40) for row in range(30)}
    config = transformers.CONFIG_MAPPING[kind]()  # as large as it is published
    with pytest.raises(ModelError, match="more is asked for"):
        with limit_parameters(weights), torch.device("meta"), SkipInit():
            transformers.AutoModel.from_config(config)
    with limit_parameters(weights):
        torch.nn.Linear(9, 9)
        with pytest.raises(ModelError, match="more is asked for.* at places of a Linear"):
            torch.nn.Linear(9, 9).register_buffer("places", torch.empty(10**8, device="meta"))
    torch.nn.Linear(500, 500).register_buffer("places", torch.zeros(10**6))  # the bound is gone


@pytest.mark.parametrize(
    "keys",
    [
        {"normalizer": {"type": "Prepend", "prepend": "a" * 1_000_000}},
        {
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "(a+)+$"},
                "behavior": "Isolated",
            }
        },
        {"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 10**6], "cls": ["a", 2]}},
    ],
    ids=["prepend", "split", "processing"],
)
def test_a_tokenizer_that_bites(victim, keys):
    path = victim / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))
    seal(victim)
    refused(victim, r"tokenizer\.json: ")
