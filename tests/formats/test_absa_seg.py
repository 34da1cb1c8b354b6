"""Aspects as a sentence with a hole, a term, a polarity."""

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given

from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.absa_seg import KIND, loads


def test_items_of_a_sentence_are_one_document():
    first, second = loads(KIND.example)
    assert first.text == "The soup was cold , the wine was n't ."
    terms = [(each.label, first.text_of(each)) for each in first["aspects"].spans]
    assert terms == [("negative", "soup"), ("positive", "wine")]
    assert second.text == "price (lunch) and more"
    assert [each.name for each in (first, second)] == ["s00001", "s00002"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\nb\n1\n", 1, "expected a sentence with one $T$, got 'a'"),
        ("$T$ $T$\nb\n1\n", 1, "one $T$"),
        ("$T$\nb\n1\n$T$\nb\n2\n", 6, "expected one of 1, 0, -1, got '2'"),
        ("$T$\nb\n", 1, "expected a sentence, a term, a polarity, got 2 lines"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, problem):
    with pytest.raises(FormatError, match=rf"^in\.seg:{line}: ") as caught:
        list(loads(text, path="in.seg"))
    assert problem in caught.value.problem


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@pytest.mark.parametrize("name", ["Laptops", "Restaurants"])
def test_the_release_is_written_as_it_stands(data, name):
    text = (data("semeval2014-absa") / f"{name}_Test_Gold.xml.seg").read_bytes().decode()
    assert same_again(KIND, text)


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


def test_what_has_no_number_is_lost_and_counted():
    spans = Span("T1", "conflict", ((0, 1),)), Span("T2", "neutral", ((0, 1), (2, 3)))
    document = Document("a b", (Layer("aspects", (*spans, Span("T3", "neutral", ((2, 3),)))),))
    (again,), (lost,) = written_and_read(KIND, [document])
    assert again["aspects"].spans == (Span("T1", "neutral", ((2, 3),)),)
    assert lost == {"spans of layer aspects": 2}
    assert KIND.count_lost(Document("a"), KIND.options()) == {"texts": 1}
