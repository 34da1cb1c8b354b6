"""A batch parted into its units and put together again: against each unit collated by itself."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_tokenizers import letters

from spanloom.data.batches import collate, parts
from spanloom.data.span_masking import Masking, joined, mask
from spanloom.data.units import Sizes, Unit, cut, units
from spanloom.document import Document
from spanloom.words import splitter

SPLIT = splitter("fine", "line")
LETTERS = letters()
MASK, VOCABULARY = 900, 1000  # no piece of the texts is like the mask piece
LINES = st.lists(st.sampled_from(["a", "the", "abc", "q" * 9]), min_size=1, max_size=8)
TEXTS = st.lists(LINES.map(" ".join), min_size=1, max_size=6).map("\n".join)
MANY = st.lists(TEXTS, min_size=1, max_size=4)


def _units(texts, limit, pages):
    return [
        unit
        for row, text in enumerate(texts)
        for unit in units(row, cut(Document(text), SPLIT, LETTERS), Sizes(limit, limit * pages))
    ]


@settings(max_examples=40)
@given(texts=MANY, limit=st.integers(1, 40), pages=st.integers(1, 3))
def test_parts_are_units_collated_alone_in_windows_as_wide_as_before(texts, limit, pages):
    made = _units(texts, limit, pages)
    batch = collate(made, LETTERS, limit)
    width, found = batch.ids.shape[1], list(parts(batch))
    assert torch.cat([each.ids for each in found]).equal(batch.ids)
    assert torch.cat([each.mask for each in found]).equal(batch.mask)
    for unit, part in zip(made, found, strict=True):
        alone = collate([unit], LETTERS, limit)
        narrow = alone.ids.shape[1]
        assert part.words == alone.words
        assert part.ids.shape == (len(alone.ids), width)
        assert part.ids[:, :narrow].equal(alone.ids)
        assert part.mask[:, :narrow].equal(alone.mask)
        assert (part.ids[:, narrow:] == LETTERS.padding).all()
        assert not part.mask[:, narrow:].any()
        assert part.piece_word.equal(alone.piece_word)
        assert (part.piece_row // width).equal(alone.piece_row // narrow)
        assert (part.piece_row % width).equal(alone.piece_row % narrow)
        assert part.units.tolist() == [[0, len(unit.forms)]]


@settings(max_examples=40)
@given(texts=MANY, limit=st.integers(1, 40), rate=st.floats(0, 1), seed=st.integers(0, 999))
def test_what_was_masked_of_each_unit_is_masked_of_all(texts, limit, rate, seed):
    made = _units(texts, limit, 1)
    batch = collate(made, LETTERS, limit)
    torch.manual_seed(seed)
    how = Masking(rate=rate)
    masked = [mask(each, how, piece=MASK, vocabulary=VOCABULARY) for each in parts(batch)]
    whole, targets = joined(batch, masked)
    before, after = batch.ids.tolist(), whole.ids.tolist()
    width, top = batch.ids.shape[1], 0
    wanted = []
    for part, each in masked:
        assert after[top : top + len(part.ids)] == part.ids.tolist()
        places = (each.rows, each.left, each.right)
        for row, left, right, place in zip(
            *(x.tolist() for x in (*places, each.place)), strict=True
        ):
            at = [(top + flat // width, flat % width) for flat in (row, left, right)]
            wanted.append((*at, before[at[0][0]][at[0][1]], place))
        top += len(part.ids)
    said = (targets.rows, targets.left, targets.right)
    found = [
        (*(divmod(flat, width) for flat in flats), label, place)
        for *flats, label, place in zip(
            *(x.tolist() for x in (*said, targets.labels, targets.place)), strict=True
        )
    ]
    assert found == wanted
    rows = set(targets.rows.tolist())
    assert not rows & {*targets.left.tolist(), *targets.right.tolist()}
    changed = (whole.ids != batch.ids).flatten().nonzero()[:, 0].tolist()
    assert rows >= {*changed}
    assert rows <= {*batch.piece_row.tolist()}
    assert (whole.words, whole.mask.tolist()) == (batch.words, batch.mask.tolist())
    assert whole.piece_row.equal(batch.piece_row)


def test_one_unit_is_its_own_part_and_its_own_whole():
    made = _units(["the cat sat"], 40, 1)
    batch = collate(made, LETTERS, 40)
    (part,) = parts(batch)
    torch.manual_seed(0)
    one = mask(batch, Masking(), piece=MASK, vocabulary=VOCABULARY)
    torch.manual_seed(0)
    two = joined(batch, [mask(part, Masking(), piece=MASK, vocabulary=VOCABULARY)])
    assert one[0].ids.equal(two[0].ids)
    assert one[1].rows.equal(two[1].rows)
    assert one[1].labels.equal(two[1].labels)


def test_a_batch_that_reads_prompts_too_is_refused():
    every = ((0, 1),)
    unit = Unit(0, 0, ((0, 1),), ("a",), ((5,),), every, every, opening=True)
    with pytest.raises(AssertionError, match="cannot be parted"):
        list(parts(collate([unit], LETTERS, 9)))
