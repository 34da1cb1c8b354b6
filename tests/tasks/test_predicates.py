"""Roles, open IE and opinions: what is given, what overlaps, what leads."""

import inspect
from types import SimpleNamespace

import pytest
import torch
from sample_batches import DIM, head_of, lay, learn, make, predict, train_of, vectors_of

from spanloom.document import Document, Layer, Relation
from spanloom.errors import DataError
from spanloom.nn import predicate_decoding
from spanloom.tasks import TaskSetup, load, number_spans

KINDS = ("srl", "openie", "opinions")
SMALL = {"hidden_size": 16, "dropout": 0.0}

# "to leave" is what is wanted and a predicate with an argument of its own; both have the same "Ada"
BOTH = Document(
    "Ada promised leaving early .",
    (
        Layer(
            "main",
            number_spans(
                ("argument", 0, 3),
                ("predicate", 4, 12),
                ("predicate", 13, 20),
                ("argument", 13, 20),
                ("argument", 21, 26),
            ),
            (
                Relation("R1", "ARG0", "T2", "T1"),
                Relation("R2", "ARG1", "T2", "T4"),
                Relation("R3", "ARG0", "T3", "T1"),
                Relation("R4", "ARGM", "T3", "T5"),
            ),
        ),
    ),
    "both",
)


def _known_by_heart(kind, document, **options):
    task = make(kind, [document], **SMALL, **options)
    laid, head = lay(task, [document]), head_of(kind, task)
    learn(task, head, vectors_of(kind, laid), laid)
    return task, head


def _found(kind, task, head, documents):
    laid = lay(task, documents)
    return predict(task, head, laid, documents, vectors_of(kind, laid))


def test_an_argument_that_is_a_predicate_too_is_both():
    kind = load("srl")
    task, head = _known_by_heart(kind, BOTH)
    assert task.vocabulary.spans == ("argument", "argument predicate", "predicate")
    found = _found(kind, task, head, [BOTH])
    assert task.metrics(task.compute_metrics([BOTH], found)) == {
        "relation_f1": 1.0,
        "predicate_f1": 1.0,
    }
    labels = [(span.label, span.start) for span in found[0]["main"].spans]
    assert labels.count(("argument", 13)) == labels.count(("predicate", 13)) == 1


def test_senses_are_labels_only_where_they_are_asked_for():
    spans = tuple(
        span if span.label == "argument" else type(span)(span.id, f"{n}.01", span.fragments)
        for n, span in enumerate(BOTH["main"].spans)
    )
    document = BOTH.with_layer(Layer("main", spans, BOTH["main"].relations))
    kind = load("srl")
    plain, fine = make(kind, [document]), make(kind, [document], predict_senses=True)
    assert plain.gold.predicate_labels == {"predicate"}
    assert fine.gold.predicate_labels == {"1.01", "2.01"}
    assert plain.unseen_labels([document]) == fine.unseen_labels([document]) == set()
    task, head = _known_by_heart(kind, document, predict_senses=True)
    found = _found(kind, task, head, [document])
    assert {span.label for span in found[0]["main"].spans} == {"1.01", "2.01", "argument"}


@pytest.mark.parametrize("name", KINDS)
def test_given_predicates_come_without_their_arguments(name):
    kind = load(name)
    task = make(kind, [kind.example], gold_predicates=True)
    layer = task.without_gold(kind.example)[task.layer]
    assert {span.label for span in layer.spans} == task.gold.predicate_labels
    assert layer.relations == ()
    assert make(kind, [kind.example]).without_gold(kind.example).layers == ()


@pytest.mark.parametrize("name", KINDS)
def test_given_predicates_are_kept_and_their_arguments_found(name):
    kind = load(name)
    task, head = _known_by_heart(kind, kind.example, gold_predicates=True)
    bared = task.without_gold(kind.example)
    laid = lay(task, [bared])
    found = predict(task, head, laid, [bared], vectors_of(kind, laid))
    assert task.metrics(task.compute_metrics([kind.example], found)) == {"relation_f1": 1.0}


def test_arguments_of_one_predicate_never_overlap():
    kind = load("srl")
    task = make(kind, [BOTH], **SMALL)
    for seed in range(20):
        laid, head = lay(task, [BOTH]), head_of(kind, task, seed)
        layer = predict(task, head, laid, [BOTH], vectors_of(kind, laid))[0]["main"]
        places = {span.id: (span.start, span.end) for span in layer.spans}
        for predicate in {each.head for each in layer.relations}:
            own = sorted(places[each.tail] for each in layer.relations if each.head == predicate)
            assert all(one[1] <= two[0] for one, two in zip(own, own[1:], strict=False))


def test_the_polarity_of_given_terms_is_hidden_and_any_is_scored():
    kind = load("aspects")
    task = make(kind, [kind.example], gold_spans=True, **SMALL)
    bared = task.without_gold(kind.example)
    assert {span.label for span in bared[task.layer].spans} == {"term"}
    laid, head = lay(task, [bared]), head_of(kind, task)
    found = predict(task, head, laid, [bared], vectors_of(kind, laid))[0]
    places = [span.fragments for span in kind.example[task.layer].spans]
    assert [span.fragments for span in found[task.layer].spans] == places
    assert {span.label for span in found[task.layer].spans} <= {"negative", "positive"}


def test_the_vectors_of_samples_are_as_wide_as_heads_expect():
    kind = load("srl")
    laid = lay(make(kind, [BOTH]), [BOTH])
    assert vectors_of(kind, laid).word_vectors.shape == (5, DIM)


@pytest.mark.parametrize(
    "broken",
    [
        {"predicate_labels": []},
        {"predicate_labels": ["nobody"]},
        {"argument_label_of": {}},
        {"relation_labels": []},
        {"span_labels": []},
    ],
)
def test_labels_that_nothing_can_be_made_of_are_refused(broken):
    kind = load("srl")
    collected = kind.infer_vocabulary(kind.options(), "main", train_of([BOTH])) | broken
    with pytest.raises(DataError, match="task"):
        kind.build(TaskSetup("task", "main", kind.options(), collected, collected))


def _opinions(first, second):
    spans = number_spans(("Positive", *first), ("Negative", *second), ("target", 23, 27))
    relations = (Relation("R1", "target", "T1", "T3"), Relation("R2", "target", "T2", "T3"))
    return Document("We really love not the view .", (Layer("main", spans, relations),), "nest")


def test_given_predicates_may_nest_and_be_as_wide_as_they_are():
    kind = load("opinions")
    task = make(kind, [kind.example], gold_predicates=True, **SMALL)
    document = _opinions((3, 18), (10, 14))
    assert task.vocabulary.max_span_width < 3
    bared, head = task.without_gold(document), head_of(kind, task)
    laid = lay(task, [bared])
    layer = predict(task, head, laid, [bared], vectors_of(kind, laid))[0]["main"]
    leading = [span for span in layer.spans if span.label != "target"]
    assert {(3, 18), (10, 14)} <= {(span.start, span.end) for span in leading}


def test_a_given_predicate_of_an_unknown_label_is_still_one():
    kind = load("opinions")
    task = make(kind, [kind.example], gold_predicates=True, **SMALL)
    document = kind.example.with_layer(
        Layer("main", number_spans(("Neutral", 3, 7), ("target", 8, 16)))
    )
    bared = task.without_gold(document)
    assert [span.label for span in bared["main"].spans] == ["Neutral"]
    laid = lay(task, [bared])
    layer = predict(task, head_of(kind, task), laid, [bared], vectors_of(kind, laid))[0]["main"]
    assert ("Neutral", 3, 7) in {(span.label, span.start, span.end) for span in layer.spans}


def test_given_predicates_are_kept_where_train_has_joint_labels_alone():
    spans = number_spans(("predicate", 0, 3), ("argument", 0, 3))
    relations = (Relation("R1", "ARG0", "T1", "T2"),)
    train = Document(BOTH.text, (Layer("main", spans, relations),), "joint")
    kind = load("srl")
    task = make(kind, [train], gold_predicates=True, **SMALL)
    assert task.vocabulary.spans == ("argument predicate",)
    bared = task.without_gold(BOTH)
    laid = lay(task, [bared])
    layer = predict(task, head_of(kind, task), laid, [bared], vectors_of(kind, laid))[0]["main"]
    kept = {(span.start, span.end) for span in layer.spans if span.label == "predicate"}
    assert kept == {(4, 12), (13, 20)}


def test_predicates_that_train_does_not_have_are_missed():
    kind = load("opinions")
    task = make(kind, [kind.example], **SMALL)
    spans = number_spans(("Neutral", 3, 7), ("target", 8, 16))
    gold = [Document("We love the view .", (Layer("main", spans),))]
    more = number_spans(("Neutral", 3, 7), ("target", 0, 2), ("Positive", 17, 18))
    found = [gold[0].with_layer(Layer("main", more))]
    for one, two in ((gold, found), (found, gold)):
        f1 = task.metrics(task.compute_metrics(one, two))["predicate_f1"]
        assert f1 == pytest.approx(2 / 3)


def test_there_are_never_more_predicates_than_words():
    kind = load("srl")
    task = make(kind, [BOTH], nested=True, max_span_width=5, **SMALL)
    for seed in range(10):
        laid, head = lay(task, [BOTH]), head_of(kind, task, seed)
        layer = predict(task, head, laid, [BOTH], vectors_of(kind, laid))[0]["main"]
        assert sum(span.label == "predicate" for span in layer.spans) <= 5


def test_labels_with_blanks_are_refused():
    spans = number_spans(("very positive", 3, 7), ("target", 8, 16))
    layer = Layer("main", spans, (Relation("R1", "target", "T1", "T2"),))
    document = Document("We love the view .", (layer,), "blank")
    with pytest.raises(DataError, match="without blanks, got 'very positive'"):
        make(load("opinions"), [document])


def test_terms_wider_than_trains_have_a_polarity_too():
    kind = load("aspects")
    task = make(kind, [kind.example], gold_spans=True, max_span_width=1, **SMALL)
    bared = task.without_gold(kind.example)
    laid = lay(task, [bared])
    found = predict(task, head_of(kind, task), laid, [bared], vectors_of(kind, laid))[0]
    assert len(found[task.layer].spans) == len(kind.example[task.layer].spans)


def test_no_arguments_are_on_the_device_of_the_spans(monkeypatch):
    """A GPU adds no tensor of the CPU, even if it is empty; the device "meta" stands for one."""
    monkeypatch.setattr(predicate_decoding, "label_scorer", lambda *_: None)
    monkeypatch.setattr(predicate_decoding, "group_of", lambda *_: None)
    pairs = SimpleNamespace(iter_by_head=lambda *_: iter(()))
    with torch.device("meta"):
        spans = torch.zeros(3, 2, dtype=torch.long), torch.zeros(3, 2), torch.zeros(3).bool()
    select = inspect.unwrap(predicate_decoding._select_arguments)  # without checks of types
    relations = select(
        SimpleNamespace(pair_generator=pairs), SimpleNamespace(pair_groups=None), *spans, 0.0
    )
    tensors = relations.pairs, relations.labels, relations.scores
    assert {str(tensor.device) for tensor in tensors} == {"meta"}
