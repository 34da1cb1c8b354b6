"""bf16 where the processor has it, fp32 elsewhere, and what was chosen is said."""

import os

import pytest
import torch
from transformers import BertConfig, BertModel

from spanloom.document import Document
from spanloom.errors import NameNotFound, PackageMissing
from spanloom.model import precision, serialization


@pytest.mark.parametrize(
    ("vendor", "flags", "bf16"),
    [
        ("AuthenticAMD", "", False),
        ("AuthenticAMD", "avx2 avx512f", False),
        ("AuthenticAMD", "avx2 avx512_bf16", True),
        ("GenuineIntel", "avx2 avx512_bf16", False),  # not faster than fp32 there
        ("GenuineIntel", "avx512_bf16 amx_bf16 amx_tile", True),
    ],
)
def test_a_cpu_computes_in_bf16_where_that_is_faster(monkeypatch, vendor, flags, bf16):
    info = {"vendor_id": vendor, "flags": flags}
    monkeypatch.setattr(precision, "cpu_info", lambda: info)
    chosen = precision.compute("auto", "cpu")
    assert chosen.bf16 is bf16
    assert ("bf16" if bf16 else "fp32") in str(chosen)
    assert precision.compute("bf16", "cpu").bf16
    assert not precision.compute("fp32", "cpu").bf16


def test_matrix_products_are_computed_in_what_was_chosen():
    a = torch.ones(4, 4)
    with precision.compute("bf16", "cpu").autocast():
        assert (a @ a).dtype == torch.bfloat16
    with precision.compute("fp32", "cpu").autocast():
        assert (a @ a).dtype == torch.float32


def test_what_linux_tells_of_a_processor(monkeypatch, tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\nmodel name\t: One: two\nflags\t\t: fpu sse\n\nprocessor\t: 1\nflags\t: x\n"
    )
    read = open
    monkeypatch.setattr("builtins.open", lambda _, **options: read(cpuinfo, **options))
    found = precision.cpu_info()
    monkeypatch.undo()
    assert found == {"processor": "0", "model name": "One: two", "flags": "fpu sse"}


def test_nothing_of_a_processor_where_the_system_tells_nothing(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    found = precision.cpu_info()
    monkeypatch.undo()
    assert found == {}


def test_an_unknown_precision_is_an_error_with_the_choices():
    with pytest.raises(NameNotFound, match="bf16"):
        precision.compute("fp16")


def test_whole_numbers_where_the_processor_has_instructions_for_them_alone(monkeypatch):
    monkeypatch.setattr(precision, "cpu_info", lambda: {"flags": "avx512_vnni"})
    assert precision.compute("fastest", "cpu").int8
    assert str(precision.compute("fastest", "cpu")).endswith("int8")
    assert not precision.compute("auto", "cpu").int8
    monkeypatch.setattr(precision, "cpu_info", lambda: {"flags": "avx512_vnni avx512_bf16"})
    assert not precision.compute("fastest", "cpu").int8
    for name in ("int8", "onnx"):
        with pytest.raises(NameNotFound, match="precision on meta"):
            precision.compute(name, "meta")


def test_products_of_whole_numbers_are_near_those_of_numbers():
    torch.manual_seed(1)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    encoder = BertModel(BertConfig(vocab_size=50, intermediate_size=64, **shape)).eval()
    ids = torch.randint(0, 50, (3, 11))
    expected = encoder(ids).last_hidden_state
    assert precision.eight_bits(encoder)
    assert not precision.eight_bits(torch.nn.Linear(2, 2))
    kinds = {type(part).__module__ for part in encoder.modules() if hasattr(part, "in_features")}
    assert len(kinds) == 2  # some are of whole numbers, some as before
    with torch.inference_mode():
        found = encoder(ids).last_hidden_state
    assert 0 < (found - expected).abs().mean() < 0.02 * expected.abs().mean()


TEXT = "add warm buffer . mix cold water and cells ."


@pytest.fixture
def packages():
    """For tests that run a graph."""
    for name in ("onnx", "onnxruntime"):
        pytest.importorskip(name, reason="the extra onnx is not installed")


def test_onnxruntime_finds_the_same(packages, monkeypatch, saved):
    monkeypatch.setattr(precision, "_WIDENING", ("none",))
    usual, other = (serialization.load(saved, device="cpu", precision=p) for p in ("fp32", "onnx"))
    assert str(other.compute).endswith("onnx")
    one, two = (next(each.annotate([Document(TEXT)], ["steps"])) for each in (usual, other))
    assert one == two
    assert one["steps"].spans


def test_a_model_run_by_onnxruntime_keeps_its_weights(packages, saved, tmp_path):
    model = serialization.load(saved, device="cpu", precision="onnx")
    serialization.save(model, tmp_path / "again", figures={})
    assert (tmp_path / "again" / serialization.WEIGHTS).read_bytes() == (
        saved / serialization.WEIGHTS
    ).read_bytes()


def test_without_the_extra_only_onnx_is_refused(monkeypatch, saved):
    monkeypatch.setattr("spanloom.errors.find_spec", lambda package: None)
    with pytest.raises(PackageMissing, match="pip install"):
        serialization.load(saved, device="cpu", precision="onnx")
    assert not serialization.load(saved, device="cpu", precision="fastest").compute.onnx


def test_nothing_is_rounded_where_there_is_no_transformer():
    chosen = precision.ComputeConfig(torch.device("cpu"), bf16=False, int8=True, onnx=True)
    assert str(precision.prepare(None, chosen)).endswith("fp32")


@pytest.mark.parametrize(("asked", "ready"), [(None, "64"), ("7", "7")])
@pytest.mark.parametrize("variable", ["ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"])
def test_few_products_are_kept_ready_unless_the_environment_says_how_many(
    monkeypatch, variable, asked, ready
):
    monkeypatch.setenv(variable, asked or "any")  # so that it is as before afterwards
    if asked is None:
        monkeypatch.delenv(variable)
    precision.prepare(None, precision.compute("fp32", "cpu"))
    assert os.environ[variable] == ready
