"""Aspect terms in lines: a made sample, the real files against a count of their tags, damage."""

import re

import pytest
from damaged_texts import reads_or_tells
from door_checks import same_again
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config.options import Options
from spanloom.document import Attribute, Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.e2e import KIND, dumps, loads


def terms(document):
    return [(document.text_of(each), each.label) for each in document["aspects"].spans]


def test_the_sample():
    assert same_again(KIND, KIND.example)
    first, second, third = loads(KIND.example)
    assert (first.name, first.text) == ("s00001", "The staff wasn't bad.")
    assert [first.text_of(each) for each in first["words"].spans][2:4] == ["was", "n't"]
    assert terms(first) == [("staff", "POS")]
    assert second.text == 'Nice (big) screen - the "best" one...'
    assert terms(second) == [("screen", "NEU")]
    assert third.text == "See applecom = fine food bar"
    (raw,) = third["sentences"].attributes
    assert (raw.label, raw.value) == ("text", "See apple.com = fine food bar")
    assert terms(third) == [("food bar", "NEG")]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a b\n", 1, "expected a sentence, #### and its words, got 'a b'"),
        ("a####a=O\n\na####a\n", 3, "expected WORD=O or WORD=T-LABEL, got 'a'"),
        ("a####\n", 1, "got ''"),
        ("a####=O\n", 1, "got '=O'"),
        ("a####a=T-\n", 1, "got 'a=T-'"),
        ("a####a=O  b=O\n", 1, "got ''"),
    ],
)
def test_errors_say_where_and_what(text, line, problem):
    with pytest.raises(FormatError, match=problem) as caught:
        list(loads(text, path="x.txt"))
    assert (caught.value.path, caught.value.line) == ("x.txt", line)


def test_what_has_no_place_is_counted():
    text = "a b c d"
    spans = (
        *(Span("T1", "POS", ((0, 1),)), Span("T2", "POS", ((2, 3),))),  # one term for tags
        *(Span("T3", "a b", ((4, 5),)), Span("T4", "NEU", ((4, 7),))),
    )
    said = (Attribute("A1", "x", "T1", "y"),)
    document = Document(text, (Layer("aspects", spans, attributes=said),))
    assert dumps([document]) == "a b c d####a=T-POS b=T-POS c=T-NEU d=T-NEU\n"
    assert KIND.count_lost(document, Options()) == {
        "spans of layer aspects": 3,
        "attributes of layer aspects": 1,
    }


@pytest.mark.parametrize(
    "text", ["a#", "a ####", "#### a", "a\nb", "####", "# #", "a ####### b", "#" * 8]
)
def test_any_text_is_written_so_that_it_is_read(text):
    documents = [Document(text)]
    again = list(loads(dumps(documents)))
    assert [len(each["words"].spans) for each in again] == [
        len(line.split()) for line in text.split("\n")
    ]
    assert list(loads(dumps(again))) == again


@given(drawn=st.lists(documents(lines=False, scores=True), max_size=3))
def test_any_document_can_be_written_and_read(drawn):
    again = list(loads(dumps(drawn)))
    assert list(loads(dumps(again))) == again
    for each in drawn:
        KIND.count_lost(each, Options())


def test_damaged_samples_are_read_or_refused():
    reads_or_tells(KIND, 500)


@pytest.mark.parametrize("head", ["", "a####b\n", "a b c\n", "a\tO\n", "####\n"])
def test_other_files_do_not_look_like_it(head):
    assert not KIND.sniff(head, "x.txt")


@pytest.mark.parametrize(
    ("file", "unlike"),
    [
        ("laptop14/dev.txt", 21),
        pytest.param("laptop14/test.txt", 59, marks=pytest.mark.slow),
        pytest.param("laptop14/train.txt", 142, marks=pytest.mark.slow),
        ("rest14/dev.txt", 16),
        pytest.param("rest14/test.txt", 61, marks=pytest.mark.slow),
        pytest.param("rest14/train.txt", 170, marks=pytest.mark.slow),
    ],
)
def test_real_files(file, unlike, data):
    """Some sentences are not their words (applecom, 1400): those keep the sentence aside."""
    with (data("semeval2014-absa") / "e2e" / file).open(encoding="utf-8", newline="") as stream:
        text = stream.read()
    assert same_again(KIND, text)
    found = list(loads(text))
    assert sum(bool(each["sentences"].attributes) for each in found) == unlike
    tags = [re.findall(r"=(O|T-...)(?= |$)", line) for line in text.split("\n")]
    every = [
        t for line in tags for t, before in zip(line, ["", *line], strict=False) if t != before
    ]
    assert sum(len(each["aspects"].spans) for each in found) == len([t for t in every if t != "O"])


def test_a_line_of_signs_alone_is_looked_at_once():
    """Trying each of its parts took seconds for some thousand signs."""
    assert not KIND.sniff("#" * 1_000_000, "a.txt")
    assert KIND.sniff(KIND.example, "a.txt")
