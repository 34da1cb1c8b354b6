"""Exactly one relation a sentence, whatever the scores; and the mean that leaves a label out."""

import pytest
from sample_batches import head_of, lay, learn, make, predict, vectors_of

from spanloom.annotation.comparable import comparable
from spanloom.document import Document, Layer, Relation
from spanloom.errors import DataError
from spanloom.nn import span_decoding
from spanloom.tasks import load, number_spans

KIND = load("relations")


SPANS = number_spans(("e1", 0, 4), ("e2", 12, 15))


def _document(name, label, ends):
    relation = Relation("R1", label, *ends)
    return Document("Rain causes mud .", (Layer("main", SPANS, (relation,)),), name)


GOLD = [_document("a", "Cause", ("T1", "T2")), _document("b", "Other", ("T1", "T2"))]


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_each_sentence_has_one_relation_whatever_the_weights(given, seed):
    task = make(
        KIND,
        GOLD,
        single_relation=True,
        spans_per_sentence=5,
        gold_spans=given,
        hidden_size=16,
        dropout=0.0,
    )
    laid, head = lay(task, GOLD), head_of(KIND, task, seed)
    for found in predict(task, head, laid, GOLD, vectors_of(KIND, laid)):
        layer = found["main"]
        assert len(layer.relations) == 1
        assert {span.id for span in layer.spans} >= {
            layer.relations[0].head,
            layer.relations[0].tail,
        }


def test_what_was_learnt_by_heart_is_found_with_one():
    task = make(
        KIND, GOLD[:1], single_relation=True, spans_per_sentence=5, hidden_size=16, dropout=0.0
    )
    laid, head = lay(task, GOLD[:1]), head_of(KIND, task)
    learn(task, head, vectors_of(KIND, laid), laid)
    found = predict(task, head, laid, GOLD[:1], vectors_of(KIND, laid))
    assert set(task.metrics(task.compute_metrics(GOLD[:1], found)).values()) == {1.0}


def test_a_label_that_is_no_relation_is_left_out_of_the_mean():
    task = make(KIND, GOLD, negative_label="Other", gold_spans=True)
    assert task.metric_names == ("macro_f1", "relation_f1")
    turned = [GOLD[0], _document("b", "Cause", ("T1", "T2"))]
    figures = task.metrics(task.compute_metrics(GOLD, turned))
    assert figures == {"macro_f1": pytest.approx(2 / 3), "relation_f1": pytest.approx(2 / 3)}


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_no_relation_is_learnt_and_never_written(one, given, seed):
    options = {
        "single_relation": one,
        "gold_spans": given,
        "spans_per_sentence": 5,
        "hidden_size": 16,
        "dropout": 0.0,
    }
    plain, task = (make(KIND, GOLD, negative_label=each, **options) for each in (None, "Other"))
    laid, head = lay(task, GOLD), head_of(KIND, task, seed)
    vectors = vectors_of(KIND, laid)
    for every, found in zip(
        predict(plain, head, laid, GOLD, vectors),
        predict(task, head, laid, GOLD, vectors),
        strict=True,
    ):
        labels = [each.label for each in every["main"].relations]
        wanted = [each for each in labels if each != "Other"]
        assert [each.label for each in found["main"].relations] == wanted
        if one and not given:
            assert len(found["main"].spans) == 2 * len(wanted)
        else:
            assert found["main"].spans == every["main"].spans
    assert plain.unwritten == frozenset()
    assert task.unwritten == {"Other"}


def test_it_is_not_scored_nor_with_one_are_its_ends():
    task = make(KIND, GOLD, single_relation=True, negative_label="Other")
    bare = [GOLD[0], Document(GOLD[1].text, (Layer("main"),), "b")]
    assert set(task.metrics(task.compute_metrics(GOLD, bare)).values()) == {1.0}
    turned = [GOLD[0], _document("b", "Cause", ("T1", "T2"))]
    report = task.compute_metrics(GOLD, turned)
    assert (report.spans.micro.gold, report.spans.micro.predicted) == (2, 4)
    assert set(report.relations.by_label) == {"Cause"}
    free = make(KIND, GOLD, negative_label="Other").compute_metrics(GOLD, GOLD)
    assert (free.spans.micro.gold, free.relations.micro.gold) == (4, 1)


@pytest.mark.parametrize("loss", ["pairwise", "head-selection"])
@pytest.mark.parametrize("one", [True, False])
def test_relations_hold_between_the_labels_that_may_be_related(one, loss):
    allowed = ("e1", "e2")
    seen = []
    for pairs in (None, [allowed]):
        options = {
            "single_relation": one,
            "loss": loss,
            "hidden_size": 16,
            "dropout": 0.0,
            "spans_per_sentence": 6,
        }
        task = make(KIND, GOLD, entity_pair_labels=pairs, **options)
        laid, vectors = lay(task, GOLD), vectors_of(KIND, lay(task, GOLD))
        ends = set()
        for seed in range(12):
            for found in predict(task, head_of(KIND, task, seed), laid, GOLD, vectors):
                label = {each.id: each.label for each in found["main"].spans}
                ends |= {(label[r.head], label[r.tail]) for r in found["main"].relations}
        seen.append(ends)
    assert seen[0] > {allowed}
    assert seen[1] == {allowed}


@pytest.mark.parametrize("one", [True, False])
def test_no_span_scores_below_the_threshold(one):
    least = []
    for threshold in (0.0, 0.4):
        task = make(
            KIND, GOLD, single_relation=one, span_threshold=threshold, hidden_size=16, dropout=0.0
        )
        laid = lay(task, GOLD)
        vectors = vectors_of(KIND, laid)
        every = [
            each.score
            for seed in range(8)
            for found in predict(task, head_of(KIND, task, seed), laid, GOLD, vectors)
            for each in found["main"].spans
        ]
        least.append(min(every))
    assert least[0] < 0.4 <= least[1]


def test_a_label_pair_of_no_span_is_told_with_the_choices():
    with pytest.raises(DataError, match="got 'e3'; spans are e1, e2"):
        make(KIND, GOLD, entity_pair_labels=[("e1", "e3")])


def test_a_text_without_words_has_none():
    task = make(KIND, GOLD, single_relation=True, hidden_size=16, dropout=0.0)
    empty = [Document("", (Layer("main"),), "empty"), GOLD[0]]
    laid, head = lay(task, empty), head_of(KIND, task)
    found = predict(task, head, laid, empty, vectors_of(KIND, laid))
    assert [len(each["main"].relations) for each in found] == [0, 1]


@pytest.mark.parametrize(
    "options", [{"single_relation": True}, {"gold_spans": True}, {"negative_label": "Nope"}]
)
def test_relations_are_not_asked_of_a_corpus_without_any(options):
    bare = [Document(each.text, (Layer("main", SPANS),), each.name) for each in GOLD]
    with pytest.raises(DataError, match="task"):
        make(KIND, bare, **options)


def test_a_label_outside_that_is_none_is_told_with_the_choices():
    with pytest.raises(DataError, match="got 'Nope'; relations are Cause, Other"):
        make(KIND, GOLD, negative_label="Nope")


def test_a_long_sentence_takes_its_pairs_bit_by_bit(monkeypatch):
    task = make(
        KIND,
        GOLD,
        single_relation=True,
        spans_per_word=3.0,
        max_span_width=4,
        hidden_size=16,
        dropout=0.0,
    )
    laid, head = lay(task, GOLD), head_of(KIND, task)
    vectors = vectors_of(KIND, laid)
    whole = predict(task, head, laid, GOLD, vectors)
    monkeypatch.setattr(span_decoding, "MAX_PAIRS", 1)
    assert list(map(comparable, predict(task, head, laid, GOLD, vectors))) == list(
        map(comparable, whole)
    )
