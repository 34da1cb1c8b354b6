"""A text as long as a book: few windows go through an encoder at once, and nothing else changes."""

import pytest
import tiny
import torch
from transformers import BertConfig

from spanloom.embedders import _window_groups
from spanloom.embedders.transformer import Options, build, build_untrained
from spanloom.tensors import Batch


@pytest.fixture(scope="module")
def made():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=12, max_position_embeddings=32,
    )  # fmt: skip
    return build(Options(), build_untrained(config, Options())).eval()


def batch(windows, width=6):
    """Each piece but the first and last of a window is a word."""
    ids = torch.randint(4, 30, (windows, width))
    rows = torch.arange(windows * width).view(windows, width)[:, 1:-1].flatten()
    bounds = torch.tensor([[0, len(rows)]])
    mask = torch.ones(windows, width, dtype=torch.bool)
    words = ("w",) * len(rows)
    places = rows, torch.arange(len(rows))
    return Batch(words, bounds, bounds, bounds, ids, mask, *places, tiny.placed(ids, *places))


def test_little_is_read_at_once_where_no_gradient_is_kept(made, monkeypatch):
    one, sizes = batch(25), []
    made(one)  # the first time it is looked at whether padding is read
    hook = made.encoder.register_forward_pre_hook(
        lambda module, args, kwargs: sizes.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    monkeypatch.setattr(_window_groups, "_CPU_PIECES", 40)
    with torch.no_grad():
        parted = made(one)
    assert max(sizes) <= 40
    assert sum(sizes) == one.input_ids.numel()
    sizes.clear()
    whole = made(one)
    assert sizes == [one.input_ids.numel()]
    hook.remove()
    torch.testing.assert_close(parted, whole.detach(), rtol=1e-4, atol=1e-5)
