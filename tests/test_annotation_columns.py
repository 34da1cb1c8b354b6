import json
import pickle
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation_columns import RelationColumns, SpanColumns, narrow, settle
from spanloom.annotation_ids import IdGenerator, IdRange
from spanloom.document import Document, Layer, Note, Relation, Span
from spanloom.errors import DocumentError
from spanloom.formats import jsonl
from spanloom.formats.brat import write
from spanloom.tokenization import WordBounds

TEXT = "Ada met Bob in London ."
LABELS = ("person", "place")
SPANS = (
    Span("T5", "person", ((0, 3),), 0.5),
    Span("T6", "person", ((8, 11),), 0.25),
    Span("T7", "place", ((15, 21),), 1.0),
)
RELATIONS = (
    Relation("R1", "knows", "T5", "T6", score=0.5),
    Relation("R2", "in", "T6", "T7", score=0.75),
)


def span_columns(spans=SPANS, prefix="T", first=5):
    labels = tuple(dict.fromkeys(span.label for span in spans))
    return SpanColumns(
        IdRange(prefix, first, len(spans)),
        labels,
        narrow(np.array([labels.index(span.label) for span in spans], int), len(labels)),
        np.array([span.start for span in spans], np.int32),
        np.array([span.end for span in spans], np.int32),
        np.array([np.nan if span.score is None else span.score for span in spans], np.float64),
    )


def relation_columns():
    return RelationColumns(
        IdRange("R", 1, 2),
        ("in", "knows"),
        np.array([1, 0], np.uint8),
        np.array([0, 1], np.int32),
        np.array([1, 2], np.int32),
        IdRange("T", 5, 3),
        np.array([0.5, 0.75], np.float32),
    )


@pytest.mark.parametrize(
    ("columns", "items"), [(span_columns(), SPANS), (relation_columns(), RELATIONS)]
)
def test_columns_are_the_tuple_of_their_items(columns, items):
    assert columns == items
    assert items == columns
    assert repr(columns) == repr(items)
    assert columns != items[:-1]
    assert items[::-1] != columns
    assert columns != list(items)
    assert hash(columns) == hash(items)
    assert [item.score for item in columns] == [item.score for item in items]
    assert (columns[0], columns[-1]) == (items[0], items[-1])
    assert columns[1:] == items[1:]
    assert columns[::-1] == items[::-1]
    assert columns[5:] == ()
    assert items[1] in columns
    with pytest.raises(IndexError):
        columns[len(items)]


@pytest.mark.parametrize("columns", [span_columns(), relation_columns()])
def test_columns_come_back_from_a_pickle(columns):
    again = pickle.loads(pickle.dumps(columns))
    assert type(again) is type(columns)
    assert again == columns
    assert [item.score for item in again] == [item.score for item in columns]


def test_a_document_of_columns_equals_the_plain_one():
    plain = Document(TEXT, (Layer("ner", SPANS, RELATIONS),))
    columns = Document(TEXT, (Layer("ner", span_columns(), relation_columns()),))
    assert columns == plain
    assert hash(columns) == hash(plain)
    assert columns.annotations() == plain.annotations()
    assert jsonl.dumps([columns]) == jsonl.dumps([plain])
    assert write.dumps(columns) == write.dumps(plain)
    assert columns.id_generator()("T") == "T8"


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("other", [(Span("T6", "x", ((0, 1),)),), span_columns(SPANS[:2], "T", 7)])
def test_an_id_of_columns_is_not_given_twice(other, swapped):
    layers = (Layer("a", span_columns()), Layer("b", other))
    with pytest.raises(DocumentError, match="two annotations have the id 'T[67]'"):
        Document(TEXT, layers[::-1] if swapped else layers)


@pytest.mark.parametrize("annotation_id", ["T05", "T4", "T8", "T", "T5x", "R5", "T" + "9" * 5000])
def test_ids_that_only_look_like_those_of_columns_are_free(annotation_id):
    other = Layer("b", (Span(annotation_id, "x", ((0, 1),)),))
    assert Document(TEXT, (Layer("a", span_columns()), other)).has_layer("b")


def test_a_layer_that_is_absent_may_be_asked_for_as_an_empty_one():
    document = Document(TEXT, (Layer("a", span_columns()),))
    assert document.layer_or_empty("a") is document["a"]
    assert document.layer_or_empty("b") == Layer("b")


@st.composite
def _layers(draw):
    """Layers of spans, as objects or columns; few numbers, so that ids are often taken."""
    layers = []
    for row in range(draw(st.integers(1, 4))):
        prefix, first = draw(st.sampled_from("TR")), draw(st.integers(1, 12))
        ends = draw(st.lists(st.integers(0, 6), max_size=4))
        label = draw(st.sampled_from(["x", "x", "x", " "]))
        spans = [Span(f"{prefix}{first + n}", label, ((0, end),)) for n, end in enumerate(ends)]
        if draw(st.booleans()):
            layers.append(Layer(f"{row}", span_columns(spans, prefix, first)))
        else:
            repeated = draw(st.lists(st.sampled_from(spans), max_size=1)) if spans else []
            layers.append(Layer(f"{row}", (*spans, *repeated)))
    return tuple(layers)


@given(layers=_layers(), length=st.integers(4, 6), seen=st.booleans())
def test_what_a_document_refuses_is_what_a_loop_over_all_annotations_finds(layers, length, seen):
    """Whether or not other documents took some of the layers before."""
    if seen:
        for layer in layers:
            with suppress(DocumentError):
                Document("x" * 6, (layer,))
    spans = [span for layer in layers for span in tuple(layer.spans)]
    is_right = len({span.id for span in spans}) == len(spans)
    is_right &= all(span.label.strip() and span.end <= length for span in spans)
    if not is_right:
        with pytest.raises(DocumentError):
            Document("x" * length, layers)
        return
    document = Document("x" * length, layers)
    numbers = [int(span.id[1:]) for span in spans if span.id.startswith("T")]
    assert int(document.id_generator()("T")[1:]) > max(numbers, default=0)


@pytest.mark.parametrize("spans", [SPANS, span_columns()])
def test_a_layer_that_one_document_took_is_checked_by_the_next(spans):
    """What a layer is known for is of its own annotations alone, and of no text."""
    layer = Layer("a", spans)
    assert Document(TEXT, (layer,))["a"] is layer
    with pytest.raises(DocumentError, match="span 'T7' ends at 21, the text has 20 characters"):
        Document(TEXT[:20], (layer,))
    with pytest.raises(DocumentError, match="two annotations have the id 'T7'"):
        Document(TEXT, (layer, Layer("b", (Span("T7", "x", ((0, 1),)),))))
    doubled = replace(layer, spans=(*spans, spans[0]))
    with pytest.raises(DocumentError, match="two annotations have the id"):
        Document(TEXT, (doubled,))
    assert (
        Document(TEXT, (layer, Layer("b", (Span("T8", "x", ((0, 1),)),)))).id_generator()("T")
        == "T9"
    )


def test_columns_outside_the_text_are_refused():
    with pytest.raises(DocumentError, match="span 'T7' ends at 21, the text has 20 characters"):
        Document(TEXT[:20], (Layer("a", span_columns()),))


def test_blank_labels_in_columns_are_refused_if_a_span_has_them():
    blank = replace(span_columns(), labels=("person", " "))
    with pytest.raises(DocumentError, match="annotation 'T7' needs a label, got ' '"):
        Document(TEXT, (Layer("a", blank),))
    unused = replace(span_columns(), labels=(*LABELS, " "))
    assert Document(TEXT, (Layer("a", unused),))["a"].spans == SPANS


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2)])
def test_backward_and_negative_spans_are_refused(start, end):
    columns = span_columns()
    starts, ends = columns.starts.copy(), columns.ends.copy()
    starts[1], ends[1] = start, end
    with pytest.raises(DocumentError, match=f"'T6' needs 0 <= start <= end, got {start}..{end}"):
        replace(columns, starts=starts, ends=ends)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(DocumentError, match="expected 3 rows in each column, got 2"):
        replace(span_columns(), ends=np.array([3, 11], np.int32))


def test_many_annotations_are_one_line_of_json():
    plain = tuple(replace(SPANS[row % 3], id=f"T{row}") for row in range(10_000))
    columns = span_columns(plain, "T", 0)
    line = jsonl.dumps([Document(TEXT, (Layer("a", columns),))])
    assert line == jsonl.dumps([Document(TEXT, (Layer("a", plain),))])
    assert line == json.dumps(json.loads(line)) + "\n"
    assert next(jsonl.loads(line))["a"].spans == columns


WORDS = st.tuples(st.integers(0, 10), st.integers(0, 10)).map(sorted).map(tuple)
MANY = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), WORDS, st.none() | st.floats(0, 1, width=32))
)


def scores_of(spans):
    return [span.score for span in spans]


@given(MANY, st.data())
def test_any_layer_of_columns_equals_the_plain_one(items, data):
    spans = tuple(
        Span(f"T{row}", label, (bounds,), score) for row, (label, bounds, score) in enumerate(items)
    )
    columns = span_columns(spans, "T", 0)
    assert columns == spans
    for rounded, exact in zip(scores_of(columns), scores_of(spans), strict=True):
        assert rounded == exact or (rounded == round(rounded, 4) == pytest.approx(exact, abs=6e-5))
    part = data.draw(st.slices(len(spans)))
    assert columns[part] == spans[part]
    assert Layer("x", columns) == settle(Layer("y", columns), "x") == Layer("x", spans)
    end = max((span.end for span in spans), default=0)
    assert columns.max_end == end
    assert sorted(columns.used_labels) == sorted({span.label for span in spans})


@given(st.lists(WORDS), st.data())
def test_word_bounds_are_a_sequence_of_pairs(words, data):
    columns = WordBounds.of(words)
    part = data.draw(st.slices(len(words)))
    assert columns == tuple(words)
    assert tuple(words) == columns
    assert isinstance(columns[part], WordBounds)
    assert columns[part] == tuple(words[part])
    assert [columns[row] for row in range(len(words))] == words
    assert WordBounds.of(columns) == columns


def test_ids_taken_together_are_those_taken_one_by_one():
    new_id = IdGenerator(["T4", "R2"], mentioned=["T6"])
    assert [new_id("T"), new_id("T")] == ["T5", "T7"]
    ids = new_id.take("T", 3)
    assert [ids[row] for row in range(3)] == ["T8", "T9", "T10"]
    assert new_id.take("T", 0).count == 0
    assert new_id("T") == "T11"
    assert IdGenerator(mentioned=["T2"]).take("T", 2) == IdRange("T", 3, 2)


def test_a_layer_comes_back_from_a_pickle_without_what_a_document_noted():
    layer = Layer("a", span_columns(), relation_columns(), notes=(Note("#1", "n", "T6", "x"),))
    before = pickle.dumps(layer)
    Document(TEXT, (layer,))
    assert pickle.dumps(layer) == before
    assert pickle.loads(before) == layer
