"""Weights stored smaller: what comes back, what is refused, what a model then finds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save

from spanloom.atomic_io import write_folder
from spanloom.document import Document
from spanloom.errors import ModelError, NameNotFound
from spanloom.model import serialization
from spanloom.model.quantization import FORMS, StorageDtypes, pack, shapes, unpack

TEXT = "add warm buffer . mix cold water and cells ."


@given(
    st.sampled_from(FORMS),
    st.sampled_from(FORMS),
    st.lists(st.sampled_from([0.0, 1e-3, 1.0, 50.0]), min_size=1, max_size=5),
)
def test_what_was_packed_comes_back_as_near_as_its_form_allows(tables, matrices, sizes):
    torch.manual_seed(len(sizes))
    rows = torch.randn(len(sizes), 3, 2) * torch.tensor(sizes)[:, None, None]
    weights = {"table": rows, "other": rows.flatten(1), "bias": rows[0, 0], "n": torch.tensor([3])}
    back = unpack(pack(weights, {"table"}, StorageDtypes(tables, matrices)))
    assert back.keys() == weights.keys()
    for name, form in (("table", tables), ("other", matrices), ("bias", "fp32"), ("n", "fp32")):
        mine, theirs = weights[name], back[name]
        assert theirs.dtype == mine.dtype
        assert theirs.shape == mine.shape
        error = (mine - theirs).abs().flatten(1) if mine.ndim > 1 else (mine - theirs).abs()[None]
        largest = mine.abs().flatten(1).amax(1) if mine.ndim > 1 else mine.abs().amax()[None]
        allowed = {"fp32": 0.0, "fp16": 2**-11, "int8": 0.5001 / 127}[form] * largest + 3e-8
        assert (error.amax(1) <= (0 if form == "fp32" else 1) * allowed).all()


def test_a_form_that_is_none_is_refused():
    with pytest.raises(NameNotFound, match="fp8"):
        StorageDtypes("int8", "fp8")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"a": ("I8", (2, 3))}, "a: int8 needs a scale"),
        ({"a": ("I8", (2, 3)), "a@scale": ("F32", (3,))}, "a: int8 needs a scale"),
        ({"a": ("I8", (2, 3)), "a@scale": ("F16", (2,))}, "a: int8 needs a scale"),
        ({"a": ("I8", (2,)), "a@scale": ("F32", (2,))}, "a: int8 needs a scale"),
        ({"a": ("F32", (2, 3)), "a@scale": ("F32", (2,))}, "a@scale: a scale of no int8"),
        ({"a@scale": ("F32", (2,))}, "a@scale: a scale of no int8"),
        ({"a": ("F8_E4M3", (2, 3))}, "a: expected F32, F16, I64, BOOL or I8, got F8_E4M3"),
    ],
)
def test_what_cannot_be_unpacked_is_refused_by_its_header(header, said):
    with pytest.raises(ValueError, match=said):
        shapes(header)


@pytest.fixture(scope="module")
def small(saved, tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "small"
    serialization.repack(saved, out, StorageDtypes("int8", "fp16"))
    return serialization.load(out, device="cpu"), out


def test_a_packed_model_is_smaller_and_finds_nearly_the_same(saved, small):
    model, out = small
    assert (out / serialization.WEIGHTS).stat().st_size < 0.7 * (
        saved / serialization.WEIGHTS
    ).stat().st_size
    found = []
    for each in (model, serialization.load(saved, device="cpu")):
        (document,) = each.annotate([Document(TEXT)], ["steps", "names"])
        spans = [span for layer in document.layers for span in layer.spans]
        found.append({(span.start, span.end, span.label) for span in spans})
    assert len(found[0] & found[1]) > 0.8 * len(found[1]) > 0
    assert "other matrices as fp16" in (out / "README.md").read_text()


def test_a_packed_model_can_be_packed_again_and_changes_no_more(small, tmp_path):
    _, out = small
    serialization.repack(out, tmp_path / "again", StorageDtypes("int8", "fp16"))
    for name in (serialization.WEIGHTS, serialization.CARD):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes()


def rewritten(out, place, change):
    """A sealed copy of a model with other weights."""
    weights = load_file(out / serialization.WEIGHTS)
    change(weights)
    with write_folder(place) as staging:
        for path in out.iterdir():
            if path.name not in (serialization.WEIGHTS, "manifest.json"):
                (staging / path.name).write_bytes(path.read_bytes())
        (staging / serialization.WEIGHTS).write_bytes(save(weights))
    return place


def test_a_hostile_scale_is_refused(small, tmp_path):
    def cut(weights):
        name = next(each for each in weights if each.endswith("@scale"))
        weights[name] = weights[name][:1]

    with pytest.raises(ModelError, match="int8 needs a scale"):
        serialization.load(rewritten(small[1], tmp_path / "bad", cut))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_is_refused(small, tmp_path, value):
    def spoil(weights):
        next(each for name, each in weights.items() if name.endswith("@scale"))[0] = value

    with pytest.raises(ModelError, match="expected numbers up to 1e.08, got .*(nan|inf)"):
        serialization.load(rewritten(small[1], tmp_path / "bad", spoil))
