"""FrameNet's full texts: targets, elements, what is left out, and all that stands beside."""

from dataclasses import replace

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given

from spanloom.annotation.comparable import comparable
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.framenet import KIND, dumps, loads


def test_frames_are_targets_elements_and_what_is_left_out():
    (found,) = loads(KIND.example)
    assert (found.name, found.text) == ("Notes__a", "Ada picked <it> up .")
    layer = found["frames"]
    target, *elements = layer.spans
    assert (target.label, found.text_of(target)) == ("Getting", "picked up")
    assert [(each.label, found.text_of(each)) for each in elements] == [
        ("element", "Ada"),
        ("element", "<it>"),
    ]
    arrows = [(each.label, each.head, each.tail) for each in layer.relations]
    assert arrows == [
        ("Recipient", target.id, elements[0].id),
        ("Theme", target.id, elements[1].id),
    ]
    said = [(each.label, each.target, each.value) for each in layer.attributes]
    assert said == [
        ("GF", elements[0].id, "Ext"),
        ("PT", elements[0].id, "NP"),
        ("Source", target.id, "INI"),
    ]
    assert [each.label for each in found["xpos"].spans] == ["NP", "VVD"]
    assert [each.label for each in found["entities"].spans] == ["person"]
    about = {each.label: each.value for each in found["sentences"].attributes}
    assert about["paragNo"] == "1"


def test_a_frame_that_changed_is_written_as_it_is_now():
    (found,) = loads(KIND.example)
    layer = found["frames"]
    target = replace(layer.spans[0], label="Removing", fragments=((4, 10),))
    changed = replace(
        layer, spans=(target, *layer.spans[1:]), relations=layer.relations[:1], attributes=()
    )
    written = dumps([found.with_layer(changed)])
    assert 'luName="pick up.v" frameName="Removing" ID="6"' in written
    (again,) = loads(written)
    assert [each.fragments for each in again["frames"].spans] == [((4, 10),), ((0, 3),)]
    assert [each.label for each in again["frames"].relations] == ["Recipient"]
    assert [each.label for each in again["xpos"].spans] == ["NP", "VVD"]


def test_frames_of_others_are_written_and_read():
    spans = (
        Span("T1", "Moving", ((4, 7),)),
        Span("T2", "element", ((0, 3),)),
        Span("T3", "Being", ((8, 11),)),
        Span("T4", "NN", ((0, 3),)),
        Span("T5", "Nowhere", ((2, 9),)),
    )
    arrow = Relation("R1", "Theme", "T1", "T2")
    layers = Layer("frames", (*spans[:3], spans[4]), (arrow,)), Layer("xpos", spans[3:4])
    document = Document("Ada ran\nall day", layers, "Notes__b")
    (again,), (lost,) = written_and_read(KIND, [document])
    assert again.text == document.text
    assert again.name == "Notes__b"
    assert lost == {"spans of layer frames": 1}
    assert [(each.label, again.text_of(each)) for each in again["frames"].spans] == [
        ("Moving", "ran"),
        ("element", "Ada"),
        ("Being", "all"),
    ]
    assert comparable(next(loads(dumps([again])))) == comparable(again)


def test_several_files_are_several_documents():
    first, second = loads(KIND.example + KIND.example.replace('"a"', '"b"'))
    assert [first.name, second.name] == ["Notes__a", "Notes__b"]
    assert dumps([first, second]) == KIND.example + KIND.example.replace('"a"', '"b"')
    with pytest.raises(FormatError, match=r"^in\.xml:\d+: expected"):
        list(loads(KIND.example + KIND.example.replace("header", "head"), path="in.xml"))


def test_nothing_before_or_between_files_is_passed_over():
    assert list(loads("\n\n")) == []
    assert len(list(loads("\ufeff" + KIND.example))) == 1
    with pytest.raises(FormatError, match=r"^in\.xml:1: not XML"):
        list(loads("odd\n" + KIND.example, path="in.xml"))


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ('end="2" start="0" name="NP"', 'end="99" start="0" name="NP"', 11, "in [0, 20), got '0'"),
        ('end="2" start="0" name="NP"', 'end="-1" start="0" name="NP"', 11, "got '0' and '-1'"),
        ('end="17" start="16"', 'end="5" start="4"', 22, "overlap"),
        ("<text>", "<txt>", 10, "not XML"),
        ('<layer rank="1" name="Verb"/>', "<label/>", 37, "expected <layer>, got label"),
        ('<layer rank="1" name="Verb"/>', "verb", 22, "expected no text in"),
        ('<corpus name="Notes"', '<corpora name="Notes"', 6, "not XML"),
        ("http://framenet", "http://other", 3, "icsi.berkeley.edu}fullTextAnnotation>, got"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old, new, line, problem):
    with pytest.raises(FormatError, match=r"^in\.xml:\d+: ") as caught:
        list(loads(KIND.example.replace(old, new), path="in.xml"))
    assert problem in caught.value.problem
    assert abs(caught.value.line - line) <= 2  # a set is told by the line where it begins


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


def test_a_release_file_is_written_as_it_stands(data):
    path = data("framenet15") / "fulltext" / "ANC__110CYL067.xml"
    assert same_again(KIND, path.read_bytes().decode() + "\n")


@pytest.mark.slow
def test_the_release_is_written_as_it_stands(data):
    paths = sorted((data("framenet15") / "fulltext").glob("*.xml"))
    assert len(paths) == 78
    targets = 0
    for path in paths:
        text = path.read_bytes().decode()
        (found,) = loads(text)
        assert found.name == path.stem
        assert dumps([found]) == text + "\n"  # the last line has no end; nothing else differs
        targets += sum(each.label != "element" for each in found["frames"].spans)
    assert targets == 23944


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])
