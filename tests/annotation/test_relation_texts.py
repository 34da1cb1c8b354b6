"""The relation of two spans as the class of a pair of texts."""

import pytest

from spanloom.annotation.relation_texts import marked_pairs, masked_ends, relation_as_text_pair
from spanloom.annotation.text_pairs import classification_of, text_pair
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import DataError

SPANS = (Span("T1", "PERSON", ((0, 3),)), Span("T2", "JOB_TITLE", ((9, 18),)))


def document(*relations):
    return Document(
        "Ada is a good\npoet .", (Layer("entities", SPANS, relations),), "d", (("a", "b"),)
    )


def test_ends_are_the_second_text_head_first():
    relation = Relation("R1", "per:title", "T1", "T2")
    (made,) = relation_as_text_pair(document(relation), "entities", "relation")
    first, second = text_pair(made)
    assert made.text_of(first) == "Ada is a good poet ."
    assert made.text_of(second) == "Ada (person), good poet (job title)"
    assert classification_of(made, "relation").label == "per:title"
    assert (made.name, made.meta) == ("d", (("a", "b"),))
    (turned,) = relation_as_text_pair(document(Relation("R1", "x", "T2", "T1")), "entities", "r")
    assert turned.text_of(text_pair(turned)[1]).startswith("good poet")


def test_ends_are_masked_by_role_and_label():
    (made,) = masked_ends(document(Relation("R1", "per:title", "T2", "T1")), "entities", "r")
    assert made.text == "[OBJ-PERSON] is a [SUBJ-JOB_TITLE] ."
    assert classification_of(made, "r").label == "per:title"
    assert [layer.name for layer in made.layers] == ["r"]


@pytest.mark.parametrize(
    ("tail", "text"), [((4, 11), "[SUBJ-A] [OBJ-B]"), ((0, 3), "[OBJ-B] [SUBJ-A] here")]
)
def test_masks_of_overlapping_ends_stand_side_by_side(tail, text):
    spans = (Span("T1", "A", ((0, 6),)), Span("T2", "B", (tail,)))
    layer = Layer("entities", spans, (Relation("R1", "x", "T1", "T2"),))
    (made,) = masked_ends(Document("Ada is here", (layer,), "d"), "entities", "r")
    assert made.text == text


@pytest.mark.parametrize(
    ("relations", "label"),
    [
        ([], "no_relation"),
        ([Relation("R1", "x", "T1", "T2")], "x(e1,e2)"),
        ([Relation("R1", "x", "T2", "T1")], "x(e2,e1)"),
        ([Relation("R1", "x", "T1", "T2"), Relation("R2", "y", "T1", "T2")], "x(e1,e2)"),
    ],
)
def test_two_spans_are_marked_and_their_class_has_a_direction(relations, label):
    (made,) = marked_pairs(document(*relations), "entities", "r")
    assert made.text == "[E1] Ada [/E1] is a [E2] good\npoet [/E2] ."
    assert (classification_of(made, "r").label, made.name) == (label, "d")


def test_any_two_spans_make_a_text_nested_ones_too():
    spans = (Span("T1", "A", ((0, 3),)), Span("T2", "B", ((0, 8),)), Span("T3", "C", ((4, 8),)))
    layer = Layer("entities", spans, (Relation("R1", "x", "T3", "T1"),))
    texts = list(marked_pairs(Document("Ada here", (layer,), "d"), "entities", "r"))
    assert [(text.name, text.text) for text in texts] == [
        ("d/1-2", "[E1] [E2] Ada [/E2] here [/E1]"),
        ("d/1-3", "[E1] Ada [E2] here [/E2] [/E1]"),
        ("d/2-3", "[E1] Ada [/E1] [E2] here [/E2]"),
    ]
    assert [classification_of(text, "r").label for text in texts][2] == "x(e2,e1)"


@pytest.mark.parametrize("form", [relation_as_text_pair, masked_ends])
@pytest.mark.parametrize("number", [0, 2])
def test_one_relation_is_expected(number, form):
    relations = [Relation(f"R{n}", "x", "T1", "T2") for n in range(number)]
    with pytest.raises(DataError, match=f"expected one relation, got {number}"):
        list(form(document(*relations), "entities", "r"))
