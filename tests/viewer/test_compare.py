from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.document import Attribute, Document, Layer, Span
from spanloom.viewer.agreement import agreements
from spanloom.viewer.compare import compare
from spanloom.viewer.marks import Arc, DrawnDocument, SpanBox, picture


def marks(*given: tuple[str, int, int], prefix: str = "T") -> tuple[SpanBox, ...]:
    return tuple(
        SpanBox(f"{prefix}{at}", label, ((start, end),), label, layer="main")
        for at, (label, start, end) in enumerate(given)
    )


def kinds(
    gold: DrawnDocument, predicted: DrawnDocument
) -> list[tuple[str, str | None, str | None]]:
    found = compare(gold, predicted).differences
    return [(d.kind, d.gold and d.gold.id, d.predicted and d.predicted.id) for d in found]


def test_each_kind_of_difference_is_told():
    gold = DrawnDocument(marks(("A", 0, 3), ("B", 4, 9), ("C", 10, 12), ("D", 20, 22)))
    predicted = DrawnDocument(
        marks(("A", 0, 3), ("X", 4, 9), ("C", 10, 14), ("E", 30, 31), prefix="P")
    )
    assert kinds(gold, predicted) == [
        ("label", "T1", "P1"),
        ("boundary", "T2", "P2"),
        ("missed", "T3", None),
        ("spurious", None, "P3"),
    ]


def test_other_attributes_are_a_difference_of_their_own_in_whatever_order_they_are():
    def side(*attributes):
        span = Span("T1", "A", ((0, 3),))
        labelled = tuple(Attribute(f"A{n}", name, "T1") for n, name in enumerate(attributes))
        return picture(Document("abc", (Layer("main", (span,), attributes=labelled),)))

    gold = side("Negated", "Future")
    assert not kinds(gold, side("Future", "Negated"))
    assert kinds(gold, side("Negated")) == [("attributes", "T1", "T1")]
    found = compare(gold, side())
    assert [mark.state for mark in (*found.gold.marks, *found.predicted.marks)] == 2 * [
        "attributes"
    ]
    counts = agreements([(gold, side(), found.differences)], {})["main", "spans"]
    assert counts.equal == {"A": 1}  # label and location are right


def test_the_nearest_boundary_is_paired():
    gold = DrawnDocument(marks(("A", 0, 10)))
    predicted = DrawnDocument(marks(("A", 8, 12), ("A", 1, 10), prefix="P"))
    assert kinds(gold, predicted) == [("boundary", "T0", "P1"), ("spurious", None, "P0")]


def test_one_prediction_answers_one_gold_span_of_several():
    gold = DrawnDocument(marks(("A", 0, 3), ("A", 0, 3)))
    assert kinds(gold, DrawnDocument(marks(("A", 0, 3), prefix="P"))) == [("missed", "T1", None)]


def test_links_are_compared_by_the_content_of_their_ends():
    ends = ("A", 0, 3), ("B", 4, 9)
    gold = DrawnDocument(marks(*ends), (Arc("R1", "r", "T0", "T1", "r"),))
    turned = marks(*reversed(ends), prefix="P")
    assert not kinds(gold, DrawnDocument(turned, (Arc("Q1", "r", "P1", "P0", "r"),)))
    assert kinds(gold, DrawnDocument(turned, (Arc("Q1", "s", "P1", "P0", "s"),))) == [
        ("label", "R1", "Q1")
    ]
    assert kinds(gold, DrawnDocument(turned, (Arc("Q1", "r", "P0", "P1", "r"),))) == [
        ("missed", "R1", None),
        ("spurious", None, "Q1"),
    ]


def arrows(*given: tuple[str, str, str], prefix: str) -> tuple[Arc, ...]:
    return tuple(
        Arc(f"{prefix}{at}", label, source, target, label)
        for at, (label, source, target) in enumerate(given)
    )


WORDS = marks(("w", 0, 1), ("w", 2, 3), ("w", 4, 5))


def test_an_arrow_of_a_tree_from_another_place_is_attached_wrongly_whatever_its_label():
    gold = DrawnDocument(WORDS, arrows(("root", "T0", "T0"), ("a", "T0", "T1"), prefix="R"))
    guess = DrawnDocument(WORDS, arrows(("root", "T0", "T0"), ("b", "T2", "T1"), prefix="Q"))
    assert kinds(gold, guess) == [("attachment", "R1", "Q1")]


def test_an_arrow_of_a_graph_from_another_place_is_attached_wrongly_if_its_label_is_right():
    two = (("a", "T0", "T1"), ("b", "T2", "T1"))
    gold = DrawnDocument(WORDS, arrows(*two, prefix="R"))
    guess = DrawnDocument(WORDS, arrows(("a", "T1", "T1"), ("c", "T1", "T1"), prefix="Q"))
    assert kinds(gold, guess) == [
        ("attachment", "R0", "Q0"),
        ("missed", "R1", None),
        ("spurious", None, "Q1"),
    ]


def test_a_link_without_direction_may_be_turned_round():
    both = marks(("A", 0, 3), ("B", 4, 9))
    one = DrawnDocument(both, (Arc("*1", "Equiv", "T0", "T1", "Equiv", directed=False),))
    other = DrawnDocument(both, (Arc("*1", "Equiv", "T1", "T0", "Equiv", directed=False),))
    assert not kinds(one, other)


def test_states_are_put_on_both_pictures():
    found = compare(DrawnDocument(marks(("A", 0, 3))), DrawnDocument(marks(("B", 0, 3))))
    assert [mark.state for mark in found.gold.marks] == ["label"]
    assert [mark.state for mark in found.predicted.marks] == ["label"]


_SPANS = st.lists(
    st.tuples(st.sampled_from("ABC"), st.integers(0, 8), st.integers(1, 4)).map(
        lambda item: (item[0], item[1], item[1] + item[2])
    ),
    max_size=8,
)


@settings(max_examples=100)
@given(_SPANS, _SPANS)
def test_every_item_is_counted_once_and_the_equal_ones_by_content(gold, predicted):
    one, other = DrawnDocument(marks(*gold)), DrawnDocument(marks(*predicted, prefix="P"))
    found = compare(one, other)
    # The oracle for what is equal: the intersection of the two multisets.
    left = list(predicted)
    equal = sum(1 for span in gold if span in left and not left.remove(span))
    assert found.equal == equal
    for side, size in (("gold", len(gold)), ("predicted", len(predicted))):
        items = [getattr(d, side) for d in found.differences if getattr(d, side)]
        assert len({item.id for item in items}) == len(items) == size - equal
