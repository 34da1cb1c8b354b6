"""Sentences of hundreds of words: trees are decoded in parts, so that memory is bounded."""

import pytest
import torch

from spanloom.data.batches import collate
from spanloom.data.units import Sizes, cut
from spanloom.document import Document, Layer
from spanloom.model.build import plain_cutter
from spanloom.tasks import load
from spanloom.tasks._base import Ground
from spanloom.tasks._spans import labelled
from spanloom.tensors import Vectors
from spanloom.words import splitter


@pytest.mark.parametrize("name", ["constituency", "dependency"])
def test_a_sentence_of_hundreds_of_words_has_trees(name):
    kind, split, pieces = load(name), splitter("fine", "line"), plain_cutter()
    gold = [(kind.sample, cut(kind.sample, split, pieces))]
    found = kind.collect(kind.options(size=8), "main", gold)
    task = kind.make("trees", "main", kind.options(size=8), found, found)
    torch.manual_seed(0)
    head = task.head(Ground(8)).eval()
    document = Document("word " * 600)
    whole = cut(document, split, pieces)
    units = list(task.reading.units(0, whole, Sizes(64, 64), lambda text: None))
    batch = collate(units, pieces, 64)
    with torch.inference_mode():
        said = list(task.predict(head, Vectors(torch.randn(600, 8)), batch, units, None))
    assert len(said) == 1
    assert said[0].spans
    assert all(start // 256 == (end - 1) // 256 for start, end, *_ in said[0].spans)


@pytest.mark.parametrize(
    ("functions", "labels"),
    [(False, ("NP", "S", "S VP")), (True, ("NP-SBJ-1", "S", "S VP=2"))],
)
def test_functions_of_labels_are_learnt_only_where_asked(functions, labels):
    spans = labelled(("S", 0, 5), ("NP-SBJ-1", 0, 1), ("S", 2, 5), ("VP=2", 2, 5))
    gold = Document("a b c", (Layer("main", spans),), "d")
    kind = load("constituency")
    whole = cut(gold, splitter("fine", "line"), plain_cutter())
    options = kind.options(size=8, functions=functions)
    found = kind.collect(options, "main", [(gold, whole)])
    task = kind.make("trees", "main", options, found, found)
    assert task.inventory.spans == labels
    assert [label for _, _, label in task.gold(gold, whole).spans] == [1, 2, 3]
    assert task.unknown([gold]) == set()
