"""Batches by size lose nothing, end as soon as they are full, and only the last is not full."""

from hypothesis import given
from hypothesis import strategies as st

from spanloom.batching import batch_by_size


@given(st.lists(st.text(max_size=4)), st.integers(1, 9), st.none() | st.integers(1, 4))
def test_batches_end_as_soon_as_they_are_full(items, size, max_items):
    def is_full(batch):
        return sum(map(len, batch)) >= size or len(batch) == max_items

    batches = list(batch_by_size(items, len, size, max_items))
    assert [item for batch in batches for item in batch] == items
    assert all(batch and not is_full(batch[:-1]) for batch in batches)
    assert all(map(is_full, batches[:-1]))
