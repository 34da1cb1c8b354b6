"""Annotation of harder shapes, each behind an option: learnt by heart it comes back as it was."""

from dataclasses import replace

import pytest
from pydantic import ValidationError
from sample_batches import SMALL, head_of, lay, learn, make, predict, train_of, vectors_of

from spanloom.annotation.comparable import comparable
from spanloom.annotation.partial_labels import map_labels
from spanloom.document import (
    MAIN,
    Argument,
    Attribute,
    Document,
    Event,
    Layer,
    Relation,
    Span,
)
from spanloom.errors import DataError
from spanloom.tasks import load


def sample(text, spans, **others):
    """A document; spans are ``(label, words)``, of several words where there are gaps."""
    made = []
    for number, (label, *words) in enumerate(spans, 1):
        starts = [text.index(word) for word in words]
        bounds = tuple(
            (start, start + len(word)) for start, word in zip(starts, words, strict=True)
        )
        made.append(Span(f"T{number}", label, bounds))
    return Document(text, (Layer(MAIN, tuple(made), **others),), "sample")


TEXT = "Ada Lovelace met Bob in London .\nShe wrote ."
TWICE = sample(
    TEXT,
    [
        ("person", "Ada Lovelace"),
        ("writer", "Ada Lovelace"),
        ("person", "Bob"),
        ("place", "London"),
    ],
    relations=(Relation("R1", "met", "T1", "T3"), Relation("R2", "wrote-in", "T2", "T4")),
    attributes=(Attribute("A1", "famous", "T2"),),
)
GAPS = sample(
    "Ada looked it all up .\nBob slept .",
    [("verb", "looked", "up"), ("thing", "it"), ("person", "Ada")],
    relations=(Relation("R1", "agent", "T1", "T3"), Relation("R2", "patient", "T1", "T2")),
)
SHARED_FRAGMENT = sample(
    "left and right side hurt .", [("part", "left", "side"), ("part", "right", "side")]
)
ACROSS = sample(
    TEXT,
    [("person", "Ada Lovelace"), ("place", "London"), ("act", "wrote")],
    relations=(Relation("R1", "by", "T3", "T1"), Relation("R2", "in", "T1", "T2")),
)
EVENTS = sample(
    "Gin induces and Rum binds Ale and Fig .",
    [("gene", "Gin"), ("up", "induces"), ("gene", "Rum"), ("bind", "binds"), ("gene", "Ale")]
    + [("gene", "Fig")],
    events=(
        Event("E1", "bind", "T4", (Argument("Theme", "T5"), Argument("Site", "T3"))),
        Event("E2", "bind", "T4", (Argument("Theme", "T6"), Argument("Site", "T3"))),
        Event("E3", "up", "T2", (Argument("Cause", "T1"), Argument("Theme", "E1"))),
        Event("E4", "up", "T2", (Argument("Cause", "T1"), Argument("Theme", "E2"))),
    ),
)
MIXED = sample(
    "Ada looked it all up .\nBob slept .",
    [("verb", "looked", "up"), ("idiom", "looked", "up"), ("thing", "it"), ("person", "Bob")],
    events=(Event("E1", "verb", "T1", (Argument("patient", "T3"), Argument("agent", "T4"))),),
    attributes=(Attribute("A1", "sure", "E1"),),
)
CASES = [
    ("entities", TWICE, {"multi_label": True}),
    ("relations", TWICE, {"multi_label": True}),
    ("relations", GAPS, {"discontinuous": True}),
    ("relations", SHARED_FRAGMENT, {"discontinuous": True, "nested": False}),
    ("relations", ACROSS, {"relation_scope": "document"}),
    ("relations", EVENTS, {"several_events": True}),
    (
        "relations",
        MIXED,
        {"discontinuous": True, "multi_label": True, "relation_scope": "document"},
    ),
]


def learnt(kind, document, options):
    task = make(kind, [document], **options, **SMALL)
    laid = lay(task, [document])
    head, vectors = head_of(kind, task), vectors_of(kind, laid)
    losses = learn(task, head, vectors, laid, steps=400)
    return task, losses, predict(task, head, laid, [document], vectors)[0]


def expected(name, document):
    return (
        document
        if name == "relations"
        else document.with_layer(replace(document[MAIN], relations=()))
    )


@pytest.mark.parametrize(("name", "document", "options"), CASES)
def test_one_batch_overfits_and_comes_back(name, document, options):
    task, losses, predicted = learnt(load(name), document, options)
    assert max(losses.values()) < 0.1
    assert comparable(predicted) == comparable(expected(name, document))
    assert set(task.metrics(task.compute_metrics([document], [predicted])).values()) == {1.0}


@pytest.mark.parametrize(("name", "document", "options"), CASES)
def test_without_the_option_it_does_not_come_back(name, document, options):
    _, _, predicted = learnt(load(name), document, {"nested": options.get("nested")})
    assert comparable(predicted) != comparable(expected(name, document))


def test_several_labels_are_no_option_of_a_label_that_reads_as_two():
    odd = sample("Ada slept .", [("a & b", "Ada")])
    with pytest.raises(DataError, match="sample: expected labels without ' & '.*got 'a & b'"):
        make(load("entities"), [odd], multi_label=True)


@pytest.mark.parametrize(
    "options",
    [
        {"single_relation": True, "multi_label": True},
        {"single_relation": True, "relation_scope": "document"},
        {"entity_pair_labels": (("a", "b"),), "discontinuous": True},
    ],
)
def test_options_that_exclude_each_other_are_refused(options):
    with pytest.raises(ValidationError, match="single_relation|entity_pair_labels"):
        load("relations").options(**options)


def test_labels_that_train_has_alone_or_in_sets_are_seen():
    task = make(load("relations"), [TWICE], multi_label=True)
    assert task.unseen_labels([TWICE]) == set()
    other = sample("Ada slept .", [("person", "Ada"), ("sleeper", "Ada")])
    assert task.unseen_labels([other]) == {"sleeper"}


def test_where_one_label_of_a_set_was_not_annotated_the_set_was_not():
    task = make(load("entities"), [TWICE], multi_label=True)
    partly = map_labels(
        TWICE, MAIN, MAIN, {"person": "person", "writer": None, "place": "place"}, partial=True
    )
    gold = task.encode_gold(partly, train_of([partly])[0][1])
    known = dict(zip(("", *task.vocabulary.spans), gold.annotated_labels, strict=True))
    assert known == {"": True, "person": True, "person & writer": False, "place": True}


def test_pairs_reach_no_farther_than_the_horizon():
    words = ["Ada", "Bob", "Cleo", "Dan", "Eve", "Fay", "Gil", "Hal"]
    spans = [("x", word) for word in words]
    near, far = Relation("R1", "r", "T1", "T3"), Relation("R2", "r", "T8", "T1")
    document = sample(" .\n".join(words), spans, relations=(near, far))
    options = {"relation_scope": "document", "relation_horizon": 4}
    _, _, predicted = learnt(load("relations"), document, options)
    assert [relation.label for relation in predicted[MAIN].relations] == ["r"]
    ends = {span.id: predicted.text_of(span) for span in predicted[MAIN].spans}
    (relation,) = predicted[MAIN].relations
    assert (ends[relation.head], ends[relation.tail]) == ("Ada", "Cleo")


def test_a_saved_vocabulary_has_nothing_new_where_no_option_asks_for_it():
    kind = load("relations")
    plain = kind.infer_vocabulary(kind.options(), MAIN, train_of([EVENTS]))
    assert not {"dividing_roles", "head_labels", "tail_labels", "attribute_labels"} & set(plain)
    shaped = kind.infer_vocabulary(
        kind.options(several_events=True, multi_label=True), MAIN, train_of([EVENTS])
    )
    assert shaped["dividing_roles"] == {"bind": ["Theme"], "up": ["Theme"]}
