"""Writing a document and reading it again gives the same document, whatever is in it."""

from dataclasses import replace

import pytest
from drawn_documents import LABELS, WORDS, documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.annotation_ids import IdGenerator
from spanloom.document import (
    MAIN,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Note,
    Relation,
    Span,
)
from spanloom.errors import DocumentError
from spanloom.formats.brat import read, spelling, write


def _again(document):
    return read.loads_parts(document.text, write.parts(document), name=document.name)


@given(documents())
def test_reading_what_was_written_gives_the_same_document(document):
    reading = _again(document)
    assert reading.document == document
    assert reading.problems == ()
    assert write.parts(reading.document) == write.parts(document)


@given(documents())
def test_a_list_of_layers_is_read_and_kept(document):
    files = write.parts(document, list_layers=True)
    reading = read.loads_parts(document.text, files, name=document.name)
    assert (reading.document, reading.problems) == (document, ())
    assert write.parts(reading.document) == files


def test_listed_layers_stay_annotated_when_people_delete_all_that_was_found():
    found = (Layer("ner", (Span("T1", "person", ((0, 3),)),)), Layer("steps"))
    files = write.parts(Document("Ada met.", found, "d"), list_layers=True)
    assert files == {".ann": "T1\tner__person 0 3\tAda\n", ".words": "layers\tner\tsteps\n"}
    deleted = read.loads_parts("Ada met.", {**files, ".ann": ""}, name="d").document
    assert deleted == Document("Ada met.", (Layer("ner"), Layer("steps")), "d")
    assert write.parts(deleted) == {**files, ".ann": ""}
    nothing = write.parts(Document("Ada met.", (Layer("ner"),), "d"), list_layers=True)
    assert nothing == {".ann": "", ".words": "layers\tner\n"}  # brat shows no text without .ann
    alone = Document("Ada met.", (Layer(MAIN),), "d")
    assert write.parts(alone, list_layers=True) == write.parts(alone) == {".ann": ""}


@pytest.mark.parametrize("text", ["\ufeff", "\ufeffAda", "\ufeff\ufeffa\nb", "\ufeffé 😀"])
def test_a_text_that_begins_like_a_byte_order_mark_keeps_it(text):
    bounds = [(a, b) for b in range(len(text) + 1) for a in range(b + 1) if "\n" not in text[a:b]]
    for chosen in (*([pair] for pair in bounds), bounds):
        spans = tuple(Span(f"T{n}", "X", (pair,)) for n, pair in enumerate(chosen, 1))
        words = (Span("T999", "word", ((0, 1),)),)
        document = Document(text, (Layer(MAIN, spans), Layer("words", words)), "d")
        reading = read.loads_parts(write.text_file(document), write.parts(document), name="d")
        assert (reading.document, reading.problems) == (document, ())
        assert write.text_file(reading.document) == write.text_file(document)
        assert write.parts(reading.document) == write.parts(document)


@given(documents(lines=False))
def test_spans_over_line_breaks_come_back_cut_and_then_stay(document):
    once = _again(document).document
    assert _again(replace(once, source=None)).document == once
    for before, after in zip(_spans(document), _spans(once), strict=True):
        covered = {i for a, b in before.fragments for i in range(a, b)}
        kept = {i for a, b in after.fragments for i in range(a, b)}
        breaks = {i for i in covered if document.text[i] in "\r\n"}
        assert kept in (covered - breaks, covered)


@given(documents(), st.data())
def test_a_changed_annotation_takes_its_line_and_all_others_stay(document, data):
    reading = _again(document)
    spans = _spans(document)
    if not spans:
        return
    chosen = data.draw(st.sampled_from(spans))
    used = {each.trigger for layer in document.layers for each in layer.events}
    if chosen.id in used:
        return
    changed = replace(chosen, label=data.draw(LABELS))
    edited = _with(reading.document, chosen, changed)
    assert (
        read.loads_parts(document.text, write.parts(edited), name=document.name).document == edited
    )
    before, after = write.parts(document), write.parts(edited)
    assert list(before) == list(after)
    for suffix, text in before.items():
        pairs = zip(text.split("\n"), after[suffix].split("\n"), strict=True)
        assert all(old == new or old.startswith(f"{chosen.id}\t") for old, new in pairs)


@given(documents())
def test_removed_annotations_leave_and_their_ids_stay_unused(document):
    reading = _again(document)
    empty = tuple(Layer(layer.name) for layer in document.layers)
    bare = replace(reading.document, layers=empty)
    parts = write.parts(bare)
    assert parts[".ann"] == ""
    assert read.loads_parts(bare.text, parts, name=bare.name).document == bare
    fresh = bare.id_generator()
    assert not {fresh(kind) for kind in "TREAN#" for _ in range(5)} & set(document.annotations())


@given(LABELS, WORDS)
def test_types_are_spelled_without_ambiguity(label, layer):
    for one in (None, layer):
        written = spelling.write_type(label, one)
        assert spelling.read_type(written) == (one, label)
        assert all(char.isalnum() or char in "_-" for char in written)


@given(WORDS)
def test_text_is_spelled_on_one_line(text):
    for tabs in (True, False):
        written = spelling.write_text(text, tabs=tabs)
        assert spelling.read_text(written, tabs=tabs) == text
        assert not set(written) & set("\n\r" if tabs else "\n\r\t")
    assert spelling.read_name(spelling.write_name(text)) == text
    assert spelling.read_key(spelling.write_key(text)) == text
    assert not set(spelling.write_name(text) + spelling.write_key(text)) & set(" \t\n\r")


@pytest.mark.parametrize(
    "written",
    ["_x41_", "a_x_b", "__b", "a__", "_x20", "x20_", "_x110000_", "_xd800_", "a_xdfff_", "a_b"],
)
def test_what_only_looks_like_an_escape_stays(written):
    assert spelling.read_type(written) == (None, written)


def test_a_foreign_type_with_a_border_names_a_layer():
    layer = read.loads("ab", "T1\tner__Person__x 0 2\tab\nA1\tSure T1\n").document["ner"]
    assert layer.spans[0].label == "Person__x"
    assert layer.attributes[0].id == "A1"


def test_an_id_that_brat_cannot_hold_is_replaced_everywhere():
    spans = (Span("span 1", "A", ((0, 1),)), Span("R1", "B", ((1, 2),)), Span("T1", "C", ((0, 2),)))
    layer = Layer(
        MAIN,
        spans,
        (Relation("T2", "X", "span 1", "R1"),),
        (Event("e", "B", "R1"),),
        (Attribute("a:1", "Y", "e"),),
        equivalences=(Equivalence("cluster", "Z", ("span 1", "T1")),),
    )
    document = Document("ab", (layer,))
    again = _again(document)
    assert comparable(again.document) == comparable(document)
    assert not again.problems
    assert again.document.annotations()["T1"].label == "C"


def test_a_new_annotation_does_not_take_the_id_of_an_unreadable_line():
    document = read.loads("ab", "T1\tbroken\n").document
    grown = document.with_layer(Layer(MAIN, (Span("T1", "A", ((0, 1),)),)))
    assert write.dumps(grown) == "T1\tbroken\nT2\tA 0 1\ta\n"


def test_fresh_ids_go_on_after_the_highest():
    fresh = IdGenerator(["T1", "T900-foo", "R" + "9" * 500, "E007"])
    assert [fresh("T"), fresh("T"), fresh("R"), fresh("E")] == ["T901", "T902", "R1", "E8"]
    assert read.loads("a", "T7 broken\n#3\tbroken\n").document.id_generator()("T") == "T8"


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Layer(MAIN, relations=(Relation("R1", "X", "T1", "T2"),)), "refers to 'T1'"),
        (Layer(MAIN, (Span("T1", "A", ((0, 1),)),), events=(Event("E1", "B", "T1"),)), "trigger"),
        (Layer(MAIN, equivalences=(Equivalence("*1", "A", ()),)), "members"),
        (
            Layer(
                MAIN, (Span("T1", "A", ((0, 1),)),), (Relation("R1", "X", "T1", "T1", ("A", "A")),)
            ),
            "roles",
        ),
        (Layer(MAIN, notes=(Note("#1", "N", "a b", "x"),)), "target without blanks, got 'a b'"),
        (Layer(MAIN, notes=(Note("#1", "N", "", "x"),)), "target without blanks, got ''"),
        (Layer(MAIN, notes=(Note("#1", "N", "T1\nT2\tA 0 1", "x"),)), "target without blanks"),
    ],
)
def test_what_brat_would_refuse_is_not_written(layer, message):
    with pytest.raises(DocumentError, match=message):
        write.dumps(Document("ab", (layer,), "doc"))


@pytest.mark.parametrize("target", ["T9", "*1", "x"])
def test_a_note_on_a_missing_annotation_is_written(target):
    document = Document("ab", (Layer(MAIN, notes=(Note("#1", "N", target, "x"),)),))
    assert comparable(_again(document).document) == comparable(document)


def test_given_words_go_to_a_file_of_their_own_unless_others_refer_to_them():
    words = Layer(
        "words", (Span("T1", "w", ((0, 2),)),), attributes=(Attribute("A1", "lemma", "T1", "x"),)
    )
    main = Layer(MAIN, (Span("T2", "P", ((0, 2),)),))
    document = Document("ab", (main, words))
    parts = write.parts(document)
    assert parts == {".ann": "T2\tP 0 2\tab\n", ".words": "T1\twords__w 0 2\tab\nA1\tlemma T1 x\n"}
    assert _again(document).document == document
    noted = replace(main, notes=(Note("#1", "N", "T1", "on a word"),))
    tied = Document("ab", (noted, words))
    assert list(write.parts(tied)) == [".ann"]
    assert _again(tied).document == tied
    moved = _again(document).document.with_layer(noted)
    parts = write.parts(moved)
    assert parts[".words"] == ""
    assert comparable(read.loads_parts("ab", parts).document) == comparable(tied)


def test_words_whose_ids_brat_gave_away_are_numbered_anew():
    words = "T1\twords__w 0 1\ta\nT2\twords__w 1 2\tb\nA1\tlemma T1 x\n"
    parts = {".ann": "T1\tP 0 2\tab\n", ".words": words}
    reading = read.loads_parts("ab", parts)
    assert reading.problems == ()
    assert [each.id for each in reading.document["words"].annotations()] == ["T3", "T2", "A1"]
    assert reading.document["words"].attributes[0].target == "T3"
    assert write.parts(reading.document) == parts


def test_empty_layers_and_meta_stand_in_the_words_file():
    layers = (Layer(MAIN), Layer("dep", (Span("T1", "P", ((0, 2),)),)), Layer("ner"))
    document = Document("ab", layers, meta=(("genre", "news\n"), ("", "")))
    parts = write.parts(document)
    assert parts[".words"] == "layer\tmain\nlayer\tner\nmeta\tgenre\tnews_xa_\nmeta\t\t\n"
    reading = read.loads_parts("ab", parts)
    assert reading.document == document
    filled = reading.document.with_layer(Layer("ner", (Span("T2", "P", ((0, 2),)),)))
    assert "layer\tner" not in write.parts(filled)[".words"]


def _spans(document):
    return [span for layer in document.layers for span in layer.spans]


def _with(document, old, new):
    layers = tuple(
        replace(layer, spans=tuple(new if span == old else span for span in layer.spans))
        for layer in document.layers
    )
    return replace(document, layers=layers)


def test_no_type_of_a_file_is_a_blank_label():
    assert spelling.read_type("_x_") == (None, "_x_")
    assert spelling.read_type("layer___x_") == (None, "layer___x_")
    assert spelling.read_type("_x20_") == (None, "_x20_")
    assert spelling.read_type("_x2028_") == (None, "\u2028")
