"""doccano's exports: spans, relations, classes."""

import json

import pytest
from door_checks import reads_or_refuses, same_again
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.text_pairs import classification_of
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.doccano import KIND, dumps, loads

CLASSES = (
    '{"id": 1, "text": " A moving film", "label": ["positive"], "Comments": ["sure?"]}\n'
    '{"id": 2, "text": "So so", "label": []}\n'
)


def test_spans_and_relations():
    first, second, third = loads(KIND.example)
    assert [(first.text_of(span), span.label) for span in first["entities"].spans] == [
        ("Ada", "PER"),
        ("Bob", "PER"),
    ]
    assert second["entities"] == Layer("entities")
    (relation,) = third["entities"].relations
    ada, bob = third["entities"].spans
    assert (relation.head, relation.label, relation.tail) == (bob.id, "met by", ada.id)


def test_classes_are_spans_over_the_text():
    first, second = loads(CLASSES)
    assert classification_of(first, "label").label == "positive"
    assert second["label"] == Layer("label")


@pytest.mark.parametrize("text", [KIND.example, CLASSES])
def test_files_come_back(text):
    assert same_again(KIND, text)


@pytest.mark.parametrize(
    "raw_id", ['"x1"', "-3", "9223372036854775807", "7" * 300, "null", "[1]", "1.5"]
)
def test_ids_of_all_kinds_come_back(raw_id):
    text = f'{{"id": {raw_id}, "text": "Ada", "label": []}}\n'
    assert dumps(loads(text)) == text


def test_ids_of_entities_come_back():
    for old, new in (("7", "-7"), ("9", "9007199254740993000")):
        text = KIND.example.replace(f'"id": {old}', f'"id": {new}')
        text = text.replace(f'_id": {old}', f'_id": {new}')
        assert dumps(loads(text)) == text


def test_entities_beside_classes_stay_entities():
    classes, entities = next(loads(CLASSES)), Document("Ada", (Layer("entities"),), "3")
    both = [classes, entities]
    again = [*loads(dumps(both))]
    assert [[layer.name for layer in document.layers] for document in again] == [
        *(["label"], ["entities"])
    ]


def test_a_document_with_relations_gets_numbers():
    spans = Span("T1", "A", ((0, 1),)), Span("T2", "B", ((2, 3),))
    layer = Layer("entities", spans, (Relation("R1", "r", "T2", "T1"),))
    record = json.loads(dumps([Document("a b", (layer,), "x")]))
    (first, second), (link,) = record["entities"], record["relations"]
    assert (link["from_id"], link["to_id"], link["type"]) == (second["id"], first["id"], "r")
    assert len({first["id"], second["id"], link["id"]}) == 3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "a", "label": [[0, 2, "A"]]}', "expected bounds in 0..1, got 0 and 2"),
        ('{"text": "a", "label": [[0, 1]]}', r"expected \[START, END, LABEL\]"),
        ('{"label": []}', "expected the key 'text'"),
        ('{"text": "a", "entities": [], "relations": [{"from_id": 1, "to_id": 2}]}', "got 1"),
        ('{"text": "a", "label": 3}', "expected a list"),
        ("[]", "expected an object"),
    ],
)
def test_errors_say_where_and_what(line, problem):
    with pytest.raises(FormatError, match=rf"in\.jsonl:2: .*{problem}"):
        list(loads('{"text": "b", "label": []}\n' + line + "\n", path="in.jsonl"))


def test_other_lines_are_not_taken_for_doccanos():
    for text in ('{"text": "a"}', '{"text": "a", "label": "A"}', '{"text": 1, "label": []}', "x"):
        assert not KIND.sniff(text, "a.jsonl")


def test_damaged_samples():
    reads_or_refuses(KIND)


@given(st.lists(documents(), max_size=3))
def test_what_is_written_is_read_as_written(drawn):
    text = dumps(drawn)
    assert dumps(loads(text)) == text
