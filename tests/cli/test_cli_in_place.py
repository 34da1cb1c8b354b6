"""``annotate --in-place``: what is added, what is left out, and that it is told."""

import os
import shutil
from types import SimpleNamespace

import pytest

from spanloom.cli import in_place
from spanloom.cli.inputs import collect
from spanloom.document import Document, Layer, Span
from spanloom.errors import DataError

WRAPPED = "add warm\nbuffer cells . mix the\ncold water for 5\nml . spin cells .\n" * 6


@pytest.fixture
def annotate(home, spanloom):
    def run(*args, **options):
        return spanloom("annotate", *args, "-m", home / "model", "--precision", "fp32", **options)

    return run


@pytest.fixture
def corpus(home, tmp_path):
    shutil.copytree(home / "corpus", tmp_path / "corpus")
    return tmp_path / "corpus"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stub(found, *, layers=("entities",), inputs=()):
    """A model of one task for each layer; ``found`` makes a document's layers."""
    tasks = {name: SimpleNamespace(layer=name, predicts=True, inputs=inputs) for name in layers}

    def annotate(documents, names):
        for each in documents:
            yield Document(each.text, found(each.text), each.name)

    return SimpleNamespace(
        tasks=tasks,
        layers={name: name for name in layers},
        encoder_passes=lambda names: [layers],
        annotate=annotate,
    )


def everything(text):
    """Spans over all line breaks of a text, and over a word."""
    bounds = [(max(0, at - 3), min(len(text), at + 3)) for at, c in enumerate(text) if c == "\n"]
    every = [(0, 3), *bounds]
    return (Layer("entities", tuple(Span(f"T{n}", "P", (b,)) for n, b in enumerate(every, 1))),)


def added(folder, model):
    in_place.add(model, collect(folder), None)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_wrapped_text_is_annotated_once(tmp_path, capsys, end):
    (tmp_path / "a.txt").write_text(WRAPPED, newline=end)
    (tmp_path / "a.ann").write_text("T1\tP 0 3\tadd\n", newline=end)
    added(tmp_path, stub(everything))
    first = contents(tmp_path)
    assert first[tmp_path / "a.ann"].count(b";") == WRAPPED.count("\n") - 1  # the last ends it
    for _ in range(2):
        added(tmp_path, stub(everything))
        assert contents(tmp_path) == first
    assert "0 of 1 documents have new annotations" in capsys.readouterr().err


def test_wrapped_text_through_the_door(annotate, tmp_path):
    (tmp_path / "a.txt").write_text(WRAPPED)
    (tmp_path / "a.ann").write_text("A1\tNegation T2\n#1\tAnnotatorNotes T1\tx\n")
    assert annotate(tmp_path, "--in-place").exit_code == 0
    first = contents(tmp_path)
    assert first[tmp_path / "a.ann"].count(b"\n") > 10
    assert not {b"T1", b"T2"} & {
        line[:2] for line in first[tmp_path / "a.ann"].split(b"\n")[2:] if line[2:3] == b"\t"
    }
    for _ in range(2):
        assert annotate(tmp_path, "--in-place").exit_code == 0
        assert contents(tmp_path) == first


def test_what_cannot_be_done_is_left_out_and_told(annotate, corpus):
    train = sorted((corpus / "train").glob("*.ann"))
    train[0].chmod(0o444)
    train[1].write_bytes(b"\xff\n")
    train[2].with_suffix(".txt").write_bytes(b"add \xe9")
    train[3].unlink()
    train[3].symlink_to("/dev/null")
    for path in train[4:]:
        path.write_bytes(b"")
    before = contents(corpus)
    result = annotate(corpus, "--in-place")
    assert result.exit_code == 1
    told = [line for line in result.stderr.splitlines() if line.startswith("left out: ")]
    assert len(told) == 4
    for path, why in zip(train, ["read-only", "not utf-8", "not utf-8", "leads out"], strict=False):
        assert len([line for line in told if f"{path.stem}." in line and why in line]) == 1
    assert result.stderr.splitlines()[-1].endswith("corpus: 4 of 8 documents were left out")
    after = contents(corpus)
    grown = {path for path in before if before[path] != after[path]}
    assert {*train[4:]} <= grown <= {*train[4:], *(corpus / "dev").glob("*.ann")}
    assert all(after[path].startswith(before[path]) for path in before)
    assert after.keys() == before.keys()


def test_a_text_that_changes_on_the_way_is_left_out(tmp_path, capsys):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(WRAPPED)

    def changing(text):
        (tmp_path / "a.txt").write_text("another")
        return everything(text)

    with pytest.raises(DataError, match="1 of 2 documents were left out"):
        added(tmp_path, stub(changing))
    told = capsys.readouterr().err
    assert "left out: a: expected a prediction for the same text" in told
    assert "1 of 2 documents have new annotations" in told
    assert not (tmp_path / "a.ann").exists()
    assert (tmp_path / "b.ann").exists()


def test_a_document_without_what_a_task_is_given_is_left_out(tmp_path, capsys):
    (tmp_path / "a.txt").write_text(WRAPPED)
    (tmp_path / "b.txt").write_text(WRAPPED)
    (tmp_path / "b.ann").write_text("T1\tentities__P 0 3\tadd\n")
    with pytest.raises(DataError, match="1 of 2"):
        added(tmp_path, stub(everything, inputs=("entities",)))
    assert "a.txt: no layer 'entities'" in capsys.readouterr().err


def test_only_annotations_count(tmp_path, capsys):
    (tmp_path / "a.txt").write_text(WRAPPED)
    added(tmp_path, stub(lambda text: (Layer("entities"),)))
    assert "0 of 1 documents have new annotations" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_model_of_one_layer_writes_plain_types_one_of_several_names_them(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("add")
        (tmp_path / name / "a.ann").write_text("T1\tP 0 3\tadd\n")
    added(tmp_path / "one", stub(everything))
    assert (tmp_path / "one/a.ann").read_text() == "T1\tP 0 3\tadd\n"
    added(tmp_path / "two", stub(everything, layers=("entities", "pos")))
    assert (tmp_path / "two/a.ann").read_text() == "T1\tP 0 3\tadd\nT2\tentities__P 0 3\tadd\n"


def test_a_folder_of_nothing(fails, home, tmp_path):
    told = fails("annotate", tmp_path, "--in-place", "-m", home / "model", code=1)
    assert "no documents" in told
