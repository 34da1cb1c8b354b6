"""Kinds of task that annotations propose."""

from dataclasses import replace

import pytest

from spanloom import tasks
from spanloom.annotation.text_pairs import classify, join_texts
from spanloom.document import (
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Query,
    Relation,
    Span,
)
from spanloom.training.layer_kinds import KIND_OPTIONS, samples, suggest

# other ways to learn what these kinds learn; --kind asks for them
ON_REQUEST = {
    *("extractive_classification", "text_regression"),
    *("sequence_tagging", "word_relations", "masked_lm"),
}


def kinds(*documents):
    return {name: suggest(sample).kind for name, sample in samples(documents).items()}


def layer(*labelled, relations=(), **others):
    marked = tuple(
        Span(f"T{number}", label, ((first, last),))
        for number, (label, first, last) in enumerate(labelled, 1)
    )
    linked = tuple(
        Relation(f"R{number}", label, head, tail)
        for number, (label, head, tail) in enumerate(relations, 1)
    )
    return Layer("main", marked, linked, **others)


@pytest.mark.parametrize("kind", sorted(set(tasks.names()) - ON_REQUEST))
def test_the_sample_of_each_kind_proposes_it(kind):
    document = tasks.load(kind).example
    others = {
        "text_classification": [Document("Fine .", (layer(("positive", 0, 6)),))],
        "aspects": [],
    }.get(kind, [])
    assert kinds(document, *others) == {"main": kind}


def test_the_options_are_those_of_their_kinds():
    for kind, options in KIND_OPTIONS.items():
        assert set(options) <= set(tasks.load(kind).options.model_fields)


def test_texts_of_one_class_alone_are_no_classes():
    assert kinds(Document("Fine .", (layer(("A", 0, 6)),))) == {"main": "entities"}


def test_pairs_of_texts_have_classes_or_numbers():
    def pair(name, label, value):
        document = join_texts(name, "Ada slept.", "She slept.")
        ids = iter(["R1", "A1"])
        judged = classify(document, "main", label, value, lambda prefix: next(ids))
        return replace(document, layers=(*document.layers, judged))

    assert kinds(pair("a", "same", None), pair("b", "other", None)) == {
        "main": "text_classification"
    }
    assert kinds(pair("a", "like", 0.5), pair("b", "like", 3.0)) == {
        "main": "extractive_regression"
    }


def test_events_and_equivalences():
    triggered = layer(("Add", 0, 3), events=(Event("E1", "Add", "T1"),))
    assert kinds(Document("Add it to him.", (triggered,))) == {"main": "relations"}
    same = layer(("X", 0, 3), ("X", 4, 6), equivalences=(Equivalence("*1", "Equiv", ("T1", "T2")),))
    assert kinds(Document("Add it to him.", (same,))) == {"main": "coreference"}


def test_links_between_like_things_are_coreference_only_if_chains_or_names_say_so():
    text = "Ada met Bob and Carl there"
    things = ("X", 0, 3), ("X", 8, 11), ("X", 16, 20)

    def linked(label, *pairs):
        return Document(text, (layer(*things, relations=[(label, *pair) for pair in pairs]),))

    assert kinds(linked("knows", ("T2", "T1"))) == {"main": "relations"}
    assert kinds(linked("Coref", ("T2", "T1"))) == {"main": "coreference"}
    assert kinds(linked("x", ("T2", "T1"), ("T3", "T2"))) == {"main": "coreference"}


def test_a_label_on_some_words_is_no_tagging():
    text = "Ada met Bob there"
    every = layer(("N", 0, 3), ("V", 4, 7), ("N", 8, 11), ("A", 12, 17))
    assert kinds(Document(text, (every,))) == {"main": "pos"}
    assert kinds(Document(text, (layer(("N", 0, 3), ("N", 8, 11)),))) == {"main": "entities"}
    wide = layer(("N", 0, 7), ("N", 8, 17))  # covers all, but several words at a time
    assert kinds(Document(text, (wide,))) == {"main": "entities"}


@pytest.mark.parametrize("labels", [("POS", "NEG"), ("positive", "Negative", "conflict")])
def test_polarities_are_aspects(labels):
    marked = layer(*((label, 4 * row, 4 * row + 3) for row, label in enumerate(labels)))
    assert kinds(Document("abc def ghi jkl", (marked,))) == {"main": "aspects"}


def test_layers_that_tasks_read_or_that_are_empty_propose_nothing():
    words = Layer("words", (Span("W1", "word", ((0, 3),)),))
    pair = join_texts("a", "x", "y")
    assert kinds(Document("Ada", (words, Layer("main"))), pair) == {}


def test_a_question_without_an_answer_proposes_with_those_that_have_one():
    answered = layer(("answer", 0, 3), attributes=(Attribute("A1", "query", "T1", "Q1"),))
    first = Document("Ada slept", (answered,), "a", queries=(Query("Q1", "Who?"),))
    second = Document("Ada slept", (Layer("main"),), "b", queries=(Query("Q1", "Why?"),))
    assert kinds(first, second) == {"main": "extractive_qa"}
