"""SemEval-2010 task 8: two entities in a sentence, related in a direction."""

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.semeval2010 import KIND, SemEval2010Options, dumps, loads


def test_tags_become_spans_and_direction_an_arrow():
    item = '7\t"The <e1>wine</e1> of <e2>old <b> grapes</e2>!"\n{}\nComment: ripe\n'
    (first,) = loads(item.format("Origin(e2,e1)"))
    assert (first.name, first.text) == ("7", "The wine of old <b> grapes!")
    assert dict(first.meta) == {"comment": " ripe"}
    e1, e2 = first["entities"].spans
    assert (e1.label, first.text_of(e1)) == ("e1", "wine")
    assert (e2.label, first.text_of(e2)) == ("e2", "old <b> grapes")
    (arrow,) = first["entities"].relations
    assert (arrow.label, arrow.head, arrow.tail) == ("Origin", e2.id, e1.id)
    (other,) = loads(item.format("Other"))
    (arrow,) = other["entities"].relations
    assert (arrow.label, arrow.head, arrow.tail) == ("Other", e1.id, e2.id)


def test_a_file_without_answers_has_no_relations():
    (first, second) = loads('1\t"<e1>A</e1> <e2>b</e2>"\n2\t"<e2>c</e2><e1>d</e1>"\n')
    assert not first["entities"].relations
    assert [second.text_of(each) for each in second["entities"].spans] == ["d", "c"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("Other\n", 1, "expected a number, a tab and \"a sentence\", got 'Other'"),
        ('1\t"<e1>a</e1> b"\nOther\n', 2, "expected <e1> and <e2> in the sentence"),
        ('1\t"<e1>a <e2>b</e2>"\n', 1, "expected </e1> after <e1>, got none"),
        ('1\t"</e1>a<e1>"\n', 1, "expected <e1> and </e1> once each, in that order, got </e1>"),
        ('\n1\t"<e1>a</e1><e1>b</e1>"\n', 2, "once each"),
        ('1\t"<e1>a</e1> <e2>b</e2>"\nCause\n', 2, "expected LABEL(e1,e2), LABEL(e2,e1) or Other"),
        ('1\t"<e1>a</e1> <e2>b</e2>"\nX(e1,e1)\n', 2, "got 'X(e1,e1)'"),
        ('1\t"<e1>a</e1> <e2>b</e2>"\nOther(e2,e1)\n', 2, "got 'Other(e2,e1)'"),
        ('1\t"<e1>a</e1> <e2>b</e2>"\nOther\nNote\n', 3, "expected Comment:, got 'Note'"),
        ('1\t"a"\nOther\nComment:\nmore\n', 4, "expected a blank line or a sentence"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, problem):
    with pytest.raises(FormatError, match=rf"^in\.txt:{line}: ") as caught:
        list(loads(text, path="in.txt"))
    assert problem in caught.value.problem


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@pytest.mark.parametrize(
    "name", [pytest.param("TRAIN_FILE", marks=pytest.mark.slow), "TEST_FILE_FULL"]
)
def test_the_release_is_written_as_it_stands(data, name):
    path = data("semeval2010-task8") / f"{name}.TXT"
    assert same_again(KIND, _text(path))


def test_relations_are_those_of_the_key(data):
    folder = data("semeval2010-task8")
    key = dict(
        line.split("\t") for line in _text(folder / "TEST_FILE_KEY.TXT").split("\r\n") if line
    )
    found = {}
    for each in loads(_text(folder / "TEST_FILE_FULL.TXT")):
        (arrow,) = each["entities"].relations
        found[each.name] = arrow.label
    assert found == key


def _text(path):
    return path.read_bytes().decode()


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    (again,), (lost,) = written_and_read(KIND, [document])
    if not lost and document.name:  # what has no name gets one
        assert comparable(again)[:2] == comparable(document)[:2]


PLACES = st.integers(0, 6)


@given(
    st.tuples(PLACES, PLACES).map(sorted),
    st.tuples(PLACES, PLACES).map(sorted),
    st.sampled_from(["Cause", "Other", "no(e1,e2)", "a b", "\u00a0"]),
    st.booleans(),
)
def test_two_entities_anywhere_are_held(first, second, label, forth):
    ends = Span("T1", "e1", (tuple(first),)), Span("T2", "e2", (tuple(second),))
    arrow = Relation("R1", label, *(("T1", "T2") if forth else ("T2", "T1")))
    document = Document("a b c\r!", (Layer("entities", ends, (arrow,)),), "7")
    (again,), (lost,) = written_and_read(KIND, [document])
    assert again["entities"].spans == ends
    held = bool(label.strip()) and (label != "Other" or forth)
    assert lost == ({} if held else {"relations of layer entities": 1})
    assert again["entities"].relations == ((arrow,) if held else ())


def test_names_of_lines_and_of_relations_are_the_users_choice():
    options = SemEval2010Options(undirected=("no_relation",), crlf=False)
    text = '1\t"<e1>a</e1> <e2>b</e2>"\nno_relation\nComment:\n\n'
    assert dumps(loads(text, options=options), options=options) == text
    with pytest.raises(FormatError):
        list(loads(text))
