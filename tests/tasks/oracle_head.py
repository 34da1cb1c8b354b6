"""Documents through a task without a network: text to batch, a head that knows gold, and back."""

from dataclasses import dataclass
from itertools import accumulate
from types import SimpleNamespace

import torch
from tokenizers import Tokenizer, models

from spanloom.data.batches import collate
from spanloom.data.pieces import pieces
from spanloom.data.units import cut, units
from spanloom.nn.candidates import candidates
from spanloom.tasks._base import Found
from spanloom.words import splitter

SPLIT = splitter("fine", "line")
PIECES = pieces(
    Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1}, unk_token="[UNK]")), padding=0, unknown=1
)
SURE = 9.0


def train_of(documents, layer):
    """Pair each document's layer with its words, as kinds collect from them."""
    return [(each[layer], SPLIT(each.text).words) for each in documents]


def make(kind, documents, **options):
    """Make a task of that kind, its labels collected from the documents."""
    chosen = kind.options(**options)
    layer = documents[0].layers[0].name
    return kind.make("task", layer, chosen, kind.collect(chosen, train_of(documents, layer)))


@dataclass(frozen=True)
class Laid:
    """Some documents as one batch, with their gold as targets."""

    units: tuple
    batch: object
    targets: object


def lay(task, documents, limit=100):
    """Cut documents into units, collate them, lay their gold beside."""
    cuts = [cut(each.text, SPLIT, PIECES) for each in documents]
    made = [unit for row, whole in enumerate(cuts) for unit in units(row, whole, limit)]
    gold = {
        row: task.gold(document[task.layer], whole.words)
        for row, (document, whole) in enumerate(zip(documents, cuts, strict=True))
    }
    return Laid(tuple(made), collate(made, PIECES, limit), task.targets(made, gold))


class OracleHead:
    """Answers from gold, as sure as asked; its pairs can be told to know nothing."""

    def __init__(self, task, targets, *, spans=True, links=True):
        labels = task.inventory
        self.width = labels.width
        self.sizes = 1 + len(labels.spans), 1 + len(labels.relations)
        self.pairs = self if labels.relations else None
        ends = [tuple(each) for each in targets.bounds.tolist()]
        self.spans = dict(zip(ends, targets.labels.tolist(), strict=True)) if spans else {}
        self.links = {(ends[i], ends[j]): k for i, j, k in targets.pairs.tolist()} if links else {}

    def view(self, words, sentences):
        return SimpleNamespace(words=words, sentences=sentences)

    def candidates(self, sentences):
        return candidates(sentences, self.width)

    def score_spans(self, view):
        rows = self.candidates(view.sentences).tolist()
        return _sure([self.spans.get(tuple(each), 0) for each in rows], self.sizes[0])

    def score_pairs(self, view, bounds, types, pairs):
        assert types.shape == (len(bounds), self.sizes[0])
        ends = [tuple(each) for each in bounds.tolist()]
        rows = [self.links.get((ends[i], ends[j]), 0) for i, j in pairs.tolist()]
        return _sure(rows, self.sizes[1])


def _sure(rows, size):
    scores = torch.zeros(len(rows), size)
    scores[torch.arange(len(rows)), torch.tensor(rows, dtype=torch.long)] = SURE
    return scores


def predict(task, head, laid, documents, vectors=None):
    """Predict a batch and lead every span back to its characters: a document for each."""
    vectors = torch.zeros(len(laid.batch.words), 2) if vectors is None else vectors
    chosen, linked = task.predict(head, vectors, laid.batch, laid.targets if task.given else None)
    labels, names = task.label(chosen, linked)
    bounds = [(row, *each) for row, unit in enumerate(laid.units) for each in unit.words]
    bases = list(accumulate((len(unit.forms) for unit in laid.units), initial=0))
    assert bases[-1] == len(bounds)
    found = [Found() for _ in documents]
    place = []
    columns = chosen.bounds.tolist(), labels, chosen.scores.tolist()
    for (start, end), label, score in zip(*columns, strict=True):
        mine = found[laid.units[bounds[start][0]].document]
        place.append(len(mine.spans))
        mine.spans.append((bounds[start][1], bounds[end - 1][2], label, score))
    columns = linked.ends.tolist(), names, linked.scores.tolist()
    for (head_row, tail_row), label, score in zip(*columns, strict=True):
        start = chosen.bounds[head_row, 0].item()
        mine = found[laid.units[bounds[start][0]].document]
        mine.links.append((place[head_row], place[tail_row], label, score))
    return [
        document.bare().with_layer(task.write(each, _counter()))
        for document, each in zip(documents, found, strict=True)
    ]


def _counter():
    used = {}

    def fresh(prefix):
        used[prefix] = used.get(prefix, 0) + 1
        return f"{prefix}{used[prefix]}"

    return fresh
