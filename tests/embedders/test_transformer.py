"""The transformer embedder, against Hugging Face's own output on a tiny random BERT."""

import json
import logging
from dataclasses import replace

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoConfig, BertConfig, BertForMaskedLM, BertModel

from spanloom.data.collate import collate
from spanloom.data.instances import Instance
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.windows import strided_windows
from spanloom.embedders.casing import shape
from spanloom.embedders.transformer import KIND, Options, build, load_pretrained
from spanloom.errors import ModelError
from spanloom.model.onnx_runtime import runtime
from spanloom.tensors import Batch

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
CLS, SEP, PAD = 2, 3, 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=12, max_position_embeddings=32,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("tiny")
    BertModel(config).save_pretrained(path)
    return str(path)


@pytest.fixture(scope="module")
def theirs(folder):
    return BertModel.from_pretrained(folder, attn_implementation="eager").eval()


def _batch(units, limit):
    """Lay units (lists of words, each a list of pieces) in windows, by plain loops."""
    windows, places, owners = [], [], []
    for unit in units:
        pieces = [piece for word in unit for piece in word]
        for part in strided_windows(len(pieces), limit):
            places += [
                (len(windows), 1 + p - part.start) for p in range(part.keep_start, part.keep_end)
            ]
            windows.append([CLS, *pieces[part.start : part.end], SEP])
    width = max(map(len, windows))
    words = [word for unit in units for word in unit]
    for row, word in enumerate(words):
        owners += [row] * len(word)
    bounds = torch.tensor([[0, len(words)]])
    ids = torch.tensor([window + [PAD] * (width - len(window)) for window in windows])
    mask = torch.tensor([[place < len(window) for place in range(width)] for window in windows])
    rows = torch.tensor([window * width + place for window, place in places])
    names = ("w",) * len(words)
    return (
        Batch(
            *(names, bounds, bounds, bounds, ids, mask, rows, torch.tensor(owners)),
            tiny.placed(ids, rows, torch.tensor(owners)),
        ),
        windows,
        places,
    )


def _layers(theirs, windows):
    """Each window by itself, without padding: a list of [layer, piece, dim]."""
    with torch.no_grad():
        outputs = [theirs(torch.tensor([ids]), output_hidden_states=True) for ids in windows]
        return [torch.stack(output.hidden_states)[:, 0] for output in outputs]


def _pooled(vectors, words, first):
    out, done = [], 0
    for word in words:
        mine = vectors[done : done + len(word)]
        out.append(mine[0] if first else mine.mean(0))
        done += len(word)
    return torch.stack(out)


UNITS = st.lists(
    st.lists(st.lists(st.integers(4, 29), min_size=1, max_size=3), min_size=1, max_size=12),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("layers", ["scalar-mix", "last"])
@settings(deadline=None, max_examples=6)
@given(units=UNITS, limit=st.integers(2, 20))
def test_vectors_are_those_of_hugging_face(folder, theirs, layers, pooling, units, limit):
    options = Options(layers=layers, pooling=pooling)
    mine = build(options, load_pretrained(folder, options)).eval()
    batch, windows, places = _batch(units, limit)
    every = _layers(theirs, windows)
    picked = [every[window][:, place] for window, place in places]
    pieces = torch.stack(
        [states.mean(0) if layers == "scalar-mix" else states[-1] for states in picked]
    )
    words = [word for unit in units for word in unit]
    expected = _pooled(pieces, words, pooling == "first")
    with torch.no_grad():
        torch.testing.assert_close(mine(batch), expected, **CLOSE)


def test_a_graph_reads_windows_of_all_lengths(folder):
    """Its attention has no mask: no window may be padded."""
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    mine = build(Options(), load_pretrained(folder, Options())).eval()
    units = [[[row % 26 + 4] * (row % 3 + 1) for row in range(count)] for count in (9, 4, 7, 1, 8)]
    batch, windows, _ = _batch(units, 10)
    assert len({len(window) for window in windows}) > 2
    with torch.no_grad():
        expected = mine(batch)
        mine.runtime = runtime(mine.encoder, mine.layers, ())
        torch.testing.assert_close(mine(batch), expected, rtol=0, atol=1e-4)


def test_the_lowest_layers_alone_give_what_they_give_in_the_whole_encoder(folder, theirs):
    options = Options(num_layers=1, layers="last")
    mine = build(options, load_pretrained(folder, options)).eval()
    batch, windows, _ = _batch([[[5], [6]]], 9)
    with torch.no_grad():
        torch.testing.assert_close(mine(batch), _layers(theirs, windows)[0][1, 1:3], **CLOSE)
    restored = KIND.restore(options, mine.extra_files())
    assert {*restored.state_dict()} == {*mine.state_dict()}
    with pytest.raises(ModelError, match="at most the 2 layers of .*, got 3"):
        load_pretrained(folder, Options(num_layers=3))


def test_the_strongest_inner_units_alone_give_what_they_give_where_the_others_are_silenced(
    folder, theirs
):
    narrow = build(options := Options(intermediate_size=5), load_pretrained(folder, options)).eval()
    silenced = build(Options(), load_pretrained(folder, Options())).eval()
    for layer in silenced.encoder.encoder.layer.requires_grad_(False):
        inner, carry = layer.intermediate.dense, layer.output.dense
        strengths = [
            float(
                (sum(inner.weight[unit] ** 2) + inner.bias[unit] ** 2)
                * sum(carry.weight[:, unit] ** 2)
            )
            for unit in range(len(inner.bias))
        ]
        strongest = sorted(range(len(strengths)), key=strengths.__getitem__)[-5:]
        for unit in {*range(len(strengths))} - {*strongest}:
            carry.weight[:, unit] = 0
    batch, _, _ = _batch([[[5], [6]], [[7, 8]]], 9)
    with torch.no_grad():
        torch.testing.assert_close(narrow(batch), silenced(batch), **CLOSE)
    restored = KIND.restore(options, narrow.extra_files())
    restored.load_state_dict(narrow.state_dict())
    too_many = "intermediate_size: expected at most the .* intermediate units of a layer, got 3,000"
    with pytest.raises(ModelError, match=too_many):
        load_pretrained(folder, Options(intermediate_size=3_000))


def test_the_mix_weighs_layers_as_it_learns(folder, theirs):
    options = Options()
    mine = build(options, load_pretrained(folder, options)).eval()
    batch, windows, _ = _batch([[[5], [6]]], 9)
    with torch.no_grad():
        mine.layers.weights.copy_(torch.tensor([0.0, 1.0, -1.0]))
        mine.layers.scale.fill_(3.0)
        weights = torch.tensor([0.0, 1.0, -1.0]).exp()
        expected = (_layers(theirs, windows)[0] * weights[:, None, None]).sum(0) / weights.sum()
        torch.testing.assert_close(mine(batch), 3 * expected[1:3], **CLOSE)


def test_an_encoder_of_the_same_shape_takes_the_weights(folder):
    loaded = load_pretrained(folder, Options())
    config = json.dumps(AutoConfig.from_pretrained(folder).to_dict())
    made = KIND.restore(Options(), {"config.json": config}).encoder
    weights = loaded.state_dict()
    assert {key: weight.shape for key, weight in made.state_dict().items()} == {
        key: weight.shape for key, weight in weights.items()
    }
    made.load_state_dict(weights)
    batch, _, _ = _batch([[[5], [6, 7]]], 9)
    with torch.no_grad():
        one, two = (build(Options(), encoder).eval()(batch) for encoder in (loaded, made))
    assert one.equal(two)
    assert not any("pooler" in key for key in weights)


def test_dropout_is_set_from_the_options_and_acts_only_in_training(folder):
    mine = build(Options(dropout=0.5), load_pretrained(folder, Options(dropout=0.5)))
    batch, _, _ = _batch([[[5], [6, 7]]], 9)
    with torch.no_grad():
        assert not mine(batch).equal(mine(batch))
        mine.eval()
        assert mine(batch).equal(mine(batch))
        still = build(Options(dropout=0.0), load_pretrained(folder, Options(dropout=0.0)))
        torch.testing.assert_close(still(batch), mine(batch), **CLOSE)


@pytest.mark.parametrize(("frozen", "learns"), [(False, True), (True, False)])
def test_frozen_embeddings_get_no_gradient(folder, frozen, learns):
    options = Options(freeze_embeddings=frozen)
    mine = build(options, load_pretrained(folder, options))
    mine(_batch([[[5], [6, 7]]], 9)[0]).sum().backward()
    table = mine.encoder.get_input_embeddings().weight
    assert (table.grad is not None) == learns
    without = {k for k, parameter in mine.named_parameters() if parameter.grad is None}
    assert all("word_embeddings" in key for key in without)


def test_spelling_is_added_to_the_pieces_of_each_word(folder, theirs):
    options = Options(layers="last", casing_embeddings=True)
    mine = build(options, load_pretrained(folder, options)).eval()
    batch = _batch([[[5], [6, 7], [8]], [[9]]], 9)[0]
    batch = replace(batch, words=("of", "Ada", "NASA", "7"))
    plain = build(Options(layers="last"), load_pretrained(folder, options)).eval()
    with torch.no_grad():
        torch.testing.assert_close(mine(batch), plain(batch))  # before anything was learnt
        torch.nn.init.normal_(mine.casing_embedding.weight)
        mine.casing_embedding.weight[0] = 0
        one, two, three, four = (
            mine.casing_embedding.weight[1 + shape(word)] for word in ("x", "Xx", "XX", "1")
        )
        ids = torch.tensor([[CLS, 5, 6, 7, 8, SEP], [CLS, 9, SEP, PAD, PAD, PAD]])
        embedded = theirs.get_input_embeddings()(ids)
        embedded[0, 1:5] += torch.stack([one, two, two, three])
        embedded[1, 1] += four
        first = theirs(inputs_embeds=embedded[:1]).last_hidden_state[0]
        second = theirs(inputs_embeds=embedded[1:, :3]).last_hidden_state[0]
        expected = torch.stack([first[1], first[2:4].mean(0), first[4], second[1]])
        torch.testing.assert_close(mine(batch), expected, **CLOSE)


def test_spelling_is_shown_wherever_windows_overlap(folder, theirs):
    options = Options(layers="last", casing_embeddings=True)
    mine = build(options, load_pretrained(folder, options)).eval()
    spelt = ["of", "Ada", "NASA", "7", "x", "Bob", "12"]
    pieces = SubwordTokenizer(
        Tokenizer(WordLevel()), (CLS,), (SEP,), padding=PAD, unknown=1, mask=1
    )
    ids = tuple((row + 4,) for row in range(7))  # the word "of" is piece 4
    unit = Instance(0, 0, ((0, 1),) * 7, tuple(spelt), ids, ((0, 7),), ((0, 7),))
    batch = collate([unit], pieces, 4)
    assert batch.input_ids.shape[0] > 1
    with torch.no_grad():
        torch.nn.init.normal_(mine.casing_embedding.weight)
        mine.casing_embedding.weight[0] = 0
        every = []
        for ids in batch.input_ids:
            shapes = [0 if i < 4 else 1 + shape(spelt[i - 4]) for i in ids.tolist()]
            embedded = theirs.get_input_embeddings()(ids) + mine.casing_embedding.weight[shapes]
            mask = (ids != PAD)[None].long()
            out = theirs(inputs_embeds=embedded[None], attention_mask=mask).last_hidden_state[0]
            every.append(out)
        expected = torch.cat(every)[batch.piece_index]
        torch.testing.assert_close(mine(batch), expected, **CLOSE)


def test_states_do_not_betray_how_hidden_words_are_spelt(folder):
    options = Options(casing_embeddings=True)
    mine = build(options, load_pretrained(folder, options)).eval()
    batch = _batch([[[5], [6, 7]]], 9)[0]
    with torch.no_grad():
        torch.nn.init.normal_(mine.casing_embedding.weight)
        one, two = (
            mine.states(replace(batch, words=words))[-1] for words in (("a", "b"), ("A", "B7"))
        )
    assert one.equal(two)


def test_weights_of_other_heads_are_not_listed(folder, tmp_path):
    BertForMaskedLM(BertModel.from_pretrained(folder).config).save_pretrained(tmp_path)
    told, logger = [], logging.getLogger("transformers")
    handler = logging.Handler()
    handler.emit = told.append
    logger.addHandler(handler)
    try:
        level = logger.level
        load_pretrained(str(tmp_path), Options(transformer=str(tmp_path)))
        assert not told
        assert logger.level == level
        BertModel.from_pretrained(tmp_path)
        assert told  # by transformers alone
    finally:
        logger.removeHandler(handler)
