"""A corpus of texts that are judged in two ways, and one of pairs: for tests of shared heads."""

import random
from copy import deepcopy

import tiny

from spanloom.annotation.text_pairs import join_texts
from spanloom.document import Document, Layer, Relation, Span
from spanloom.formats import jsonl

TASKS = {
    "heat": {"data": "judged", "kind": "text_classification", "layer": "heat"},
    "act": {"data": "judged", "kind": "text_classification", "layer": "act"},
    "match": {"data": "pairs", "kind": "text_classification", "layer": "match"},
}
LABELS = {"heat": {"warm", "cold"}, "act": {"add", "mix"}, "match": {"same", "other"}}


def _text(rng):
    words = [rng.choice(["add", "mix"]), rng.choice(["warm", "cold"]), rng.choice("ab")]
    return " ".join(words) + " ."


def single(rng, name):
    """A text with what it says of heat and of the act."""
    text = _text(rng)
    act, heat, *_ = text.split()
    bounds = ((0, len(text)),)
    layers = Layer("heat", (Span("T1", heat, bounds),)), Layer("act", (Span("T2", act, bounds),))
    return Document(text, layers, name)


def pair(rng, name):
    """Two texts, and whether they are of one heat."""
    first, second = _text(rng), _text(rng)
    label = "same" if first.split()[1] == second.split()[1] else "other"
    document = join_texts(name, first, second)
    return document.with_layer(Layer("match", relations=(Relation("R1", label, "T1", "T2"),)))


def corpora(folder):
    """Write both corpora, and a random encoder beside them."""
    rng = random.Random(3)
    tiny.encoder(folder / "encoder")
    for name, make in (("judged", single), ("pairs", pair)):
        for split, size in (("train", 12), ("dev", 4)):
            (folder / name).mkdir(exist_ok=True)
            documents = [make(rng, f"{split}{row}") for row in range(size)]
            jsonl.write(folder / name / f"{split}.jsonl", documents)
    return folder


def recipe(folder, **changes):
    """A recipe of three labels over them, as plain data."""
    stage = {"tasks": list(TASKS), "epochs": 1, "batch_words": 32, "precision": "fp32"}
    settings = {
        "trunk": [{"transformer": str(folder / "encoder"), "dropout": 0.0}],
        "tasks": deepcopy(TASKS),
        "stages": [stage],
        "window": 64,
        "embedding_dropout": 0.0,
    }
    return settings | changes
