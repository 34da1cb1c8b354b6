"""Runs packed without padding, against what torch makes of padded ones."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_sequence

from spanloom.nn.padding import pack, unpack

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=8)


@given(LENGTHS)
def test_packed_rows_are_torchs_and_come_back(lengths):
    rows = torch.arange(2.0 * sum(lengths)).view(-1, 2)
    sizes = torch.tensor(lengths)
    mine, theirs = pack(rows, sizes), pack_sequence(rows.split(lengths), enforce_sorted=False)
    assert mine.batch_sizes.equal(theirs.batch_sizes)
    for run, part in enumerate(rows.split(lengths)):
        place = int(mine.unsorted_indices[run])
        starts = mine.batch_sizes.cumsum(0) - mine.batch_sizes
        assert mine.data[starts[: len(part)] + place].equal(part)
    assert unpack(mine, sizes).equal(rows)


def test_gradients_come_back_to_their_rows():
    rows = torch.randn(9, 3, requires_grad=True)
    lengths = torch.tensor([2, 4, 3])
    weight = torch.randn(9, 3)
    (unpack(pack(rows, lengths), lengths) * weight).sum().backward()
    assert rows.grad.equal(weight)
