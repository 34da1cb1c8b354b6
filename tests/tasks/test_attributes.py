"""Attributes of spans, events and relations: expressed, learnt, written, and counted where lost."""

import json
from dataclasses import replace

import pytest
import torch
from sample_batches import CUTTER, SPLIT

from spanloom.annotation import attributes
from spanloom.annotation.comparable import comparable
from spanloom.annotation_ids import IdGenerator
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits, tokenize
from spanloom.document import (
    Argument,
    Attribute,
    Document,
    Event,
    Layer,
    Relation,
    Span,
)
from spanloom.nn.attributes import AttributeSizes
from spanloom.tasks import HeadInputSpec, TaskSetup, load
from spanloom.tensors import HeadInputs

GOLD = Document(
    "Mix the warm buffer .\nDo not add cells .\nMix water .",
    (
        Layer(
            "main",
            (
                Span("T1", "Action", ((0, 3),)),
                Span("T2", "Modifier", ((8, 12),)),
                Span("T3", "Reagent", ((13, 19),)),
                Span("T4", "Action", ((29, 32),)),
                Span("T5", "Reagent", ((33, 38),)),
                Span("T6", "Action", ((41, 44),)),
                Span("T7", "Reagent", ((45, 50),)),
            ),
            (Relation("R1", "Mod-Link", "T3", "T2"), Relation("R2", "Mod-Link", "T2", "T3")),
            (
                Event("E1", "Action", "T1", (Argument("Acts-on", "T3"),)),
                Event("E2", "Action", "T4", (Argument("Acts-on", "T5"),)),
                Event("E3", "Action", "T6"),
            ),
            (
                Attribute("A1", "Negated", "E2"),
                Attribute("A2", "Amount", "T3", "low"),
                Attribute("A3", "Amount", "T7", "high"),
                Attribute("A4", "Sure", "R1", "no"),
            ),
        ),
    ),
    "sample",
)


def made(document=GOLD, **options):
    kind = load("relations")
    chosen = kind.options(hidden_size=16, dropout=0.0, **options)
    whole = tokenize(document, SPLIT, CUTTER)
    collected = json.loads(json.dumps(kind.infer_vocabulary(chosen, "main", [(document, whole)])))
    return kind.build(TaskSetup("task", "main", chosen, collected, collected)), whole


def laid(task, whole, document=GOLD):
    units = list(task.reader.instances(0, whole, InstanceLimits(100, 100), None))
    targets = task.collate_targets(units, {0: task.encode_gold(document, whole)})
    return units, collate(units, CUTTER, 100), targets


def test_each_attribute_is_one_of_spans_of_events_or_of_relations():
    scheme = made()[0].vocabulary.attributes
    assert scheme.spans == {"Amount": ("high", "low"), "Negated": ("",)}
    assert scheme.relations == {"Sure": ("no",)}
    assert scheme.events == {"Negated"}


def test_attributes_are_those_of_the_span_whose_label_is_learnt():
    """Of two spans on the same words one has a label that train does not have."""
    task, whole = made()
    layer = GOLD.layers[0]
    other = Span("T0", "Unseen", layer.spans[0].fragments)
    spans = (other, *layer.spans)
    attributes = (Attribute("A0", "Negated", "T0"), *layer.attributes)
    document = replace(GOLD, layers=(replace(layer, spans=spans, attributes=attributes),))
    assert task.encode_gold(document, whole) == task.encode_gold(GOLD, whole)


def test_targets_have_a_value_a_span_and_a_pair():
    task, whole = made()
    _, _, targets = laid(task, whole)
    assert targets.attribute_values.tolist() == [
        [0, 0],
        [0, 0],
        [2, 0],
        [0, 1],
        [0, 0],
        [0, 0],
        [1, 0],
    ]
    said = dict(
        zip(map(tuple, targets.pairs.tolist()), targets.pair_attribute_values.tolist(), strict=True)
    )
    assert [values for values in said.values() if values != [0]] == [[1]]
    assert len(said) == 4


def test_an_unknown_value_is_no_loss():
    slots = AttributeSizes((3, 2))
    scores = torch.randn(2, 5, requires_grad=True)
    slots.loss(scores, torch.tensor([[-1, 1], [2, -1]])).backward()
    assert (scores.grad[0, :3] == 0).all()
    assert (scores.grad[1, 3:] == 0).all()
    right = torch.log_softmax(scores[0, 3:], -1)[1] + torch.log_softmax(scores[1, :3], -1)[2]
    assert slots.loss(scores, torch.tensor([[-1, 1], [2, -1]])).item() == pytest.approx(
        -right.item()
    )


@pytest.mark.parametrize("given", [False, True])
def test_one_batch_overfits_and_decodes_to_gold(given):
    task, whole = made(gold_spans=given)
    units, batch, targets = laid(task, whole)
    torch.manual_seed(3)
    head, vectors = (
        task.build_head(HeadInputSpec(16)),
        HeadInputs(torch.randn(len(whole.words), 16)),
    )
    optimiser = torch.optim.Adam(head.parameters(), lr=0.02)
    for _ in range(120):
        optimiser.zero_grad()
        losses = task.loss(head, vectors, batch, targets)
        assert tuple(losses) == task.loss_names
        if all(loss < 0.004 * len(whole.words) for loss in losses.values()):
            break
        sum(losses.values()).backward()
        optimiser.step()
    with torch.inference_mode():
        found = list(task.predict(head.eval(), vectors, batch, units, targets if given else None))
    layer = task.to_layer(GOLD, list(zip(units, found, strict=True)), IdGenerator(()))
    kept = GOLD["main"].attributes if not given else GOLD["main"].attributes[-1:]
    assert {(each.label, each.value) for each in layer.attributes} == {
        (each.label, each.value) for each in kept
    }
    if not given:
        assert comparable(GOLD.unannotated().with_layer(layer)) == comparable(GOLD)


def test_numbers_and_what_says_something_else_are_no_attributes():
    spans = tuple(Span(f"T{row}", "x", ((row, row + 1),)) for row in range(60))
    many = tuple(Attribute(f"A{row}", "size", f"T{row}", str(row)) for row in range(60))
    said = (Attribute("B1", "query", "T1", "Q1"), Attribute("B2", "value", "T1", "3"))
    layer = Layer("main", spans, attributes=(*many, *said))
    assert attributes.collect([layer]) == attributes.AttributeScheme({}, {})
