"""Maps of labels, and what can be judged where not all labels were looked for."""

from dataclasses import replace

import pytest

from spanloom.annotation.partial_labels import UNKNOWN_LABEL, annotated_labels, map_labels, scorable
from spanloom.document import Attribute, Document, Event, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.metrics.report import score

TEXT = "Ada of MIT won Emmy"
LABELS = {"PER": "person", "ORG": "group", "MISC": None}


def spans(*items):
    return tuple(
        Span(f"T{row}", label, (fragments,)) for row, (label, fragments) in enumerate(items)
    )


ADA, MIT, EMMY, WON = (0, 3), (7, 10), (15, 19), (11, 14)
SOURCE = Document(
    TEXT,
    (
        Layer("ner", spans(("PER", ADA), ("ORG", MIT), ("MISC", EMMY))),
        Layer("other", ()),
    ),
    "d",
    meta=(("language", "en"),),
)


def labels(document, layer="names"):
    return {span.fragments[0]: span.label for span in document[layer].spans}


def test_spans_get_the_labels_of_the_map():
    mapped = map_labels(SOURCE, "ner", "names", LABELS, partial=True)
    assert labels(mapped) == {ADA: "person", MIT: "group", EMMY: UNKNOWN_LABEL}
    assert [layer.name for layer in mapped.layers] == ["names"]
    assert annotated_labels(mapped, "names") == {"person", "group"}
    assert dict(mapped.meta)["language"] == "en"
    assert annotated_labels(SOURCE, "ner") is None
    assert annotated_labels(mapped, "other") is None


def test_without_a_map_a_layer_is_whole():
    mapped = map_labels(SOURCE, "ner", "names", None, partial=False)
    assert mapped["names"] == replace(SOURCE["ner"], name="names")
    assert annotated_labels(mapped, "names") is None


def test_where_all_was_looked_for_relations_stay():
    full_layer = replace(
        SOURCE["ner"],
        relations=(Relation("R1", "of", "T0", "T1"),),
        events=(Event("E1", "PER", "T0"),),
    )
    labels_too = {"PER": "name", "ORG": "name", "MISC": "name"}
    mapped = map_labels(SOURCE.with_layer(full_layer), "ner", "names", labels_too, partial=False)
    assert {span.label for span in mapped["names"].spans} == {"name"}
    assert mapped["names"].relations == full_layer.relations
    assert mapped["names"].events[0].label == "name"
    assert annotated_labels(mapped, "names") is None


def test_a_label_that_the_map_does_not_name_is_an_error():
    with pytest.raises(DataError, match=r"d: layer 'ner' has a span 'MISC' .* \(named: ORG, PER\)"):
        map_labels(SOURCE, "ner", "names", {"PER": "person", "ORG": "group"}, partial=True)


def test_a_document_without_the_layer_has_nothing_to_learn():
    assert map_labels(SOURCE, "none", "other", LABELS, partial=True).layers == ()


def test_what_nobody_looked_for_is_not_judged():
    gold = map_labels(SOURCE, "ner", "names", LABELS, partial=True)
    predicted = Layer(
        "names",
        spans(("person", ADA), ("person", MIT), ("work", EMMY), ("act", WON), ("group", EMMY)),
        (Relation("R1", "of", "T0", "T1"), Relation("R2", "won", "T0", "T2")),
        (Event("E1", "person", "T0"), Event("E2", "act", "T3")),
        (Attribute("A1", "sure", "T0"), Attribute("A2", "sure", "T3")),
    )
    left = scorable(gold, predicted)
    assert [annotation.id for annotation in left.annotations()] == ["T0", "T1", "R1", "E1", "A1"]
    assert [annotation.id for annotation in scorable(gold, gold["names"]).annotations()] == [
        "T0",
        "T1",
    ]


def test_where_all_was_looked_for_all_is_judged():
    assert scorable(SOURCE, SOURCE["ner"]) == SOURCE["ner"]


def test_scores_leave_it_out():
    gold = map_labels(SOURCE, "ner", "names", LABELS, partial=True)
    predicted = spans(("person", ADA), ("person", MIT), ("work", EMMY), ("act", WON))
    report = score([gold], [Document(TEXT, (Layer("names", predicted),), "d")], "names")
    counts = report.spans.micro
    assert (counts.hits, counts.predicted, counts.gold) == (1, 2, 2)
