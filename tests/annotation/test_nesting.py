"""A corpus nests where more than a hundredth of its spans overlap others."""

from spanloom.annotation.nesting import has_nesting


def test_a_stray_overlap_does_not_make_a_corpus_nested():
    flat = [[(start, start + 1) for start in range(0, 200, 2)] for _ in range(3)]
    assert not has_nesting(flat)
    assert not has_nesting([*flat, [(0, 5), (1, 2)]])
    assert has_nesting([*flat, *([(0, 5), (1, 2)] for _ in range(5))])


def test_inner_equal_and_touching_spans():
    assert has_nesting([[(0, 5), (1, 2)]])
    assert has_nesting([[(1, 2), (0, 5)]])
    assert not has_nesting([[(0, 5), (0, 5), (5, 6)]])
    assert not has_nesting([])
