import pytest

from spanloom.corpora.folder import read
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.formats import jsonl


def test_brat_documents_come_sorted_with_their_problems(tmp_path):
    for name in ("b", "a"):
        (tmp_path / "train" / "sub").mkdir(parents=True, exist_ok=True)
        (tmp_path / "train" / "sub" / f"{name}.txt").write_text("Ada met Bob.", encoding="utf-8")
    ann = "T1\tPerson 0 3\tAda\nnonsense\n"
    (tmp_path / "train" / "sub" / "a.ann").write_text(ann, encoding="utf-8")
    corpus = read(tmp_path, "train")
    assert [document.name for document in corpus.documents] == ["sub/a", "sub/b"]
    assert [document.has_layer("main") for document in corpus.documents] == [True, False]
    assert [str(problem).split(" ")[0] for problem in corpus.problems] == ["sub/a.ann:2:"]
    assert corpus.root == tmp_path / "train"


def test_json_lines_are_read_whole_and_from_a_folder(tmp_path):
    documents = [Document("one", name="b"), Document("two", name="a")]
    jsonl.write(tmp_path / "dev.jsonl", documents)
    assert [document.name for document in read(tmp_path, "dev").documents] == ["a", "b"]
    (tmp_path / "flat").mkdir()
    jsonl.write(tmp_path / "flat" / "x.jsonl", documents)
    (tmp_path / "flat" / "c.txt").write_text("three", encoding="utf-8")
    texts = [document.text for document in read(tmp_path / "flat", "all").documents]
    assert texts == ["two", "one", "three"]


def test_empty_splits_and_names_that_occur_twice_are_refused(tmp_path):
    (tmp_path / "test").mkdir()
    with pytest.raises(DataError, match=r"test: no documents; looked for \*\.txt"):
        read(tmp_path, "test")
    jsonl.write(tmp_path / "test" / "x.jsonl", [Document("one", name="a")] * 2)
    with pytest.raises(DataError, match="expected one document 'a', got 2"):
        read(tmp_path, "test")


def test_files_whose_documents_have_only_numbers_are_told_apart(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.ptb").write_text("(S (NN x))\n", encoding="utf-8")
    assert [document.name for document in read(tmp_path, "all").documents] == [
        "a/s00001",
        "b/s00001",
    ]


def test_a_licence_hides_no_documents_and_annotated_texts_have_strays_beside_them(tmp_path):
    (tmp_path / "a.ptb").write_text("(S (NN x))\n", encoding="utf-8")
    (tmp_path / "notes.json").write_text("{}", encoding="utf-8")
    (tmp_path / "LICENSE.txt").write_text("Do.", encoding="utf-8")
    corpus = read(tmp_path, "all")
    assert [document.name for document in corpus.documents] == ["LICENSE", "s00001"]
    assert corpus.formats == ("brat", "trees")
    (tmp_path / "LICENSE.ann").write_text("T1\tVerb 0 2\tDo\n", encoding="utf-8")
    assert read(tmp_path, "all").formats == ("brat",)
