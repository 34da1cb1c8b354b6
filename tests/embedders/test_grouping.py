"""Windows of like length read together, against each by itself; layers mixed in place."""

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.embedders import _window_groups
from spanloom.embedders.transformer import Options, ScalarMix, build, load_pretrained
from spanloom.tensors import Batch

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
CLS, SEP, PAD, FIRST, LAST = 2, 3, 0, 5, 60  # rows of the tiny tokenizer's vocabulary
LENGTHS = st.lists(st.integers(3, 40), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny.encoder(tmp_path_factory.mktemp("grouping") / "encoder"))


def embedder(folder, pooling="mean"):
    """An embedder that never drops out, its layers mixed unevenly."""
    options = Options(dropout=0.0, pooling=pooling)
    made = build(options, load_pretrained(folder, options)).eval()
    made.layers.weights.data = torch.tensor([0.5, -1.0, 2.0])
    return made


def window_batch(lengths, seed):
    """Windows of so many pieces, special ones counted, each full of words of one or two pieces."""
    torch.manual_seed(seed)
    ids = torch.full((len(lengths), max(lengths)), PAD)
    rows, owners, word = [], [], 0
    for window, length in enumerate(lengths):
        text = torch.randint(FIRST, LAST, (length - 2,))
        ids[window, :length] = torch.tensor([CLS, *text.tolist(), SEP])
        for place in range(1, length - 1):
            word += bool(rows) and (place == 1 or place % 3 != 0)
            rows.append(window * max(lengths) + place)
            owners.append(word)
    return _made(ids, rows, owners)


def _made(ids, rows, owners):
    every = torch.tensor([[0, owners[-1] + 1]])
    words = ("w",) * (owners[-1] + 1)
    places = torch.tensor(rows), torch.tensor(owners)
    placed = tiny.placed(ids, *places)
    return Batch(words, every, every, every, ids, ids != PAD, *places, placed)


def alone(batch):
    """Each window as a batch of its own, without padding."""
    width = batch.input_ids.shape[1]
    for window, (ids, mask) in enumerate(zip(batch.input_ids, batch.attention_mask, strict=True)):
        mine = batch.piece_index // width == window
        owners = batch.piece_to_word[mine]
        rows = batch.piece_index[mine] - window * width
        yield _made(ids[mask][None], rows.tolist(), (owners - owners[0]).tolist())


@settings(max_examples=100)
@given(
    lengths=st.lists(st.integers(1, 300), min_size=1, max_size=30),
    most=st.integers(1, 600),
    learning=st.booleans(),
)
def test_groups_hold_each_window_once_little_padding_and_no_more_than_a_cacheful(
    lengths, most, learning
):
    with pytest.MonkeyPatch.context() as patch, torch.set_grad_enabled(learning):
        patch.setattr(_window_groups, "_CPU_PIECES", most)
        groups = list(_window_groups.group_by_length(torch.tensor(lengths)))
    assert sorted(row for rows, _ in groups for row in rows.tolist()) == list(range(len(lengths)))
    sizes = [[lengths[row] for row in rows.tolist()] for rows, _ in groups]
    flat = [size for group in sizes for size in group]
    assert flat == sorted(lengths, reverse=True)
    for group, (_, longest) in zip(sizes, groups, strict=True):
        assert longest == max(group)
        assert min(group) >= 0.8 * longest
        assert learning or len(group) == 1 or len(group) * longest <= most
    for before, after in zip(sizes, sizes[1:], strict=False):
        full = (len(before) + 1) * before[0] > most
        assert learning or full or after[0] < 0.8 * before[0]  # it could not have held one more


@pytest.mark.parametrize("pooling", ["mean", "first"])
@settings(max_examples=8)
@given(lengths=LENGTHS, seed=st.integers(0, 99), most=st.sampled_from([1, 60, 1_280]))
def test_windows_of_mixed_length_are_read_as_each_alone(folder, pooling, lengths, seed, most):
    mine, batch = embedder(folder, pooling), window_batch(lengths, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_window_groups, "_CPU_PIECES", most)
        with torch.no_grad():
            wanted = torch.cat([mine(window) for window in alone(batch)])
            torch.testing.assert_close(mine(batch), wanted, **CLOSE)
        torch.testing.assert_close(mine(batch).detach(), wanted, **CLOSE)


def test_gradients_are_those_of_each_window_alone(folder):
    mine, batch = embedder(folder), window_batch([30, 4, 12, 29, 11, 3], 7)
    way = torch.randn(len(batch.words), mine.dim)
    inputs = [parameter for parameter in mine.parameters() if parameter.requires_grad]
    together = torch.autograd.grad((mine(batch) * way).sum(), inputs, materialize_grads=True)
    apart = torch.cat([mine(window) for window in alone(batch)])
    wanted = torch.autograd.grad((apart * way).sum(), inputs, materialize_grads=True)
    for one, two in zip(together, wanted, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


def test_in_training_each_weight_has_one_product_for_all_groups(folder):
    mine, batch = embedder(folder), window_batch([30, 4, 12, 29, 11, 3], 7)
    calls = []
    for module in mine.encoder.modules():
        if isinstance(module, torch.nn.Linear | torch.nn.Embedding):
            module.register_forward_hook(lambda module, args, output: calls.append(module))
    mine(batch)
    assert len(calls) == len(set(calls)) > 6


@settings(max_examples=25)
@given(
    count=st.integers(1, 5),
    rows=st.integers(0, 4),
    seed=st.integers(0, 999),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
)
def test_layers_mixed_in_place_are_those_mixed_with_gradients(count, rows, seed, dtype):
    torch.manual_seed(seed)
    mix = ScalarMix(count)
    mix.weights.data = torch.randn(count)
    mix.scale.data = torch.randn(())
    layers = tuple(torch.randn(rows, 3, 4, dtype=dtype) for _ in range(count))
    before = [layer.clone() for layer in layers]
    learnt = mix(layers)
    with torch.no_grad():
        used = mix(layers)
    shares = torch.exp(mix.weights.detach().double())
    wanted = (
        sum(
            share / shares.sum() * layer.double()
            for share, layer in zip(shares, before, strict=True)
        )
        * mix.scale.detach().double()
    )
    for found in (learnt.detach(), used):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, wanted.float(), **CLOSE)
    assert all(one.equal(two) for one, two in zip(layers, before, strict=True))


def test_all_layers_and_the_mix_itself_learn():
    torch.manual_seed(1)
    mix, layers = ScalarMix(3), tuple(torch.randn(2, 4, requires_grad=True) for _ in range(3))
    way = torch.randn(2, 4)
    (mix(layers) * way).sum().backward()
    for layer in layers:
        torch.testing.assert_close(layer.grad, way / 3, **CLOSE)
    mean = torch.stack(layers).mean(0)
    torch.testing.assert_close(mix.scale.grad, (mean * way).sum(), **CLOSE)
    slopes = torch.stack([((layer - mean) * way).sum() / 3 for layer in layers])
    torch.testing.assert_close(mix.weights.grad, slopes, **CLOSE)
