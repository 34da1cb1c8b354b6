"""Structured sentiment: who thinks what of whom."""

import json

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given

from spanloom.annotation.comparable import comparable
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.opinions import KIND, OpinionsOptions, dumps, loads


def test_opinions_share_sources_and_targets():
    first, second = loads(KIND.example)
    assert first.name == "hotel/1-1"
    cover = {span.id: first.text_of(span) for span in first["opinions"].spans}
    assert [(each.label, cover[each.id]) for each in first["opinions"].spans] == [
        ("Positive", "likes a lot"),
        ("source", "Ada"),
        ("target", "the view"),
        ("Negative", "small"),
    ]
    assert [(cover[e.head], e.label, cover[e.tail]) for e in first["opinions"].relations] == [
        ("likes a lot", "source", "Ada"),
        ("likes a lot", "target", "the view"),
        ("small", "source", "Ada"),
        ("small", "target", "the view"),
    ]
    said = [(each.label, cover[each.target], each.value) for each in first["opinions"].attributes]
    assert said == [("intensity", "likes a lot", "Strong"), ("intensity", "small", "Standard")]
    assert second["opinions"] == Layer("opinions")


OPINION = {
    "Source": [[], []],
    "Target": [[], []],
    "Polar_expression": [["a"], ["0:1"]],
    "Polarity": "Positive",
    "Intensity": "Strong",
}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"Source": [["b"], ["0:1"]]}, "Source: expected 'b' at 0:1, got 'a'"),
        ({"Source": [["a"], ["0:99"]]}, "Source: expected 'a' at 0:99"),
        ({"Source": [["a"], ["0-1"]]}, "Source: expected START:END, got '0-1'"),
        ({"Source": [["a"], []]}, "Source: expected [[TEXT…], [START:END…]]"),
        ({"Target": [["a", "a"], ["0:1", "0:1"]]}, "overlap"),
        ({"Polarity": 1}, "expected a string, got 1"),
        ({"Holder": 1}, "unknown key 'Holder'; known: Source, Target"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(changed, problem):
    sentence = {"sent_id": "1", "text": "a b", "opinions": [OPINION | changed]}
    text = '[{"sent_id": "0", "text": ""},\n' + json.dumps(sentence) + "]"
    with pytest.raises(FormatError, match=r"^in\.json:2: ") as caught:
        list(loads(text, path="in.json"))
    assert problem in caught.value.problem


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@pytest.mark.parametrize("name", ["dev", "test", "train"])
def test_the_release_is_written_as_it_stands(data, name):
    text = (data("opener-en") / f"{name}.json").read_bytes().decode()
    assert same_again(KIND, text)


def test_no_polarity_no_expression_no_intensity():
    bare = {"Polar_expression": [[], []], "Polarity": None, "Intensity": None}
    said = [{"sent_id": "1", "text": "é b", "opinions": [OPINION | bare]}]
    (found,) = loads(json.dumps(said))
    assert found["opinions"].spans == (Span("T1", "expression", ((0, 0),)),)
    assert json.loads(dumps([found])) == said
    assert "é" in dumps([found], options=OpinionsOptions(ensure_ascii=False))


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


def test_several_targets_are_several_opinions():
    spans = (
        Span("T1", "Positive", ((0, 1),)),
        Span("T2", "target", ((2, 3),)),
        Span("T3", "target", ((4, 5),)),
        Span("T4", "source", ((4, 5),)),
    )
    arrows = Relation("R1", "target", "T1", "T2"), Relation("R2", "target", "T1", "T3")
    document = Document("a b c", (Layer("opinions", spans, arrows),), "1")
    (again,), (lost,) = written_and_read(KIND, [document])
    assert len(json.loads(dumps([document]))[0]["opinions"]) == 2
    assert lost == {"spans of layer opinions": 1}  # the source of nothing
    assert comparable(next(loads(dumps([again])))) == comparable(again)
