"""Propositions in columns: as spans and relations, of words elsewhere, real files, damages."""

import re

import pytest
from damaged_texts import reads_or_tells
from door_checks import same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from spanloom.document import Attribute, Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.conll2005 import KIND, PropsOptions, dumps, loads

FULL = tuple("word xpos _ _ _ lemma".split())


def said(document):
    """Predicates with their roles and what these cover."""
    spans = {span.id: span for span in document["srl"].spans}
    return [
        (spans[each.head].label, each.label, document.text_of(spans[each.tail]))
        for each in document["srl"].relations
    ]


def marks(document, layer="srl"):
    about = {span.id: document.text_of(span) for span in document[layer].spans}
    return [(about[each.target], each.label, each.value) for each in document[layer].attributes]


def test_predicates_and_arguments_are_spans_and_relations():
    first, second = loads(KIND.example)
    assert (first.name, first.text) == ("s00001", "He wanted to look up .")
    assert said(first) == [
        ("want.01", "ARG0", "He"),
        ("want.01", "ARG1", "to look"),
        ("want.01", "ARGM-DIR", "up"),
        ("want.01", "C-ARG1", "up"),
        ("look.05", "ARG0", "He"),
        ("look.05", "C-V", "up"),
    ]
    assert [span.label for span in first["xpos"].spans] == ["PRP", "VBD", "TO", "VB", "RP", "."]
    assert marks(first, "words") == [
        ("wanted", "lemma", "want"),
        ("look", "lemma", "look"),
        ("up", "column3", "(X*)"),
    ]
    assert second["srl"] == Layer("srl")


def test_predicates_can_be_called_v():
    options = PropsOptions(predicate="V")
    found = list(loads(KIND.example, options=options))
    assert {head for head, *_ in said(found[0])} == {"V"}
    assert marks(found[0]) == [("wanted", "roleset", "want.01"), ("look", "roleset", "look.05")]
    assert dumps(found, options=options) == KIND.example


def test_words_can_stand_in_another_file():
    text = "-\t(A0*)\nfly\t(V*)\n\nrain\t(V*)\n\n"
    plain = list(loads(text))
    assert [each.text for each in plain] == ["_ _", "_"]
    assert plain[0].meta == (("columns", "lemma"),)
    for words in ("Birds fly\nRain\n", "Birds\nfly\n\nRain\n"):
        found = list(loads(text, words=words))
        assert [each.text for each in found] == ["Birds fly", "Rain"]
        assert said(found[0]) == [("fly", "A0", "Birds")]
        assert dumps(found) == dumps(plain) == text
    with pytest.raises(FormatError, match="in:1: expected 3 rows, as there are words, got 2"):
        list(loads(text, path="in", words="Birds can fly\n"))
    with pytest.raises(FormatError, match="in:4: expected 0 rows"):
        list(loads(text, path="in", words="Birds fly\n"))


def test_the_shared_task_beside_its_words():
    text = "He  PRP (S(NP*) * -  -    (A0*)\nflew VBD (VP*)) * 01 fly (V*)\n\n"
    options = PropsOptions(columns=FULL)
    (found,) = loads(text, options=options)
    assert said(found) == [("fly", "A0", "He")]
    assert found.meta == (("separator", "space"),)
    assert ("flew", "column5", "01") in marks(found, "words")
    assert dumps([found], options=options) == re.sub(" +", " ", text)


@pytest.mark.parametrize("columns", [(), ("word",), ("word", "word", "lemma")])
def test_columns_say_which_words_are_predicates(columns):
    with pytest.raises(ValidationError, match="expected different columns with lemma or roleset"):
        PropsOptions(columns=columns)


@pytest.mark.parametrize(
    ("column", "predicates", "attributes"),
    [
        ("(V* *) *", ["b"], [("a b", "row", "1")]),
        ("* * (V*)", ["b"], [("c", "row", "-1")]),
        ("* * *", ["b"], [("b", "unmarked", None)]),
        ("(V*) (V*) *", ["b"], []),
        ("(A0(V(A1* *))) *", ["b"], [("a b", "row", "1")]),
        ("* (V(V*)) *", ["b"], []),
    ],
)
def test_unusual_predicates_come_back(column, predicates, attributes):
    text = (
        "".join(f"{s}\t{cell}\n" for s, cell in zip("-b-", column.split(" "), strict=True)) + "\n"
    )
    (found,) = loads(text, words="a b c")
    heads = {each.head for each in found["srl"].relations}
    named = [span for span in found["srl"].spans if span.label != "argument"]
    assert [span.label for span in named] == predicates
    assert heads <= {span.id for span in named}
    assert marks(found) == attributes
    assert dumps([found]) == text


LABELS = st.sampled_from(["A0", "A1", "C-A1", "R-A0", "AM-TMP", "V", "C-V"])


@st.composite
def columns(draw, words):
    """A column of brackets that nest."""
    opened, cells = [], []
    for place in range(words):
        new = draw(st.lists(LABELS, max_size=2))
        opened += new
        most = len(opened)
        closing = most if place + 1 == words else draw(st.integers(0, most))
        del opened[most - closing :]
        cells.append("".join(f"({each}" for each in new) + "*" + ")" * closing)
    return cells


@given(st.data())
def test_any_columns_come_back(data):
    words = data.draw(st.integers(1, 5))
    senses = data.draw(
        st.lists(st.sampled_from(["-", "be", "V", "argument"]), min_size=words, max_size=words)
    )
    every = [data.draw(columns(words)) for each in senses if each != "-"]
    text = "".join("\t".join(row) + "\n" for row in zip(senses, *every, strict=True)) + "\n"
    for predicate in ("sense", "V"):
        options = PropsOptions(predicate=predicate)
        (found,) = loads(text, options=options)
        assert len(found["srl"].relations) == sum(
            column.count("(") for column in map("".join, every)
        ) - sum("(V*" in "".join(c) or "(V(" in "".join(c) for c in every)
        assert dumps([found], options=options) == text
        assert KIND.count_lost(found, options) == {}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\tb\tc\n", 1, "expected 5 columns (word, xpos, _, lemma, roleset) and one a predicate"),
        ("-\nbe\n", 1, "expected a column for each of 1 predicates, got 0"),
        ("-\t*\nbe\t(V*)\nb\n", 3, "expected 2 columns as in the first row, got 1"),
        ("be\t(V*)\n\nbe\t(V\n", 3, "expected (LABEL*, *, *) or (LABEL*), got '(V'"),
        ("be\t(V*)\n-\t*)\n", 2, "expected a span to close"),
        ("be\t(V*)\n-\t(A0*\n", 2, "expected a ) for the span"),
        ("a\tX\t*\t-\t \n", 1, "expected a value as roleset, got ' '"),
        ("a\tX\t*\t-\tb c\n", 1, "expected - or a roleset without blanks, got 'b c'"),
        ("-\t*\rx\n", 1, "expected no carriage return"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, problem):
    with pytest.raises(FormatError, match=rf"^in\.props:{line}: ") as caught:
        list(loads(text, path="in.props"))
    assert problem in caught.value.problem


def test_what_has_no_column_is_left_out_and_counted():
    bounds = [("a.01", 0, 1), ("a.02", 0, 1), ("-", 2, 3), ("argument", 2, 5), ("argument", 4, 7)]
    spans = tuple(Span(f"T{n}", each[0], (each[1:],)) for n, each in enumerate(bounds))
    arrows = (
        Relation("R1", "A0", "T0", "T3"),
        Relation("R2", "A1", "T0", "T4"),
        Relation("R3", "A 1", "T0", "T2"),
        Relation("R4", "A1", "T1", "T3"),
    )
    more = (Attribute("A1", "row", "T0", "7"),)
    document = Document("a b c d", (Layer("srl", spans, arrows, attributes=more),))
    (again,), (lost,) = written_and_read(KIND, [document])
    assert said(again) == [("a.01", "A0", "b c")]
    assert lost == {
        "spans of layer srl": 3,
        "relations of layer srl": 3,
        "attributes of layer srl": 1,
    }


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    reads_or_tells(KIND, 300)


def test_golden_files_come_back(golden):
    """One is made to break: its last case's predictions close what nobody opened."""
    folder = golden("srl-eval")
    for case in sorted(folder.glob("case*")):
        for name in ("gold", "pred"):
            text = (case / f"{name}.props").read_bytes().decode()
            if (case.name, name) == ("case12", "pred"):
                with pytest.raises(FormatError, match="expected a span to close"):
                    list(loads(text))
                continue
            beside = case / "words.txt"
            words = beside.read_text(encoding="utf-8") if beside.exists() else None
            found = list(loads(text, words=words))
            assert dumps(found) == text
            assert KIND.sniff(text, "") or "(V*" not in text
    golden.count(12)


def test_some_sentences_of_propbank_are_written_as_they_stand(data):
    text = (data("ewt-propbank") / "dev.props").read_bytes().decode()
    assert same_again(KIND, "\n\n".join(text.split("\n\n")[:200]) + "\n\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sentences", "predicates"),
    [("dev", 1967, 4963), ("test", 2056, 4795), ("train", 12_524, 40_429)],
)
def test_propbank_is_written_as_it_stands(data, name, sentences, predicates):
    text = (data("ewt-propbank") / f"{name}.props").read_bytes().decode()
    assert same_again(KIND, text)
    found = list(loads(text))
    assert len(found) == sentences
    spans = (span for each in found for span in each["srl"].spans)
    assert sum(span.label != "argument" for span in spans) == predicates


def test_documents_with_lemmas_alone_do_not_take_columns_from_others():
    (bare,) = loads("ran (V*)\n\n", options=PropsOptions())
    (full, _) = loads(KIND.example)
    text = dumps([bare, full])
    assert dumps([full]) in text
    assert dumps([bare, bare]) == dumps([bare]) * 2
