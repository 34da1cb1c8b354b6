"""Sentences of hundreds of words: trees of their parts, joined to one tree a sentence."""

from collections import Counter

import pytest
import torch

from spanloom.annotation_ids import IdGenerator
from spanloom.data.collate import bucket_by_length, collate
from spanloom.data.instances import InstanceLimits, tokenize
from spanloom.document import Document, Layer
from spanloom.model.build import word_level_tokenizer
from spanloom.tasks import HeadInputSpec, TaskSetup, constituency, load, number_spans
from spanloom.tensors import HeadInputs
from spanloom.tokenization import word_tokenizer

LONG = Document("a short one\n" + "word " * 600 + "\nthe last one\n" + "more " * 300)


def _task(name, labels=None, **options):
    """A task that knows its sample, its head at random, a long text cut."""
    kind, split, pieces = (
        load(name),
        word_tokenizer("char-class", "newline"),
        word_level_tokenizer(),
    )
    gold = [(kind.example, tokenize(kind.example, split, pieces))]
    chosen = kind.options(hidden_size=8, **options)
    found = kind.infer_vocabulary(chosen, "main", gold) | (labels or {})
    task = kind.build(TaskSetup("trees", "main", chosen, found, found))
    torch.manual_seed(0)
    return task, task.build_head(HeadInputSpec(8)).eval(), tokenize(LONG, split, pieces)


def _predicted(task, head, whole):
    units = list(task.reader.instances(0, whole, InstanceLimits(64, 256), lambda text: None))
    vectors, said = torch.randn(len(whole.words), 8), []
    for group in bucket_by_length(units, 1024, window=64):
        batch = collate(group, word_level_tokenizer(), 64)
        mine = torch.cat(
            [vectors[each.first_word : each.first_word + len(each.tokens)] for each in group]
        )
        with torch.inference_mode():
            found = list(task.predict(head, HeadInputs(mine), batch, group, None))
        said += zip(group, found, strict=True)
    said.sort(key=lambda each: each[0].first_word)
    return said, task.to_layer(LONG, said, IdGenerator({}))


@pytest.mark.parametrize("label", ["parataxis", "DEP", "obj"])
def test_each_sentence_has_one_dependency_tree_however_long(label):
    labels = {"relation_labels": ["det", label, "root"], "roots": ["root"]}
    task, head, whole = _task("dependency", labels)
    _, layer = _predicted(task, head, whole)
    row = {span.id: n for n, span in enumerate(layer.spans)}
    heads = {row[each.tail]: row[each.head] for each in layer.relations}
    assert sorted(heads) == list(range(len(whole.words)))
    assert len(whole.full_sentences) == 4
    for first, end in whole.full_sentences:
        roots = [word for word in range(first, end) if heads[word] == word]
        assert len(roots) == 1
        for word in range(first, end):
            above = {word}
            while heads[word] != word:
                word = heads[word]
                assert word not in above
                assert first <= word < end
                above.add(word)
    names = {row[each.tail]: each.label for each in layer.relations}
    joined = [
        word
        for first, end in whole.sentences
        if first in whole.sentence_splits
        for word in range(first, end)
        if not first <= heads[word] < end
    ]
    assert len(joined) == len(whole.sentence_splits)
    wanted = "det" if label == "obj" else label
    assert {names[word] for word in joined} == {wanted}


def test_each_sentence_has_one_constituency_tree_however_long():
    task, head, whole = _task("constituency")
    said, layer = _predicted(task, head, whole)
    bounds = [(span.start, span.end) for span in layer.spans]
    for first, end in whole.full_sentences:
        assert (whole.words[first][0], whole.words[end - 1][1]) in bounds
    for first, end in whole.sentences:
        assert (whole.words[first][0], whole.words[end - 1][1]) in bounds
    parts = {whole.words[a][0]: whole.words[b - 1][1] for a, b in whole.sentences}
    first, end = whole.full_sentences[1]
    start, stop = whole.words[first][0], whole.words[end - 1][1]
    over = [span.label for span in layer.spans if (span.start, span.end) == (start, stop)]
    tops = Counter(
        next(each.label for each in layer.spans if (each.start, each.end) == part)
        for part in parts.items()
        if start <= part[0] < stop
    )
    assert tops[over[0]] == max(tops.values())
    assert all(a < b for a, b in bounds)
    for a, b in bounds:  # nothing crosses
        assert not any(a < c < b < d for c, d in bounds)


def test_the_best_trees_are_the_same_however_many_are_looked_for_at_once(monkeypatch):
    task, head, whole = _task("constituency")
    _, once = _predicted(task, head, whole)
    monkeypatch.setattr(constituency, "_CANDIDATES", 500)
    torch.manual_seed(0)
    task, head, whole = _task("constituency")
    _, often = _predicted(task, head, whole)
    assert [(each.fragments, each.label) for each in once.spans] == [
        (each.fragments, each.label) for each in often.spans
    ]


def test_a_gate_never_leaves_out_the_root():
    task, head, whole = _task("constituency", coarse_spans_per_word=0.01)
    with torch.no_grad():
        head.coarse_scorer.linear.width_embedding.weight[-1] = -1e3  # wide spans look like nothing
    batch = collate(
        list(task.reader.instances(0, whole, InstanceLimits(64, 64), None)),
        word_level_tokenizer(),
        64,
    )
    view = head.span_inputs(torch.randn(len(whole.words), 8), batch.sentences)
    roots = head.candidates.index(batch.sentences, batch.sentences)
    with torch.inference_mode():
        scores = head.score_spans(view)
        assert (scores[roots][:, 1:] > -100).all()
        chosen, _ = task.decoder(head, view, None)
    found = dict(zip(map(tuple, chosen.bounds.tolist()), chosen.scores.tolist(), strict=True))
    assert all(found[a, b] > 0.01 for a, b in batch.sentences.tolist())


@pytest.mark.parametrize(
    ("functions", "labels"),
    [(False, ("NP", "S", "S VP")), (True, ("NP-SBJ-1", "S", "S VP=2"))],
)
def test_functions_of_labels_are_learnt_only_where_asked(functions, labels):
    spans = number_spans(("S", 0, 5), ("NP-SBJ-1", 0, 1), ("S", 2, 5), ("VP=2", 2, 5))
    gold = Document("a b c", (Layer("main", spans),), "d")
    kind = load("constituency")
    whole = tokenize(gold, word_tokenizer("char-class", "newline"), word_level_tokenizer())
    options = kind.options(hidden_size=8, function_tags=functions)
    found = kind.infer_vocabulary(options, "main", [(gold, whole)])
    task = kind.build(TaskSetup("trees", "main", options, found, found))
    assert task.vocabulary.spans == labels
    assert [label for _, _, label in task.encode_gold(gold, whole).spans] == [1, 2, 3]
    assert task.unseen_labels([gold]) == set()


def test_where_no_label_is_mostly_a_roots_a_root_has_the_likeliest():
    labels = {"relation_labels": ["det", "dep"], "roots": []}
    task, head, whole = _task("dependency", labels)
    scores = torch.tensor([0.1, 0.2])
    head.labels.forward = lambda words, arcs: scores.expand(len(arcs), 2)
    _, layer = _predicted(task, head, whole)
    assert any(arc.head == arc.tail for arc in layer.relations)
    assert {arc.label for arc in layer.relations if arc.head == arc.tail} == {"dep"}
