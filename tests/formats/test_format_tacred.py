"""TACRED's sentences; they are not free, so these are made."""

import json

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given

from spanloom.document import Attribute, Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.tacred import KIND, dumps, loads


def test_subject_object_and_relation():
    first, second = loads(KIND.example)
    assert (first.name, first.text) == ("e1", "Ada is a good poet")
    assert dict(first.meta) == {"docid": "D1"}
    subject, target = first["entities"].spans
    assert [(each.label, first.text_of(each)) for each in (subject, target)] == [
        ("PERSON", "Ada"),
        ("TITLE", "good poet"),
    ]
    (arrow,) = first["entities"].relations
    assert (arrow.label, arrow.head, arrow.tail) == ("per:title", subject.id, target.id)
    last = first["words"].spans[-1].id
    said = {each.label: each.value for each in first["words"].attributes if each.target == last}
    assert said == {"pos": "NN", "ner": "O", "head": "0", "deprel": "ROOT"}
    assert not second["words"].attributes


SENTENCE = {
    **{"id": "a", "relation": "r", "token": ["b", "c"], "subj_start": 0, "subj_end": 0},
    **{"obj_start": 1, "obj_end": 1, "subj_type": "S", "obj_type": "O"},
}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"token": []}, "token: expected words, got []"),
        ({"token": ["b", ""]}, "token: expected words"),
        ({"subj_end": 2}, "subj_start, subj_end: expected words in [0, 2), got 0 and 2"),
        ({"obj_start": True}, "expected a whole number, got True"),
        ({"obj_end": 10**400}, "expected words in [0, 2)"),
        ({"stanford_pos": ["X"]}, "stanford_pos: expected a value for each of 2 words, got 1"),
        ({"stanford_head": ["1", "2"]}, "expected a whole number, got '1'"),
        ({"stanford_head": [-1, 2]}, "stanford_head: expected a word's number, got -1"),
        ({"tokens": []}, "unknown key 'tokens'; known: id, docid, relation"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(changed, problem):
    text = "[" + json.dumps(SENTENCE) + ",\n" + json.dumps(SENTENCE | changed) + "]"
    with pytest.raises(FormatError, match=r"^in\.json:2: ") as caught:
        list(loads(text, path="in.json"))
    assert problem in caught.value.problem


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


def test_each_relation_of_a_document_is_a_sentence():
    spans = tuple(Span(f"T{at}", "P", ((at, at + 1),)) for at in (0, 2, 4))
    arrows = Relation("R1", "r", "T0", "T2"), Relation("R2", "s", "T0", "T4")
    layer = Layer("entities", spans, arrows)
    many = [Document("a b\nc", (layer,), "x"), Document("a b c", (layer,), "y")]
    said = json.loads(dumps(many))
    assert [(each["id"], each["token"], each["relation"]) for each in said] == [
        ("x", ["a", "b"], "r"),
        ("y", ["a", "b", "c"], "r"),
        ("y", ["a", "b", "c"], "s"),
    ]
    _, (across, twice) = written_and_read(KIND, many)
    assert across == {"texts": 1, "relations of layer entities": 1, "spans of layer entities": 1}
    assert {"texts", "joints between sentences"} <= set(twice)  # its words stand there twice


def test_a_column_that_not_all_words_have_is_left_out():
    (found,) = loads(json.dumps([SENTENCE | {"stanford_ner": ["O", "O"]}]))
    half = Layer("words", found["words"].spans, attributes=found["words"].attributes[:1])
    (said,) = json.loads(dumps([found.with_layer(half)]))
    assert "stanford_ner" not in said
    odd = Attribute("A9", "head", found["words"].spans[0].id, "x")
    assert KIND.count_lost(
        found.with_layer(Layer("words", half.spans, attributes=(odd,))), None
    ) == {"attributes of layer words": 1}
