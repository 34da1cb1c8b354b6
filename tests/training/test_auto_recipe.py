"""What data proposes."""

import pytest
import tiny
from torch import nn

from spanloom.annotation.text_pairs import classify
from spanloom.config import recipe as recipes
from spanloom.document import Attribute, Document, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.formats import jsonl
from spanloom.training.auto_recipe import (
    _RESERVED,
    _summary,
    epochs,
    propose_recipe,
    sentences,
    with_comments,
    words,
)


def write(path, *layers, text="add cold buffer"):
    jsonl.write(path, [Document(text, layers, "a")])
    return path


def layer(name, *, related=False):
    spans = Span(f"T1{name}", "A", ((0, 3),)), Span(f"T2{name}", "B", ((4, 8),))
    relations = (Relation(f"R1{name}", "rel", spans[0].id, spans[1].id),) if related else ()
    return Layer(name, spans, relations)


def test_one_task_a_layer_with_spans(tmp_path):
    path = write(
        tmp_path / "a.b c.jsonl",
        layer("main"),
        layer("x y", related=True),
        Layer("none"),
        layer("words"),
    )
    found = propose_recipe(path, "../a.jsonl")
    assert {k: (v.kind, v.layer, v.data) for k, v in found.recipe.tasks.items()} == {
        "a-b-c": ("entities", "main", "../a.jsonl"),
        "x-y": ("relations", "x y", "../a.jsonl"),
    }
    assert found.recipe.stages[0].tasks == ("a-b-c", "x-y")
    assert found.notes["tasks", "x-y"] == "1 document, 2 spans of 2 labels, 1 relation of 1 label"


def test_names_are_valid_and_differ(tmp_path):
    path = write(tmp_path / "a.jsonl", layer("main"), layer("a"), layer("a!"), layer("!"))
    assert list(propose_recipe(path, "a").recipe.tasks) == ["a", "a-2", "a-3", "task"]


def test_a_split_alone_is_called_as_its_folder(tmp_path):
    for number, name in enumerate(("train", "Training", "devel")):
        split = tiny.corpus(tmp_path / str(number) / "corpus") / "train"
        path = split.rename(split.with_name(name))
        assert list(propose_recipe(path, "x").recipe.tasks) == ["corpus"]


def test_names_that_torch_uses_are_avoided(tmp_path):
    path = write(tmp_path / "a.jsonl", layer("main"), layer("type"), layer("eval"))
    assert list(propose_recipe(path, "a").recipe.tasks) == ["a", "type-2", "eval-2"]
    reserved = {name for name in dir(nn.ModuleDict()) if "_" not in name and name.islower()}
    assert reserved <= _RESERVED


def test_events_make_relations_and_train_alone_is_read(tmp_path):
    corpus = tiny.corpus(tmp_path / "corpus")
    found = propose_recipe(corpus, "corpus")
    assert found.recipe.tasks["corpus"].kind == "relations"
    assert found.notes["tasks", "corpus"].startswith("6 documents, ")


def test_it_can_be_written_with_comments_and_read_again(tmp_path):
    found = propose_recipe(tiny.corpus(tmp_path / "corpus"), "corpus")
    text = with_comments(found.recipe, found.notes)
    assert recipes.loads(text) == found.recipe
    assert "# 6 documents" in text


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a b c"] * 20, "newline"),
        ([], "newline"),
        (["a b c"] * 19 + ["w " * 101], "newline"),
        (["a b c"] * 18 + ["w " * 101], "punctuation"),
        (["", "", "w " * 100, ""], "newline"),
        (
            [
                "It rains in the hills, and",
                "the river, which was low",
                "for weeks, rises. So do we.",
            ],
            "punctuation",
        ),
        (
            ["It rains in the hills", "the river rises.", "For weeks it did not, nor the lake"],
            "newline",
        ),
        (["it rains in the hills", "the river", "the lake is low now"], "newline"),
        (["Add water to the bottle", "", "then shake it for an hour"], "newline"),
    ],
)
def test_long_lines_are_paragraphs(lines, expected):
    assert sentences([Document("\n".join(lines))]) == expected


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("I don't, 5ml.", "I do n't , 5 ml .", "spacy"),
        ("I don't, 5ml.", "I don ' t , 5 ml .", "char-class"),
        ("I don't, 5ml.", "I don't, 5ml.", "whitespace"),
        ("I don't, 5ml.", "", "char-class"),
    ],
)
def test_words_are_split_as_the_corpus_splits_them(text, given, expected):
    spans, at = [], 0
    for row, word in enumerate(given.split()):
        at = text.index(word, at)
        spans.append(Span(f"T{row}", "word", ((at, at + len(word)),)))
        at += len(word)
    layers = (Layer("words", tuple(spans)),) if given else ()
    assert words([Document(text, layers)]) == expected


def test_less_data_more_epochs():
    told = [epochs(words) for words in (0, 1_000, 25_000, 250_000, 10_000_000)]
    assert told == [40, 32, 14, 8, 4]


@pytest.mark.parametrize(("num_words", "batch_words"), [(2_000, 384), (60_000, 768)])
def test_less_data_smaller_batches(tmp_path, num_words, batch_words):
    spans = Layer("main", (Span("T1", "word", ((0, 4),)),))
    path = tmp_path / "a.jsonl"
    jsonl.write(path, [Document("word " * num_words, (spans,), "a")])
    assert propose_recipe(path, "a").recipe.stages[0].batch_words == batch_words


def test_nothing_to_learn(tmp_path):
    path = write(tmp_path / "a.jsonl", Layer("main"), layer("words"))
    with pytest.raises(DataError, match=r"1 document without annotations .*main, words"):
        propose_recipe(path, "a")


@pytest.mark.parametrize(
    ("name", "rate"), [("stars", 1e-3), ("names", 2e-3)], ids=["whole texts alone", "spans, too"]
)
def test_whole_texts_get_gentler_rates_where_nothing_else_is_learnt(name, rate, tmp_path):
    documents = [
        Document(
            text,
            (
                classify(Document(text), "stars", label, None, Document(text).id_generator()),
                *([layer("names")] if name == "names" else []),
            ),
            text,
        )
        for text, label in (("add cold buffer", "good"), ("add warm buffer", "bad"))
    ]
    path = tmp_path / "a.jsonl"
    jsonl.write(path, documents)
    recipe = propose_recipe(path, "a").recipe
    assert recipe.tasks["stars"].kind == "text_classification"
    assert recipe.stages[0].lr.task == rate


def test_the_summary_counts_attributes():
    layer = Layer("main", (Span("T1", "A", ((0, 1),)),), attributes=(Attribute("A1", "Neg", "T1"),))
    assert _summary([layer]) == "1 document, 1 span of 1 label, 1 attribute of 1 label"
