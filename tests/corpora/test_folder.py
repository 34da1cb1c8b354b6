import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom import formats
from spanloom.config import registry
from spanloom.corpora import folder
from spanloom.corpora.folder import split_path, splits
from spanloom.document import Document
from spanloom.errors import DataError


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")


@pytest.mark.parametrize("dev", ["dev", "valid", "validation", "development", "val"])
def test_split_folders_under_any_of_their_names(tmp_path, dev):
    make(tmp_path, "test/a.txt", f"{dev}/b.txt", "train/c.txt", "notes/d.md", "README.txt")
    assert splits(tmp_path) == {
        "train": tmp_path / "train",
        "dev": tmp_path / dev,
        "test": tmp_path / "test",
    }
    assert list(splits(tmp_path)) == ["train", "dev", "test"]


def test_json_lines_as_splits_and_as_a_whole_corpus(tmp_path):
    make(tmp_path, "train.jsonl", "validation.jsonl")
    expected = {"train": tmp_path / "train.jsonl", "dev": tmp_path / "validation.jsonl"}
    assert splits(tmp_path) == expected
    assert splits(tmp_path / "train.jsonl") == {"all": tmp_path / "train.jsonl"}


def test_a_flat_or_nested_folder_is_the_split_all(tmp_path):
    make(tmp_path, "part/deep/a.txt")
    assert splits(tmp_path) == {"all": tmp_path}
    assert split_path(tmp_path, "all") == tmp_path


def test_a_folder_without_documents_names_what_was_looked_for(tmp_path):
    make(tmp_path, "notes.md", ".hidden/a.txt")
    message = f"{re.escape(str(tmp_path))}: no documents; looked for train/, dev/, test/ and"
    with pytest.raises(DataError, match=message):
        splits(tmp_path)
    with pytest.raises(DataError, match="no such file or folder"):
        splits(tmp_path / "nowhere")
    with pytest.raises(DataError, match="expected a corpus folder"):
        splits(tmp_path / "notes.md")


def test_two_names_of_one_split_are_refused(tmp_path):
    make(tmp_path, "dev/a.txt", "valid/a.txt")
    with pytest.raises(DataError, match="expected one of dev, valid; got both"):
        splits(tmp_path)


def test_documents_beside_the_splits_are_not_left_out_silently(tmp_path):
    make(tmp_path, "train/a.txt", "b.txt", "b.ann")
    with pytest.raises(DataError, match=r"b\.ann: of no split, beside train"):
        splits(tmp_path)


def test_an_unknown_split_names_those_there_are(tmp_path):
    make(tmp_path, "train/a.txt", "test/b.txt")
    with pytest.raises(DataError, match=r"no split 'dev' \(splits there: train, test\)"):
        split_path(tmp_path, "dev")


def test_formats_are_not_looked_through_for_every_text(tmp_path, monkeypatch):
    for number in range(60):
        (tmp_path / f"{number}.txt").write_text("Ada met Bob.")
        (tmp_path / f"{number}.ann").write_text("T1\tPer 0 3\tAda\n" if number else "")
    loads, load = [], registry.load
    monkeypatch.setattr(registry, "load", lambda *names: loads.append(names) or load(*names))
    assert len(folder.read(tmp_path, "all").documents) == 60
    assert len(loads) < 5 * len(formats.names())


@given(st.sets(st.text("abcd", min_size=1, max_size=5), min_size=2, max_size=40), st.data())
def test_what_was_held_out_is_told_from_what_was_learnt_though_documents_come_and_go(names, data):
    documents = [Document("", name=name) for name in sorted(names)]
    learnt, held_out = folder.hold_out(documents, seed=3)
    last = folder.last_held_out(held_out, seed=3)
    assert folder.held_out_until(documents, last, seed=3) == held_out
    new = [Document("", name=f"new {name}") for name in names]
    later = data.draw(st.permutations([*documents, *new]))[: len(documents)]
    scored = folder.held_out_until(later, last, seed=3)
    assert not {doc.name for doc in scored} & {doc.name for doc in learnt}
    assert {doc.name for doc in later} & {doc.name for doc in held_out} <= {
        doc.name for doc in scored
    }
