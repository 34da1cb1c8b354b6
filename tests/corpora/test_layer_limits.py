"""Limits of layers, by the kinds and options of their tasks."""

from dataclasses import replace

import pytest

from spanloom import tasks
from spanloom.corpora.check import check
from spanloom.corpora.folder import Corpus
from spanloom.corpora.layer_limits import (
    LEARNS_NO_LAYER,
    CorpusLimits,
    join_limits,
    learnt_with,
    limits_of_kind,
)
from spanloom.corpora.reachability import RELATION_HORIZON, ModelLimits, Reason
from spanloom.document import Document, Layer, Relation, Span
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("whitespace", "newline")
OPTIONS = {
    "multi_label": True,
    "discontinuous": True,
    "several_events": True,
    "relation_scope": "document",
    "span_decoding": "greedy",
    "max_span_width": 7,
    "nested": True,
}


def limits_of(kind, **options):
    return limits_of_kind(SPLIT, kind, options, [])


@pytest.mark.parametrize("kind", tasks.names())
def test_the_keys_that_are_named_are_keys_of_the_kind(kind):
    for reason in Reason:
        text = learnt_with(reason, [kind])
        if text is not None and "kind: " not in text:
            name, value = text.split(": ")
            options = {name: value == "true" or value}
            assert getattr(tasks.load(kind).options(**options), name) == options[name]


@pytest.mark.parametrize("kind", sorted({*tasks.names()} - LEARNS_NO_LAYER - {"word_relations"}))
def test_the_example_of_each_kind_is_in_its_reach(kind):
    example = tasks.load(kind).example
    limits = limits_of_kind(SPLIT, kind, {}, [example["main"]])
    corpora = {"all": Corpus((example,))}
    report = check(corpora, CorpusLimits(limits)).splits["all"].layers["main"]
    assert (report.spans.missed, report.relations.missed) == ({}, {})


def test_kinds_that_learn_no_layer_need_none():
    assert {kind for kind in tasks.names() if tasks.load(kind).needs_no_layer} == LEARNS_NO_LAYER


def test_options_widen_and_narrow():
    limits = limits_of("relations", **OPTIONS)
    assert limits == ModelLimits(
        SPLIT,
        width=7,
        nested=True,
        overlapping=True,
        multi_label=True,
        discontinuous=True,
        relation_horizon=RELATION_HORIZON,
        several_events=True,
        kinds=("relations",),
    )
    assert limits_of("plugin") == ModelLimits(SPLIT, kinds=("plugin",))
    assert limits_of("pos", max_span_width=3).width == 1


def test_a_layer_nests_where_a_task_does_not_say():
    layer = Layer("main", (Span("T1", "A", ((0, 5),)), Span("T2", "A", ((2, 3),))))
    assert limits_of_kind(SPLIT, "entities", {}, [layer]).nested
    assert not limits_of_kind(SPLIT, "entities", {"nested": False}, [layer]).nested
    gap = Layer("main", (Span("T1", "A", ((0, 1), (4, 5))), Span("T2", "A", ((2, 3),))))
    for discontinuous in (False, True):  # spans with gaps are not learnt, or as fragments
        options = {"discontinuous": discontinuous}
        assert not limits_of_kind(SPLIT, "relations", options, [gap]).nested


def test_joined_limits_are_the_widest():
    entities, relations = limits_of("entities", max_span_width=3), limits_of("relations", **OPTIONS)
    both = join_limits([entities, relations])
    assert both == replace(relations, kinds=("entities", "relations"))
    assert join_limits([relations, limits_of("coreference")]).width is None
    assert join_limits([relations, limits_of("coreference")]).document_relations
    assert learnt_with(Reason.GAPS, both.kinds) == "discontinuous: true"
    assert learnt_with(Reason.GAPS, ["entities"]) == "kind: relations, discontinuous: true"
    assert learnt_with(Reason.SECOND, ["constituency"]) is None


def test_arguments_of_different_predicates_may_cross():
    marked = (("go", (0, 1)), ("argument", (0, 5)), ("argument", (4, 9)), ("argument", (0, 1)))
    layer = Layer(
        "srl",
        tuple(Span(f"T{row}", label, (bounds,)) for row, (label, bounds) in enumerate(marked, 1)),
        (Relation("R1", "A0", "T1", "T2"), Relation("R2", "A1", "T1", "T3")),
    )
    corpora = {"all": Corpus((Document("a b c d e", (layer,), "x"),))}
    limits = limits_of("srl", nested=False)
    report = check(corpora, CorpusLimits(ModelLimits(SPLIT), {"srl": limits})).splits["all"]
    assert (report.layers["srl"].spans.missed, report.layers["srl"].relations.missed) == ({}, {})
    report = check(corpora, CorpusLimits(ModelLimits(SPLIT))).splits["all"]
    assert report.layers["srl"].spans.missed.total() == 2  # a second label, and one that overlaps


def test_a_word_of_a_tree_has_one_head():
    words = tuple(Span(f"T{n}", "word", ((2 * n - 2, 2 * n - 1),)) for n in (1, 2, 3))
    arcs = (("root", 2, 2), ("subj", 2, 1), ("conj", 3, 1), ("obj", 2, 3))
    relations = tuple(
        Relation(f"R{row}", label, f"T{head}", f"T{tail}")
        for row, (label, head, tail) in enumerate(arcs, 1)
    )
    corpora = {"all": Corpus((Document("a b c", (Layer("tree", words, relations),), "x"),))}
    for kind, missed in (("dependency", Reason.HEAD), ("relations", Reason.SELF)):
        limits = CorpusLimits(ModelLimits(SPLIT), {"tree": limits_of(kind)})
        report = check(corpora, limits).splits["all"].layers["tree"]
        assert report.relations.missed == {missed: 1}
