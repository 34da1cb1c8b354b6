"""ELMo against a forward pass in numpy, one word at a time, over made weights in their files."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from spanloom.config.yaml import loads
from spanloom.embedders import BuildContext, load
from spanloom.embedders.elmo import SHAPE
from spanloom.errors import ModelError, RecipeError
from spanloom.tensors import Batch

h5py = pytest.importorskip("h5py")
KIND = load("elmo")
OPTIONS = KIND.options.model_validate({"elmo": "weights.hdf5", "options": "options.json"})
DIM, UNITS, PROJECTED, LENGTH = 3, 5, 4, 12
FILTERS = ((1, 2), (2, 3), (3, 2))
WHERE = loads("a: 1", "r.yaml").location


def shape(**changes):
    cnn = {"activation": "relu", "filters": FILTERS, "n_highway": 2, "embedding": {"dim": DIM}}
    cnn |= {"n_characters": 262, "max_characters_per_token": LENGTH}
    lstm = {"dim": UNITS, "projection_dim": PROJECTED, "n_layers": 2, "cell_clip": 0.4}
    lstm |= {"proj_clip": 0.3, "use_skip_connections": True}
    return {
        "char_cnn": cnn | changes.get("char_cnn", {}),
        "lstm": lstm | changes.get("lstm", {}),
    }


def weights(options):
    """Made weights by the names that published files have."""
    rng = np.random.default_rng(0)
    total = sum(number for _, number in FILTERS)

    def make(*sizes):
        return rng.normal(0, 0.9, sizes).astype(np.float32)

    found = {"char_embed": make(261, DIM)}
    for n, (width, number) in enumerate(FILTERS):
        found |= {f"CNN/W_cnn_{n}": make(1, width, DIM, number), f"CNN/b_cnn_{n}": make(number)}
    for n in range(options["char_cnn"]["n_highway"]):
        for name in ("transform", "carry"):
            found[f"CNN_high_{n}/W_{name}"] = make(total, total)
            found[f"CNN_high_{n}/b_{name}"] = make(total)
    found |= {"CNN_proj/W_proj": make(total, PROJECTED), "CNN_proj/b_proj": make(PROJECTED)}
    for side in (0, 1):
        for n in range(options["lstm"]["n_layers"]):
            cell = f"RNN_{side}/RNN/MultiRNNCell/Cell{n}/LSTMCell"
            found[f"{cell}/W_0"] = make(2 * PROJECTED, 4 * UNITS)
            found[f"{cell}/B"] = make(4 * UNITS)
            found[f"{cell}/W_P_0"] = make(UNITS, PROJECTED)
    return found


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def word_vector(options, w, inner):
    """A word's context-free vector: filters at each place, the maximum, highways, projection."""
    codes = [258, *inner[: LENGTH - 2], 259]
    codes += [260] * (LENGTH - len(codes))
    characters = [w["char_embed"][code] for code in codes]
    act = {"relu": lambda x: max(x, 0.0), "tanh": np.tanh}[options["char_cnn"]["activation"]]
    found = []
    for n, (width, number) in enumerate(FILTERS):
        kernel, bias = w[f"CNN/W_cnn_{n}"], w[f"CNN/b_cnn_{n}"]
        for k in range(number):
            scores = [
                bias[k] + sum(characters[at + i] @ kernel[0, i, :, k] for i in range(width))
                for at in range(LENGTH - width + 1)
            ]
            found.append(act(max(scores)))
    x = np.array(found)
    for n in range(options["char_cnn"]["n_highway"]):
        name = f"CNN_high_{n}"
        carry = sigmoid(x @ w[f"{name}/W_carry"] + w[f"{name}/b_carry"])
        new = np.maximum(x @ w[f"{name}/W_transform"] + w[f"{name}/b_transform"], 0)
        x = carry * new + (1 - carry) * x
    return x @ w["CNN_proj/W_proj"] + w["CNN_proj/b_proj"]


def direction(options, w, side, words):
    """The outputs of each layer of a direction over a sentence with its two markers."""
    lstm, layers, inputs = options["lstm"], [], words
    for n in range(lstm["n_layers"]):
        cell = f"RNN_{side}/RNN/MultiRNNCell/Cell{n}/LSTMCell"
        c, h, outputs = np.zeros(UNITS), np.zeros(PROJECTED), []
        for x in inputs:
            i, j, f, o = np.split(np.concatenate([x, h]) @ w[f"{cell}/W_0"] + w[f"{cell}/B"], 4)
            c = sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j)
            c = np.clip(c, -lstm["cell_clip"], lstm["cell_clip"]) if lstm["cell_clip"] else c
            h = (sigmoid(o) * np.tanh(c)) @ w[f"{cell}/W_P_0"]
            h = np.clip(h, -lstm["proj_clip"], lstm["proj_clip"]) if lstm["proj_clip"] else h
            outputs.append(h)
        if n and lstm["use_skip_connections"]:
            outputs = [a + b for a, b in zip(outputs, inputs, strict=True)]
        layers.append(outputs)
        inputs = outputs
    return layers


def slow(options, w, sentence, mix, scale):
    """The vectors of a sentence's words (Peters et al. 2018, equation 1)."""
    plain = [word_vector(options, w, list(word.encode())) for word in sentence]
    begin, end = (word_vector(options, w, [code]) for code in (256, 257))
    ahead = direction(options, w, 0, [begin, *plain, end])
    back = direction(options, w, 1, [end, *plain[::-1], begin])
    share = np.exp(mix) / np.exp(mix).sum()
    out = []
    for n in range(len(sentence)):
        layers = [np.concatenate([plain[n], plain[n]])]
        for a, b in zip(ahead, back, strict=True):
            layers.append(np.concatenate([a[1 + n], b[::-1][1 + n]]))
        out.append(scale * sum(s * layer for s, layer in zip(share, layers, strict=True)))
    return np.array(out)


def write(folder, options, w):
    (folder / "options.json").write_text(json.dumps(options), "utf-8")
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, values in w.items():
            file[name] = values


def build(folder):
    return KIND.build(OPTIONS, BuildContext(Path(folder), frozenset()), WHERE)


def batch_of(sentences):
    none, ends = torch.zeros(0, dtype=torch.long), np.cumsum([0, *map(len, sentences)]).tolist()
    bounds = torch.tensor(list(zip(ends, ends[1:], strict=False)))
    return Batch(
        words=tuple(word for sentence in sentences for word in sentence),
        sentences=bounds, windows=bounds, instances=bounds, input_ids=none[None],
        attention_mask=none[None].bool(), piece_index=none, piece_to_word=none,
        position_to_word=none[None],
    )  # fmt: skip


SENTENCES = [("Ada", "met", "Größe", "in", "internationalisation"), ("Yes",), ("Bob", "Ada")]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"char_cnn": {"activation": "tanh", "n_highway": 1}},
        {"lstm": {"use_skip_connections": False, "cell_clip": 0, "proj_clip": 0}},
        {"lstm": {"n_layers": 3}},
    ],
)
def test_vectors_are_those_of_a_forward_pass_by_hand(tmp_path, changes):
    options = shape(**changes)
    w = weights(options)
    write(tmp_path, options, w)
    made = build(tmp_path)
    mix = np.linspace(-1, 1, options["lstm"]["n_layers"] + 1)
    with torch.no_grad():
        made.mix.copy_(torch.from_numpy(mix))
        made.scale.fill_(1.7)
        found = made(batch_of(SENTENCES)).numpy()
    expected = np.concatenate([slow(options, w, s, mix, 1.7) for s in SENTENCES])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert made.dim == found.shape[1] == 2 * PROJECTED


def test_only_the_mix_is_learnt_and_what_is_saved_is_restored(tmp_path):
    write(tmp_path, shape(), weights(shape()))
    made = build(tmp_path)
    assert {name for name, p in made.named_parameters() if p.requires_grad} == {"mix", "scale"}
    made(batch_of(SENTENCES)).sum().backward()
    assert made.mix.grad is not None
    again = KIND.restore(OPTIONS, made.extra_files())
    again.load_state_dict(made.state_dict())
    with torch.no_grad():
        assert torch.equal(again(batch_of(SENTENCES)), made(batch_of(SENTENCES)))


def test_files_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(RecipeError, match=r"options: .*no such file"):
        build(tmp_path)
    w = weights(shape())
    write(tmp_path, shape(lstm={"dim": UNITS + 1}), w)
    with pytest.raises(RecipeError, match=r"elmo: .*expected the shape"):
        build(tmp_path)
    write(tmp_path, shape(), {k: v for k, v in w.items() if k != "CNN_proj/b_proj"})
    with pytest.raises(RecipeError, match="elmo: "):
        build(tmp_path)
    (tmp_path / "options.json").write_text("{}", "utf-8")
    with pytest.raises(RecipeError, match="options: .*expected ELMo's options"):
        build(tmp_path)
    with pytest.raises(ModelError, match=SHAPE):
        KIND.restore(OPTIONS, {})
