import json

import pytest

from spanloom.document import MAIN, Argument, Document, Event, Layer, Relation, Span
from spanloom.errors import DataError, LayerError
from spanloom.metrics.counts import Counts
from spanloom.metrics.report import score

TEXT = "mix the cells with PBS"
MIX, CELLS = Span("T1", "Action", ((0, 3),)), Span("T2", "Reagent", ((8, 13),))
PBS = Span("T3", "Reagent", ((19, 22),))
EVENT = Event("E1", "Action", "T1", (Argument("Acts-on", "T2"), Argument("Using", "T3")))
GOLD = Document(TEXT, (Layer(MAIN, (MIX, CELLS, PBS), events=(EVENT,)),), "a")


def predicted(*spans, relations=(), events=()):
    return Document(TEXT, (Layer(MAIN, spans, relations, events),), "a")


def test_gold_against_itself_is_perfect():
    report = score([GOLD], [GOLD], MAIN)
    assert report.spans.micro == Counts(3, 3, 3)
    assert report.relations.micro == report.relations_typed.micro == Counts(2, 2, 2)
    assert report.spans.macro.f1 == 1.0
    assert (report.spans.interval.low, report.spans.interval.high) == (1.0, 1.0)


def test_a_predicted_relation_matches_a_gold_argument():
    moved = Span("T3", "Device", ((19, 22),))
    arrows = (Relation("R1", "Acts-on", "T1", "T2"), Relation("R2", "Using", "T1", "T3"))
    report = score([GOLD], [predicted(MIX, CELLS, moved, relations=arrows)], MAIN)
    assert report.spans.micro == Counts(2, 3, 3)
    assert report.relations.micro == Counts(2, 2, 2)
    assert report.relations_typed.by_label == {"Acts-on": Counts(1, 1, 1), "Using": Counts(0, 1, 1)}


def test_numbered_roles_are_one_label_on_both_sides():
    two = Event("E1", "Action", "T1", (Argument("Acts-on", "T2"), Argument("Acts-on2", "T3")))
    gold = predicted(MIX, CELLS, PBS, events=(two,))
    turned = Event("E1", "Action", "T1", (Argument("Acts-on", "T3"), Argument("Acts-on2", "T2")))
    report = score([gold], [predicted(MIX, CELLS, PBS, events=(turned,))], MAIN)
    assert report.relations.by_label == {"Acts-on": Counts(2, 2, 2)}


def test_absent_gold_is_not_scored_and_absent_prediction_is_all_missed():
    bare = Document("x", name="b")
    report = score([GOLD, bare], [Document(TEXT, name="a"), bare], MAIN)
    assert (report.documents, report.not_annotated) == (1, 1)
    assert report.spans.micro == Counts(0, 0, 3)
    with pytest.raises(LayerError, match="no layer 'ner'; layers there: main"):
        score([GOLD], [GOLD], "ner")


def test_relations_without_spans_at_their_ends_are_reported():
    arrows = (Relation("R1", "x", "T1", "T2"), Relation("R2", "x", "R1", "T2"))
    gold = predicted(MIX, CELLS, relations=arrows)
    report = score([gold], [gold], MAIN)
    assert report.relations.micro == Counts(1, 1, 1)
    assert report.unscored == 2
    assert "not scored: 2 relations" in report.to_table()


@pytest.mark.parametrize(
    ("gold", "other", "message"),
    [
        ([GOLD], [], "predicted: no document 'a'"),
        ([], [GOLD], "gold: no document 'a'"),
        ([GOLD], [GOLD, GOLD], "predicted: expected one document 'a', got two"),
        ([GOLD], [Document(TEXT[:4] + "X", name="a")], "a: .*differ at character 4"),
        ([GOLD], [Document(TEXT + "!", name="a")], "a: .*differ at character 22"),
    ],
)
def test_documents_that_do_not_match_are_refused(gold, other, message):
    with pytest.raises(DataError, match=message):
        score(gold, other, MAIN)


def test_json_and_table_say_the_same():
    report = score([GOLD], [predicted(MIX, CELLS)], MAIN)
    plain = json.loads(json.dumps(report.to_json()))
    assert plain["spans"]["micro"]["hits"] == 2
    assert plain["spans"]["labels"]["Reagent"]["recall"] == 0.5
    assert plain["relations"]["micro"] == {
        "hits": 0,
        "predicted": 0,
        "gold": 2,
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
    }
    rows = {line.split()[0]: line.split() for line in report.to_table().splitlines() if line}
    assert rows["Reagent"] == ["Reagent", "100.00", "50.00", "66.67", "1", "1", "2"]
    table = report.to_table()
    assert "spans (bounds and label): F1 80.00 (1 document: too few for an interval)" in table


def test_a_layer_without_relations_shows_none():
    gold = predicted(MIX)
    assert "relations" not in score([gold], [gold], MAIN).to_table()
