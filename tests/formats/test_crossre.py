"""CrossRE's sentences: entities, several relations per pair, what annotators noted."""

import json

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given

from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.crossre import KIND, dumps, loads

PARTS = [
    f"{domain}-{split}"
    for domain in ("ai", "literature", "music", "politics", "science")
    for split in ("train", "dev", "test")
]


def test_entities_relations_and_notes():
    found, second, third = loads(KIND.example)
    assert (found.name, found.text) == ("ai-dev-1", "Ada Byron uses SVMs in Turin .")
    cover = {span.id: found.text_of(span) for span in found["entities"].spans}
    spans = [(each.label, cover[each.id]) for each in found["entities"].spans]
    assert spans == [("researcher", "Ada Byron"), ("algorithm", "SVMs"), ("city", "Turin")]
    relations = found["entities"].relations
    assert [(cover[each.head], each.label, cover[each.tail]) for each in relations] == [
        ("Ada Byron", "usage", "SVMs"),
        ("Ada Byron", "physical", "Turin"),
        ("Ada Byron", "general-affiliation", "Turin"),
    ]
    (note,) = found["entities"].notes
    assert (note.label, note.target, note.text) == ("explanation", relations[1].id, "uses it there")
    flags = [(each.label, each.target, each.value) for each in found["entities"].attributes]
    assert flags == [
        ("uncertain", relations[1].id, None),
        ("ambiguous_syntax", relations[2].id, None),
    ]
    assert second.name == "ai/2"
    assert second["entities"] == Layer("entities")
    assert not third.has_layer("entities")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"sentence": ["a", ""]}, "sentence: expected words"),
        ({"sentence": None}, "expected a list, got None"),
        ({"ner": [[0, 0]]}, "ner: expected [FIRST, LAST, LABEL], got [0, 0]"),
        ({"ner": [[0, 2, "X"]]}, "ner: expected words in [0, 2), got [0, 2, 'X']"),
        ({"ner": [[1, 0, "X"]]}, "ner: expected words in [0, 2)"),
        ({"ner": [[0, 0, 7]]}, "expected a string, got 7"),
        ({"relations": [[0, 0, 1, 1, "R"]]}, "relations: expected four numbers, a label"),
        ({"relations": [[0, 0, 0, 1, "R", "", False, False]]}, "expected two entities of ner"),
        ({"relations": [[0, 0, 1, 1, "R", "", 0, False]]}, "expected true or false, got 0"),
        ({"relations": [[0, 0, 1, 1, "R", None, True, True]]}, "expected a string, got None"),
        ({"sentences": []}, "unknown key 'sentences'; known: doc_key, sentence, ner, relations"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(changed, problem):
    said = {"doc_key": "k", "sentence": ["a", "b"], "ner": [[0, 0, "X"], [1, 1, "Y"]]}
    assert len(list(loads(json.dumps(said)))) == 1
    text = "\n" + json.dumps(said | changed)
    with pytest.raises(FormatError, match=r"^in\.json:2: ") as caught:
        list(loads(text, path="in.json"))
    assert problem in caught.value.problem


def test_relations_without_entities_are_refused():
    with pytest.raises(FormatError, match="expected the key 'ner' beside 'relations'"):
        list(loads('{"doc_key": "k", "sentence": ["a"], "relations": []}'))


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@pytest.mark.parametrize("name", PARTS)
def test_the_release_is_written_as_it_stands(data, name):
    assert same_again(KIND, (data("crossre") / f"{name}.json").read_text(encoding="utf-8"))


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


def test_sentences_of_a_document_become_one():
    spans = Span("T1", "X", ((0, 1),)), Span("T2", "Y", ((4, 5),))
    layer = Layer("entities", spans, (Relation("R1", "r", "T1", "T2"),))
    said = json.loads(dumps([Document("a b\nc", (layer,), "k")]))
    assert said["sentence"] == ["a", "b", "c"]
    assert said["relations"] == [[0, 0, 2, 2, "r", "", False, False]]
    (lost,) = written_and_read(KIND, [Document("a b\nc", (layer,), "k")])[1]
    assert lost == {"blanks and line breaks": 1}
