"""What coreference is measured by, against a published example."""

import tracemalloc

import pytest
from sample_batches import cutter, make, train_of

from spanloom.data.instances import InstanceLimits
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


def many_mentions(count, num_clusters):
    """A line for each ten words, each of which is a mention; clusters take turns."""
    text = "".join("a " if n % 10 else "\na " for n in range(count)).strip()
    places = [place for place, letter in enumerate(text) if letter == "a"]
    spans = [Span(f"T{n}", "mention", ((place, place + 1),)) for n, place in enumerate(places)]
    links = [
        Relation(f"R{n}", "coref", f"T{n}", f"T{n - num_clusters}")
        for n in range(num_clusters, count)
    ]
    return Document(text, (Layer("main", tuple(spans), tuple(links)),), "d")


def test_pairs_are_those_of_a_cluster_within_an_instance():
    gold = many_mentions(100, 3)
    task = make(KIND, [gold])
    ((_, tokens),) = train_of([gold])
    encoded = {0: task.encode_gold(gold, tokens), 1: task.encode_gold(many_mentions(7, 2), tokens)}
    instances = [*task.reader.instances(0, tokens, InstanceLimits(32, 32), cutter)]
    assert len(instances) > 1
    targets = task.collate_targets(instances, encoded)
    position = [
        (row, instance.first_word + n)
        for row, instance in enumerate(instances)
        for n in range(len(instance.tokens))
    ]
    expected = [
        [i, j, 1]
        for i, (instance, word) in enumerate(position)
        for j, (other, later) in enumerate(position)
        if instance == other and word < later and (later - word) % 3 == 0
    ]
    assert targets.pairs.tolist() == expected
    assert "1617 pairs" in task.coverage_notes([], [], {0: encoded[0]})[0]


def test_a_cluster_of_many_mentions_costs_no_more_than_its_mentions():
    gold = many_mentions(3000, 1)
    task = make(KIND, [gold])
    ((_, tokens),) = train_of([gold])
    tracemalloc.start()
    encoded = task.encode_gold(gold, tokens)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(encoded) == 3000
    assert peak < 20_000_000  # bytes; the pairs of the cluster are 4.5 million
