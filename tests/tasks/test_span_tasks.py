"""What entities and relations do with gold that is doubled, nested, given, unknown or too long."""

from dataclasses import replace

import pytest
import torch
from oracle_head import answer
from sample_batches import lay, make, predict, train_of

from spanloom.annotation.comparable import comparable
from spanloom.document import Document, Equivalence, Layer, Normalization, Note, Relation, Span
from spanloom.tasks import HeadInputSpec, load
from spanloom.tensors import HeadInputs

ENTITIES, RELATIONS = load("entities"), load("relations")
BOTH = pytest.mark.parametrize("kind", [ENTITIES, RELATIONS], ids=["entities", "relations"])


def _document(text, *spans, relations=()):
    """Spans as ``(label, covered text)`` found from the left."""
    made = []
    for row, (label, said) in enumerate(spans, 1):
        start = text.index(said)
        made.append(Span(f"T{row}", label, ((start, start + len(said)),)))
    links = (Relation(f"R{row}", *each) for row, each in enumerate(relations, 1))
    return Document(text, (Layer("main", tuple(made), tuple(links)),))


def _said(document):
    return sorted((each.label, document.text_of(each)) for each in document["main"].spans)


def _same(one, two):
    return [comparable(each) for each in one] == [comparable(each) for each in two]


@BOTH
@pytest.mark.parametrize("limit", [1, 6, 100])
def test_perfect_scores_decode_to_gold_whatever_the_windows(kind, limit):
    one = kind.example
    gold = [one, one.unannotated().with_layer(Layer(one.layers[0].name)), one]
    assert _same(answer(make(kind, gold), gold, limit), gold)


@BOTH
def test_no_evidence_decodes_to_nothing(kind):
    task = make(kind, [kind.example])
    (found,) = answer(task, [kind.example], spans=False, links=False)
    assert not list(found[task.layer].annotations())
    assert set(task.metrics(task.compute_metrics([kind.example], [found])).values()) == {0.0}


@BOTH
def test_spans_alone_bring_no_relations(kind):
    task = make(kind, [kind.example])
    layer = answer(task, [kind.example], links=False)[0][task.layer]
    assert len(layer.spans) == len(kind.example[task.layer].spans)
    assert not layer.relations
    assert not any(event.arguments for event in layer.events)


@BOTH
def test_gold_wider_than_the_limit_is_missed_without_an_error(kind):
    gold = [kind.example]
    task = make(kind, gold, max_span_width=1)
    laid = lay(task, gold)
    (found,) = answer(task, gold)
    words = laid.units[0].words
    narrow = [each for each in gold[0][task.layer].spans if (each.start, each.end) in words]
    assert [each.fragments for each in found[task.layer].spans] == [e.fragments for e in narrow]
    losses = task.loss(task.build_head(HeadInputSpec(4)), _random(laid), laid.batch, laid.targets)
    assert all(torch.isfinite(each) for each in losses.values())
    assert task.count_items(laid.batch, laid.targets) == len(laid.units[0].tokens)


def _random(laid):
    torch.manual_seed(0)
    return HeadInputs(torch.randn(len(laid.batch.words), 4))


def test_of_two_labels_on_one_span_the_first_is_kept_and_the_other_missed():
    gold = [_document("a b c", ("X", "b"), ("Y", "b"), ("Y", "c"))]
    task = make(ENTITIES, gold)
    (found,) = answer(task, gold)
    assert _said(found) == [("X", "b"), ("Y", "c")]
    counts = task.compute_metrics(gold, [found]).spans.micro
    assert (counts.gold, counts.predicted, counts.hits) == (3, 2, 2)


def test_nested_spans_are_decoded_where_train_nests():
    gold = [_document("a b c d", ("X", "a b c"), ("Y", "b"), ("X", "b c"), ("Y", "d"))]
    task = make(ENTITIES, gold)
    assert task.vocabulary.nested
    assert _said(answer(task, gold)[0]) == _said(gold[0])


@pytest.mark.parametrize("nested", [None, False])
def test_flat_spans_never_overlap(nested):
    flat = [_document("a b c d", ("X", "a b"), ("Y", "c d"))]
    deep = [_document("a b c d", ("X", "a b c"), ("Y", "b"))]
    task = make(ENTITIES, deep if nested is False else flat, nested=nested)
    assert not task.vocabulary.nested
    spans = answer(task, deep)[0]["main"].spans
    assert all(one.end <= two.start for one, two in zip(spans, spans[1:], strict=False))
    assert len(spans) == 1


def test_given_spans_are_copied_and_only_relations_are_predicted():
    links = [("r", "T1", "T2"), ("q", "T2", "T1"), ("r", "T3", "T2")]
    gold = [_document("a b c", ("X", "a"), ("Y", "b"), ("X", "c"), relations=links)]
    task = make(RELATIONS, gold, gold_spans=True)
    laid = lay(task, gold)
    (found,) = answer(task, gold, spans=False)
    assert _said(found) == _said(gold[0])
    assert set(task.metrics(task.compute_metrics(gold, [found])).items()) == {("relation_f1", 1.0)}
    torch.manual_seed(0)
    head = task.build_head(HeadInputSpec(4))
    losses = task.loss(head, _random(laid), laid.batch, laid.targets)
    assert list(losses) == ["relation"]
    (untrained,) = predict(task, head, laid, gold, _random(laid))
    assert _said(untrained) == _said(gold[0])


@pytest.mark.parametrize("limit", [2, 100])
def test_a_given_span_that_leaves_its_unit_is_no_error(limit):
    links = [("r", "T1", "T2"), ("r", "T2", "T3")]
    gold = [_document("a b\nc d\ne", ("X", "a"), ("Y", "b\nc"), ("X", "d"), relations=links)]
    task = make(RELATIONS, gold, gold_spans=True)
    laid = lay(task, gold, limit)
    assert laid.targets.bounds.max() <= len(laid.batch.words)
    torch.manual_seed(0)
    (found,) = predict(task, task.build_head(HeadInputSpec(4)), laid, gold, _random(laid))
    wanted = _said(gold[0]) if limit > 2 else [("X", "a"), ("X", "d")]
    assert _said(found) == wanted


def test_given_spans_of_a_document_without_any_are_no_error():
    gold = [_document("a b", ("X", "a"), ("Y", "b"), relations=[("r", "T1", "T2")])]
    task = make(RELATIONS, gold, gold_spans=True)
    none = [_document("c d")]
    assert _said(answer(task, none)[0]) == []
    laid = lay(task, none)
    assert (
        _said(predict(task, task.build_head(HeadInputSpec(4)), laid, none, _random(laid))[0]) == []
    )


def test_labels_that_train_never_had_are_missed_without_an_error():
    train = [_document("a b", ("X", "a"), ("X", "b"), relations=[("r", "T1", "T2")])]
    links = [("r", "T1", "T2"), ("s", "T1", "T3"), ("r", "T1", "T3")]
    dev = [_document("c d e", ("X", "c"), ("Z", "d"), ("X", "e"), relations=links)]
    task = make(RELATIONS, train)
    (found,) = answer(task, dev)
    assert _said(found) == [("X", "c"), ("X", "e")]
    assert [each.label for each in found["main"].relations] == ["r"]
    assert task.compute_metrics(dev, [found]).spans.micro.hits == 2


def _untrained(task, documents):
    torch.manual_seed(0)
    laid, head = lay(task, documents), task.build_head(HeadInputSpec(4))
    return predict(task, head, laid, documents, _random(laid))


def test_given_spans_keep_labels_that_train_does_not_have():
    train = [_document("a b", ("X", "a"), ("Y", "b"), relations=[("r", "T1", "T2")])]
    given = [_document("c d e f", ("Z", "c"), ("X", "d"), ("Y", "e"), ("Q", "f"))]
    task = make(RELATIONS, train, gold_spans=True)
    assert _said(_untrained(task, given)[0]) == _said(given[0])


def test_given_spans_keep_sets_of_labels_that_train_does_not_have():
    train = [_document("a b", ("X", "a"), ("Y", "a"), ("X", "b"), relations=[("r", "T1", "T3")])]
    given = [_document("c d", ("Y", "c"), ("X", "d"), ("Z", "d"))]
    task = make(RELATIONS, train, gold_spans=True, multi_label=True)
    assert _said(_untrained(task, given)[0]) == _said(given[0])


def test_spans_with_gaps_are_not_given():
    with pytest.raises(ValueError, match="given spans are read as wholes, got discontinuous"):
        make(RELATIONS, [RELATIONS.example], gold_spans=True, discontinuous=True)
    task = make(RELATIONS, [RELATIONS.example], discontinuous=True)
    assert task.with_gold_inputs() is task


def test_the_log_tells_of_spans_that_are_wider_than_the_model_looks():
    links = [("r", "T1", "T2"), ("r", "T2", "T3")]
    train = [_document("a b c d", ("X", "a b"), ("X", "c"), ("X", "d"), relations=links)]
    task = make(RELATIONS, train, max_span_width=1)
    documents = train_of(train)
    full = [tokenized.sentences for _, tokenized in documents]
    gold = {0: task.encode_gold(*documents[0])}
    line = "task: not learnt, as they are wider than 1 word: 1 span and 1 relation"
    assert task.coverage_notes(documents, full, gold)[1:] == [line]
    given = make(RELATIONS, train, max_span_width=1, gold_spans=True)
    assert len(given.coverage_notes(documents, full, gold)) == 1


def test_the_log_tells_of_annotations_that_are_not_learnt():
    train = [_document("a b", ("X", "a"), ("X", "b"), relations=[("r", "T1", "T2")])]
    layer = replace(
        train[0].layers[0],
        equivalences=(Equivalence("*1", "Alias", ("T1", "T2")),),
        normalizations=tuple(
            Normalization(f"N{row}", "Reference", f"T{row}", "Wikipedia", "1") for row in (1, 2)
        ),
        notes=(Note("#1", "AnnotatorNotes", "T1", "sure"),),
    )
    train = [replace(train[0], layers=(layer,))]
    documents, task = train_of(train), make(RELATIONS, train)
    full = [tokenized.sentences for _, tokenized in documents]
    notes = task.coverage_notes(documents, full, {0: task.encode_gold(*documents[0])})
    line = "1 equivalence (a task of kind coreference does), 2 normalizations, 1 note"
    assert notes[1:] == [f"task: not learnt: {line}"]


def test_spans_off_word_borders_and_in_pieces_are_missed():
    broken = Span("T1", "X", ((0, 2), (6, 8)))
    gold = [Document("abc de fg", (Layer("main", (broken, Span("T2", "X", ((1, 3),)))),))]
    gold += [_document("abc", ("X", "abc"))]
    task = make(ENTITIES, gold)
    assert [_said(each) for each in answer(task, gold)] == [[], [("X", "abc")]]


def test_a_relation_between_sentences_is_missed_and_labels_no_other_pair():
    links = [("r", "T1", "T5"), ("q", "T1", "T2")]
    spans = [("X", "a"), ("X", "b"), ("X", "c"), ("X", "d"), ("X", "e")]
    gold = [_document("a b c d\ne", *spans, relations=links)]
    task = make(RELATIONS, gold, hidden_size=16, dropout=0.0, spans_per_word=9.0)
    found = answer(task, gold)[0]["main"]
    assert [(each.label, each.head, each.tail) for each in found.relations] == [("q", "T1", "T2")]


@pytest.mark.parametrize(
    ("widths", "expected"),
    [([1, 1, 2], 2), ([1] * 499 + [4], 1), ([1] * 498 + [4], 4), ([1, 40], 30)],
)
def test_the_width_covers_nearly_all_spans_of_train(widths, expected):
    lines = [" ".join("a" * width) for width in widths]
    starts = [sum(len(line) + 1 for line in lines[:row]) for row in range(len(lines))]
    spans = (
        Span(f"T{row}", "X", ((start, start + len(line)),))
        for row, (start, line) in enumerate(zip(starts, lines, strict=True))
    )
    gold = [Document("\n".join(lines), (Layer("main", tuple(spans)),))]
    assert make(ENTITIES, gold).vocabulary.max_span_width == expected
    assert make(ENTITIES, gold, max_span_width=7).vocabulary.max_span_width == 7
