"""Scores of coreference are those of relations between any two mentions of a cluster, listed."""

import random
from itertools import combinations

from spanloom.data.units import cut
from spanloom.document import Document, Layer, Relation, Span
from spanloom.forms.links import linked
from spanloom.metrics.report import score
from spanloom.model.build import plain_cutter
from spanloom.tasks import load
from spanloom.words import splitter


def drawn(chance, name):
    """A document of mentions at different places, linked at random."""
    words = sorted(chance.sample(range(12), chance.randint(1, 9)))
    spans = tuple(
        Span(f"T{row}", chance.choice("ab"), ((2 * word, 2 * word + 1),))
        for row, word in enumerate(words)
    )
    ends = [chance.sample(range(len(spans)), 2) for _ in spans[:-2]]
    links = tuple(Relation(f"R{n}", "coref", f"T{i}", f"T{j}") for n, (i, j) in enumerate(ends))
    return Document("x " * 12, (Layer("main", spans, links),), name)


def spread(document):
    layer = document["main"]
    place = {span.id: span.start for span in layer.spans}
    every = [
        Relation(f"R {i} {j}", "coref", j, i)
        for cluster in linked(layer)
        for i, j in combinations(sorted(cluster, key=place.__getitem__), 2)
    ]
    return document.with_layer(Layer("main", layer.spans, tuple(every)))


def test_links_are_scored_as_if_all_of_them_were_listed():
    kind, chance = load("coreference"), random.Random(5)
    train = [(kind.sample, cut(kind.sample, splitter("fine", "line"), plain_cutter()))]
    found = kind.collect(kind.options(), "main", train)
    task = kind.make("chains", "main", kind.options(), found, found)
    for _ in range(30):
        gold, said = ([drawn(chance, f"d{n}") for n in range(3)] for _ in range(2))
        every = score([spread(each) for each in gold], [spread(each) for each in said], "main")
        assert task.measure(gold, said) == every
