"""Answers are spans that name their query; what was found comes back as it was given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.annotation.queries import QUERY, answer_layer, answers, dangling_answers
from spanloom.annotation_ids import IdGenerator
from spanloom.document import MAIN, Attribute, Document, Layer, Query, Span
from spanloom.errors import DocumentError, LayerError

TEXT = "Ada met Bob in Rome."
ASKED = tuple(Query(f"Q{n}", f"Who is {n}?") for n in (2, 1, 3))
ADA, BOB = Span("T1", "answer", ((0, 3),)), Span("T2", "answer", ((8, 11),))


def document(*attributes, queries=ASKED):
    return Document(TEXT, (Layer("qa", (ADA, BOB), attributes=attributes),), "d", queries=queries)


def test_answers_stand_under_every_query_in_order():
    given_ = document(
        Attribute("A1", QUERY, "T2", "Q1"),
        Attribute("A2", QUERY, "T1", "Q2"),
        Attribute("A3", QUERY, "T1", "Q1"),
        Attribute("A4", QUERY, "T2", "Q1"),
        Attribute("A5", "sure", "T2", "Q3"),
    )
    assert answers(given_, "qa") == {"Q2": (ADA,), "Q1": (BOB, ADA), "Q3": ()}
    assert list(answers(given_, "qa")) == ["Q2", "Q1", "Q3"]
    assert dangling_answers(given_, "qa") == ()


def test_what_answers_nothing_is_a_stray():
    wrong = (
        Attribute("A1", QUERY, "T1", "Q9"),
        Attribute("A2", QUERY, "A1", "Q1"),
        Attribute("A3", QUERY, "T1"),
        Attribute("A4", QUERY, "T7", "Q1"),
    )
    assert dangling_answers(document(*wrong), "qa") == wrong
    assert answers(document(*wrong), "qa") == {"Q2": (), "Q1": (), "Q3": ()}


def test_an_absent_layer_is_not_annotated():
    with pytest.raises(LayerError, match="d: no layer 'other'; layers there: qa"):
        answers(document(), "other")
    assert answers(Document(TEXT, (Layer("qa"),)), "qa") == {}


BOUNDS = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted).map(tuple)
FOUND = st.lists(
    st.tuples(st.sampled_from(["Q1", "Q2", "Q3"]), st.tuples(BOUNDS), st.floats(0, 1) | st.none()),
    max_size=6,
)


@given(FOUND)
def test_what_was_found_comes_back(found):
    taken = (Span("T5", "X", ((0, 1),)), Span("T1", "X", ((0, 1),)))
    layer = answer_layer("qa", found, IdGenerator(["T5", "T1"]))
    whole = Document(TEXT, (Layer(MAIN, taken), layer), queries=ASKED)
    again = answers(whole, "qa")
    for query in ASKED:
        expected = [(places, score) for id_, places, score in found if id_ == query.id]
        assert [(span.fragments, span.score) for span in again[query.id]] == expected


def test_queries_are_input_like_the_text():
    one = document()
    assert one.unannotated().queries == ASKED
    assert one.unannotated().layers == ()
    assert one != document(queries=())
    assert comparable(one) != comparable(document(queries=()))
    assert comparable(one) == comparable(document(queries=ASKED[::-1]))
    assert comparable(one) != comparable(document(queries=(*ASKED[:2], Query("Q3", "Else?"))))


def test_queries_are_checked_at_the_door():
    with pytest.raises(DocumentError, match="d: two queries have the id 'Q1'"):
        Document("a", name="d", queries=(Query("Q1", "a?"), Query("Q1", "b?")))
    for blank in ("", " \n"):
        with pytest.raises(DocumentError, match="query 'Q1' needs a prompt, got '"):
            Query("Q1", blank)
        with pytest.raises(DocumentError, match="a query needs an id, got '"):
            Query(blank, "Who?")
