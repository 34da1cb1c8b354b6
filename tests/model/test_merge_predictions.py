"""Predictions beside annotations, against ``document.comparable`` as an independent judge."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.document import (
    Argument,
    Document,
    Event,
    Layer,
    Note,
    Relation,
    Span,
)
from spanloom.errors import DocumentError
from spanloom.formats.brat import read, write
from spanloom.model.merge_predictions import merge_predictions

TEXT = "add cold buffer to the cells and mix them well"


def drawn(seed, *, circles):
    """A document of few labels and bounds, so that much is equal; events may refer in circles."""
    chance = random.Random(seed)
    made = []
    numbers = iter(range(1 + 100 * chance.randrange(2), 1000))
    for name in ("main", "other"):
        cuts = [0, 3, 4, 8, 9, 15]
        spans = []
        for _ in range(chance.randrange(5)):
            start, end = sorted(chance.sample(cuts, 2))
            spans.append(Span(f"T{next(numbers)}", chance.choice("AB"), ((start, end),)))
        triggers = chance.choices(spans, k=chance.randrange(4)) if spans else []
        ids = [f"E{next(numbers)}" for _ in triggers]
        targets = [span.id for span in spans] + 2 * ids
        events = []
        for place, (id_, trigger) in enumerate(zip(ids, triggers, strict=True)):
            known = targets if circles else [span.id for span in spans] + ids[:place]
            events.append(Event(id_, trigger.label, trigger.id, arguments(chance, known)))
        relations = [
            Relation(f"R{next(numbers)}", "rel", chance.choice(targets), chance.choice(targets))
            for _ in range(chance.randrange(4) if targets else 0)
        ]
        made.append(Layer(name, tuple(spans), tuple(relations), tuple(events)))
    return Document(TEXT, tuple(made), "doc")


def arguments(chance, targets):
    return tuple(
        Argument(chance.choice(["Theme", "Site"]), chance.choice(targets))
        for _ in range(chance.randrange(3))
    )


def meanings(document):
    """What each layer says, as ``content`` tells it, doubles counted once."""
    return {name: set(said) for name, said in comparable(document)[3] if said}


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans())
def test_nothing_is_changed_and_twice_is_once(one, other, circles):
    document, predicted = drawn(one, circles=circles), drawn(other, circles=circles)
    merged = merge_predictions(document, predicted)
    for layer in document.layers:
        for kind in ("spans", "relations", "events"):
            before = getattr(layer, kind)
            assert getattr(merged[layer.name], kind)[: len(before)] == before
    assert merge_predictions(merged, predicted) == merged
    assert merge_predictions(document, document) == document


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_all_that_either_says_is_said(one, other):
    document, predicted = drawn(one, circles=False), drawn(other, circles=False)
    mine, theirs = meanings(document), meanings(predicted)
    both = {k: mine.get(k, set()) | theirs.get(k, set()) for k in {*mine, *theirs}}
    merged = merge_predictions(document, predicted)
    assert meanings(merged) == both
    doubles = sum(1 for _ in document.annotations()) - sum(map(len, mine.values()))
    assert len(merged.annotations()) == doubles + sum(map(len, both.values()))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_files_only_grow(one, other):
    ann = write.dumps(drawn(one, circles=True)) + "this line is broken\nT999\tA 0 3\tadd"
    document = read.loads(TEXT, ann, name="doc").document
    assert write.dumps(merge_predictions(document, drawn(other, circles=True))).startswith(ann)


def test_relations_refer_to_what_was_there():
    there = Layer("main", (Span("T7", "A", ((0, 3),)),))
    found = Layer(
        "main",
        (Span("T1", "A", ((0, 3),), 0.9), Span("T2", "B", ((4, 8),))),
        (Relation("R1", "rel", "T1", "T2"),),
    )
    merged = merge_predictions(Document(TEXT, (there,)), Document(TEXT, (found,)))
    assert merged["main"].spans == (*there.spans, Span("T8", "B", ((4, 8),)))
    assert merged["main"].relations == (Relation("R1", "rel", "T7", "T8"),)


def test_a_long_circle_of_events_is_found_again():
    size = 30
    spans = tuple(Span(f"T{i}", "A", ((i, i + 1),)) for i in range(size))
    events = tuple(
        Event(f"E{i}", "A", f"T{i}", (Argument("next", f"E{(i + 1) % size}"),)) for i in range(size)
    )
    document = Document(TEXT, (Layer("main", spans, (), events),))
    turned = replace(document["main"], spans=spans[::-1], events=events[7:] + events[:7])
    assert merge_predictions(document, Document(TEXT, (turned,))) == document


def test_notes_and_new_layers_come_along():
    predicted = Document(
        TEXT, (Layer("x", (Span("T1", "A", ((0, 3),)),), notes=(Note("#1", "n", "T1", "hm"),)),)
    )
    merged = merge_predictions(
        Document(TEXT, (Layer("main", (Span("T1", "B", ((0, 3),)),)),)), predicted
    )
    assert merged["x"].notes == (Note("#1", "n", "T2", "hm"),)
    assert merge_predictions(merged, predicted) == merged


def test_another_text_is_refused():
    with pytest.raises(DocumentError, match="same text"):
        merge_predictions(Document("a"), Document("b"))


def test_a_note_about_what_is_nowhere_is_not_about_something_new():
    predicted = Document(
        TEXT, (Layer("main", (Span("T1", "A", ((0, 3),)),), notes=(Note("#1", "n", "T2", "hm"),)),)
    )
    there = Document(TEXT, (Layer("main", (Span("T1", "B", ((0, 3),)),)),))
    merged = merge_predictions(there, predicted)
    assert merged["main"].spans[1:] == (Span("T3", "A", ((0, 3),)),)
    assert merged["main"].notes == (Note("#1", "n", "T2", "hm"),)
    assert merge_predictions(merged, predicted) == merged
