"""bf16 where the processor has it, fp32 elsewhere, and what was chosen is said."""

import pytest
import torch

from spanloom.errors import NameNotFound
from spanloom.model import precision


@pytest.mark.parametrize(
    ("flags", "bf16"),
    [
        ((), False),
        (("avx2", "avx512f"), False),
        (("avx512_bf16",), True),
        (("amx_bf16", "amx_tile"), True),
    ],
)
def test_a_cpu_has_bf16_where_its_flags_say_so(monkeypatch, flags, bf16):
    monkeypatch.setattr(precision, "_flags", lambda: frozenset(flags))
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


def test_flags_are_words_or_none(monkeypatch):
    assert all(flag and " " not in flag for flag in precision._flags())


def test_no_flags_where_the_system_tells_none(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    found = precision._flags()
    monkeypatch.undo()
    assert found == frozenset()


def test_an_unknown_precision_is_an_error_with_the_choices():
    with pytest.raises(NameNotFound, match="bf16"):
        precision.compute("fp16")
