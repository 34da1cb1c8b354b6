"""Two texts in one document, and what is said of a text or of two: write and read is identity."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.annotation.text_pairs import (
    TEXT,
    TEXT_PAIR,
    Classification,
    classification_of,
    classify,
    join_texts,
    text_pair,
)
from spanloom.document import Attribute, Document, Layer, Relation, Span
from spanloom.errors import DataError, LayerError
from spanloom.formats import jsonl
from spanloom.formats.brat import read, write
from spanloom.metrics.report import score
from spanloom.model.merge_predictions import merge_predictions

TEXTS = st.text("ab .\n\r\t\u2028😀", max_size=12)
JUDGEMENTS = st.builds(
    Classification,
    st.sampled_from(["entails", "a b", "_x_", "__"]),
    st.floats(allow_nan=False, allow_infinity=False) | st.none(),
)
PAIR = join_texts("d", "It rains.", "It is wet.")


def said(document, judgement):
    """The document with the judgement in its layer ``task``."""
    label, value = judgement.label, judgement.value
    layer = classify(document, "task", label, value, document.id_generator(), 0.5)
    return document.with_layer(layer)


@given(TEXTS, TEXTS)
def test_the_parts_are_the_two_texts_without_outer_blanks(first, second):
    document = join_texts("d", first, second)
    first_part, second_part = text_pair(document)
    assert (document.text_of(first_part), document.text_of(second_part)) == (
        first.strip(),
        second.strip(),
    )
    assert first_part.end <= len(first) < second_part.start + 1
    assert (first_part.label, second_part.label, document.name) == (TEXT, TEXT, "d")


@given(TEXTS, TEXTS | st.none(), JUDGEMENTS)
def test_a_judgement_comes_back_also_from_files(first, second, judgement):
    bare = Document(first, name="d") if second is None else join_texts("d", first, second)
    document = said(bare, judgement)
    assert classification_of(document, "task") == judgement
    (again,) = jsonl.loads(jsonl.dumps([document]))
    assert again == document
    reading = read.loads_parts(document.text, write.parts(document), name="d")
    assert reading.problems == ()
    assert classification_of(reading.document, "task") == judgement
    assert ends(reading.document) == ends(document)
    if not set("\n\r") & {*first.strip(), *(second or "").strip()}:  # brat cuts at line breaks
        assert reading.document == replace(document, layers=reading.document.layers)
        assert comparable(reading.document) == comparable(document)


def ends(document):
    return [(span.start, span.end) for span in text_pair(document)]


def test_a_relation_of_another_layers_spans_is_plain_in_brat():
    document = said(PAIR, Classification("entails", 0.75))
    assert write.dumps(document) == (
        "T1\tparts__part 0 9\tIt rains.\nT2\tparts__part 10 20\tIt is wet.\n"
        "R1\ttask__entails Arg1:T1 Arg2:T2\nA1\tvalue R1 0.75\n"
    )
    main = PAIR.with_layer(Layer("main", relations=(Relation("R1", "entails", "T1", "T2"),)))
    assert write.dumps(main).splitlines()[2] == "R1\tentails Arg1:T1 Arg2:T2"
    assert classification_of(
        read.loads(main.text, write.dumps(main)).document, "main"
    ) == Classification("entails")


def test_the_whole_text_is_judged_by_one_span():
    document = said(Document(" fine, thanks\n"), Classification("positive", 4.0))
    (span,) = document["task"].spans
    assert (span.label, span.fragments, span.score) == ("positive", ((1, 13),), 0.5)
    assert document["task"].attributes == (Attribute("A1", "value", "T1", "4.0"),)


def test_an_empty_layer_says_nothing_and_an_absent_one_is_an_error():
    for document in (PAIR, Document("one text")):
        assert classification_of(document.with_layer(Layer("task")), "task") is None
        with pytest.raises(LayerError, match="no layer 'task'"):
            classification_of(document, "task")


def test_a_document_without_parts_is_one_text():
    assert text_pair(Document("a")) == ()
    assert text_pair(Document("a", (Layer(TEXT_PAIR),))) == ()


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ((("part", 0, 2),), "d: expected two parts, got 1: part"),
        ((("part", 0, 1), ("part", 1, 2), ("part", 3, 4)), "got 3: part, part, part"),
        ((("part", 0, 1), ("piece", 1, 2)), "got 2: part, piece"),
        ((("part", 2, 4), ("part", 0, 3)), r"one part after the other, got 0\.\.3 and 2\.\.4"),
    ],
)
def test_parts_are_two_and_apart(spans, message):
    parts = tuple(Span(f"T{n}", label, ((a, b),)) for n, (label, a, b) in enumerate(spans))
    with pytest.raises(DataError, match=message):
        text_pair(Document("abcdef", (Layer(TEXT_PAIR, parts),), "d"))


def test_parts_come_in_reading_order():
    turned = replace(PAIR[TEXT_PAIR], spans=PAIR[TEXT_PAIR].spans[::-1])
    assert [span.id for span in text_pair(PAIR.with_layer(turned))] == ["T1", "T2"]


FORWARD = Relation("R1", "a", "T1", "T2")


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Layer("t", relations=(FORWARD, Relation("R2", "b", "T1", "T2"))), "one label, got a, b"),
        (
            Layer("t", relations=(Relation("R2", "a", "T2", "T1"),)),
            "d: t: R2: expected a relation from part T1 to part T2, got a T2 -> T1",
        ),
        (
            Layer("t", relations=(FORWARD,), attributes=(Attribute("A1", "value", "R1", "much"),)),
            "d: t: A1: expected a finite number, got 'much'",
        ),
        (
            Layer("t", relations=(FORWARD,), attributes=(Attribute("A1", "value", "R1", "nan"),)),
            "d: t: A1: expected a finite number, got 'nan'",
        ),
        (
            Layer("t", relations=(FORWARD,), attributes=(Attribute("A1", "value", "R1"),)),
            "d: t: A1: expected a finite number, got None",
        ),
        (
            Layer(
                "t",
                relations=(FORWARD,),
                attributes=tuple(Attribute(f"A{n}", "value", "R1", str(n)) for n in (1, 2)),
            ),
            r"d: t: expected one value, got 1\.0, 2\.0",
        ),
    ],
)
def test_what_contradicts_itself_is_told_with_its_place(layer, message):
    with pytest.raises(DataError, match=message):
        classification_of(PAIR.with_layer(layer), "t")


def test_one_text_is_judged_whole_and_with_one_label():
    half = Document("ab cd", (Layer("t", (Span("T1", "x", ((0, 2),)),)),), "d")
    with pytest.raises(DataError, match=r"d: t: T1: expected a span over the whole text, 0\.\.5"):
        classification_of(half, "t")
    twice = tuple(Span(f"T{n}", label, ((0, 5),)) for n, label in enumerate("xyx"))
    with pytest.raises(DataError, match="d: t: expected one label, got x, y"):
        classification_of(half.with_layer(Layer("t", twice)), "t")
    assert classification_of(half.with_layer(Layer("t", twice[::2])), "t") == Classification("x")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_not_written(value):
    with pytest.raises(DataError, match="d: task: expected a finite value"):
        said(PAIR, Classification("x", value))


def test_predicted_judgements_are_scored_and_put_beside():
    gold = said(PAIR, Classification("entails"))
    right, wrong = said(PAIR, Classification("entails")), said(PAIR, Classification("neutral"))
    assert score([gold], [right], "task").relations.micro.f1 == 1.0
    report = score([gold], [wrong], "task")
    assert (report.relations.micro.hits, report.unscored) == (0, 0)
    assert merge_predictions(gold, right) == gold
    both = merge_predictions(gold, wrong)
    assert both["task"].relations == (
        *gold["task"].relations,
        Relation("R2", "neutral", "T1", "T2"),
    )
    without = replace(wrong, layers=(wrong["task"],))  # its parts are the document's own
    assert merge_predictions(gold, without) == both
    assert merge_predictions(both, without) == both
