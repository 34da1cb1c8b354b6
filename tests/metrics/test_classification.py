"""Classes and numbers of whole texts: scores of scikit-learn and scipy, layers of documents."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.text_pairs import TEXT_PAIR, classify, join_texts
from spanloom.document import Document, Layer
from spanloom.errors import DataError, LayerError
from spanloom.metrics.classification import (
    ClassificationReport,
    RegressionReport,
    score_classes,
    score_values,
)

CLOSE = {"rel": 1e-9, "abs": 1e-12}
LABELS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=1, max_size=12)


@given(LABELS)
def test_counts_of_two_labels_are_those_of_matthews_correlation(pairs):
    report = ClassificationReport("x", tuple(pairs))
    assert report.per_document_counts()["mcc"].value == pytest.approx(max(0.0, report.mcc), **CLOSE)


def test_three_labels_have_no_counts_of_matthews_correlation():
    report = ClassificationReport("x", (("a", "b"), ("c", None)))
    assert "mcc" not in report.per_document_counts()


VALUES = st.lists(
    st.tuples(st.integers(-3, 3).map(float), st.integers(-3, 3).map(float)), min_size=2, max_size=9
)


def said(number, label, value=None):
    document = Document(f"text {number}", name=f"d{number}")
    return document.with_layer(classify(document, "x", label, value, document.id_generator()))


def test_scores_are_those_of_scikit_learn_and_scipy(golden):
    done = 0
    for place in sorted(golden("glue").glob("case*")):
        told = json.loads((place / "scores.json").read_text())["scores"]
        data = json.loads((place / "data.json").read_text())
        numbers = data["kind"] == "regression"
        gold, found = (
            [
                said(row, "n", each) if numbers else said(row, str(each))
                for row, each in enumerate(data[side])
            ]
            for side in ("gold", "pred")
        )
        if numbers:
            report = score_values(gold, found, "x")
            mine = report.pearson, report.spearman, report.squared_error
            theirs = [float(told[name]) for name in ("pearson", "spearman", "mse")]
        else:
            report = score_classes(gold, found, "x")
            mine = report.accuracy, report.mcc, report.macro
            theirs = [told[name] for name in ("accuracy", "mcc", "f1_macro")]
            for label, f1 in told["f1_per_label"].items():
                assert report.by_label[label].f1 == pytest.approx(f1, **CLOSE)
        assert mine == pytest.approx(theirs, nan_ok=True, **CLOSE)
        done += 1
    golden.count(done)
    assert done == 6


@given(LABELS)
def test_matthews_of_two_labels_is_the_old_formula(pairs):
    tp, tn, fp, fn = (
        sum(pair == each for pair in pairs)
        for each in [("a", "a"), ("b", "b"), ("b", "a"), ("a", "b")]
    )
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    wanted = (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0
    assert ClassificationReport("x", tuple(pairs)).mcc == pytest.approx(wanted)


@given(VALUES)
def test_spearman_is_pearson_of_ranks_counted_by_hand(pairs):
    columns = list(zip(*pairs, strict=True))
    ranks = [
        [sum(b < a for b in column) + (sum(b == a for b in column) + 1) / 2 for a in column]
        for column in columns
    ]
    by_rank = RegressionReport("x", tuple(zip(*ranks, strict=True)))
    report = RegressionReport("x", tuple(pairs))
    assert report.spearman == pytest.approx(by_rank.pearson, nan_ok=True)
    assert -1 - 1e-9 <= report.pearson <= 1 + 1e-9 or math.isnan(report.pearson)
    assert all(0 <= each <= 1 for each in report.metrics().values())


@given(VALUES, st.sampled_from([1e-200, 1e150]), st.integers(-5, 5))
def test_neither_scale_nor_offset_changes_a_correlation(pairs, scale, offset):
    report = RegressionReport("x", tuple(pairs))
    other = RegressionReport("x", tuple((a * scale, b + offset) for a, b in pairs))
    assert other.pearson == pytest.approx(report.pearson, nan_ok=True)


def test_a_text_without_a_prediction_is_wrong():
    gold = [said(0, "a"), said(1, "b")]
    found = [gold[0], gold[1].unannotated()]
    report = score_classes(gold, found, "x")
    assert (report.accuracy, report.by_label["b"].predicted) == (0.5, 0)
    assert report.macro == 0.5
    assert set(
        score_classes(gold, [each.unannotated() for each in gold], "x").metrics().values()
    ) == {0}


def test_numbers_that_are_missing_are_counted():
    gold = [said(row, "n", float(row)) for row in range(3)]
    report = score_values(gold, [*gold[:2], gold[2].unannotated().with_layer(Layer("x"))], "x")
    assert (report.missing, len(report.pairs), report.pearson) == (1, 2, pytest.approx(1))
    assert report.to_json()["documents"] == 3
    assert "3 documents, 1 without a prediction" in report.to_table()
    assert report.metrics() == pytest.approx({"pearson": 2 / 3, "spearman": 2 / 3})  # missed


def test_what_nothing_is_said_of_is_not_scored():
    silent = Document("text 1", (Layer("x"),), "d1")
    gold = [said(0, "a", 1.0), silent, Document("text 2", (), "d2")]
    for report in (score_classes(gold, gold, "x"), score_values(gold, gold, "x")):
        assert (len(report.pairs), report.not_annotated) == (1, 2)


def test_all_of_one_label_or_number_is_perfect_only_if_it_is_right():
    one = ClassificationReport("x", (("a", "a"),) * 3)
    assert (one.mcc, one.metrics()["mcc"]) == (0, 1)
    right, wrong = (
        RegressionReport("x", ((1.0, 1.0),) * 3),
        RegressionReport("x", ((1.0, 2.0),) * 3),
    )
    assert math.isnan(right.pearson)
    assert right.to_json()["pearson"] is None
    assert set(right.metrics().values()) == {1}
    assert set(wrong.metrics().values()) == {0}
    assert set(RegressionReport("x", ()).metrics().values()) == {0}


def test_a_judgement_of_two_parts_counts_without_the_parts_beside_it():
    pair = join_texts("d", "It rains.", "It is wet.")
    gold = pair.with_layer(classify(pair, "x", "entails", 0.5, pair.id_generator()))
    for found in (gold, gold.unannotated(["x"])):
        assert score_classes([gold], [found], "x").accuracy == 1
        assert score_values([gold], [found], "x").squared_error == 0
    assert not gold.unannotated(["x"]).has_layer(TEXT_PAIR)


def test_wrong_documents_are_refused():
    with pytest.raises(LayerError, match="no layer 'y'"):
        score_classes([said(0, "a")], [said(0, "a")], "y")
    with pytest.raises(DataError, match="no document 'd0'"):
        score_values([said(0, "a", 1.0)], [said(1, "a", 1.0)], "x")


def test_reports_are_plain_and_name_every_label():
    report = ClassificationReport("x", (("yes", "no"), ("no", "no"), ("maybe", None)))
    told = report.to_json()
    assert json.loads(json.dumps(told)) == told
    assert set(told["labels"]) == {"yes", "no", "maybe"}
    assert "accuracy   33.33" in report.to_table()


@given(st.lists(st.tuples(st.sampled_from("abn"), st.sampled_from(["a", "b", "n", None]))))
def test_a_negative_label_is_neither_right_nor_wrong(pairs):
    report = ClassificationReport("x", tuple(pairs), negative_label="n")
    hits = sum(a == b != "n" for a, b in pairs)
    predicted, gold = sum(b in ("a", "b") for _, b in pairs), sum(a != "n" for a, _ in pairs)
    expected = 2 * hits / (predicted + gold) if predicted + gold else 0.0
    assert report.metrics()["micro_f1"] == pytest.approx(expected)
    assert report.per_document_counts()["micro_f1"].value == pytest.approx(expected)
    seen = {label for pair in pairs for label in pair if label not in ("n", None)}
    by_label = [report.by_label[label].f1 for label in seen]
    assert report.macro == pytest.approx(sum(by_label) / len(seen) if seen else 0.0)
