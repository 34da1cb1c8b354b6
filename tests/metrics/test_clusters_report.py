"""Coreference of documents: against formulas on sets and all resamples, no measure's code used."""

import json
from dataclasses import replace
from itertools import permutations, product
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import Document, Equivalence, Layer, Relation, Span
from spanloom.errors import DataError, LayerError
from spanloom.metrics import bootstrap
from spanloom.metrics.bootstrap import Interval, clusters_per_document, loads
from spanloom.metrics.clusters import score
from spanloom.metrics.coreference import Coreference
from spanloom.metrics.coreference import score as measured

TEXT = "x " * 8
HOMES = st.lists(st.none() | st.integers(0, 3), min_size=8, max_size=8)  # the cluster of each word
DOCUMENTS = st.lists(st.tuples(HOMES, HOMES), min_size=1, max_size=3)


def document(homes, name, label="m"):
    """Mentions of one word, each linked to the one before it in its cluster."""
    last, spans, links = {}, [], []
    for word, home in enumerate(homes):
        if home is not None:
            spans.append(Span(f"T{word}", label, ((2 * word, 2 * word + 1),)))
            if home in last:
                links.append(Relation(f"R{word}", "coref", f"T{word}", f"T{last[home]}"))
            last[home] = word
    return Document(TEXT, (Layer("coref", tuple(spans), tuple(links)),), name)


def sets(homes, least=2):
    """The clusters of so many mentions at least."""
    rows = ({word for word, mine in enumerate(homes) if mine == home} for home in range(4))
    return [each for each in rows if len(each) >= least]


def ratio(part, whole):
    return part / whole if whole else 0.0


def f1(found, gold, right, said):
    recall, precision = ratio(found, gold), ratio(right, said)
    return ratio(2 * recall * precision, recall + precision)


def muc(clusters, others):
    """Links that need not be added (Vilain et al.), and all."""
    kept = whole = 0
    for each in clusters:
        pieces = [each & other for other in others if each & other]
        alone = len(each) - sum(map(len, pieces))
        kept += len(each) - len(pieces) - alone
        whole += len(each) - 1
    return kept, whole


def b_cubed(clusters, others):
    shares = [
        len(each & other) / len(each)
        for each in clusters
        for mention in each
        for other in others
        if mention in other
    ]
    return sum(shares), sum(map(len, clusters))


def ceaf_e(clusters, others):
    few, many = sorted((clusters, others), key=len)
    every = (zip(few, chosen, strict=True) for chosen in permutations(many, len(few)))
    best = max(sum(2 * len(a & b) / (len(a) + len(b)) for a, b in pairs) for pairs in every)
    return best, len(clusters)


def expected(pairs):
    """F1 of each measure over some documents."""
    found = {}
    for measure in (muc, b_cubed, ceaf_e):
        rows = [(*measure(a, b), *measure(b, a)) for a, b in pairs]
        found[measure.__name__] = f1(*map(sum, zip(*rows, strict=True)))
    return {"conll_f1": mean(found.values()), **found}


def mentions(pairs):
    """F1 of where mentions stand, linked or not."""
    places = [[{w for w, home in enumerate(side) if home is not None} for side in p] for p in pairs]
    hits = sum(len(one & two) for one, two in places)
    return ratio(2 * hits, sum(len(one) + len(two) for one, two in places))


@given(DOCUMENTS)
def test_figures_are_those_of_the_formulas(drawn):
    gold, predicted = (
        [document(pair[side], f"d{row}") for row, pair in enumerate(drawn)] for side in (0, 1)
    )
    found = score(gold, predicted[::-1], "coref", resamples=5)
    wanted = expected([(sets(one), sets(two)) for one, two in drawn])
    every = expected([(sets(one, 1), sets(two, 1)) for one, two in drawn])
    others = {"span_f1": mentions(drawn), "conll_f1_singletons": every["conll_f1"]}
    assert found.metrics() == pytest.approx(wanted | others)
    assert next(iter(found.metrics())) == "conll_f1"


def test_links_labels_and_ids_play_no_part_only_who_is_connected():
    gold = document([0, 0, 1, 1, 0, None, 1, None], "a")
    layer = gold["coref"]
    same = Equivalence("*1", "Equiv", ("T4", "T1", "T0"))
    others = [Relation("R9", "same", "T2", "T6"), Relation("R8", "x", "T3", "T2")]
    spans = tuple(replace(each, label="other") for each in layer.spans[::-1])
    other = gold.with_layer(Layer("coref", spans, tuple(others), equivalences=(same,)))
    figures = score([gold], [other], "coref").metrics()
    right = dict.fromkeys(("conll_f1", "muc", "b_cubed", "ceaf_e", "conll_f1_singletons"), 1.0)
    assert figures == {**right, "span_f1": 0.0}


def test_a_mention_by_itself_is_a_span_and_no_cluster():
    gold = document([0, 0, None, None, None, None, None, None], "a")
    more = document([0, 0, 1, 2, None, None, None, None], "a")
    found = score([gold], [more], "coref")
    assert found.clusters.average == 1
    assert found.singletons.b_cubed.precision == 0.5
    assert found.spans.micro.precision == 0.5


def test_two_spans_at_one_place_are_one_mention():
    twice = Document(
        TEXT,
        (
            Layer(
                "coref",
                (Span("T1", "a", ((0, 1),)), Span("T2", "b", ((0, 1),))),
                (Relation("R1", "coref", "T1", "T2"),),
            ),
        ),
        "a",
    )
    assert score([twice], [twice], "coref").clusters == Coreference()


def test_the_interval_agrees_with_all_possible_resamples():
    homes = [
        ([0, 0, 0, 1, 1, 2, 2, None], [0, 0, 1, 1, 1, 2, 2, 2]),
        ([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 1, 0, 2, 2, 3, 3]),
        ([0, 0, None, None, 1, 1, 1, 1], [0, 0, None, None, 1, 1, 1, 1]),
        ([0] * 8, [0, 0, 0, 1, 1, 1, None, None]),
    ]
    pairs = [(sets(one), sets(two)) for one, two in homes]
    every = [expected(drawn)["conll_f1"] for drawn in product(pairs, repeat=4)]
    exact = np.quantile(every, [0.025, 0.975])
    documents = [measured(*map(list, ([*map(sorted, side)] for side in pair))) for pair in pairs]
    document_counts = clusters_per_document(documents)
    found = bootstrap.interval(document_counts, resamples=20_000)
    assert (found.low, found.high) == pytest.approx(tuple(exact), abs=0.02)
    assert bootstrap.interval(document_counts, seed=4) == bootstrap.interval(
        document_counts, seed=4
    )
    assert bootstrap.interval(clusters_per_document(documents[2:3])) == Interval(1.0, 1.0)
    assert bootstrap.interval(clusters_per_document([])) == Interval(0.0, 0.0)
    again = loads(document_counts.dumps())
    assert again.spec is document_counts.spec
    assert again.rows == pytest.approx(document_counts.rows)


def test_the_interval_stands_beside_the_average_in_json_and_table():
    gold = [document([0, 0, 0, 1, 1, None, None, None], "a"), document([0, 0] + [None] * 6, "b")]
    said = [document([0, 0, 1, 1, 1, None, None, None], "a"), document([None] * 8, "b")]
    found = score(gold, said, "coref")
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["conll_f1"] == found.clusters.average
    assert 0 <= plain["f1_interval"]["low"] < plain["conll_f1"] < plain["f1_interval"]["high"] <= 1
    assert plain["clusters"]["ceaf_e"]["f1"] == found.clusters.ceaf_e.f1
    table = found.to_table()
    assert f"CoNLL average {100 * plain['conll_f1']:.2f} (2 documents: too few" in table
    rows = dict(line.split(maxsplit=1) for line in table.splitlines() if line.startswith("  "))
    for name, each in plain["clusters"].items():
        assert [float(cell) for cell in rows[name].split()] == [
            round(100 * each[key], 2) for key in ("precision", "recall", "f1")
        ]


def test_absent_gold_is_not_scored_and_absent_prediction_is_all_missed():
    gold, bare = document([0, 0, 1, 1] + [None] * 4, "a"), Document("y", name="b")
    found = score([gold, bare], [gold.unannotated(), bare], "coref")
    assert (found.documents, found.not_annotated) == (1, 1)
    assert (found.clusters.muc.recall_den, found.clusters.average) == (2, 0.0)
    assert "not scored: 1 document" in found.to_table()
    with pytest.raises(LayerError, match="no layer 'coref'"):
        score([bare], [bare], "coref")
    with pytest.raises(DataError, match="predicted: no document 'a'"):
        score([gold], [], "coref")
