from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import Relation, Span
from spanloom.metrics import spans
from spanloom.metrics.counts import Counts, total


def count(gold, predicted):
    return total(spans.count_by_label(gold, predicted).values())


def count_relations(gold, predicted, typed=False):
    return total(spans.count_relations_by_label(gold, predicted, typed=typed).values())


def span(id_, label, *fragments):
    return Span(id_, label, fragments or ((0, 1),))


A, B = span("T1", "A", (0, 3)), span("T2", "B", (4, 6))


def test_a_span_needs_fragments_and_label():
    gold = [A, B, span("T3", "A", (8, 9))]
    predicted = [span("x", "A", (0, 3)), span("y", "A", (4, 6)), span("z", "A", (8, 10))]
    assert count(gold, predicted) == Counts(1, 3, 3)
    assert spans.count_by_label(gold, predicted) == {"A": Counts(1, 3, 2), "B": Counts(0, 0, 1)}


def test_a_discontinuous_span_is_right_only_with_all_fragments_in_any_order():
    gold = [span("T1", "A", (0, 2), (5, 7))]
    assert count(gold, [span("x", "A", (5, 7), (0, 2))]).hits == 1
    assert count(gold, [span("x", "A", (0, 7))]).hits == 0
    assert count(gold, [span("x", "A", (0, 2))]).hits == 0


def test_duplicates_count_once_on_each_side():
    twice = [A, span("T9", "A", (0, 3))]
    assert count(twice, [A]) == Counts(1, 1, 1)
    assert count([A], twice) == Counts(1, 1, 1)


def test_a_relation_needs_label_direction_and_bounds():
    gold = [("r", A, B)]
    assert count_relations(gold, [("r", A, B)]) == Counts(1, 1, 1)
    assert count_relations(gold, [("r", B, A)]) == Counts(0, 1, 1)
    assert count_relations(gold, [("q", A, B)]) == Counts(0, 1, 1)
    assert count_relations(gold, [("r", A, span("x", "B", (4, 7)))]) == Counts(0, 1, 1)


def test_end_labels_matter_only_when_typed():
    gold, other = [("r", A, B)], [("r", A, span("x", "Z", (4, 6)))]
    assert count_relations(gold, other) == Counts(1, 1, 1)
    assert count_relations(gold, other, typed=True) == Counts(0, 1, 1)
    both = gold + other
    assert count_relations(both, both) == Counts(1, 1, 1)
    assert count_relations(both, both, typed=True) == Counts(2, 2, 2)
    assert spans.count_relations_by_label(both, gold, typed=True) == {"r": Counts(1, 1, 2)}


def test_ends_are_looked_up_and_others_counted():
    arrows = [Relation("R1", "r", "T1", "T2"), Relation("R2", "r", "R1", "T2")]
    known = {"T1": A, "T2": B, "R1": arrows[0]}
    assert spans.triples(arrows, known) == ((("r", A, B),), 1)


places = st.tuples(st.integers(0, 2), st.integers(3, 4)).map(lambda pair: (pair,))
any_span = st.builds(Span, st.just("T1"), st.sampled_from("AB"), places)
any_triple = st.tuples(st.sampled_from("pq"), any_span, any_span)


@given(gold=st.lists(any_triple, max_size=6), predicted=st.lists(any_triple, max_size=6))
def test_relation_counts_equal_brute_force(gold, predicted):
    def same(one, two, typed):
        (label, head, tail), (label2, head2, tail2) = one, two
        bounds = label == label2 and head.fragments == head2.fragments
        types = head.label == head2.label and tail.label == tail2.label
        return bounds and tail.fragments == tail2.fragments and (types or not typed)

    for typed in (False, True):

        def distinct(items, typed=typed):
            kept = []
            for item in items:
                if not any(same(item, other, typed) for other in kept):
                    kept.append(item)
            return kept

        left, right = distinct(gold), distinct(predicted)
        hits = sum(any(same(a, b, typed) for b in right) for a in left)
        expected = Counts(hits, len(right), len(left))
        assert count_relations(gold, predicted, typed=typed) == expected
