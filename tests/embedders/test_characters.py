"""Words by their characters: plain loops, one word at a time, spelling, saving."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.config.options import validate_options
from spanloom.config.yaml import loads
from spanloom.embedders import BuildContext, characters
from spanloom.embedders.characters import (
    INVENTORY,
    KIND,
    Alphabet,
    Options,
    character_inventory,
    ngram_indices,
)
from spanloom.errors import ModelError, RecipeError
from spanloom.nn.padding import pack
from spanloom.tensors import Batch

CLOSE = {"rtol": 1e-4, "atol": 1e-6}
KNOWN = "abcdeé中👩"
DATA = frozenset(KNOWN[: end + 1] + tail for end in range(len(KNOWN)) for tail in (KNOWN, "z"))
WORDS = st.lists(st.text(KNOWN + "z\u2028\ud800\U0010ffff", max_size=9), min_size=1, max_size=12)
KINDS = [
    {"characters": "cnn"},
    {"characters": "cnn", "ngram_sizes": [1, 2, 7], "num_filters": 4, "embedding_dim": 3},
    {"characters": "gru"},
    {"characters": "gru", "num_layers": 1, "hidden_size": 4, "embedding_dim": 3},
]
BEGIN, END, UNKNOWN, FIRST = 1, 2, 0, 3


def _batch(words):
    none, bounds = torch.zeros(0, dtype=torch.long), torch.tensor([[0, len(words)]])
    return Batch(
        words=tuple(words), sentences=bounds, windows=bounds, instances=bounds,
        input_ids=none[None],
        attention_mask=none[None].bool(), piece_index=none, piece_to_word=none,
        position_to_word=none[None],
    )  # fmt: skip


def _made(raw, data=DATA):
    """An embedder as a recipe makes it, in use."""
    torch.manual_seed(0)
    where = loads("a: 1", "r.yaml").location
    return KIND.build(Options(**raw), BuildContext(Path(), frozenset(data)), where).eval()


def _rows(word, known):
    """Rows of a word's characters, one at a time."""
    cut = word if len(word) <= 64 else word[:32] + word[-32:]
    inner = [FIRST + known.index(character) if character in known else UNKNOWN for character in cut]
    return [BEGIN, *inner, END]


def _convolved(made, word):
    """A word's vector by plain loops over filters and places."""
    vectors = [made.embedding.weight[row] for row in _rows(word, list(made.alphabet.characters))]
    out = []
    for layer, width in zip(made.char_encoder.filters, made.char_encoder.widths, strict=True):
        padded = vectors + [vectors[-1]] * (width - len(vectors))
        for weights, bias in zip(layer.weight, layer.bias, strict=True):
            scores = [
                float(weights @ torch.cat(padded[start : start + width]) + bias)
                for start in range(len(padded) - width + 1)
            ]
            out.append(max(0.0, *scores))
    return torch.tensor(out)


def _recurred(made, word):
    """A word's vector by torch's own layer over that word alone."""
    rows = _rows(word, list(made.alphabet.characters))
    _, states = made.char_encoder.rnn(made.embedding.weight[rows][None])
    return states[-2:].flatten()


def test_known_characters_are_those_of_two_words():
    assert character_inventory(["ab", "bb", "c", "cc", "bc", "é"]) == ["b", "c"]
    assert "".join(character_inventory(DATA)) == "".join(sorted(KNOWN + "z"))
    assert character_inventory(["solo"]) == character_inventory([]) == []


def test_the_most_frequent_characters_are_known(monkeypatch):
    monkeypatch.setattr(characters, "MAX_CHARACTERS", 2)
    assert character_inventory(["xab", "xac", "xbc", "x", "bc"]) == [
        "b",
        "x",
    ]  # b and c: 3 words each
    assert character_inventory({"yx", "yxa", "b", "ba"}) == ["a", "b"]  # all in two


@settings(deadline=None)
@given(words=WORDS, known=st.sets(st.sampled_from(KNOWN)))
def test_words_are_spelled_character_by_character(words, known):
    alphabet = Alphabet(known)
    rows, lengths = alphabet.encode(words)
    expected = [_rows(word, sorted(known)) for word in words]
    assert rows.tolist() == sum(expected, [])
    assert lengths.tolist() == [len(indices) for indices in expected]
    assert int(rows.max()) < len(alphabet)


def test_a_long_word_is_read_from_both_ends():
    alphabet = Alphabet("abc")
    for long, short in ((33, 32), (500, 32)):
        one, two = (alphabet.encode(["a" * n + "b" + "c" * n])[0] for n in (long, long + 1))
        assert one.equal(two)
        assert one.tolist() == _rows("a" * short + "c" * short, list("abc"))
    assert len(alphabet.encode(["a" * 64])[0]) == 66


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=9), width=st.integers(1, 12))
def test_runs_are_those_of_a_window_moved_over_each_word(lengths, width):
    expected, counts, first = [], [], 0
    for length in lengths:
        word = list(range(first, first + length))
        word += word[-1:] * (width - length)
        ngrams = [word[start : start + width] for start in range(len(word) - width + 1)]
        expected += ngrams
        counts.append(len(ngrams))
        first += length
    actual_counts, indices = ngram_indices(torch.tensor(lengths), width)
    assert actual_counts.tolist() == counts
    assert indices.T.tolist() == expected


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_words_are_packed_as_torch_packs_them(lengths):
    flat = torch.arange(sum(lengths) * 2.0).view(-1, 2)
    expected = torch.nn.utils.rnn.pack_sequence(list(flat.split(lengths)), enforce_sorted=False)
    packed = pack(flat, torch.tensor(lengths))
    assert packed.batch_sizes.equal(expected.batch_sizes)
    padded, actual = torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    assert actual.tolist() == lengths
    for row, word in zip(padded, flat.split(lengths), strict=True):
        assert row[: len(word)].equal(word)


@pytest.mark.parametrize("raw", KINDS, ids=str)
@settings(deadline=None, max_examples=20)
@given(words=WORDS)
def test_vectors_are_those_of_one_word_at_a_time(raw, words):
    made = _made(raw)
    slow = _convolved if raw["characters"] == "cnn" else _recurred
    with torch.no_grad():
        found = made(_batch(words))
        expected = torch.stack([slow(made, word) for word in words])
    assert found.shape == (len(words), made.dim)
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize("raw", KINDS, ids=str)
def test_a_vector_does_not_depend_on_the_words_beside_it(raw):
    made, words = _made(raw), ["abc", "", "zé中", "e" * 200, "abc", "d"]
    with torch.no_grad():
        together = made(_batch(words))
        turned = made(_batch(words[::-1])).flip(0)
        alone = torch.cat([made(_batch([word])) for word in words])
    torch.testing.assert_close(together, turned, **CLOSE)
    torch.testing.assert_close(together, alone, **CLOSE)
    assert together[0].equal(together[4])
    assert together.isfinite().all()


@pytest.mark.parametrize("raw", KINDS, ids=str)
def test_gradients_reach_every_parameter(raw):
    made = _made(raw).train()
    made(_batch([*DATA, "unknown", ""])).pow(2).sum().backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name
    assert made.embedding.weight.grad.any(1).all()


@pytest.mark.parametrize("raw", [KINDS[0], {**KINDS[2], "dropout": 0.5}], ids=str)
def test_dropout_acts_in_training_only(raw):
    made, batch = _made(raw), _batch(["abc", "de"])
    with torch.no_grad():
        assert made(batch).equal(made(batch))
        made.train()
        assert not made(batch).equal(made(batch))


@pytest.mark.parametrize("raw", KINDS, ids=str)
def test_reduced_precision_stays_close(raw):
    made, batch = _made(raw), _batch(["abc", "de", ""])
    with torch.no_grad():
        full = made(batch)
        with torch.autocast("cpu", torch.bfloat16):
            torch.testing.assert_close(made(batch).float(), full, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("raw", "dim", "table", "reader"),
    [
        ({"characters": "cnn"}, 64, 16, (64, 3 * 16)),
        ({"characters": "gru"}, 50, 25, 2),
        (
            {"characters": "cnn", "ngram_sizes": [2, 3], "num_filters": 5, "embedding_dim": 4},
            10,
            4,
            (5, 2 * 4),
        ),
        ({"characters": "gru", "num_layers": 1, "hidden_size": 7, "embedding_dim": 4}, 14, 4, 1),
    ],
    ids=str,
)
def test_sizes_are_those_of_the_papers_or_of_the_recipe(raw, dim, table, reader):
    made = _made(raw)
    assert made.dim == dim
    assert made.embedding.weight.shape == (len(KNOWN) + 1 + FIRST, table)
    assert float(made.embedding.weight.detach().abs().max()) <= (3 / table) ** 0.5
    if raw["characters"] == "cnn":
        assert made.char_encoder.filters[0].weight.shape == reader
    else:
        assert made.char_encoder.rnn.num_layers == reader


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("{characters: lstm}", "characters: expected 'cnn' or 'gru', got 'lstm'"),
        ("{characters: gru, ngram_sizes: [3]}", "ngram_sizes: gru does not read this key"),
        ("{characters: cnn, num_layers: 2}", "num_layers: cnn does not read this key"),
        ("{characters: cnn, ngram_sizes: []}", "ngram_sizes: "),
        ("{characters: cnn, ngram_sizes: [0]}", r"ngram_sizes\.0: expected"),
        ("{characters: cnn, num_filters: 0}", "num_filters: expected"),
    ],
)
def test_what_a_recipe_may_not_say(raw, problem):
    loaded = loads(raw, "recipe.yaml")
    sources = BuildContext(Path(), DATA)
    with pytest.raises(RecipeError, match=f"^recipe.yaml:1: {problem}"):
        KIND.build(
            validate_options(Options, loaded.data, loaded.location), sources, loaded.location
        )


@pytest.mark.parametrize("raw", KINDS, ids=str)
def test_saved_and_loaded_it_is_the_same(raw):
    made = _made(raw)
    with torch.device("meta"):
        planned = KIND.restore(Options(**raw), made.extra_files())
    assert {name: weight.shape for name, weight in planned.state_dict().items()} == {
        name: weight.shape for name, weight in made.state_dict().items()
    }
    again = KIND.restore(Options(**raw), made.extra_files()).eval()
    again.load_state_dict(made.state_dict())
    batch = _batch([*sorted(DATA), "other", ""])
    with torch.no_grad():
        assert again(batch).equal(made(batch))


def test_half_a_surrogate_pair_can_be_saved():
    made = _made({"characters": "cnn"}, {"\ud800", "\ud800a"})
    text = made.extra_files()[INVENTORY].encode().decode()
    again = KIND.restore(Options(characters="cnn"), {INVENTORY: text})
    assert again.alphabet.characters == ("\ud800",)


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "[1]", '["ab"]', '[""]', '["a", "a"]', '["a"', "null", '[["a"]]', "[" * 20_000,
        "9" * 10_000, json.dumps([chr(500 + i) for i in range(4001)]), " " * 100_000 + "[]",
    ],
    ids=range(13),
)  # fmt: skip
def test_a_hostile_inventory_is_refused(text):
    with pytest.raises(ModelError, match=r"^characters\.json: expected"):
        KIND.restore(Options(characters="cnn"), {INVENTORY: text})


def test_as_many_characters_as_can_be_collected_can_be_saved():
    many = [chr(0x20000 + number) for number in range(characters.MAX_CHARACTERS)]
    text = json.dumps(many)
    assert (
        KIND.restore(Options(characters="gru"), {INVENTORY: text}).embedding.num_embeddings == 4003
    )
    with pytest.raises(ModelError):
        KIND.restore(Options(characters="gru"), {})


def test_xavier_starts_the_layers_and_leaves_the_vectors_of_characters():
    torch.manual_seed(0)
    options = Options(characters="gru", initialization="xavier")
    context = BuildContext(Path(), frozenset({"ab", "ba"}))
    made = KIND.build(options, context, loads("{}", "recipe").location)
    assert not any(w.any() for name, w in made.char_encoder.named_parameters() if "bias" in name)
    assert made.embedding.weight.any()
    weight = made.char_encoder.rnn.weight_hh_l0
    assert weight.abs().max() <= (6 / sum(weight.shape)) ** 0.5
