"""Every architecture as it is published: trained, saved and loaded it gives equal vectors."""

import ast
import importlib.util
import json
from pathlib import Path

import published
import pytest
import tiny
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from spanloom.config import recipe as recipes
from spanloom.embedders import _hub, transformer
from spanloom.errors import ModelError, RecipeError
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training import train

QUICK = ("bert-base-uncased", "roberta-base", "deberta-v3-base")
EVERY = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
    for name in published.PUBLISHED
]
TEXT = "Add the cold buffer.\nDon't  mix 5ml (warm), or élan 中文 is lost."
pytestmark = pytest.mark.filterwarnings("ignore")  # of transformers' own modules


def trained(name, place, **changes):
    """Train a recipe on an encoder as it is published; return the folder of the model."""
    published.save(name, place / "encoder")
    tiny.recipe(place, **changes)
    recipe = recipes.load(place / "recipe.yaml")
    train.train(resolve(recipe, place), place / "model", lambda line: None, device="cpu")
    return place / "model"


def vectors(model, text=TEXT):
    """The trunk's vectors of a text, and its pieces."""
    from spanloom.data.collate import collate
    from spanloom.data.instances import InstanceLimits
    from spanloom.document import Document

    cut = model.tokenize(Document(text))
    units = list(
        model.tasks["steps"].reader.instances(0, cut, InstanceLimits(64, 64), model.tokenize_prompt)
    )
    with torch.inference_mode():
        batch = collate(units, model.subword_tokenizer, 64)
        return model.network.eval().encode(batch, ["trunk"])["trunk"].word_vectors, cut.pieces


@pytest.mark.parametrize("name", EVERY)
def test_what_is_trained_and_saved_is_what_is_loaded(name, tmp_path, monkeypatch):
    models = []
    real = train.verify
    monkeypatch.setattr(
        train, "verify", lambda model, out: (real(model, out), models.append(model))
    )
    saved = trained(name, tmp_path)
    loaded = serialization.load(saved, device="cpu", precision="fp32")
    (mine, cut), (theirs, again) = vectors(models[0]), vectors(loaded)
    assert mine.equal(theirs)
    assert cut == again
    assert mine.isfinite().all()
    before = load_file(tmp_path / "encoder" / "model.safetensors")
    after = load_file(saved / "model.safetensors")
    learnt = {key.removeprefix("trunk.0.encoder."): weight for key, weight in after.items()}
    assert any(
        key.endswith(tuple(learnt)) and not weight.equal(learnt[key.removeprefix("encoder.")])
        for key, weight in before.items()
        if key.removeprefix("encoder.") in learnt
    )


def built(name, folder):
    """The embedder around a published encoder."""
    published.save(name, folder)
    options = transformer.Options(transformer=str(folder))
    return transformer.build(options, transformer.load_pretrained(str(folder), options)).eval()


WITHOUT_MAPS = ("longformer-base-4096", "squeezebert-uncased")  # of all pairs, after the softmax


@pytest.mark.parametrize("name", EVERY)
def test_an_encoder_gives_maps_of_its_attention_or_says_that_it_has_none(name, tmp_path):
    from spanloom.tensors import Batch

    embedder = built(name, tmp_path)
    ids, mask = torch.arange(10, 28).view(2, 9), torch.ones(2, 9, dtype=torch.bool)
    mask[1, 5:] = False
    pieces, owners = mask.flatten().nonzero().flatten(), torch.arange(14)
    bounds = torch.tensor([[0, 14]])
    batch = Batch(
        *(("w",) * 14, bounds, bounds, bounds, ids, mask, pieces, owners),
        tiny.placed(ids, pieces, owners),
    )
    if name in WITHOUT_MAPS:
        with pytest.raises(ModelError, match="no maps of its attention"):
            embedder.attentions(batch)
        return
    with torch.no_grad():
        maps = embedder.attentions(batch)
    assert len(maps) == embedder.encoder.config.num_hidden_layers
    for weights in maps:
        assert (weights[1, :, :5, 5:] < 1e-3).all()  # padding is not attended to
        torch.testing.assert_close(weights[0].sum(-1), torch.ones(2, 9))


@pytest.mark.parametrize("name", EVERY)
def test_what_stands_beside_a_text_does_not_change_its_vectors(name, tmp_path):
    made = built(name, tmp_path)
    sizes, ids = [9, 4, 7], torch.arange(10, 40).view(3, 10)

    def read(rows):
        width = max(sizes[row] for row in rows)
        mask = torch.tensor([[place < sizes[row] for place in range(width)] for row in rows])
        words = sum(sizes[row] for row in rows)
        bounds, owners = torch.tensor([[0, words]]), torch.arange(words)
        places = mask.flatten().nonzero().flatten()
        from spanloom.tensors import Batch

        batch = Batch(
            *(("w",) * words, bounds, bounds, bounds, ids[rows, :width], mask, places, owners),
            tiny.placed(ids[rows, :width], places, owners),
        )
        with torch.no_grad():
            return made(batch)

    together = read([0, 1, 2]).split(sizes)
    for row, found in enumerate(together):
        torch.testing.assert_close(found, read([row]), rtol=1e-3, atol=1e-4)


KINDS = sorted({said["model_type"] for said, _ in published.PUBLISHED.values()})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model folder; tests rewrite its ``config.json``."""
    place = tmp_path_factory.mktemp("saved")
    tiny.recipe(place)
    model, _ = train.new_model(resolve(recipes.load(place / "recipe.yaml"), place), "cpu")
    serialization.save(model, place / "model", figures={})
    return place / "model"


@pytest.mark.parametrize("kind", KINDS)
def test_keys_that_encoders_read_by_getattr_are_known(saved, kind):
    """An upgrade of transformers that reads another key so is told of here."""
    config = transformers.CONFIG_MAPPING[kind]
    package = config.__module__.rsplit(".", 1)[0]
    place = Path(importlib.util.find_spec(package).origin).parent
    heads = {  # of heads, pooling and export, which no encoder of ours has
        *("cls_dropout", "num_labels", "summary_activation", "summary_type", "summary_use_proj"),
        *(
            "onnx_export",
            "summary_last_dropout",
            "summary_first_dropout",
            "classifier_dropout_rate",
        ),
        *("max_relative_positions", "pad_token_id", "relative_attention"),  # classes have these
    }
    read = set()
    for path in place.glob(f"modeling_{kind.replace(chr(45), chr(95))}.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
                asked, key = node.args[:2]
                if ast.unparse(asked) in ("config", "self.config") and isinstance(
                    key, ast.Constant
                ):
                    read.add(key.value)
    config_json = {"model_type": kind, **dict.fromkeys(read - heads), "no_such_key": None}
    serialization.rewrite(saved, {"config.json": json.dumps(config_json)})
    with pytest.raises(ModelError, match="unknown key 'no_such_key' for"):
        serialization.load(saved, device="cpu")


@pytest.mark.parametrize("name", ["deberta-v2-xlarge", "deberta-v3-base", "xlnet-base-cased"])
def test_the_configuration_keeps_what_decides_the_vectors(name, tmp_path):
    published.save(name, tmp_path)
    options = transformer.Options()
    made = transformer.build(options, transformer.load_pretrained(str(tmp_path), options))
    kept = json.loads(made.extra_files()["config.json"])
    values, _ = published.PUBLISHED[name]
    config_class = transformers.CONFIG_MAPPING[values["model_type"]]
    inert = {"untie_r"}  # in old files; nothing reads it
    for key in values.keys() - config_class().to_dict().keys() - inert:
        assert kept[key] == values[key]


def test_weights_that_are_missing_are_named(tmp_path):
    published.save("roberta-base", tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    gone = {"encoder.layer.1.output.dense.weight", "embeddings.word_embeddings.weight"}
    left = {key: weight for key, weight in weights.items() if key not in gone}
    save_file(left, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"no weights .*word_embeddings.*layer\.1\.output"):
        transformer.load_pretrained(str(tmp_path), transformer.Options())


def test_a_pooler_may_be_missing(tmp_path):
    published.save("bert-base-uncased", tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    left = {key: weight for key, weight in weights.items() if "pooler" not in key}
    assert len(left) < len(weights)
    save_file(left, tmp_path / "model.safetensors", metadata={"format": "pt"})
    transformer.load_pretrained(str(tmp_path), transformer.Options())


def test_a_model_of_ours_is_no_encoder(tmp_path):
    tiny.recipe(tmp_path)
    model, _ = train.new_model(resolve(recipes.load(tmp_path / "recipe.yaml"), tmp_path), "cpu")
    serialization.save(model, tmp_path / "mine", figures={})
    recipe = recipes.load(tmp_path / "recipe.yaml", ["trunk=[{transformer: mine}]"])
    with pytest.raises(
        RecipeError, match="is a model of spanloom, no encoder; .*init_from: "
    ) as caught:
        train.new_model(resolve(recipe, tmp_path), "cpu")
    assert "\n" not in str(caught.value)


def test_a_decoder_is_no_encoder(tmp_path):
    config = transformers.GPT2Config(
        vocab_size=60, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2
    )
    transformers.GPT2Model(config).save_pretrained(tmp_path / "encoder")
    published.roberta().save(str(tmp_path / "encoder" / "tokenizer.json"))
    tiny.recipe(tmp_path)
    with pytest.raises(RecipeError, match="left to right"):
        train.new_model(resolve(recipes.load(tmp_path / "recipe.yaml"), tmp_path), "cpu")


def test_a_model_that_does_not_come_back_as_it_was_is_told_of(tmp_path, monkeypatch):
    """What is dropped from a configuration without a word: the very mistake, made again."""
    real = transformer.Transformer.extra_files

    def dropping(embedder):
        config = json.loads(real(embedder)["config.json"])
        del config["layer_norm_eps"]
        return {"config.json": json.dumps(config)}

    published.save("roberta-base", tmp_path / "encoder")
    path = tmp_path / "encoder" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"layer_norm_eps": 0.1}))
    tiny.recipe(tmp_path)
    recipe = recipes.load(tmp_path / "recipe.yaml")
    model, _ = train.new_model(resolve(recipe, tmp_path), "cpu")
    monkeypatch.setattr(transformer.Transformer, "extra_files", dropping)
    serialization.save(model, tmp_path / "saved", figures={})
    with pytest.raises(ModelError, match="its shape was not kept"):
        train.verify(model, tmp_path / "saved")


def test_published_tokenizers_are_let_in():
    from spanloom.data import tokenizer_file

    for _, make in published.PUBLISHED.values():
        raw = make().to_str().encode()
        assert isinstance(tokenizer_file.read(raw, "tokenizer.json"), Tokenizer)


def test_an_encoder_that_is_nowhere_is_one_line(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for load in (_hub.load_config, _hub.tokenizer):
        with pytest.raises(
            ModelError, match="^encoders/none: expected minilm, an encoder's folder"
        ):
            load("encoders/none")
