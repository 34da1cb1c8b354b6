"""Polarities of another file, term by term."""

from collections import Counter

import pytest

from spanloom.annotation.aspects import with_polarities
from spanloom.document import Document, Layer, Span
from spanloom.errors import DataError
from spanloom.formats import absa, absa_seg


def _document(text, *terms):
    spans = tuple(
        Span(f"T{number}", label, ((text.index(term), text.index(term) + len(term)),))
        for number, (term, label) in enumerate(terms)
    )
    return Document(text, (Layer("aspects", spans),))


def test_a_term_that_is_left_out_is_conflict():
    tests = [
        _document("Soup.", ("Soup", "term")),
        _document("No term."),
        _document('The "Soup" (and wine).', ('"Soup"', "term"), ("wine", "term")),
        _document("Soup.", ("Soup", "term")),
    ]
    labeled = [
        _document('The "Soup" -LRB- and wine -RRB- .', ('"Soup"', "positive")),
        _document("Soup .", ("Soup", "negative")),
    ]
    documents = with_polarities(tests, labeled)
    labels = [[span.label for span in item["aspects"].spans] for item in documents]
    # the first "Soup" is in another sentence than the term that comes next
    assert labels == [["conflict"], [], ["positive", "conflict"], ["negative"]]
    assert [item.text for item in documents] == [document.text for document in tests]


def test_a_polarity_that_finds_no_term_is_told():
    labeled = [_document("Wine .", ("Wine", "negative"))]
    with pytest.raises(DataError, match="the term 'Wine' of 'Wine .' among the test documents"):
        with_polarities([_document("Soup.", ("Soup", "term"))], labeled)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("Laptops", {"positive": 341, "negative": 128, "neutral": 169, "conflict": 16}),
        ("Restaurants", {"positive": 728, "negative": 196, "neutral": 196, "conflict": 14}),
    ],
)
def test_all_real_sentences_match(data, name, counts):
    """The counts are those that the task's paper tells (Pontiki et al., 2014, table 3)."""
    folder = data("semeval2014-absa")
    tests = absa.loads((folder / f"{name}_Test_Data_phaseB.xml").read_bytes().decode())
    labeled = absa_seg.loads((folder / f"{name}_Test_Gold.xml.seg").read_bytes().decode())
    documents = with_polarities(tests, labeled)
    assert len(documents) == 800
    assert Counter(span.label for item in documents for span in item["aspects"].spans) == counts
