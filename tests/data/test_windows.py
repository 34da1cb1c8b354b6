"""Packing and slicing, against brute force over every piece and window."""

from hypothesis import given
from hypothesis import strategies as st

from spanloom.data.windows import pack, strided_windows

LENGTHS = st.lists(st.integers(1, 30), max_size=40)


@given(lengths=LENGTHS, limit=st.integers(1, 40))
def test_packs_hold_all_sentences_in_order_within_the_limit(lengths, limit):
    groups = pack(lengths, limit)
    assert [row for a, b in groups for row in range(a, b)] == list(range(len(lengths)))
    for a, b in groups:
        assert b - a == 1 or sum(lengths[a:b]) <= limit


@given(lengths=LENGTHS, limit=st.integers(1, 40))
def test_packs_are_as_full_as_they_can_be(lengths, limit):
    groups = pack(lengths, limit)
    assert all(sum(lengths[a : b + 1]) > limit for a, b in groups if b < len(lengths))


def _distance(piece, window):
    """Pieces from this one to the nearer edge of the window, negative outside."""
    return min(piece - window.start, window.end - 1 - piece)


@given(length=st.integers(1, 200), limit=st.integers(1, 50))
def test_each_piece_is_kept_once_where_it_stands_farthest_from_an_edge(length, limit):
    windows = strided_windows(length, limit)
    assert [p for window in windows for p in range(window.keep_start, window.keep_end)] == list(
        range(length)
    )
    for window in windows:
        assert 0 <= window.start <= window.keep_start <= window.keep_end <= window.end <= length
        assert window.end - window.start <= limit
        for piece in range(window.keep_start, window.keep_end):
            assert _distance(piece, window) == max(_distance(piece, other) for other in windows)


@given(length=st.integers(1, 2000), limit=st.integers(2, 50))
def test_windows_read_each_piece_two_times_or_three(length, limit):
    windows = strided_windows(length, limit)
    assert sum(window.end - window.start for window in windows) <= 3 * length + limit
