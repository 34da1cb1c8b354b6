"""Documents in folders: what is written where, and what is left alone."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from spanloom.document import (
    MAIN,
    Argument,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Relation,
    Span,
)
from spanloom.errors import FormatError, StorageError
from spanloom.formats.brat import conf, folder, read, write
from spanloom.formats.brat.conf_from_documents import config_of
from spanloom.formats.brat.save import save

FIXTURES = Path(__file__).parent / "fixtures"
NEW = Document("Ada", (Layer(MAIN, (Span("T1", "P", ((0, 3),)),)),), "a/new.1")


def test_a_new_document_makes_its_folders_and_is_not_written_twice(tmp_path):
    assert [path.name for path in save(NEW, tmp_path)] == ["new.1.txt", "new.1.ann"]
    assert save(NEW, tmp_path) == ()
    ((name, path),) = folder.collect(tmp_path).documents
    assert read.load(path, name=name).document == NEW


def test_a_new_document_never_replaces_another_unless_told(tmp_path):
    save(NEW, tmp_path)
    other = NEW.with_layer(Layer(MAIN, (Span("T1", "Q", ((0, 3),)),)))
    with pytest.raises(StorageError, match=r"new\.1\.ann: not written"):
        save(other, tmp_path)
    with pytest.raises(StorageError, match=r"new\.1\.ann: not written"):
        save(NEW.unannotated(), tmp_path)  # it says "not annotated", the file says otherwise
    assert [path.name for path in save(other, tmp_path, overwrite=True)] == ["new.1.ann"]
    longer = replace(other, text="Ada met")
    with pytest.raises(StorageError, match=r"new\.1\.txt: not written"):
        save(longer, tmp_path)


def test_words_that_are_gone_leave_no_stale_file(tmp_path):
    words = NEW.with_layer(Layer("words", (Span("T9", "w", ((0, 3),)),)))
    save(words, tmp_path)
    assert folder.collect(tmp_path).documents[0][0] == "a/new.1"
    save(NEW, tmp_path, overwrite=True)
    assert next(folder.read_all(tmp_path)).document == NEW


def test_what_cannot_be_written_leaves_everything_as_it_was(tmp_path):
    with pytest.raises(StorageError, match=r"new\.1\.txt: cannot be written as ascii"):
        save(replace(NEW, text="Ädä"), tmp_path, encoding="ascii")
    with pytest.raises(StorageError, match="cannot be written"):
        save(replace(NEW, text="\ud800da"), tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").write_text("a file where a folder must be")
    with pytest.raises(StorageError, match="cannot be"):
        save(NEW, tmp_path)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(FormatError, match="expected a folder"):
        folder.collect(tmp_path / "none")


def test_the_fixtures_are_written_back_and_annotated_in_place(tmp_path):
    shutil.copytree(FIXTURES / "brat", tmp_path / "brat")
    root = tmp_path / "brat"
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    names = []
    for reading in folder.read_all(root):
        names.append(reading.document.name)
        assert save(reading.document, root) == ()
        layer = reading.document[MAIN]
        spans = (*layer.spans, Span("T5000", "New", ((0, 3),)))
        save(reading.document.with_layer(replace(layer, spans=spans)), root)
    assert names == ["crlf", "events", "messy", "sub/dots.v1"]
    for path, data in before.items():
        assert path.read_bytes().startswith(data.removesuffix(b"\n"))
        assert path.suffix != ".txt" or path.read_bytes() == data
    assert all(b"T5000\tNew 0 3\t" in path.read_bytes() for path in root.rglob("*.ann"))


def test_the_messy_fixture_says_what_is_wrong_with_each_line():
    reading = read.load(FIXTURES / "brat" / "messy.txt")
    assert [(each.line, each.kept) for each in reading.problems] == [
        *[(3, True), (4, True), (5, False), (6, True), (7, True), (9, True)]
    ]
    assert str(reading.problems[0]) == "messy.ann:3: the id 'T1' is taken by line 1; not read"
    assert [each.id for each in reading.document[MAIN].annotations()] == ["T1", "T2", "T4", "#1"]


def test_the_events_fixture_fits_its_configuration():
    root = FIXTURES / "brat"
    config = conf.load(conf.find(root / "sub", root))
    document = read.load(root / "events.txt").document
    assert {each.label for each in document[MAIN].events} <= set(config.labels("events"))
    assert [each.roles[0].most for each in config.events if each.roles] == [None, 1]


def test_a_configuration_is_made_from_documents():
    spans = (Span("T1", "P", ((0, 1),)), Span("T2", "Q", ((1, 2),)), Span("T3", "Go", ((2, 3),)))
    main = Layer(
        MAIN,
        spans,
        (Relation("R1", "likes", "T1", "T2"), Relation("R2", "likes", "T2", "T2")),
        (Event("E1", "Go", "T3", (Argument("Who", "T1"), Argument("Who2", "T2"))),),
        (Attribute("A1", "Sure", "T1", "yes"), Attribute("A2", "Sure", "E1", "two words")),
        equivalences=(Equivalence("*1", "Same", ("T1", "T2")),),
    )
    pos = Layer(
        "pos", (Span("T4", "nsubj:pass", ((0, 1),)),), attributes=(Attribute("A3", "x", "T4"),)
    )
    words = Layer("words", (Span("T5", "w", ((0, 1),)),))
    config = config_of([Document("abc", (main, pos, words)), Document("", ())])
    assert conf.dumps(config) == (
        "[entities]\nP\nQ\npos__nsubj_x3a_pass\n\n"
        "[relations]\nlikes\tArg1:P|Q, Arg2:Q\n"
        "Same\tArg1:P|Q, Arg2:P|Q, <REL-TYPE>:symmetric-transitive\n\n"
        "[events]\nGo\tWho*:P|Q\n\n"
        "[attributes]\nSure\tArg:<ANY>, Value:yes\nx\tArg:<ANY>\n"
    )
    assert conf.loads(conf.dumps(config)) == config


def test_golden_types_are_all_in_the_configuration_made_from_them(golden):
    documents = [each.document for each in folder.read_all(golden("brat") / "tutorials")]
    config = config_of(documents)
    assert conf.loads(conf.dumps(config)) == config
    kinds = {"relations": "relations", "events": "events", "attributes": "attributes"}
    for document in documents:
        for kind, section in kinds.items():
            labels = {each.label for each in getattr(document[MAIN], kind)}
            assert labels <= set(config.labels(section))
    assert write.dumps(documents[0])
    golden.count(len(documents))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (".a", "expected no dot at the start of '.a'"),
        ("b/.c/d", "expected no dot at the start of '.c'"),
        ("...And Justice", "the document name '...And Justice' is hidden"),
        ("a\ud800", r"the document name 'a\ud800' has a character that no path can have"),
    ],
)
def test_a_name_that_could_not_be_read_again_is_refused(tmp_path, name, problem):
    with pytest.raises(StorageError) as caught:
        save(replace(NEW, name=name), tmp_path)
    assert problem in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_is_named_itself(tmp_path):
    save(NEW, tmp_path)
    (tmp_path / "a" / "new.1.ann").write_bytes(b"T1\tP 0 3\tAda\n\xff\n")
    unreadable = []
    assert list(folder.read_all(tmp_path, unreadable=unreadable)) == []
    assert str(unreadable[0]).startswith("a/new.1.ann:2: byte 13 (0xff)")
