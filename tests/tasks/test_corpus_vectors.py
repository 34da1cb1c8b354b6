"""A vector per corpus: which words get it, and what tasks learn by it."""

from dataclasses import replace

import pytest
import torch
from sample_batches import cutter, head_of, lay, layer_of, make, predict, train_of, vectors_of
from torch import nn

from spanloom.annotation.source_corpus import set_source_corpus, source_corpus
from spanloom.data.instance_readers import ChoiceReader, QuestionReader, SentenceReader, TextReader
from spanloom.data.instances import InstanceLimits
from spanloom.document import Document, Query
from spanloom.nn.corpus_vectors import CorpusVectors
from spanloom.tasks import load


class _Together(nn.Module):
    """A task, its head and corpus vectors; the vectors of words are constant."""

    def __init__(self, task, head, corpora, dim):
        super().__init__()
        self.task, self.inner = task, head
        self.corpora = CorpusVectors(corpora, corpora[0], dim)

    def losses(self, laid, vectors):
        inputs = self.corpora(vectors, laid.batch)
        return self.task.loss(self.inner, inputs, laid.batch, laid.targets)


def _with_other_labels(document, layer):
    spans = tuple(replace(span, label=f"{span.label}x") for span in document[layer].spans)
    relations = tuple(replace(each, label=f"{each.label}x") for each in document[layer].relations)
    return document.with_layer(
        replace(document[layer], spans=spans, relations=relations, events=())
    )


@pytest.mark.parametrize(
    "name", ["constituency", "entities", "sequence_tagging", "pos", "text_classification"]
)
def test_equal_texts_of_two_guidelines_are_told_apart(name):
    kind = load(name)
    layer = layer_of(kind.example)
    gold = [
        set_source_corpus(kind.example, "first"),
        set_source_corpus(replace(_with_other_labels(kind.example, layer), name="other"), "second"),
    ]
    known = kind.options.model_fields
    sizes = {"hidden_size": 16, "dropout": 0.0}
    task = make(kind, gold, **{key: sizes[key] for key in sizes if key in known})
    laid = lay(task, gold)
    vectors = vectors_of(kind, laid)
    model = _Together(task, head_of(kind, task), ["first", "second"], vectors.word_vectors.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    limit = 0.004 * task.count_items(laid.batch, laid.targets)
    for _ in range(300):
        losses = model.losses(laid, vectors)
        if all(loss < limit for loss in losses.values()):
            break
        optimizer.zero_grad()
        sum(losses.values()).backward()
        optimizer.step()
    with torch.no_grad():
        inputs = model.corpora(vectors, laid.batch)
        found = predict(task, model.inner, laid, gold, inputs)
        assert set(task.metrics(task.compute_metrics(gold, found)).values()) == {1.0}
        unnamed = replace(laid.batch, corpora=())
        found = predict(task, model.inner, laid, gold, model.corpora(vectors, unnamed))
        first = [gold[0], replace(gold[0], name="other")]
        assert set(task.metrics(task.compute_metrics(first, found)).values()) == {1.0}


def test_each_word_gets_the_vector_of_its_own_corpus():
    kind = load("text_classification")
    documents = [
        set_source_corpus(replace(kind.example, name=name), corpus)
        for name, corpus in (("a", "second"), ("b", "third"), ("c", "unheard of"))
    ]
    task = make(kind, documents)
    laid = lay(task, documents)
    vectors = vectors_of(kind, laid)
    corpora = CorpusVectors(["first", "second", "third"], "third", vectors.word_vectors.shape[1])
    before = corpora(vectors, laid.batch)
    assert torch.equal(before.word_vectors, vectors.word_vectors)  # zero at first
    table = nn.init.normal_(corpora.vectors.weight).detach()
    after = corpora(vectors, laid.batch)
    for row, (start, end) in zip((1, 2, 2), laid.batch.instances.tolist(), strict=True):
        added = after.word_vectors[start:end] - vectors.word_vectors[start:end]
        torch.testing.assert_close(added, table[row].expand_as(added))
    added = after.cls_vectors - vectors.cls_vectors
    torch.testing.assert_close(added, table[[1, 2, 2]])


@pytest.mark.parametrize(
    "reader", [SentenceReader(), TextReader(), QuestionReader(), ChoiceReader(("yes", "no"))]
)
@pytest.mark.parametrize("text", ["Ada met Bob .\nShe slept .", ""])
def test_every_reader_keeps_the_corpus(reader, text):
    document = set_source_corpus(Document(text, queries=(Query("Q1", "Who ?"),)), "first")
    ((_, tokens),) = train_of([document])
    instances = list(reader.instances(0, tokens, InstanceLimits(8, 8), cutter))
    assert {instance.corpus for instance in instances} <= {"first"}
    assert instances or isinstance(reader, SentenceReader)


def test_a_document_names_one_corpus_at_most():
    document = Document("Ada", meta=(("year", "1843"),))
    assert source_corpus(document) == ""
    named = set_source_corpus(set_source_corpus(document, "first"), "second")
    assert source_corpus(named) == "second"
    assert ("year", "1843") in named.meta
    assert source_corpus(named.unannotated()) == "second"
