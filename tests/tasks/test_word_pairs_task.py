"""Relations between words: what is learnt, what is written, given spans, several labels a pair."""

import json
from dataclasses import replace

import pytest
import torch
from flat_bench import (
    answer,
    collect,
    cuts,
    document,
    head,
    lay,
    learn,
    linked,
    make,
    said,
    vectors,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.document import Document, Layer, Relation, Span
from spanloom.metrics.report import score_triples
from spanloom.tasks import HeadInputSpec, TaskSetup, load

KIND = load("word_relations")
WORDS_OF = KIND.example.text.split()


def fitted(task, gold, limit=100):
    """A head that has learnt the documents by heart, and what it then writes."""
    laid = lay(task, gold, limit)
    made, words = head(task, 32), vectors(laid, 32)
    losses = learn(task, made, words, laid)
    assert losses["relation"] < 0.1
    return answer(task, made, laid, words)


def test_gold_is_between_last_words():
    task = make(KIND, [KIND.example])
    mine = task.encode_gold(KIND.example, *cuts([KIND.example]))
    labels = task.labels
    assert [(WORDS_OF[i], WORDS_OF[j], labels[k]) for i, j, k in mine.pairs] == [
        ("Mix", "buffer", "Acts-on"),
        ("buffer", "warm", "Has"),
        ("buffer", "warm", "Mod-Link"),
        ("Add", "water", "Acts-on"),
        ("water", "ml", "Measure"),
    ]
    assert [WORDS_OF[end] for end in mine.last_words] == [
        "Mix",
        "warm",
        "buffer",
        "Add",
        "ml",
        "water",
    ]
    assert not mine.skipped


@pytest.mark.parametrize("limit", [1, 6, 100])
def test_one_batch_overfits_and_words_are_related_as_in_gold(limit):
    other = Document("none here", (Layer("main"),), "other")
    gold = [KIND.example, other, KIND.example]
    task = make(KIND, gold, dropout=0.0, hidden_size=32)
    found = fitted(task, gold, limit)
    assert said(found[1]) == []
    for each in (found[0], found[2]):
        assert linked(each) == [
            ("Acts-on", "Add", "water"),
            ("Acts-on", "Mix", "buffer"),
            ("Has", "buffer", "warm"),
            ("Measure", "water", "ml"),
            ("Mod-Link", "buffer", "warm"),
        ]
        assert {label for label, _ in said(each)} == {"word"}
        assert all(0.5 < link.score <= 1 for link in each["main"].relations)
        assert not each["main"].events
    report = task.compute_metrics(gold[:2], found[:2])
    assert task.metrics(report) == {"relation_f1": 1.0}
    assert tuple(task.metrics(report)) == task.metric_names


def test_given_spans_are_kept_as_they_are_and_get_the_relations():
    task = make(KIND, [KIND.example], dropout=0.0, hidden_size=32, gold_spans=True)
    assert task.inputs == ("main",)
    (found,) = fitted(task, [KIND.example])
    assert found["main"].spans == KIND.example["main"].spans
    assert linked(found) == linked(KIND.example)
    assert len(found["main"].events) == 2


def test_given_spans_decide_which_words_make_pairs():
    task = make(KIND, [KIND.example], gold_spans=True)
    laid = lay(task, [KIND.example])
    assert laid.targets.candidates.tolist() == [0, 2, 3, 5, 7, 8]
    made = head(task)
    with torch.no_grad():
        made.labels.bias.fill_(9.0)
    (found,) = answer(task, made, laid, vectors(laid))
    assert found["main"].spans == KIND.example["main"].spans
    related = len(linked(found))
    assert related == (3 * 3 + 3 * 3) * len(task.labels)


def test_of_given_spans_that_end_in_one_word_the_widest_is_related():
    spans = [("X", "b"), ("Y", "a b"), ("Z", "c")]
    gold = document("a b c", *spans, relations=[("r", "T1", "T3")])
    task = make(KIND, [gold], dropout=0.0, hidden_size=32, gold_spans=True)
    (found,) = fitted(task, [gold])
    assert said(found) == said(gold)
    assert linked(found) == [("r", "a b", "c")]
    assert task.metrics(task.compute_metrics([gold], [found])) == {"relation_f1": 1.0}


def test_given_spans_in_pieces_and_of_new_labels_are_no_error():
    train = document("a b", ("X", "a"), ("Y", "b"), relations=[("r", "T1", "T2")])
    task = make(KIND, [train], gold_spans=True)
    spans = (
        Span("T1", "New", ((0, 2), (6, 8))),
        Span("T2", "X", ((1, 3),)),
        Span("T3", "X", ((0, 2),)),
    )
    gold = [Document("abc de fg", (Layer("main", spans),)), Document("", (Layer("main"),), "e")]
    laid = lay(task, gold)
    words = vectors(laid) if laid.units else None
    found = answer(task, head(task), laid, words)
    assert [[span.fragments for span in each["main"].spans] for each in found] == [
        [span.fragments for span in spans],
        [],
    ]


def test_remarks_say_what_is_left_out_and_why():
    links = [("r", "T1", "T2"), ("r", "T1", "T3"), ("r", "T1", "T4"), ("r", "T2", "T1")]
    gold = document("a b\ncde", ("X", "a"), ("X", "b"), ("X", "cde"), ("X", 4, 5), relations=links)
    other = document("x y", ("X", "x"), ("X", "y"), relations=[("new", "T1", "T2")])
    task = make(KIND, [gold])
    every = cuts([gold, other])
    mine = {row: task.encode_gold(each, every[row]) for row, each in enumerate([gold, other])}
    train = list(zip([gold, other], every, strict=True))
    assert sorted(task.coverage_notes(train, [each.sentences for each in every], mine)) == [
        "task: 2 documents, 2 relations to learn from",
        "task: not learnt: 1 relation across sentences",
        "task: not learnt: 1 relation of unknown labels",
        "task: not learnt: 1 relation whose ends are no words",
    ]
    assert task.unseen_labels([gold, other]) == {"new"}


def test_a_word_can_be_related_to_itself():
    gold = document("a b c", ("X", "b"), ("Y", "a b"), relations=[("r", "T2", "T1")])
    task = make(KIND, [gold], dropout=0.0, hidden_size=32)
    assert linked(fitted(task, [gold])[0]) == [("r", "b", "b")]


@settings(max_examples=30)
@given(data=st.data(), given_spans=st.booleans())
def test_targets_are_gold_in_rows_of_the_batch(data, given_spans):
    """However documents are cut into units and whatever stands before them in the batch."""
    lines = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    text = "\n".join(" ".join("w" for _ in range(size)) for size in lines)
    starts = [place for place, letter in enumerate(text) if letter == "w"]
    words = len(starts)
    ends = data.draw(st.sets(st.tuples(st.integers(0, words - 1), st.integers(0, words - 1))))
    spans = [("X", start, start + 1) for start in starts]
    links = [("r", f"T{i + 1}", f"T{j + 1}") for i, j in sorted(ends)]
    gold = document(text, *spans, relations=links)
    task = make(KIND, [gold], gold_spans=given_spans)
    laid = lay(task, [gold, gold], data.draw(st.integers(1, 9)))
    home = [row for row, size in enumerate(lines) for _ in range(size)]
    inside = {(i, j) for i, j in ends if home[i] == home[j]}
    place = [
        (unit.document, unit.first_word + row)
        for unit in laid.units
        for row in range(len(unit.tokens))
    ]
    found = [(place[i], place[j]) for i, j, _ in laid.targets.pairs.tolist()]
    assert sorted(found) == [((d, i), (d, j)) for d in (0, 1) for i, j in sorted(inside)]
    assert laid.targets.candidates.tolist() == list(range(2 * words))


def test_gold_never_reaches_the_answer():
    blank = KIND.example.unannotated().with_layer(Layer("main"))
    task = make(KIND, [KIND.example], threshold=0.001)
    made = head(task)
    told, untold = (
        answer(task, made, lay(task, [each]), vectors(lay(task, [each])))
        for each in (KIND.example, blank)
    )
    assert told == untold
    assert told[0]["main"].relations


def test_what_was_collected_is_plain_data():
    own = collect(KIND, [KIND.example])
    assert own["labels"] == ["Acts-on", "Has", "Measure", "Mod-Link"]
    back = json.loads(json.dumps(own))
    made = (KIND.build(TaskSetup("t", "main", KIND.options(), each, each)) for each in (own, back))
    assert len(set(map(repr, made))) == 1


def test_every_parameter_learns():
    task = make(KIND, [KIND.example])
    laid, made = lay(task, [KIND.example]), task.build_head(HeadInputSpec(16))
    losses = task.loss(made, vectors(laid), laid.batch, laid.targets)
    assert tuple(losses) == task.loss_names
    losses["relation"].backward()
    assert all(each.grad is not None and each.grad.any() for each in made.parameters())


# --- the measure ---------------------------------------------------------------------------------


def test_only_ends_and_label_count():
    links = [("r", "T1", "T2"), ("q", "T1", "T2"), ("r", "T3", "T2")]
    gold = document("a b c d", ("X", "a b"), ("Y", "d"), ("X", "c"), relations=links)
    found = document(
        "a b c d",
        ("word", "b"),
        ("word", "c d"),
        relations=[("r", "T1", "T2"), ("r", "T2", "T1"), ("q", "T1", "T1")],
    )
    counts = score_triples([gold], [found], "main").relations.micro
    assert (counts.gold, counts.predicted, counts.hits) == (3, 3, 1)


def test_a_report_is_told_in_numbers_and_in_words():
    unannotated = Document("x", (), "x")
    lost = KIND.example.with_layer(
        Layer("main", KIND.example["main"].spans, (Relation("R1", "r", "T1", "T99"),))
    )
    found = [lost, unannotated]
    report = score_triples([KIND.example, unannotated], found, "main")
    assert (report.documents, report.not_annotated, report.unscored) == (1, 1, 1)
    told = json.loads(json.dumps(report.to_json()))
    assert told["relations"]["micro"]["gold"] == 5
    assert told["unscored_relations"] == told["not_annotated"] == 1
    table = report.to_table().splitlines()
    assert table[:3] == [
        "layer main: 1 document",
        "without this layer, not scored: 1 document",
        "with an end that is no span, not scored: 1 relation",
    ]
    assert table[4].startswith("relations (last words and label): F1 0.00")


def test_the_bias_that_dev_chooses_moves_the_threshold_of_all_labels():
    task = make(KIND, [KIND.example], dropout=0.0, hidden_size=32)
    assert dict(task.decisions) == {"relation": "relation_f1"}
    laid = lay(task, [KIND.example])
    made, words = head(task, 32), vectors(laid, 32)
    counts = []
    for bias in (-9.0, 0.0, 4.0, 9.0):
        setup = TaskSetup(
            "t", "main", task.options, _vocabulary(task), _vocabulary(task), {"relation": bias}
        )
        (found,) = answer(KIND.build(setup), made, laid, words)
        counts.append(len(found["main"].relations))
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] > counts[1]


def _vocabulary(task):
    events = task.events
    return {
        "labels": list(task.labels),
        "trigger_labels": sorted(events.trigger_labels),
        "roles": sorted(events.roles),
        "role_relations": sorted(events.relations),
    }


def test_given_spans_at_scoring_alone():
    task = make(KIND, [KIND.example], dropout=0.0, hidden_size=32)
    told = task.with_gold_inputs()
    assert (task.inputs, told.inputs) == ((), ("main",))
    bare = told.without_gold(KIND.example)["main"]
    assert bare.spans == KIND.example["main"].spans
    assert not bare.relations
    assert not bare.events


def test_sentences_without_relations_are_learnt_from_and_scored():
    gold = document("a b\nc d", ("X", "a"), ("Y", "b"), relations=[("r", "T1", "T2")])
    task = make(KIND, [gold])
    laid = lay(task, [gold])
    assert laid.targets.candidates.tolist() == [0, 1, 2, 3]
    empty = Document("c d", (Layer("main"),), "e")
    pair = document("c d", ("word", "c"), ("word", "d"), relations=[("r", "T1", "T2")])
    wrong = replace(pair, name="e")
    assert task.has_gold(empty)
    report = task.compute_metrics([gold, empty], [gold, wrong])
    assert task.metrics(report)["relation_f1"] == 2 / 3  # one of two predicted, one of one gold
