"""Documents through a task and a real head, with word vectors made up: text to batch, and back."""

from dataclasses import dataclass

import torch
from tokenizers import Tokenizer, models

from spanloom.annotation_ids import IdGenerator
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits, tokenize, tokenize_prompt
from spanloom.data.subwords import subword_tokenizer
from spanloom.document import Document, Layer, Relation, Span
from spanloom.tasks import HeadInputSpec, TaskSetup
from spanloom.tensors import HeadInputs
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
PIECES = subword_tokenizer(
    Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1}, unk_token="[UNK]")),
    padding=0,
    unknown=1,
    mask=1,
)


def document(text, *spans, relations=(), name="d"):
    """Spans as ``(label, start, end)`` or ``(label, covered text)``, ids T1, T2, …"""
    made = []
    for row, (label, *place) in enumerate(spans, 1):
        if len(place) == 1:
            start = text.index(place[0])
            place = start, start + len(place[0])
        made.append(Span(f"T{row}", label, (tuple(place),)))
    links = (Relation(f"R{row}", *each) for row, each in enumerate(relations, 1))
    return Document(text, (Layer("main", tuple(made), tuple(links)),), name)


def cuts(documents):
    return [tokenize(each, SPLIT, PIECES) for each in documents]


def collect(kind, documents, **options):
    train = list(zip(documents, cuts(documents), strict=True))
    return kind.infer_vocabulary(kind.options(**options), "main", train)


def make(kind, documents, united=None, **options):
    """A task with labels from the documents; it has its head for itself unless told."""
    own = collect(kind, documents, **options)
    return kind.build(TaskSetup("task", "main", kind.options(**options), own, united or own))


@dataclass(frozen=True)
class Laid:
    """Some documents as one batch, with their gold as targets."""

    documents: list
    units: list
    batch: object
    targets: object


def lay(task, documents, limit=100):
    every = cuts(documents)
    gold = {row: task.encode_gold(each, every[row]) for row, each in enumerate(documents)}
    sizes = InstanceLimits(limit, limit)
    units = [
        unit
        for row, each in enumerate(every)
        for unit in task.reader.instances(
            row, each, sizes, lambda text: tokenize_prompt(text, SPLIT, PIECES)
        )
    ]
    return Laid(documents, units, collate(units, PIECES, limit), task.collate_targets(units, gold))


def vectors(laid, dim=16):
    torch.manual_seed(2)
    return HeadInputs(torch.randn(int(laid.batch.instances[-1, 1]), dim))


def head(task, dim=16):
    torch.manual_seed(1)
    return task.build_head(HeadInputSpec(dim))


def answer(task, head, laid, vectors):
    """What the task writes for each document."""
    given = laid.targets if task.inputs else None
    found = list(task.predict(head.eval(), vectors, laid.batch, laid.units, given))
    assert len(found) == len(laid.units)
    written = []
    for row, each in enumerate(laid.documents):
        mine = [(u, f) for u, f in zip(laid.units, found, strict=True) if u.document == row]
        layer = task.to_layer(each.unannotated(task.inputs), mine, IdGenerator(()))
        written.append(each.unannotated().with_layer(layer))
    return written


def learn(task, head, vectors, laid, steps=100):
    """Fit the head to one batch; return its losses after."""
    optimiser = torch.optim.Adam(head.train().parameters(), lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        losses = task.loss(head, vectors, laid.batch, laid.targets)
        sum(each for each in losses.values()).backward()
        optimiser.step()
    return task.loss(head.eval(), vectors, laid.batch, laid.targets)


def said(document):
    return sorted((each.label, document.text_of(each)) for each in document["main"].spans)


def linked(document):
    """Relations as label and the texts of both ends, by way of events too."""
    layer = document["main"]
    text = {each.id: document.text_of(each) for each in layer.spans}
    text |= {each.id: text[each.trigger] for each in layer.events}
    arguments = [
        (each.role.rstrip("0123456789"), text[event.id], text[each.target])
        for event in layer.events
        for each in event.arguments
    ]
    plain = [(each.label, text[each.head], text[each.tail]) for each in layer.relations]
    return sorted(arguments + plain)
