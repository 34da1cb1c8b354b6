"""A corpus nests where more than a hundredth of its spans overlap others."""

from spanloom.forms.nesting import nests


def test_a_stray_overlap_does_not_make_a_corpus_nested():
    flat = [[(place, place + 1) for place in range(0, 200, 2)] for _ in range(3)]
    assert not nests(flat)
    assert not nests([*flat, [(0, 5), (1, 2)]])
    assert nests([*flat, *([(0, 5), (1, 2)] for _ in range(5))])


def test_inner_equal_and_touching_spans():
    assert nests([[(0, 5), (1, 2)]])
    assert nests([[(1, 2), (0, 5)]])
    assert not nests([[(0, 5), (0, 5), (5, 6)]])
    assert not nests([])
