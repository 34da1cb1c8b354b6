"""What coreference is measured by, against a published example."""

import pytest
from sample_batches import make

from spanloom.document import Document, Layer, Relation, Span
from spanloom.tasks import load

KIND = load("coreference")
TASK = make(KIND, [KIND.example])
TEXT = "abcdefghi"  # each letter is a mention


def document(*clusters):
    """Link each mention of a cluster to the one named before it."""
    spans = [Span(f"T{x}", "mention", ((TEXT.index(x), TEXT.index(x) + 1),)) for x in TEXT]
    pairs = [(a, b) for each in clusters for a, b in zip(each[1:], each, strict=False)]
    links = [Relation(f"R{a}", "coref", f"T{a}", f"T{b}") for a, b in pairs]
    return Document(TEXT, (Layer("main", tuple(spans), tuple(links)),), "d")


def test_the_example_of_the_scorers_authors():
    """Pradhan et al. (2014), section 4, worked out by hand, to two digits."""
    report = TASK.compute_metrics([document("abc", "defg")], [document("ab", "cd", "fghi")])
    found = report.clusters
    ratios = [
        (each.recall, each.precision, each.f1) for each in (found.muc, found.b_cubed, found.ceaf_e)
    ]
    assert [tuple(round(each, 2) for each in row) for row in ratios] == [
        (0.40, 0.40, 0.40),
        (0.42, 0.50, 0.45),
        (0.65, 0.43, 0.52),
    ]
    figures = TASK.metrics(report)
    assert tuple(figures) == TASK.metric_names
    assert next(iter(figures.values())) == pytest.approx(sum(row[2] for row in ratios) / 3)
    assert figures["span_f1"] == 1.0


def test_whom_a_mention_is_linked_to_is_no_matter():
    gold, other = document("abc", "defg"), document("bca", "gedf")
    assert set(TASK.metrics(TASK.compute_metrics([gold], [other])).values()) == {1.0}


def test_the_interval_of_a_report_is_that_of_the_first_figure():
    gold = document("abc", "defg")
    told = TASK.compute_metrics([gold], [document("ab", "cd", "fghi")]).to_json()
    first = TASK.metrics(TASK.compute_metrics([gold], [document("ab", "cd", "fghi")]))[
        TASK.metric_names[0]
    ]
    assert told["f1_interval"]["low"] == pytest.approx(first)
    assert told["f1_interval"]["high"] == pytest.approx(first)
