"""CoNLL04: entities and relations of a made sample and of the real files, and what is wrong."""

import ast
from collections import Counter

import pytest
from damaged_texts import reads_or_tells
from door_checks import same_again
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config.options import Options
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.conll04 import KIND, dumps, loads


def told(document):
    layer = document["entities"]
    names = {span.id: document.text_of(span) for span in layer.spans}
    found = [(names[each.head], each.label, names[each.tail]) for each in layer.relations]
    return [(document.text_of(span), span.label) for span in layer.spans], found


def test_the_sample():
    assert same_again(KIND, KIND.example)
    first, second = loads(KIND.example)
    assert (first.name, first.text) == ("7", "Ada Byron of London saw IBM")
    entities, relations = told(first)
    assert entities == [("Ada Byron", "Peop"), ("London", "Loc"), ("IBM", "Org")]
    assert relations == [
        ("Ada Byron", "Live_In", "London"),
        ("Ada Byron", "Work_For", "IBM"),
        ("IBM", "OrgBased_In", "London"),
    ]
    (begun,) = first["words"].attributes
    assert (begun.label, begun.value) == ("entities", "I-Org")
    assert told(second) == ([], [])


ROW = "0\ta\tB-X\t['N']\t[0]\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (ROW, 1, "expected '#doc ' and a name"),
        (f"#doc 1\n{ROW}{ROW}", 3, "expected the number 1, got '0'"),
        ("#doc 1\n0\ta\tO\t['N']\n", 2, "expected 5 columns .* got 4"),
        ("#doc 1\n0\t \tO\t['N']\t[0]\n", 2, "expected a word"),
        ("#doc 1\n0\ta\tX\t['N']\t[0]\n", 2, "expected O, B-… or I-…, got 'X'"),
        ("#doc 1\n0\ta\tO\tN\t[0]\n", 2, r"expected \['LABEL', …\]"),
        ("#doc 1\n0\ta\tO\t['N']\t[x]\n", 2, r"expected \['LABEL', …\]"),
        ("#doc 1\n0\ta\tO\t['N']\t[1]\n", 2, r"expected a head each, or \['N'\] and \[0\]"),
        ("#doc 1\n0\ta\tB-X\t['R', 'S']\t[0]\n", 2, "expected a head each"),
        ("#doc 1\n0\ta\tO\t['R']\t[0]\n", 2, "expected a relation between last words of entities"),
        ("#doc 1\n0\ta\tB-X\t['R']\t[7]\n", 2, "got 0 to 7"),
        ("#doc 1\n0\ta\tB-X\t['R']\t[1]\n1\tb\tO\t['N']\t[1]\n", 2, "got 0 to 1"),
    ],
)
def test_errors_say_where_and_what(text, line, problem):
    with pytest.raises(FormatError, match=problem) as caught:
        list(loads(text, path="x.txt"))
    assert (caught.value.path, caught.value.line) == ("x.txt", line)


def test_what_has_no_place_is_counted():
    spans = (
        *(Span("T1", "X", ((0, 1),)), Span("T2", "Y", ((2, 3),))),
        *(Span("T3", "Z", ((2, 3),)), Span("T4", "W", ((4, 7),))),
    )
    relations = (
        *(Relation("R1", "r's", "T1", "T2"), Relation("R2", "N", "T1", "T2")),
        *(Relation("R3", "r", "T1", "T3"), Relation("R4", "r\\s é", "T2", "T1")),
    )
    document = Document("a b c\nd", (Layer("entities", spans, relations),), "x/y")
    assert dumps([document]) == (
        "#doc x/y\n0\ta\tB-X\t['N']\t[0]\n1\tb\tB-Y\t['r\\s é']\t[0]\n"
        "2\tc\tO\t['N']\t[2]\n3\td\tO\t['N']\t[3]\n"
    )
    assert KIND.count_lost(document, Options()) == {
        "blanks and line breaks": 1,
        "spans of layer entities": 2,
        "relations of layer entities": 3,
    }


@given(drawn=st.lists(documents(lines=False, scores=True), max_size=3))
def test_any_document_can_be_written_and_read(drawn):
    again = list(loads(dumps(drawn)))
    assert len(again) == len(drawn)
    assert list(loads(dumps(again))) == again
    for each in drawn:
        KIND.count_lost(each, Options())


def test_damaged_samples_are_read_or_refused():
    reads_or_tells(KIND, 500)


@pytest.mark.parametrize("head", ["", "#doc 1\n", "#doc 1\n0\tAda\tO\n", "# text = a\n" + ROW])
def test_other_files_do_not_look_like_it(head):
    assert not KIND.sniff(head, "x.txt")


@pytest.mark.parametrize(
    "file", ["dev.txt", "test.txt", pytest.param("train.txt", marks=pytest.mark.slow)]
)
def test_real_files(file, data):
    with (data("conll04") / file).open(encoding="utf-8", newline="") as stream:
        text = stream.read()
    assert same_again(KIND, text)
    rows = [line.split("\t") for line in text.split("\n") if "\t" in line]
    labels = Counter(label for row in rows for label in ast.literal_eval(row[3]) if label != "N")
    found = [told(each) for each in loads(text)]
    assert Counter(label for _, links in found for _, label, _ in links) == labels
    begun = sum(row[2].startswith("B-") for row in rows)
    kept = sum(a.label == "entities" for d in loads(text) for a in d["words"].attributes)
    assert sum(len(spans) for spans, _ in found) == begun + kept
