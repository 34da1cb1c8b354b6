"""Open IE in columns: several extractions of one sentence are one document."""

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.oie import KIND, dumps, loads

HEADER = KIND.example.split("\n")[0] + "\n"


def test_blocks_of_a_sentence_are_one_document():
    (found,) = loads(KIND.example)
    assert (found.name, found.text) == ("4", "Ada has once met Bob")
    assert len(found["words"].spans) == 5
    spans = {span.id: found.text_of(span) for span in found["openie"].spans}
    arrows = [(spans[e.head], e.label, spans[e.tail]) for e in found["openie"].relations]
    assert arrows == [
        ("has met", "A0", "Ada"),
        ("has met", "A1", "Bob"),
        ("has", "A0", "once Bob"),
        ("has", "A1", "Ada"),
    ]
    notes = [(each.label, each.text) for each in found["openie"].notes]
    assert notes == [("head", "3"), ("inside", ""), ("pred", "could"), ("run", "7")]


def test_sentences_part_where_words_or_numbers_change():
    row = "0\t{}\tgo\t[0]\t0\t{}\t0\tP-B\n\n"
    blocks = [("go", 0), ("go", 0), ("run", 0), ("go", 1), ("go", 0)]
    text = HEADER + "".join(row.format(*each) for each in blocks)
    assert [each.name for each in loads(text)] == ["0", "0~2", "1", "0~3"]


@pytest.mark.parametrize(
    ("rows", "line", "problem"),
    [
        ("0\ta\ta\t[0]\t0\t0\t0\n", 2, "expected 8 columns (word_id, word, pred"),
        ("1\ta\ta\t[0]\t0\t0\t0\tP-B\n", 2, "expected word_id 0, got '1'"),
        ("0\t \ta\t[0]\t0\t0\t0\tP-B\n", 2, "expected a word"),
        ("0\ta\ta\t[0]\t0\t0\t0\tP-B\n1\tb\ta\t[0]\t0\t1\t0\tO\n", 3, "as in the row before"),
        ("0\ta\ta\t0\t0\t0\t0\tP-B\n", 2, "expected [ID, …], got '0'"),
        ("0\ta\ta\t[0]\t1\t0\t0\tP-B\n", 2, "expected head_pred_id in [0, 1), got '1'"),
        ("0\ta\ta\t[0]\t" + "9" * 5000 + "\t0\t0\tP-B\n", 2, "expected head_pred_id"),
        ("0\ta\ta\t[0]\t0\t0\t0\tA0-B\n", 2, "expected one predicate"),
        ("0\ta\ta\t[1]\t0\t0\t0\tP-B\n", 2, "expected pred_id [0] as tagged, got '[1]'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(rows, line, problem):
    with pytest.raises(FormatError, match=rf"^in\.oie:{line}: ") as caught:
        list(loads(HEADER + rows, path="in.oie"))
    assert problem in caught.value.problem


def test_the_first_line_names_the_columns():
    with pytest.raises(FormatError, match="in:1: expected 8 columns"):
        list(loads("a\tb\n", path="in"))
    with pytest.raises(FormatError, match="in:1: expected the names word_id"):
        list(loads(HEADER.replace("pred_id", "x"), path="in"))


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@pytest.mark.parametrize(
    ("name", "sentences", "blocks"),
    [
        ("dev", 345, 946),
        ("test", 367, 993),
        pytest.param("train", 1056, 2905, marks=pytest.mark.slow),
    ],
)
def test_the_release_is_written_as_it_stands(data, name, sentences, blocks):
    text = (data("oie2016-wiki") / f"wiki1.{name}.oie.conll").read_bytes().decode()
    assert same_again(KIND, text)
    found = list(loads(text))
    assert len(found) == sentences
    assert sum(s.label == "predicate" for d in found for s in d["openie"].spans) == blocks


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, unique=True), min_size=1, max_size=4))
def test_arguments_that_share_words_are_lost_and_counted(places):
    bounds = [(0, 1), (4, 5), (8, 9), (12, 13)]  # no neighbours, which would be one fragment
    layer = [("predicate", places[0]), *(("argument", each) for each in places[1:])]
    spans = tuple(
        Span(f"T{number}", label, tuple(bounds[each] for each in sorted(words)))
        for number, (label, words) in enumerate(layer)
    )
    arrows = tuple(Relation(f"R{n}", f"A{n}", "T0", f"T{n}") for n in range(1, len(spans)))
    document = Document("a x b x c x d", (Layer("openie", spans, arrows),), "0")
    (again,), (lost,) = written_and_read(KIND, [document])
    kept = len(again["openie"].relations)
    missed = len(arrows) - kept
    counts = {"spans of layer openie": missed, "relations of layer openie": missed}
    assert lost == {what: number for what, number in counts.items() if number}
    taken, expected = set(places[0]), 0
    for words in places[1:]:
        if taken.isdisjoint(words):
            taken |= set(words)
            expected += 1
    assert kept == expected


def test_sentences_of_a_document_are_written_by_themselves():
    spans = Span("T1", "predicate", ((0, 1),)), Span("T2", "predicate", ((4, 5),))
    document = Document("a b\nc d", (Layer("openie", spans),), "x")
    (first, second), (lost,) = written_and_read(KIND, [document])
    assert [first.name, second.name] == ["x-0", "x-1"]
    assert lost == {"joints between sentences": 1}
    assert dumps([Document("a", (), "x")]) == HEADER
