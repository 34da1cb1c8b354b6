"""Which folder or file is which split, by the words of its name; none vanishes without a word."""

import pytest

from spanloom.corpora import folder
from spanloom.corpora.folder import splits
from spanloom.corpora.splits import splits_of_name
from spanloom.errors import DataError

COLUMNS = "EU B-ORG\nrejects O\n\nPeter B-PER\nBlackburn I-PER\n"


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if path.suffix in {".txt", ".ann", ".jsonl", ".a1"} else COLUMNS)


def brat(root, *names):
    """Annotated documents of these names."""
    for name in names:
        make(root, f"{name}.txt", f"{name}.ann")


def refused(root):
    with pytest.raises(DataError) as error:
        splits(root)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(root), "ROOT")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train", "train"),
        ("Train", "train"),
        ("TRAINING", "train"),
        ("train_v2.jsonl", "train"),
        ("wnut17train.conll", "train"),
        ("dev-01.jsonl", "dev"),
        ("Devel", "dev"),
        ("development", "dev"),
        ("val", "dev"),
        ("valid.conll", "dev"),
        ("Validation.jsonl", "dev"),
        ("emerging.dev.conll", "dev"),
        ("BioNLP-ST_2013_CG_devel_data", "dev"),
        ("en_ewt-ud-test.conllu", "test"),
        ("Test.conll", "test"),
        ("EVAL", "test"),
        ("Laptops_Test_Gold.xml", "test"),
        ("trainable", None),
        ("latest", None),
        ("tests", None),
        ("value.jsonl", None),
        ("medieval", None),
    ],
)
def test_a_word_of_the_name_tells(name, split):
    assert splits_of_name(name) == (() if split is None else (split,))


def test_folders_in_any_case(tmp_path):
    brat(tmp_path, "Train/a", "Test/b", "DEVEL/c")
    expected = {"train": tmp_path / "Train", "dev": tmp_path / "DEVEL", "test": tmp_path / "Test"}
    assert splits(tmp_path) == expected
    assert list(splits(tmp_path)) == ["train", "dev", "test"]


def test_the_folders_of_a_shared_task_as_they_are_unpacked(tmp_path):
    """Its test documents have texts and what is given of them, no more."""
    names = [f"BioNLP-ST_2013_CG_{part}_data" for part in ("train", "devel", "test")]
    for name in names:
        make(tmp_path, f"{name}/PMID-1.txt", f"{name}/PMID-1.a1", f"{name}/README")
    make(tmp_path, "evaluation-tools/readme.md", "LICENSE")
    assert [name.name for name in splits(tmp_path).values()] == names


def test_files_by_their_words_whatever_they_end_in(tmp_path):
    make(tmp_path, "wnut17train.conll", "Emerging.Dev.CONLL", "emerging.test.annotated")
    assert [path.name for path in splits(tmp_path).values()] == [
        "wnut17train.conll",
        "Emerging.Dev.CONLL",
        "emerging.test.annotated",
    ]
    assert len(folder.read(tmp_path, "test").documents) == 2
    assert len(folder.read(tmp_path, "dev").documents) == 2


def test_what_holds_no_documents_is_no_split_and_no_error(tmp_path):
    brat(tmp_path, "train/a", "test/b")
    make(tmp_path, "eval/score.py", "test-scripts/run.sh", ".old/dev/c.ann")
    (tmp_path / "annotation.conf").write_text("[entities]\nORG\n")
    (tmp_path / "README.txt").write_text("A corpus.\n")
    (tmp_path / "test-evaluations.jsonl").write_text('{"model": "m"}\n')
    assert list(splits(tmp_path)) == ["train", "test"]


@pytest.mark.parametrize("odd", ["extra/d", "sub/deep/d", "d"])
def test_annotated_documents_of_no_split_are_named(tmp_path, odd):
    brat(tmp_path, "train/a", "dev/b", odd)
    message = refused(tmp_path)
    first = odd.split("/", maxsplit=1)[0]
    assert message.startswith(f"ROOT: {first}")
    assert "of no split, beside train, dev; give names of splits" in message


def test_all_documents_of_no_split_are_listed(tmp_path):
    brat(tmp_path, "train/a", "b", "c")
    assert refused(tmp_path).startswith("ROOT: b.ann, c.ann: of no split")


@pytest.mark.parametrize("odd", ["more.jsonl", "more.conll", "more.annotated"])
def test_a_file_of_no_split_is_named(tmp_path, odd):
    make(tmp_path, "train.jsonl", "dev.jsonl", odd)
    assert refused(tmp_path).startswith(f"ROOT: {odd}: of no split")


@pytest.mark.parametrize(
    ("one", "two"), [("test", "eval"), ("devel", "dev"), ("Train", "train"), ("dev", "CG_dev")]
)
def test_one_split_by_two_names_is_refused(tmp_path, one, two):
    brat(tmp_path, f"{one}/a", f"{two}/b")
    assert refused(tmp_path) in {
        f"ROOT: expected one of {one}, {two}; got both",
        f"ROOT: expected one of {two}, {one}; got both",
    }


def test_one_name_of_two_splits_is_refused(tmp_path):
    make(tmp_path, "train.jsonl", "dev-test.jsonl")
    told = refused(tmp_path)
    assert told == "ROOT/dev-test.jsonl: expected a name of one split, got one of dev and test"


def test_splits_that_lie_deeper_are_not_one_whole(tmp_path):
    brat(tmp_path, "a/Train/x", "a/Test/y", "b/Train/z")
    assert "its splits lie deeper (a/Test and b/Train)" in refused(tmp_path)


def test_documents_named_for_splits_in_one_folder_are_not_one_whole(tmp_path):
    brat(tmp_path, "train-1", "train-2", "test-1")
    told = refused(tmp_path)
    assert "test-1.ann and train-2.ann are of different splits by their names" in told


def test_documents_of_which_one_is_called_test_are_one_whole(tmp_path):
    brat(tmp_path, "blood", "test-1", "training")
    assert splits(tmp_path) == {"all": tmp_path}


def test_a_devel_set_is_learnt_from_by_nobody(tmp_path):
    """The documents of ``devel`` choose the model; none of train is cut off for that."""
    brat(tmp_path, "train/a", "train/b", "devel/c")
    sizes = {name: len(folder.read(tmp_path, name).documents) for name in splits(tmp_path)}
    assert sizes == {"train": 2, "dev": 1}


def test_the_files_of_conll_2003_are_splits_by_their_own_names(tmp_path):
    lines = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n"
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    paths = folder.splits(tmp_path)
    assert {split: path.name for split, path in paths.items()} == {
        "train": "eng.train",
        "dev": "eng.testa",
        "test": "eng.testb",
    }
    corpus = folder.read(tmp_path, "train")
    assert corpus.formats == ("columns",)
    assert [span.label for span in corpus.documents[0]["entities"].spans] == ["ORG"]
