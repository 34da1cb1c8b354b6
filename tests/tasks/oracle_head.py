"""A span-relation head that knows gold: perfect scores, for what decoding makes of them."""

from types import SimpleNamespace

import torch
from sample_batches import lay, predict

from spanloom.nn.candidates import candidates
from spanloom.nn.pairs import PairGenerator
from spanloom.tensors import HeadInputs

SURE = 9.0


class OracleHead:
    """Answers from gold, as sure as asked; its pairs can be told to know nothing."""

    pair_generator = PairGenerator()

    def __init__(self, task, targets, *, spans=True, links=True):
        labels = task.vocabulary
        self.max_span_width = labels.max_span_width
        self.sizes = 1 + len(labels.spans), 1 + len(labels.relations)
        self.pairs = self if labels.relations else None
        ends = [tuple(each) for each in targets.bounds.tolist()]
        self.spans = dict(zip(ends, targets.labels.tolist(), strict=True)) if spans else {}
        self.links = {(ends[i], ends[j]): k for i, j, k in targets.pairs.tolist()} if links else {}

    def span_inputs(self, words, sentences, pair_groups):
        return SimpleNamespace(words=words, sentences=sentences, pair_groups=pair_groups)

    def candidates(self, sentences):
        return candidates(sentences, self.max_span_width)

    def score_spans(self, view):
        rows = self.candidates(view.sentences).tolist()
        return _sure([self.spans.get(tuple(each), 0) for each in rows], self.sizes[0])

    def pair_scorer(self, view, bounds, types):
        assert types.shape == (len(bounds), self.sizes[0])
        ends = [tuple(each) for each in bounds.tolist()]

        def score(pairs):
            rows = [self.links.get((ends[i], ends[j]), 0) for i, j in pairs.tolist()]
            return _sure(rows, self.sizes[1])

        return score


def _sure(rows, size):
    scores = torch.zeros(len(rows), size)
    scores[torch.arange(len(rows)), torch.tensor(rows, dtype=torch.long)] = SURE
    return scores


def answer(task, gold, limit=100, **knows):
    """What the task makes of an oracle's scores."""
    laid = lay(task, gold, limit)
    vectors = HeadInputs(torch.zeros(len(laid.batch.words), 2))
    return predict(task, OracleHead(task, laid.targets, **knows), laid, gold, vectors)
