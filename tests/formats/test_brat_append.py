"""Annotations added to brat files where they are, byte by byte."""

import os
from functools import partial

import pytest
from drawn_documents import documents
from hypothesis import given

from spanloom.document import (
    MAIN,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Relation,
    Span,
)
from spanloom.errors import DocumentError, FormatError, StorageError
from spanloom.formats.brat import read, write
from spanloom.formats.brat.append import append
from spanloom.model.merge_predictions import merge_predictions

TEXT = "add cold buffer to the\ncells and mix them well\n"


@pytest.fixture
def add(tmp_path):
    """Add a layer to a.ann of that content; returns what stands behind that content now."""

    def run(before, layer, text=TEXT, *, plain=None):
        (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
        path = tmp_path / "a.ann"
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_text(before, encoding="utf-8", newline="")
        merge = partial(merge_predictions, predicted=Document(text, (layer,), "a"), plain=plain)
        count = append(tmp_path, "a", merge)
        found = path.read_bytes().decode() if path.exists() else ""
        assert found.startswith(before or "")
        more = found.removeprefix(before or "")
        assert count == len([line for line in more.replace("\r", "\n").split("\n") if line])
        for _ in range(2):  # a second and a third run add nothing
            assert append(tmp_path, "a", merge) == 0
            assert path.read_bytes().decode() == found if path.exists() else not found
        return more

    return run


def spans(*bounds, label="P", name=MAIN):
    return Layer(name, tuple(Span(f"T{n}", label, (each,)) for n, each in enumerate(bounds, 1)))


def test_a_span_over_a_line_break_is_added_once(add):
    assert add("", spans((19, 28))) == "T1\tP 19 22;23 28\tthe cells\n"
    assert add("T1\tP 19 28\tthe cells\n", spans((19, 28))) == ""  # one that was not cut
    wrapped = TEXT.replace("\n", "\r\n")
    assert add("", spans((19, 29)), wrapped) == "T1\tP 19 22;24 29\tthe cells\n"
    assert add("", spans((22, 23))) == "T1\tP 22 23\t \n"


def test_what_refers_to_such_a_span_is_added_once(add):
    layer = Layer(
        MAIN,
        (Span("T1", "P", ((19, 28),)), Span("T2", "Q", ((0, 3),))),
        (Relation("R1", "rel", "T1", "T2"),),
        (Event("E1", "P", "T1"),),
        (Attribute("A1", "Sure", "E1"),),
    )
    assert add("", layer).count("\n") == 5


@pytest.mark.parametrize(
    "line",
    [
        "A1\tNegation T1",
        "A1\tNegation T1 value",
        "M1\tNegation T1",
        "#1\tAnnotatorNotes T1\tlost",
        "#1\tAnnotatorNotes T9\tsee T1",
        "R1\trel Arg1:T1 Arg2:T9",
        "R1\trel Arg1:T9 Arg2:T1",
        "E1\tP:T1",
        "E1\tP:T9 Theme:T1",
        "N1\tReference T1 GO:1\tx",
        "*\tEquiv T9 T1",
        "T9\tP 0 3\tadd\nA1\tbroken\tT1",
        "a line about T1 that nobody can read",
        "T1",
        "T1\tP 0 999\tfar away",
    ],
)
def test_an_id_that_is_mentioned_is_not_taken(add, line):
    more = add(line + "\n", spans((4, 8), (9, 15)))
    assert more == "T2\tP 4 8\tcold\nT3\tP 9 15\tbuffer\n" or more.startswith(
        "T10\tP 4 8\tcold\nT11"
    )


def test_notes_and_negations_of_what_is_gone_stay_what_they_are(add, tmp_path):
    before = "A1\tNegation T2\n#1\tAnnotatorNotes T1\tthe note\n"
    assert add(before, spans((4, 8), (9, 15))) == "T3\tP 4 8\tcold\nT4\tP 9 15\tbuffer\n"
    reading = read.load(tmp_path / "a.txt")
    assert [each.line for each in reading.problems] == [1]
    assert [each.target for each in reading.document[MAIN].notes] == ["T1"]


def test_a_number_that_is_mentioned_does_not_raise_all_others(add):
    assert add("#1\tN T999999\tx\n", spans((4, 8))) == "T1\tP 4 8\tcold\n"


@pytest.mark.parametrize(
    ("before", "ahead", "end"),
    [
        ("", "", "\n"),
        ("\ufeff", "", "\n"),
        ("T1\tQ 0 3\tadd", "\n", "\n"),
        ("T1\tQ 0 3\tadd\n", "", "\n"),
        ("T1\tQ 0 3\tadd\r\n", "", "\r\n"),
        ("T1\tQ 0 3\tadd\r\nbroken", "\r\n", "\r\n"),
        ("T1\tQ 0 3\tadd\r\nbroken\r", "\n", "\r\n"),
        ("T1\tQ 0 3\tadd\nbroken\r", "\n", "\n"),
        ("T1\tQ 0 3\tadd\rbroken", "\r", "\r"),
        ("T1\tQ 0 3\tadd\n  ", "\n", "\n"),
    ],
)
def test_the_first_line_begins_a_line_and_all_end_as_the_file_does(add, before, ahead, end):
    number = 2 if before.startswith("T1") else 1
    assert add(before, spans((4, 8))) == f"{ahead}T{number}\tP 4 8\tcold{end}"


def test_a_text_alone_gets_a_file_where_something_is_found(add, tmp_path):
    assert add(None, spans()) == ""
    assert not (tmp_path / "a.ann").exists()
    assert add(None, spans((4, 8))) == "T1\tP 4 8\tcold\n"


def test_an_empty_layer_leaves_no_file_behind(add, tmp_path):
    add("", Layer("chunks"))
    add("T1\tP 4 8\tcold\n", Layer("chunks"))
    assert sorted(os.listdir(tmp_path)) == ["a.ann", "a.txt"]


def test_a_group_that_reading_would_unite_is_there(add):
    there = "T1\tP 0 3\tadd\nT2\tP 4 8\tcold\nT3\tP 9 15\tbuffer\n*\tSame T1 T2 T3\n"
    three = spans((0, 3), (4, 8), (9, 15))
    pair = Layer(MAIN, three.spans, equivalences=(Equivalence("*1", "Same", ("T1", "T3")),))
    assert add(there, pair) == ""
    assert add(there.replace(" T3\n", "\n"), pair) == "*\tSame T1 T3\n"
    chain = tuple(Equivalence(f"*{n}", "Same", (f"T{n}", f"T{n + 1}")) for n in (1, 2))
    assert add("", Layer(MAIN, three.spans, equivalences=chain)).endswith(
        "*\tSame T1 T2\n*\tSame T2 T3\n"
    )


def test_a_model_of_one_layer_writes_plain_types(add):
    found = spans((0, 3), (4, 8), name="entities")
    assert add("T1\tP 0 3\tadd\n", found, plain="entities") == "T2\tP 4 8\tcold\n"
    assert add("", found, plain="entities") == "T1\tP 0 3\tadd\nT2\tP 4 8\tcold\n"
    assert add("T1\tP 0 3\tadd\n", found) == "T2\tentities__P 0 3\tadd\nT3\tentities__P 4 8\tcold\n"


def test_where_only_its_own_layer_is_there_it_writes_that(add):
    found = spans((0, 3), (4, 8), name="entities")
    layered = "T1\tentities__P 0 3\tadd\nT2\tpos__X 0 3\tadd\n"
    assert add(layered, found, plain="entities") == "T3\tentities__P 4 8\tcold\n"
    both = "T1\tentities__P 0 3\tadd\nT2\tQ 0 3\tadd\n"
    assert add(both, found, plain="entities") == "T3\tP 4 8\tcold\n"


def test_an_event_stands_in_the_layer_of_its_trigger(add):
    layer = Layer(
        "x",
        (Span("T1", "P", ((0, 3),)), Span("T2", "P", ((4, 8),))),
        events=(Event("E1", "P", "T1"), Event("E2", "P", "T2")),
        attributes=(Attribute("A1", "Sure", "E1"), Attribute("A2", "Sure", "E2")),
    )
    assert add("T1\tx__P 0 3\tadd\nT2\tQ 0 3\tadd\n", layer, plain="x") == (
        "T3\tP 4 8\tcold\nE2\tP:T3\nE1\tx__P:T1\nA2\tSure E2\nA1\tSure E1\n"
    )


def test_split_files_grow_at_their_last(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.a1").write_text("T1\tP 0 3\tadd\n")
    (tmp_path / "a.a2").write_text("")
    merge = partial(merge_predictions, predicted=Document(TEXT, (spans((0, 3), (4, 8)),), "a"))
    assert append(tmp_path, "a", merge) == 1
    assert (tmp_path / "a.a1").read_text() == "T1\tP 0 3\tadd\n"
    assert (tmp_path / "a.a2").read_text() == "T2\tP 4 8\tcold\n"


def test_an_id_of_the_words_file_is_taken(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.words").write_text("T1\twords__word 0 3\tadd\nlayer\tchunks\n")
    chunks = Document(TEXT, (spans((4, 8), name="chunks"),), "a")
    assert append(tmp_path, "a", partial(merge_predictions, predicted=chunks)) == 1
    assert (tmp_path / "a.ann").read_text() == "T2\tchunks__P 4 8\tcold\n"
    assert (tmp_path / "a.words").read_text().endswith("layer\tchunks\n")


def test_links_that_leave_the_folder_are_not_written(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text(TEXT)
    (tmp_path / "outside").write_text("")
    (root / "a.ann").symlink_to("../outside")
    merge = partial(merge_predictions, predicted=Document(TEXT, (spans((0, 3)),), "a"))
    with pytest.raises(StorageError, match="leads out of"):
        append(root, "a", merge)
    for name in ("../root/a", "/a"):
        with pytest.raises(StorageError, match="leads out of"):
            append(root, name, merge)
    assert (tmp_path / "outside").read_text() == ""


def test_what_cannot_be_read_or_does_not_fit_is_left_alone(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.ann").write_bytes(b"T1\tP 0 3\tadd\n\xff\n")
    merge = partial(merge_predictions, predicted=Document(TEXT, (spans((0, 3)),), "a"))
    with pytest.raises(FormatError, match=r"a\.ann:2: byte 13"):
        append(tmp_path, "a", merge)
    (tmp_path / "a.ann").write_bytes(b"")
    (tmp_path / "a.txt").write_text("another text")
    with pytest.raises(DocumentError, match="same text"):
        append(tmp_path, "a", merge)
    half = (Attribute("A1", "Sure", "T1", "\ud800"),)
    layer = Layer(MAIN, spans((0, 3)).spans, attributes=half)
    odd = Document("another text", (layer,), "a")
    with pytest.raises(StorageError, match="cannot be written"):
        append(tmp_path, "a", partial(merge_predictions, predicted=odd))
    assert (tmp_path / "a.ann").read_bytes() == b""


def test_ids_that_another_program_took_meanwhile_are_not_reused(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    path = tmp_path / "a.ann"
    path.write_text("T1\tP 0 3\tadd\n")
    calls = []

    def merge(document):
        calls.append(document)
        if len(calls) == 1:
            with path.open("a") as other:
                other.write("T2\tQ 19 22\tthe\nT3\tP 4 8\tcold\n")
        return merge_predictions(document, Document(TEXT, (spans((4, 8), (9, 15)),), "a"))

    assert append(tmp_path, "a", merge) == 1
    assert len(calls) == 2
    assert path.read_text().endswith("T3\tP 4 8\tcold\nT4\tP 9 15\tbuffer\n")


def test_lines_that_do_not_concern_it_do_not_start_it_anew(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    path = tmp_path / "a.ann"
    path.write_text("T1\tP 0 3\tadd\n")
    calls = []

    def merge(document):
        calls.append(document)
        with path.open("a") as other:
            other.write("#7\tN T1\tx\n")
        return merge_predictions(document, Document(TEXT, (spans((4, 8)),), "a"))

    assert append(tmp_path, "a", merge) == 1
    assert len(calls) == 1
    assert path.read_text() == "T1\tP 0 3\tadd\n#7\tN T1\tx\nT2\tP 4 8\tcold\n"


@given(documents(lines=False))
def test_written_and_read_in_between_twice_is_once(predicted):
    """Any prediction beside all it says, and beside a broken line."""
    parts = write.parts(predicted)
    document = read.loads_parts(predicted.text, parts, name=predicted.name).document
    assert write.new_lines(merge_predictions(document, predicted)) == []
    asked = {suffix: said for suffix, said in parts.items() if suffix == ".queries"}
    parts = {".ann": "broken T1 E1\n", **asked}
    bare = read.loads_parts(predicted.text, parts, name=predicted.name).document
    lines = write.new_lines(merge_predictions(bare, predicted))
    parts[".ann"] += "".join(line + "\n" for line in lines)
    again = read.loads_parts(predicted.text, parts, name=predicted.name)
    assert [each.line for each in again.problems] == [1]
    assert write.new_lines(merge_predictions(again.document, predicted)) == []
    assert len(lines) == sum(each.annotation is not None for each in again.document.source.lines)
