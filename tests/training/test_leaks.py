"""Texts of dev and test of one corpus are left out of the train of others, and nothing else is."""

import json

import pytest
import tiny

from spanloom.annotation.text_pairs import classify, join_texts
from spanloom.config import recipe as recipes
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.formats import jsonl
from spanloom.model.plan import resolve
from spanloom.studies.designs import plan
from spanloom.studies.spec import load
from spanloom.training.leaks import HeldOutTexts, drop_leaks, normalized_texts
from spanloom.training.split_corpus import data_identity, read_dev
from spanloom.training.train import new_model

LONG = "one two three four five six seven eight"


def pair(first, second, name):
    made = join_texts(name, first, second)
    return made.with_layer(classify(made, "label", "same", None, made.id_generator()))


@pytest.mark.parametrize(
    ("train", "scored", "leaks"),
    [
        (Document("A cat sat."), Document("a CAT sat"), True),
        (Document("A cat sat."), Document("A cat ran."), False),
        (pair("x y", "A cat sat.", "p"), Document("A cat sat."), True),
        (
            pair("A cat", "sat .", "p"),
            Document("A cat\nsat ."),
            False,
        ),  # parts are texts of their own
        (Document(f"Hi .\n{LONG} ."), pair("no", LONG, "p"), True),  # a sentence of a longer text
        (
            Document("Hi there .\nYes ."),
            Document("No .\nHi there ."),
            False,
        ),  # short ones are chance
        (pair("no", LONG, "p"), Document(f"Hi .\n{LONG} ."), True),
        (Document("..."), Document("!!"), False),  # no letter in it
        (Document(f"He came. {LONG.capitalize()}. He went."), pair("no", LONG, "p"), True),
        (Document("A cat -LRB- sat -RRB-"), Document("a cat (sat)"), True),
    ],
)
def test_what_leaks(train, scored, leaks):
    held_out = HeldOutTexts.of({"scored": [scored]})
    kept, dropped = drop_leaks("train", [train], held_out)
    assert (len(kept), dropped.num_dropped) == ((0, 1) if leaks else (1, 0))


def test_the_split_of_a_corpus_by_itself_stays():
    document = Document("A cat sat.")
    held_out = HeldOutTexts.of({"a": [document], "b": []})
    assert drop_leaks("a", [document], held_out)[0] == (document,)
    kept, dropped = drop_leaks("b", [document, Document("b")], held_out)
    assert kept == (Document("b"),)
    assert dropped.note("b") == (
        "b: 1 of 2 documents of train left out, as they have a text of dev or test of a (1)"
    )


def test_normalized_texts_are_letters_and_digits():
    assert list(normalized_texts(Document("A `` b-c'' 5 ."))) == ["abc5"]
    assert list(normalized_texts(Document("कि – “É” ß_"))) == [
        "किéß"
    ]  # vowel signs tell words apart


@pytest.fixture
def home(tmp_path):
    """Two sets of pairs: the second one's train has a text of the first one's test, and of dev."""
    first = {"train": ("a b", "c d", "e f"), "dev": ("g h",), "test": ("i j",)}
    second = {"train": ("i j", "G H", "k l", "m n"), "dev": ("o p",), "test": ("a b",)}
    for name, splits in (("first", first), ("second", second)):
        (tmp_path / name).mkdir()
        for split, texts in splits.items():
            documents = [
                pair(f"{text} .", f"{name} {split} {n}", f"{split}{n}")
                for n, text in enumerate(texts)
            ]
            (tmp_path / name / f"{split}.jsonl").write_text(jsonl.dumps(documents))
    return tmp_path


def recipe(home, **changes):
    tasks = {
        name: {"data": name, "kind": "text_classification", "layer": "label"}
        for name in ("first", "second")
    }
    stage = {"tasks": list(tasks), "epochs": 1, "precision": "fp32"}
    return tiny.recipe(home, tasks=tasks, stages=[stage], **changes)


def test_training_never_sees_them_and_says_how_many(home):
    path = recipe(home, exclude_texts_of=["first", "second"])
    planned = resolve(recipes.load(path), home)
    _, prepared = new_model(planned, "cpu")
    words = {
        name: {" ".join(document.tokens[:2]) for document in data.tokenized}
        for name, data in prepared.data.items()
    }
    assert words == {"first": {"c d", "e f"}, "second": {"k l", "m n"}}
    notes = [note for note in prepared.notes if "left out" in note]
    assert [note.partition(" left out")[0] for note in notes] == [
        "first: 1 of 3 documents of train",
        "second: 2 of 4 documents of train",
    ]
    assert [note.rpartition(" of ")[2] for note in notes] == ["second (1)", "first (2)"]
    assert prepared.fingerprint == data_identity(planned)
    assert {len(documents) for documents in read_dev(planned).values()} == {1}
    without = resolve(recipes.load(recipe(home)), home)
    assert data_identity(without) != prepared.fingerprint


def test_a_run_of_a_chain_leaves_out_what_later_ones_are_scored_on(home):
    base = recipe(home, exclude_texts_of=["first", "second"])
    study = home / "study.yaml"
    study.write_text(
        json.dumps(
            {
                "recipe": base.name,
                "designs": [{"design": "chains", "orders": [["second", "first"]]}],
            }
        )
    )
    jobs = plan(load(study), home, lambda keys: {}).jobs
    (before,) = (job for job in jobs.values() if job.before is None)
    assert list(before.recipe["tasks"]) == ["second"]
    planned = resolve(recipes.loads(json.dumps(before.recipe)), home)
    _, prepared = new_model(planned, "cpu")
    assert len(prepared.data["second"].tokenized) == 2
    (home / "first" / "test.jsonl").write_text(jsonl.dumps([pair("k l .", "x", "t")]))
    from spanloom.studies.job import data_hash

    data_hash.cache_clear()
    assert plan(load(study), home, lambda keys: {}).jobs.keys().isdisjoint(jobs)  # other data


def test_raw_text_is_refused_as_no_text_of_it_can_be_left_out(home):
    (home / "raw.txt").write_text("c d .\n")
    tasks = {
        "first": {"data": "first", "kind": "text_classification", "layer": "label"},
        "words": {"data": "raw.txt", "kind": "masked_lm"},
    }
    stage = {"tasks": list(tasks), "epochs": 1, "precision": "fp32"}
    path = tiny.recipe(home, tasks=tasks, stages=[stage], exclude_texts_of=["first"])
    with pytest.raises(DataError, match="exclude_texts_of: .* got raw text .task 'words'"):
        new_model(resolve(recipes.load(path), home), "cpu")


def test_nothing_left_to_learn_from_is_an_error(home):
    texts = [pair("i j .", "x", "t0")]
    (home / "second" / "train.jsonl").write_text(jsonl.dumps(texts * 1))
    path = recipe(home, exclude_texts_of=["first"])
    with pytest.raises(DataError, match="second: all documents of train are left out"):
        new_model(resolve(recipes.load(path), home), "cpu")
