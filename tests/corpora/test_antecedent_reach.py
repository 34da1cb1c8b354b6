"""The ceiling that candidate antecedents leave, on documents whose links are counted by hand."""

import pytest

from spanloom.corpora.antecedent_reach import AntecedentReach
from spanloom.document import Document, Layer, Relation, Span
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("spacy", "punctuation")


def document(gap):
    """Ada, then ``gap`` words, then she, her."""
    text = "Ada " + "went " * gap + "she her"
    starts = [(0, 3), (text.index("she"), text.index("she") + 3), (len(text) - 3, len(text))]
    spans = tuple(Span(f"T{n}", "mention", (ends,)) for n, ends in enumerate(starts, 1))
    links = (Relation("R1", "coref", "T2", "T1"), Relation("R2", "coref", "T3", "T2"))
    return Document(text, (Layer("coref", spans, links),), "d")


@pytest.mark.parametrize(("gap", "links"), [(3, 2), (98, 2), (124, 2), (125, 1), (300, 1)])
def test_links_farther_than_the_kept_mentions_are_lost(gap, links):
    # 0.4 mentions a word are kept, so 50 of them reach 125 words back
    linked = AntecedentReach().linked(document(gap), "coref", SPLIT)
    assert len(linked["coref"].relations) == links


def test_all_is_reached_within_a_horizon_of_thousands():
    reach = AntecedentReach.of_task({"antecedents": "coarse"})
    assert reach.ceiling([document(300)], "coref", SPLIT) == 1.0
    assert AntecedentReach.of_task({}).ceiling([document(300)], "coref", SPLIT) < 1.0


def test_wide_mentions_are_lost_with_their_links():
    gold = document(2)
    wide = Span("T1", "mention", ((0, 8),))
    gold = gold.with_layer(
        Layer("coref", (wide, *gold["coref"].spans[1:]), gold["coref"].relations)
    )
    assert len(AntecedentReach(max_span_width=1).linked(gold, "coref", SPLIT)["coref"].spans) == 2
