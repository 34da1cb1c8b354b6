"""Masks of a batch: against each of its instances masked in a batch of its own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_tokenizers import letters

from spanloom.data.collate import collate
from spanloom.data.instances import Instance, InstanceLimits, Prompt, build_instances, tokenize
from spanloom.data.masking import (
    SAMPLERS,
    MaskableText,
    Masking,
    PieceDistribution,
    mask_pieces,
)
from spanloom.document import Document
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
LETTERS = letters()
MASK = 900
ANY = PieceDistribution.of(torch.ones(1000), ())  # no piece of the texts is like the mask piece
LINES = st.lists(st.sampled_from(["a", "the", "abc", "q" * 9]), min_size=1, max_size=8)
TEXTS = st.lists(LINES.map(" ".join), min_size=1, max_size=6).map("\n".join)
MANY = st.lists(TEXTS, min_size=1, max_size=4)


def instances_of(texts, limit, pages):
    return [
        one
        for row, text in enumerate(texts)
        for one in build_instances(
            row, tokenize(Document(text), SPLIT, LETTERS), InstanceLimits(limit, limit * pages)
        )
    ]


def mask(batch, instances, how):
    texts = [
        MaskableText(len(one.prompt.tokens) + len(one.tokens), f"{one.document}/{one.first_word}")
        for one in instances
    ]
    return mask_pieces(batch, how, texts, piece=MASK, random_pieces=ANY)


def told(batch, targets):
    """Places as (window, position), so that batches of any width are alike, with the labels."""
    width = batch.input_ids.shape[1]
    columns = (targets.rows, targets.left, targets.right, targets.labels, targets.span_position)
    return [
        (*(divmod(place, width) for place in places), label, position)
        for *places, label, position in zip(*(x.tolist() for x in columns), strict=True)
    ]


@settings(max_examples=40)
@given(texts=MANY, limit=st.integers(1, 40), rate=st.floats(0, 1), windows=st.integers(1, 3))
@pytest.mark.parametrize("scheme", sorted(SAMPLERS))
def test_instances_are_masked_as_each_alone(texts, limit, rate, windows, scheme):
    made, how = instances_of(texts, limit, windows), Masking(rate, scheme=scheme)
    batch = collate(made, LETTERS, limit)
    whole, targets, num_masked = mask(batch, made, how)
    wanted, sizes, top = [], [], 0
    for one in made:
        alone = collate([one], LETTERS, limit)
        masked, own, (size,) = mask(alone, [one], how)
        height, narrow = alone.input_ids.shape
        assert whole.input_ids[top : top + height, :narrow].equal(masked.input_ids)
        wanted += [
            (*((top + window, position) for window, position in places), label, position)
            for *places, label, position in told(alone, own)
        ]
        sizes.append(int(size))
        top += height
    assert told(batch, targets) == wanted
    assert num_masked.tolist() == sizes
    assert whole.input_ids[~batch.attention_mask].eq(LETTERS.padding).all()


def test_a_prompt_is_masked_like_a_text_and_its_separator_is_not():
    every = ((0, 2),)
    made = [
        Instance(0, 0, every, ("a", "b"), ((5,), (6, 7)), every, every, Prompt(("p",), ((9, 8),))),
        Instance(1, 0, every, ("c", "d"), ((4,), (3,)), every, every, Prompt(("q",), ((2,),))),
    ]
    batch = collate(made, LETTERS, 20)
    _, targets, num_masked = mask(batch, made, Masking(0.999, scheme="subword"))
    pieces = [p for one in made for word in (*one.prompt.pieces, *one.pieces) for p in word]
    assert num_masked.tolist() == [5, 3]
    assert targets.labels.tolist() == pieces


def test_a_batch_that_wants_cls_is_refused():
    every = ((0, 1),)
    one = Instance(0, 0, ((0, 1),), ("a",), ((5,),), every, every, wants_cls=True)
    with pytest.raises(AssertionError, match="all words"):
        mask(collate([one], LETTERS, 9), [one], Masking())
