"""Encoders run by onnxruntime, against torch on tiny random ones of every kind."""

import pytest
import torch
from transformers import CONFIG_MAPPING, BertConfig

from spanloom import errors
from spanloom.embedders.transformer import Options, build, build_untrained
from spanloom.errors import ModelError, PackageMissing
from spanloom.model import onnx_runtime

CLOSE = {"rtol": 0, "atol": 1e-4}
SHAPE = {
    "vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": 64,
}  # fmt: skip
OTHER = {
    "albert": {"embedding_size": 8},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {
        **{"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
        "norm_rel_ebd": "layer_norm",
    },
    "electra": {"embedding_size": 8},
    "modernbert": {
        **{"pad_token_id": 0, "local_attention": 8, "global_attn_every_n_layers": 2},
        **{"cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2},
    },
    "rembert": {"input_embedding_size": 8},
}
LOOK = ("query", "key", "value", "intermediate.dense")


@pytest.fixture
def packages():
    """For tests that run a graph."""
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")


def encoder(kind="bert", **keys):
    torch.manual_seed(0)
    config = CONFIG_MAPPING[kind](**(SHAPE | OTHER.get(kind, {}) | keys))
    return build_untrained(config, Options()).eval()


def read(windows, longest, *, seed=0, segments=False):
    """Windows of any pieces; but for the first each is shorter than the one before."""
    torch.manual_seed(seed)
    lengths = torch.arange(longest, longest - windows, -1).clamp(min=1)
    mask = (torch.arange(longest) < lengths[:, None]).long()
    found = {"input_ids": torch.randint(5, 60, mask.shape), "attention_mask": mask}
    return found | ({"token_type_ids": torch.randint(0, 2, mask.shape)} if segments else {})


def assert_alike(found, expected, mask):
    torch.testing.assert_close(found[mask > 0], expected[mask > 0], **CLOSE)


ENCODERS = (
    *("albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "ernie"),
    *("megatron-bert", "modernbert", "mpnet", "rembert", "roberta", "roberta-prelayernorm"),
    *("xlm-roberta", "xlm-roberta-xl"),
)
QUICK = ("bert", "roberta", "deberta-v2", "modernbert")
KINDS = [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in ENCODERS]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_encoder_computes_as_in_torch(packages, kind):
    mine = build(Options(), encoder(kind)).eval()
    run = onnx_runtime.runtime(mine.encoder, mine.layers, ())
    two = getattr(mine.encoder.config, "type_vocab_size", 0) > 1
    for windows, longest in ((1, 1), (1, 6), (4, 30), (7, 13)):
        given = read(windows, longest, segments=two and windows > 1)
        with torch.no_grad():
            assert_alike(run(given), mine.mix_layers(given), given["attention_mask"])


@pytest.mark.parametrize("layers", ["scalar-mix", "last"])
def test_layers_as_they_were_learnt_and_vectors_of_pieces(packages, layers):
    mine = build(Options(layers=layers), encoder()).eval()
    with torch.no_grad():
        for parameter in mine.layers.parameters():
            parameter.normal_()
        run = onnx_runtime.runtime(mine.encoder, mine.layers, ())
        given = read(3, 9)
        vectors = torch.randn(3, 9, 16)
        spelt = {"attention_mask": given["attention_mask"], "inputs_embeds": vectors}
        assert_alike(run(given), mine.mix_layers(given), given["attention_mask"])
        assert_alike(run(spelt), mine.mix_layers(spelt), given["attention_mask"])


@pytest.mark.parametrize("kind", ["bert", "albert"])
def test_whole_numbers_are_near(packages, kind):
    mine = build(Options(), encoder(kind)).eval()
    exact = onnx_runtime.runtime(mine.encoder, mine.layers, ())
    near = onnx_runtime.runtime(mine.encoder, mine.layers, LOOK)
    given = read(3, 20)
    expected, found = exact(given), near(given)
    assert 0 < (found - expected).abs().mean() < 0.02 * expected.abs().mean()


@pytest.mark.parametrize(
    ("bits", "numbers"), [(7, [[63, -63, 0], [32, 16, 0]]), (8, [[127, -127, 0], [65, 32, 0]])]
)
def test_weights_have_some_bits_and_a_scale_a_column(packages, bits, numbers):
    from onnx.helper import make_tensor
    from onnx.numpy_helper import to_array

    values = torch.tensor([[1.0, -8.0, 0.0], [0.51, 2.0, 0.0]])
    weight = make_tensor("w", 1, values.shape, values.flatten().tolist())
    whole, scale = map(to_array, onnx_runtime.quantize_weight(weight, bits))
    assert whole.tolist() == numbers
    assert abs(whole * scale - values.numpy()).max() <= 0.5 * scale.max()


def test_an_encoder_whose_graph_differs_is_refused(packages):
    class Frozen(torch.nn.Module):
        """Adds a number that tracing takes for granted."""

        def forward(self, layers):
            return layers[-1] + float(layers[-1].shape[1])

    with pytest.raises(ModelError, match="computes otherwise when traced"):
        onnx_runtime.runtime(encoder(), Frozen(), ())


def test_an_encoder_that_cannot_be_traced_is_refused(packages):
    class Odd(torch.nn.Module):
        """Has an operator that ONNX lacks."""

        def forward(self, layers):
            return torch.special.i0e(layers[-1])

    with pytest.raises(ModelError, match="cannot be traced") as caught:
        onnx_runtime.runtime(encoder(), Odd(), ())
    assert "\n" not in str(caught.value)


def test_an_encoder_too_large_for_a_graph_is_refused(packages, monkeypatch):
    monkeypatch.setattr(onnx_runtime, "MAX_BYTES", 1_000)
    with pytest.raises(ModelError, match="under 2 GB"):
        onnx_runtime.runtime(encoder(), torch.nn.Identity(), ())


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_a_package_that_is_not_there(monkeypatch, name):
    monkeypatch.setattr(errors, "find_spec", lambda wanted: None if wanted == name else wanted)
    with pytest.raises(PackageMissing, match=rf"{name}.*pip install 'spanloom\[onnx\]'"):
        onnx_runtime.runtime(encoder(), torch.nn.Identity(), ())


def test_a_runtime_stands_for_the_mix_alone():
    mine = build(Options(), build_untrained(BertConfig(**SHAPE), Options()))
    given = read(1, 2)
    assert mine.mix_layers(given).requires_grad
    mine.runtime = lambda asked: torch.zeros(*asked["attention_mask"].shape, 16)
    assert mine.mix_layers(given).eq(0).all()
    assert len(mine.layer_states(given)) == 3
