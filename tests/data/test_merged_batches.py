"""A batch parted into its units and put together again: against each unit collated by itself."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_tokenizers import letters

from spanloom.data.collate import collate, split_instances
from spanloom.data.instances import Instance, InstanceLimits, Prompt, build_instances, tokenize
from spanloom.data.masking import Masking, PieceDistribution, mask_pieces, merge_batches
from spanloom.document import Document
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
LETTERS = letters()
MASK = 900
ANY = PieceDistribution.of(torch.ones(1000), ())  # no piece of the texts is like the mask piece
LINES = st.lists(st.sampled_from(["a", "the", "abc", "q" * 9]), min_size=1, max_size=8)
TEXTS = st.lists(LINES.map(" ".join), min_size=1, max_size=6).map("\n".join)
MANY = st.lists(TEXTS, min_size=1, max_size=4)


def _units(texts, limit, pages):
    return [
        unit
        for row, text in enumerate(texts)
        for unit in build_instances(
            row, tokenize(Document(text), SPLIT, LETTERS), InstanceLimits(limit, limit * pages)
        )
    ]


@settings(max_examples=40)
@given(texts=MANY, limit=st.integers(1, 40), pages=st.integers(1, 3))
def test_parts_are_units_collated_alone_in_windows_as_wide_as_before(texts, limit, pages):
    made = _units(texts, limit, pages)
    batch = collate(made, LETTERS, limit)
    width, found = batch.input_ids.shape[1], list(split_instances(batch, made))
    assert torch.cat([part.input_ids for part in found]).equal(batch.input_ids)
    assert torch.cat([part.attention_mask for part in found]).equal(batch.attention_mask)
    for unit, part in zip(made, found, strict=True):
        alone = collate([unit], LETTERS, limit)
        narrow = alone.input_ids.shape[1]
        assert part.words == alone.words
        assert part.input_ids.shape == (len(alone.input_ids), width)
        assert part.input_ids[:, :narrow].equal(alone.input_ids)
        assert part.attention_mask[:, :narrow].equal(alone.attention_mask)
        assert (part.input_ids[:, narrow:] == LETTERS.padding).all()
        assert not part.attention_mask[:, narrow:].any()
        assert part.piece_to_word.equal(alone.piece_to_word)
        assert (part.piece_index // width).equal(alone.piece_index // narrow)
        assert (part.piece_index % width).equal(alone.piece_index % narrow)
        assert part.instances.tolist() == [[0, len(unit.tokens)]]


@settings(max_examples=40)
@given(texts=MANY, limit=st.integers(1, 40), rate=st.floats(0, 1), seed=st.integers(0, 999))
def test_what_was_masked_of_each_unit_is_masked_of_all(texts, limit, rate, seed):
    made = _units(texts, limit, 1)
    batch = collate(made, LETTERS, limit)
    torch.manual_seed(seed)
    how = Masking(mlm_probability=rate)
    masked = [
        mask_pieces(split_instance, how, piece=MASK, random_pieces=ANY)
        for split_instance in split_instances(batch, made)
    ]
    whole, targets = merge_batches(batch, masked)
    before, after = batch.input_ids.tolist(), whole.input_ids.tolist()
    width, top = batch.input_ids.shape[1], 0
    wanted = []
    for part, part_targets in masked:
        assert after[top : top + len(part.input_ids)] == part.input_ids.tolist()
        places = (part_targets.rows, part_targets.left, part_targets.right)
        for row, left, right, place in zip(
            *(x.tolist() for x in (*places, part_targets.span_position)), strict=True
        ):
            at = [(top + flat // width, flat % width) for flat in (row, left, right)]
            wanted.append((*at, before[at[0][0]][at[0][1]], place))
        top += len(part.input_ids)
    said = (targets.rows, targets.left, targets.right)
    found = [
        (*(divmod(flat, width) for flat in flats), label, place)
        for *flats, label, place in zip(
            *(x.tolist() for x in (*said, targets.labels, targets.span_position)), strict=True
        )
    ]
    assert found == wanted
    rows = set(targets.rows.tolist())
    assert not rows & {*targets.left.tolist(), *targets.right.tolist()}
    changed = (whole.input_ids != batch.input_ids).flatten().nonzero()[:, 0].tolist()
    assert rows >= {*changed}
    assert rows <= {*batch.piece_index.tolist()}
    assert (whole.words, whole.attention_mask.tolist()) == (
        batch.words,
        batch.attention_mask.tolist(),
    )
    assert whole.piece_index.equal(batch.piece_index)


def test_one_unit_is_its_own_part_and_its_own_whole():
    made = _units(["the cat sat"], 40, 1)
    batch = collate(made, LETTERS, 40)
    (part,) = split_instances(batch, made)
    torch.manual_seed(0)
    one = mask_pieces(batch, Masking(), piece=MASK, random_pieces=ANY)
    torch.manual_seed(0)
    two = merge_batches(batch, [mask_pieces(part, Masking(), piece=MASK, random_pieces=ANY)])
    assert one[0].input_ids.equal(two[0].input_ids)
    assert one[1].rows.equal(two[1].rows)
    assert one[1].labels.equal(two[1].labels)


def test_a_prompt_is_words_like_others_and_its_separator_is_none():
    every = ((0, 2),)
    units = [
        Instance(0, 0, every, ("a", "b"), ((5,), (6, 7)), every, every, Prompt(("p",), ((9, 8),))),
        Instance(1, 0, every, ("c", "d"), ((4,), (3,)), every, every, Prompt(("q",), ((2,),))),
    ]
    batch = collate(units, LETTERS, 20)
    width = batch.input_ids.shape[1]
    for unit, part in zip(units, split_instances(batch, units), strict=True):
        pieces = [piece for word in (*unit.prompt.pieces, *unit.pieces) for piece in word]
        assert part.input_ids.flatten()[part.piece_index].tolist() == pieces
        assert part.words == (*unit.prompt.tokens, *unit.tokens)
        assert part.prompt_layout is None
        assert part.input_ids.shape == (1, width)
        separator = len(LETTERS.prefix) + sum(map(len, unit.prompt.pieces))
        assert separator not in part.piece_index.tolist()


def test_a_batch_that_wants_cls_is_refused():
    every = ((0, 1),)
    unit = Instance(0, 0, ((0, 1),), ("a",), ((5,),), every, every, wants_cls=True)
    with pytest.raises(AssertionError, match="cannot be split"):
        list(split_instances(collate([unit], LETTERS, 9), [unit]))
