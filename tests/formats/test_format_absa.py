"""The XML of SemEval-2014 task 4: terms at characters, categories of the sentence."""

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.absa import KIND, dumps, loads

TERM = """<text>a</text><aspectTerms>
<aspectTerm term="{}" from="{}" to="{}" {}/></aspectTerms>"""


def test_terms_and_categories():
    first, second = loads(KIND.example)
    assert (first.name, first.text) == ("7:1", 'The soup & the <10€> "wine" were cold.')
    terms = [(each.label, first.text_of(each)) for each in first["aspects"].spans]
    assert terms == [("negative", "soup"), ("term", '"wine"')]
    assert [each.label for each in first["categories"].spans] == ["food", "anecdotes/miscellaneous"]
    (polarity,) = first["categories"].attributes
    assert (polarity.target, polarity.value) == (first["categories"].spans[0].id, "negative")
    assert second.text == "So. "
    assert second["aspects"] == Layer("aspects")
    assert not second.has_layer("categories")


@pytest.mark.parametrize(
    ("inside", "line", "problem"),
    [
        (TERM.format("b", "0", "1", ""), 3, "expected the term 'b' at 0..1, got 'a'"),
        (TERM.format("a", "-1", "1", ""), 3, "expected a character's number in from, got '-1'"),
        (TERM.format("a", "0", "9" * 11, ""), 3, "a character's number in to, got '99999999999'"),
        (TERM.format("a", "0", "1", "by='me'"), 3, "unknown attribute 'by'"),
        ("<text>a</text><Opinions/>", 2, "expected <text> or <aspectTerms> or"),
        ("<text>a</text><text>b</text>", 2, "expected <text>, then at most one"),
        ("<aspectTerms/>", 2, "expected <text>, then"),
        ("<text>a</text>b", 2, "expected no text in <sentence>, got 'b'"),
        ("<text>a<b/></text>", 2, "expected no element in <text>"),
        ("<text>&amp</text>", 2, "not XML"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(inside, line, problem):
    text = f'<sentences>\n<sentence id="1">{inside}</sentence></sentences>'
    with pytest.raises(FormatError, match=rf"^in\.xml:{line}: ") as caught:
        list(loads(text, path="in.xml"))
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<a/>", "expected <sentences>, got 'a'"),
        ('<!DOCTYPE s [<!ENTITY e "x">]><sentences/>', "document type"),
        ("<sentences><!-- a --></sentences>", "got a comment or instruction"),
    ],
)
def test_other_xml_is_refused(text, problem):
    with pytest.raises(FormatError, match=r"^in\.xml:1: ") as caught:
        list(loads(text, path="in.xml"))
    assert problem in caught.value.problem


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300
    assert list(loads("")) == []


@pytest.mark.parametrize(
    "name",
    [
        "Laptop_Train_v2",
        "Restaurants_Train_v2",
        "Laptops_Test_Data_phaseB",
        "Restaurants_Test_Data_phaseB",
    ],
)
def test_the_release_is_written_as_it_stands(data, name):
    text = (data("semeval2014-absa") / f"{name}.xml").read_bytes().decode()
    assert same_again(KIND, text)


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]) | st.sampled_from("\r\n\t]]>")),
    st.data(),
)
def test_any_text_and_any_polarity_are_held(text, data):
    places = st.integers(0, len(text))
    ends = st.tuples(places, places).map(lambda pair: tuple(sorted(pair)))
    labels = st.sampled_from(["positive", "term", "a<b\n"])
    spans = tuple(
        Span(f"T{number}", label, (place,))
        for number, (label, place) in enumerate(data.draw(st.lists(st.tuples(labels, ends))), 1)
    )
    document = Document(text, (Layer("aspects", spans),), "1")
    (again,), (lost,) = written_and_read(KIND, [document])
    assert (again, lost) == (document, {})


def test_what_xml_may_not_hold_is_counted():
    document = Document("a\x00b", (), "1")
    assert "a\ufffdb" in dumps([document])
    assert KIND.count_lost(document, KIND.options()) == {"texts": 1}
