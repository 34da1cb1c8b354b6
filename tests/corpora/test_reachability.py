import re
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.word_index import WordIndex
from spanloom.corpora.reachability import ModelLimits, Reason, relation_verdicts, span_verdicts
from spanloom.document import Relation, Span
from spanloom.tokenization import Tokenization


def split(text):
    """Words are runs of letters, single marks; sentences are lines."""
    words = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    sentences, first = [], 0
    for line in re.finditer(r"[^\n]+", text):
        last = sum(start < line.end() for start, _ in words)
        if first < last:
            sentences.append((first, last))
        first = last
    return Tokenization(tuple(words), tuple(sentences))


TEXT = "mix the cells with 10ml PBS\nthen wait"
GRID = WordIndex(split(TEXT))


def span(id_, label, *fragments):
    return Span(id_, label, fragments)


def whys(spans, **options):
    labels = options.pop("labels", None)
    return [
        verdict.reason
        for verdict in span_verdicts(spans, GRID, ModelLimits(split, **options), labels)
    ]


def test_each_reason_for_a_span_by_hand():
    spans = [
        span("T1", "A", (0, 3)),
        span("T2", "A", (5, 5)),
        span("T3", "A", (4, 7), (14, 18)),
        span("T4", "A", (19, 21)),
        span("T5", "A", (24, 32)),
        span("T6", "A", (4, 23)),
        span("T7", "Z", (24, 27)),
    ]
    expected = [
        None,
        Reason.ZERO,
        Reason.GAPS,
        Reason.BORDERS,
        Reason.SENTENCES,
        Reason.WIDE,
        Reason.LABEL,
    ]
    assert whys(spans, width=3, labels=frozenset("A")) == expected


def test_what_leaves_a_part_of_a_long_sentence_is_out_of_reach():
    spans = [span("T1", "A", (4, 13)), span("T2", "A", (8, 18)), span("T3", "A", (24, 32))]
    grid = WordIndex(split(TEXT), {2})  # a part begins with the third word
    judged = span_verdicts(spans, grid, ModelLimits(split, nested=True))
    assert [verdict.reason for verdict in judged] == [Reason.PARTS, None, Reason.SENTENCES]
    ends = [span("T1", "A", (0, 3)), span("T2", "A", (4, 7)), span("T3", "A", (8, 13))]
    pairs = [Relation("R1", "to", "T1", "T2"), Relation("R2", "to", "T3", "T2")]
    spans_by_id = {end.id: end for end in ends}
    judged = span_verdicts(ends, grid, ModelLimits(split))
    results = relation_verdicts(pairs, judged, spans_by_id, grid, ModelLimits(split))
    assert [item.reason for item in results] == [None, Reason.APART_PARTS]


def test_one_label_on_the_same_bounds_and_duplicates_are_one_item():
    spans = [span("T1", "A", (0, 3)), span("T2", "B", (0, 3)), span("T3", "A", (0, 3))]
    assert whys(spans) == [None, Reason.SECOND]
    assert whys(spans, multi_label=True) == [None, None]


def test_a_label_that_is_unknown_takes_no_place():
    spans = [span("T1", "Z", (0, 3)), span("T2", "A", (0, 3))]
    assert whys(spans, labels=frozenset("A")) == [Reason.LABEL, None]


def test_flat_keeps_no_overlap_and_nested_no_crossing():
    outer, inner, across = span("a", "A", (0, 13)), span("b", "A", (4, 7)), span("c", "A", (8, 18))
    assert whys([outer, inner, across]) == [Reason.OVERLAP, None, None]
    assert whys([outer, inner], nested=True) == [None, None]
    assert whys([outer, inner, across], nested=True).count(Reason.CROSSING) == 1


WORDS = [(0, 3), (4, 7), (8, 13), (14, 18), (19, 23), (24, 27), (28, 32), (33, 37)]
bounds = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(sorted)
some = st.lists(st.tuples(bounds, st.sampled_from("AB")), max_size=7)


def allowed(chosen, nested, width):
    """The decoder's rules, said anew over word numbers."""
    for (a, b), _ in chosen:
        if b - a >= width or (a < 6) != (b < 6):
            return False
    for ((a, b), _), ((c, d), _) in combinations(chosen, 2):
        apart = b < c or d < a
        inside = (a <= c and d <= b) or (c <= a and b <= d)
        if (a, b) == (c, d) or not (apart or (nested and inside)):
            return False
    return True


@given(items=some, nested=st.booleans(), width=st.integers(1, 8))
def test_the_ceiling_of_spans_equals_brute_force(items, nested, width):
    spans = [
        span(f"T{i}", label, (WORDS[a][0], WORDS[b][1])) for i, ((a, b), label) in enumerate(items)
    ]
    judged = span_verdicts(spans, GRID, ModelLimits(split, width=width, nested=nested))
    distinct = sorted({((a, b), label) for (a, b), label in items})
    assert len(judged) == len(distinct)
    item_of = {span.id: ((a, b), label) for span, ((a, b), label) in zip(spans, items, strict=True)}
    kept = [item_of[verdict.item.id] for verdict in judged if verdict.reason is None]
    assert allowed(kept, nested, width)
    sizes = range(len(distinct), -1, -1)
    choices = (c for size in sizes for c in combinations(distinct, size))
    max_size = len(next(chosen for chosen in choices if allowed(chosen, nested, width)))
    # Fewest crossings first can only lose where at least three rivals form circles with the kept.
    assert len(kept) == max_size or (nested and len(judged) - len(kept) > 3)


A, B, C = span("T1", "A", (0, 3)), span("T2", "A", (4, 7)), span("T3", "A", (28, 32))
OFF = span("T4", "A", (19, 21))


def relation_whys(relations, labels=None, **options):
    reach = ModelLimits(split, **options)
    spans = [A, B, C, OFF, span("T5", "B", (4, 7))]
    verdicts = span_verdicts(spans, GRID, reach)
    spans_by_id = {span.id: span for span in spans}
    judged = relation_verdicts(relations, verdicts, spans_by_id, GRID, reach, labels)
    return [verdict.reason for verdict in judged]


def arrows(*triples):
    return [Relation(f"R{i}", *triple) for i, triple in enumerate(triples)]


def test_each_reason_for_a_relation_by_hand():
    reasons = arrows(
        ("r", "T1", "T2"),
        ("r", "T1", "T4"),
        ("r", "T1", "T1"),
        ("r", "T1", "T3"),
        ("r", "R0", "T1"),
        ("z", "T2", "T1"),
        ("q", "T1", "T2"),
    )
    expected = [
        None,
        Reason.END,
        Reason.SELF,
        Reason.APART,
        Reason.NO_SPAN,
        Reason.LABEL,
        Reason.PAIR,
    ]
    assert relation_whys(reasons, labels=frozenset("rq")) == expected


def test_relations_go_by_bounds_and_duplicates_are_one_item():
    assert relation_whys(arrows(("r", "T1", "T2"), ("r", "T1", "T5"))) == [None]
    assert relation_whys(arrows(("r", "T1", "T5"), ("q", "T2", "T1"))) == [None, None]


def test_options_open_what_a_model_can_do():
    both = arrows(("r", "T1", "T1"), ("r", "T1", "T2"), ("q", "T1", "T2"))
    assert relation_whys(both) == [Reason.SELF, None, Reason.PAIR]
    assert relation_whys(both, self_pairs=True) == [None, None, Reason.PAIR]


def test_sets_of_labels_are_reachable_as_far_as_train_has_them_together():
    spans = [span(f"T{label}", label, (0, 3)) for label in "ABC"]
    known = frozenset(map(frozenset, (["A"], ["B"], ["C"], ["B", "C"])))
    judged = span_verdicts(spans, GRID, ModelLimits(split, multi_label=True), None, known)
    assert [verdict.reason for verdict in judged] == [Reason.SET, None, None]
    alone = span_verdicts(spans[:1], GRID, ModelLimits(split, multi_label=True), None, frozenset())
    assert [verdict.reason for verdict in alone] == [None]


def test_spans_with_gaps_are_reachable_by_their_fragments():
    spans = [
        span("T1", "A", (0, 3), (14, 18)),
        span("T2", "A", (4, 6), (19, 23)),  # off word borders
        span("T3", "A", (24, 27), (28, 32)),  # across sentences
        span("T4", "A", (4, 7)),
        span("T5", "A", (8, 13), (14, 23)),  # crosses the second fragment of the first
    ]
    expected = [None, Reason.BORDERS, Reason.SENTENCES, None, Reason.OVERLAP]
    assert whys(spans, discontinuous=True) == expected
    assert whys(spans[:1], discontinuous=True, width=1) == [None]
    assert whys(spans)[:3] == [Reason.GAPS, Reason.GAPS, Reason.GAPS]
    rivals = [span("T1", "A", (0, 3), (8, 13)), span("T2", "B", (0, 3), (4, 7))]
    assert Reason.SHARED in whys(rivals, discontinuous=True)


def test_relations_across_sentences_are_reachable_up_to_the_horizon():
    ends = [span("T1", "A", (0, 3)), span("T2", "A", (28, 32)), span("T3", "A", (33, 37))]
    pairs = [Relation("R1", "to", "T1", "T2"), Relation("R2", "to", "T3", "T1")]
    by_id = {end.id: end for end in ends}

    def whys_of(**options):
        limits = ModelLimits(split, **options)
        judged = span_verdicts(ends, GRID, limits)
        return [item.reason for item in relation_verdicts(pairs, judged, by_id, GRID, limits)]

    assert whys_of() == [Reason.APART, Reason.APART]
    assert whys_of(relation_horizon=6) == [None, Reason.FAR]
    assert whys_of(relation_horizon=7) == [None, None]
