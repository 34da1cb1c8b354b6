"""Units to batches, against plain loops over words and pieces."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_tokenizers import letters, wordpiece
from tokenizers import processors

from spanloom.data.collate import bucket_by_length, collate
from spanloom.data.instances import Instance, InstanceLimits, build_instances, tokenize
from spanloom.data.subwords import subword_tokenizer
from spanloom.document import Document
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
LETTERS = letters()
LINES = st.lists(st.sampled_from(["a", "the", "abc", "q" * 9, "\x01"]), min_size=1, max_size=8)
TEXTS = st.lists(LINES.map(" ".join), min_size=1, max_size=6).map("\n".join)
MANY = st.lists(TEXTS, min_size=1, max_size=4)


def _units(texts, limit):
    return [
        unit
        for row, text in enumerate(texts)
        for unit in build_instances(
            row, tokenize(Document(text), SPLIT, LETTERS), InstanceLimits(limit, limit)
        )
    ]


@settings(max_examples=40, deadline=None)
@given(texts=MANY, limit=st.integers(1, 40))
def test_pieces_are_found_in_reading_order(texts, limit):
    instances = _units(texts, limit)
    batch = collate(instances, LETTERS, limit)
    pieces = [(word, piece) for word, cut in enumerate(_pieces(instances)) for piece in cut]
    assert batch.input_ids.flatten()[batch.piece_index].tolist() == [piece for _, piece in pieces]
    assert batch.piece_to_word.tolist() == [word for word, _ in pieces]
    assert batch.attention_mask.flatten()[batch.piece_index].all()
    assert len(set(batch.piece_index.tolist())) == len(pieces)


def _pieces(instances):
    return [cut for unit in instances for cut in unit.pieces]


@settings(max_examples=40, deadline=None)
@given(texts=MANY, limit=st.integers(1, 40))
def test_windows_stand_between_special_pieces_and_padding(texts, limit):
    batch = collate(_units(texts, limit), LETTERS, limit)
    for ids, mask in zip(batch.input_ids.tolist(), batch.attention_mask.tolist(), strict=True):
        real = sum(mask)
        assert mask == [True] * real + [False] * (len(ids) - real)
        assert (ids[0], ids[real - 1]) == (2, 3)
        assert ids[real:] == [LETTERS.padding] * (len(ids) - real)
        assert 3 <= real <= limit + 2
    assert batch.attention_mask[:, -1].any()


@settings(max_examples=40, deadline=None)
@given(texts=MANY, limit=st.integers(1, 40))
def test_sentences_and_units_cover_the_words(texts, limit):
    instances = _units(texts, limit)
    batch = collate(instances, LETTERS, limit)
    assert batch.words == tuple(form for unit in instances for form in unit.tokens)
    said = [batch.words[a:b] for a, b in batch.sentences.tolist()]
    assert said == [unit.tokens[a:b] for unit in instances for a, b in unit.sentences]
    assert [batch.words[a:b] for a, b in batch.instances.tolist()] == [
        unit.tokens for unit in instances
    ]
    assert batch.windows.equal(batch.instances)
    assert (batch.token_type_ids, batch.prompt_layout) == (None, None)


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 60), max_size=60), words=st.integers(1, 80))
def test_every_unit_is_in_one_batch_within_the_budget(lengths, words):
    instances = [_unit(row, length) for row, length in enumerate(lengths)]
    groups = list(bucket_by_length(instances, words, window=40))
    assert sorted(unit.document for group in groups for unit in group) == list(
        range(len(instances))
    )
    for group in groups:
        cost = sum(len(unit.tokens) * (2 if unit.num_pieces > 40 else 1) for unit in group)
        assert cost <= words or len(group) == 1


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 60), max_size=60), words=st.integers(1, 2000))
def test_no_batch_is_more_than_half_padding(lengths, words):
    for group in bucket_by_length(map(_unit, range(99), lengths), words, window=40):
        sizes = [min(unit.num_pieces, 40) for unit in group]
        assert len(sizes) * max(sizes) <= 2 * sum(sizes)


def _unit(document, length):
    """One sentence of words of one piece and, if it is an even document, of two."""
    size = 1 + document % 2
    pieces = ((5,) * size,) * (length // size) + ((5,) * (length % size or size),)
    bounds = tuple((2 * row, 2 * row + 1) for row in range(len(pieces)))
    every = ((0, len(pieces)),)
    return Instance(document, 0, bounds, ("w",) * len(pieces), pieces, every, every)


def test_the_order_of_batches_does_not_depend_on_the_order_of_units():
    instances = [_unit(row, 1 + row * 7 % 11) for row in range(40)]
    one, two = (
        list(bucket_by_length(order, 30, window=40)) for order in (instances, instances[::-1])
    )
    assert one == two


@pytest.mark.parametrize(
    "text",
    [" ".join(["abc"] * 10_000), pytest.param("ab1" * 333_333, marks=pytest.mark.slow)],
)
def test_nothing_of_a_huge_sentence_or_word_is_lost(text):
    whole = tokenize(Document(text), SPLIT, LETTERS)
    instances = list(build_instances(0, whole, InstanceLimits(126, 126)))
    found = {}
    for group in bucket_by_length(instances, 2048, window=126):
        batch = collate(group, LETTERS, 126)
        assert batch.words == tuple(form for instance in group for form in instance.tokens)
        assert batch.input_ids.shape[1] <= 128
        read = batch.input_ids.flatten()[batch.piece_index]
        for instance, (start, end) in zip(group, batch.instances.tolist(), strict=True):
            first, last = torch.searchsorted(
                batch.piece_to_word, torch.tensor([start, end])
            ).tolist()
            found[instance.first_word] = read[first:last].tolist()
    pieces = [piece for first in sorted(found) for piece in found[first]]
    assert pieces == [piece for word in whole.pieces for piece in word]
    assert "".join(form for instance in instances for form in instance.tokens) == text.replace(
        " ", ""
    )


@pytest.mark.parametrize(("special", "place"), [("$A [SEP]", 4), ("[CLS] $A [SEP]", 0), ("$A", 3)])
def test_a_text_as_a_whole_is_read_at_a_special_piece(special, place):
    """The first one, or else the last; without any the last piece, which causal models need."""
    made = wordpiece()
    made.post_processor = processors.TemplateProcessing(
        single=special, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    cutter = subword_tokenizer(made, padding=0, unknown=1, mask=1)
    tokens = tokenize(Document("a the b c"), SPLIT, cutter)
    limits = InstanceLimits(32, 32)
    (instance,) = build_instances(0, tokens, limits)
    batch = collate([replace(instance, wants_cls=True)], cutter, 32)
    assert batch.piece_index[batch.piece_to_word == 0].tolist() == [place]
