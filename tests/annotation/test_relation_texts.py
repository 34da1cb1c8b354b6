"""The relation of two spans as the class of a pair of texts."""

import pytest

from spanloom.annotation.relation_texts import relation_as_text_pair
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
    made = relation_as_text_pair(document(relation), "entities", "relation")
    first, second = text_pair(made)
    assert made.text_of(first) == "Ada is a good poet ."
    assert made.text_of(second) == "Ada (person), good poet (job title)"
    assert classification_of(made, "relation").label == "per:title"
    assert (made.name, made.meta) == ("d", (("a", "b"),))
    turned = relation_as_text_pair(document(Relation("R1", "x", "T2", "T1")), "entities", "r")
    assert turned.text_of(text_pair(turned)[1]).startswith("good poet")


@pytest.mark.parametrize("number", [0, 2])
def test_one_relation_is_expected(number):
    relations = [Relation(f"R{n}", "x", "T1", "T2") for n in range(number)]
    with pytest.raises(DataError, match=f"expected one relation, got {number}"):
        relation_as_text_pair(document(*relations), "entities", "r")
