import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.metrics.counts import (
    PRF,
    Counts,
    compare,
    compare_by_label,
    macro,
    total,
    total_by_label,
)

labels = st.sampled_from(["A", "B", "C"])
items = st.frozensets(st.tuples(labels, st.integers(0, 4)))


def test_ratios_by_hand():
    counts = Counts(hits=3, predicted=4, gold=6)
    assert counts.precision == 0.75
    assert counts.recall == 0.5
    assert counts.f1 == pytest.approx(0.6)
    assert counts.prf == PRF(0.75, 0.5, counts.f1)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (Counts(), PRF(0.0, 0.0, 0.0)),
        (Counts(0, 3, 0), PRF(0.0, 0.0, 0.0)),
        (Counts(0, 0, 3), PRF(0.0, 0.0, 0.0)),
        (Counts(2, 2, 2), PRF(1.0, 1.0, 1.0)),
    ],
)
def test_undefined_ratios_are_zero(counts, expected):
    assert counts.prf == expected


@given(gold=items, predicted=items)
def test_counts_equal_a_walk_over_all_pairs(gold, predicted):
    hits = sum(a == b for a in gold for b in predicted)
    counts = compare(gold, predicted)
    assert counts == Counts(hits, len(predicted), len(gold))
    both = counts.precision + counts.recall
    assert counts.f1 == pytest.approx(2 * counts.precision * counts.recall / both if both else 0)


@given(gold=items, predicted=items)
def test_labels_add_up_to_the_whole(gold, predicted):
    table = compare_by_label(gold, predicted)
    assert list(table) == sorted({label for label, _ in gold | predicted})
    assert total(table.values()) == compare(gold, predicted)
    for label, counts in table.items():
        assert counts.gold == sum(item[0] == label for item in gold)


def test_tables_of_two_documents_add_up():
    first, second = {"B": Counts(1, 2, 3)}, {"A": Counts(1, 1, 1), "B": Counts(0, 1, 0)}
    assert total_by_label([first, second]) == {"A": Counts(1, 1, 1), "B": Counts(1, 3, 3)}


def test_macro_is_the_plain_mean_and_counts_labels_that_are_only_predicted():
    table = {"A": Counts(1, 1, 1), "B": Counts(1, 2, 1), "C": Counts(0, 1, 0)}
    got = macro(table)
    expected = ((1 + 0.5 + 0) / 3, (1 + 1 + 0) / 3, (1 + 2 / 3 + 0) / 3)
    assert (got.precision, got.recall, got.f1) == pytest.approx(expected)
    assert macro({}) == PRF(0.0, 0.0, 0.0)
