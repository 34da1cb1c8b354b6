"""Word vectors made from text: same call, same file, and the embedder reads it."""

import gzip
import random

import numpy as np
import pytest

from spanloom import errors
from spanloom.embedders.static import read_vectors
from spanloom.errors import DataError, PackageMissing
from spanloom.training.word_vectors import TrainedVectors, VectorOptions, train_vectors

SMALL = VectorOptions(dim=8, min_count=3, epochs=20, seed=3)


@pytest.fixture
def texts(tmp_path):
    """Sentences in which animals eat and tools break, in two files, one of them compressed."""
    rng = random.Random(1)
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    lines = []
    for _ in range(600):
        animal, tool = rng.choice(["Cat", "Dog", "Cow"]), rng.choice(["Saw", "Axe", "Pick"])
        lines.append(f"The {animal} eats warm food quickly and sleeps.\n")
        lines.append(f"A {tool} cuts hard wood, then it breaks!\n")
    (folder / "a.txt").write_text("".join(lines[:600]))
    with gzip.open(folder / "more" / "b.txt.gz", "wt") as stream:
        stream.write("".join(lines[600:]) + "rareword\n")
    (folder / "notes.tsv").write_text("not read\n")
    return folder


def test_words_of_one_kind_are_near_and_equal_calls_write_equal_files(texts, tmp_path):
    pytest.importorskip("gensim")
    made = train_vectors(texts, tmp_path / "one.txt", SMALL)
    train_vectors(texts, tmp_path / "two.txt", SMALL)
    assert (tmp_path / "one.txt").read_bytes() == (tmp_path / "two.txt").read_bytes()
    vectors = read_vectors(tmp_path / "one.txt", max_vectors=1000)
    assert made == TrainedVectors(len(vectors.words), 600 * 9 + 600 * 10 + 1)
    assert {"cat", "eats", ".", "!"} <= set(vectors.words)
    assert not {"Cat", "rareword", "read"} & set(vectors.words)
    row = {word: vectors.rows[i] / np.linalg.norm(vectors.rows[i])
           for i, word in enumerate(vectors.words)}  # fmt: skip
    for same, other in (("cat", "saw"), ("dog", "axe")):
        assert row[same] @ row["cow"] > row[other] @ row["cow"]


def test_another_seed_is_another_file(texts, tmp_path):
    pytest.importorskip("gensim")
    train_vectors(texts, tmp_path / "one.txt", SMALL)
    train_vectors(texts / "a.txt", tmp_path / "two.txt", SMALL)
    other = VectorOptions(SMALL.dim, SMALL.min_count, SMALL.epochs, seed=4)
    train_vectors(texts, tmp_path / "three.txt", other)
    assert len({(tmp_path / f"{name}.txt").read_bytes() for name in ("one", "two", "three")}) == 3


def test_what_cannot_be_learnt_from_is_said(texts, tmp_path, monkeypatch):
    pytest.importorskip("gensim")
    (tmp_path / "empty" / ".hidden").mkdir(parents=True)
    (tmp_path / "empty" / ".hidden" / "a.txt").write_text("a word " * 9)
    with pytest.raises(DataError, match="expected texts"):
        train_vectors(tmp_path / "empty", tmp_path / "out.txt", SMALL)
    with pytest.raises(DataError, match="no word comes 5000 times"):
        train_vectors(texts, tmp_path / "out.txt", VectorOptions(min_count=5000))
    (texts / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="a.txt: expected a text in UTF-8"):
        train_vectors(texts, tmp_path / "out.txt", SMALL)
    assert not (tmp_path / "out.txt").exists()


def test_without_gensim_the_extra_is_named(texts, tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(PackageMissing, match=r"vectors train needs gensim.*spanloom\[vectors\]"):
        train_vectors(texts, tmp_path / "out.txt", SMALL)
