import pytest

from spanloom.document import (
    Argument,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Relation,
    Span,
)
from spanloom.errors import LayerError
from spanloom.viewer.marks import picture

TEXT = "IL-4 regulation of STAT6"
SPANS = (
    Span("T1", "Protein", ((0, 4),), 0.75),
    Span("T2", "Regulation", ((5, 15),)),
    Span("T3", "Protein", ((19, 24),)),
)


def drawn(**parts):
    return picture(Document(TEXT, (Layer("main", SPANS, **parts),)))


def test_an_event_is_its_trigger_and_its_arguments_are_links():
    event = Event("E1", "Regulation", "T2", (Argument("Cause", "T1"), Argument("Theme", "T3")))
    found = drawn(events=(event,))
    assert [(k.label, k.source, k.target) for k in found.links] == [
        ("Cause", "T2", "T1"),
        ("Theme", "T2", "T3"),
    ]
    assert not found.loose


def test_an_argument_or_relation_to_an_event_means_its_trigger():
    one = Event("E1", "Regulation", "T2", (Argument("Theme", "T3"),))
    other = Event("E2", "Protein", "T1", (Argument("Cause", "E1"),))
    found = drawn(events=(one, other), relations=(Relation("R1", "r", "E2", "E1"),))
    ends = [(k.id, k.source, k.target) for k in found.links]
    assert ends == [("R1", "T1", "T2"), ("E1", "T2", "T3"), ("E2", "T1", "T2")]


def test_attributes_stand_in_the_caption_of_what_they_are_about():
    found = drawn(
        relations=(Relation("R1", "r", "T1", "T3"),),
        events=(Event("E1", "Regulation", "T2"),),
        attributes=(
            Attribute("A1", "Negated", "E1"),
            Attribute("A2", "Sure", "T2", "low"),
            Attribute("A3", "Doubtful", "R1"),
        ),
    )
    assert [mark.caption for mark in found.marks] == [
        "Protein",
        "Regulation [Negated, Sure=low]",
        "Protein",
    ]
    assert [link.caption for link in found.links] == ["r [Doubtful]"]


def test_scores_notes_and_normalisations_go_with_what_they_are_about():
    found = drawn(
        notes=(Note("#1", "AnnotatorNotes", "T1", "look"),),
        normalizations=(Normalization("N1", "Reference", "T1", "UniProt", "P05112", "IL4"),),
    )
    assert found.marks[0].score == 0.75
    assert found.marks[0].about == (
        "N1 Reference: UniProt:P05112 IL4",
        "#1 AnnotatorNotes: look",
    )


def test_an_equivalence_is_a_chain_without_direction():
    found = drawn(equivalences=(Equivalence("*1", "Equiv", ("T1", "T2", "T3")),))
    ends = [(k.source, k.target, k.directed) for k in found.links]
    assert ends == [("T1", "T2", False), ("T2", "T3", False)]


def test_what_has_no_place_is_listed():
    found = drawn(
        relations=(
            Relation("R1", "far", "T1", "T77"),
            Relation("R2", "over", "R1", "T1"),
        ),
        events=(Event("E1", "Lost", "T88"),),
        attributes=(Attribute("A1", "Odd", "R1"), Attribute("A2", "Odder", "E1")),
        notes=(Note("#1", "AnnotatorNotes", "T99", "gone"),),
        equivalences=(Equivalence("*1", "Equiv", ("T1",)),),
    )
    assert not found.links
    assert sorted(found.loose) == [
        "#1 AnnotatorNotes: gone (about T99)",
        "*1 Equiv: T1",
        "A1 Odd (about R1)",
        "A2 Odder (about E1)",
        "E1 Lost at T88 ()",
        "R1 far: T1 → T77",
        "R2 over: R1 → T1",
    ]


def test_words_are_drawn_only_when_asked_for():
    layers = (Layer("words", (Span("w1", "word", ((0, 4),)),)), Layer("main", SPANS))
    document = Document(TEXT, layers)
    assert {mark.layer for mark in picture(document).marks} == {"main"}
    assert {mark.layer for mark in picture(document, ["words"]).marks} == {"words"}
    with pytest.raises(LayerError):
        picture(document, ["pos"])
