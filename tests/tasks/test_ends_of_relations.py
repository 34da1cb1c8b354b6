"""Relations that add kept spans as their ends: against a decoder that tries pair by pair."""

import math
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import pytest
import torch
from oracle_head import DIM, SURE, OracleHead, oracle_head
from sample_batches import head_of, lay, make, predict, vectors_of

from spanloom.annotation.comparable import comparable
from spanloom.document import Document, Layer, Relation
from spanloom.tasks import load, number_spans
from spanloom.tensors import HeadInputs
from spanloom.training.biases import LIMIT, MIN_SPANS, tune

KIND = load("relations")
TEXT = "Rain causes deep mud on old roads .\nOld mud dries .\nNo ."
WORDS = ("e1", 0, 4), ("e2", 12, 16), ("e2", 17, 20), ("e1", 28, 33), ("e1", 36, 39), ("e2", 40, 43)
PHRASES = ("e2", 12, 20), ("e1", 24, 33)
LINKS = ("Cause", "T1", "T3"), ("Other", "T4", "T3"), ("Part", "T3", "T4"), ("Part", "T6", "T5")
SMALL = {"hidden_size": 16, "dropout": 0.0, "max_span_width": 3, "spans_per_word": 0.9}


def document_of(*spans, links=LINKS):
    relations = tuple(Relation(f"R{row}", *link) for row, link in enumerate(links, 1))
    return Document(TEXT, (Layer("main", number_spans(*spans), relations),), "a")


FLAT, NESTED = document_of(*WORDS), document_of(*WORDS, *PHRASES)


def decode(task, gold, seed):
    """Decode random scores: spans and relations of the task."""
    laid = lay(task, [gold])
    head = head_of(KIND, task, seed)
    with torch.no_grad():
        inputs = task.span_inputs(head, vectors_of(KIND, laid), laid.batch, None)
        return head, inputs, task.decoder(head, inputs, None)


def spans_of(spans):
    bounds = map(tuple, spans.bounds.tolist())
    return dict(zip(bounds, spans.labels.tolist(), strict=True))


def relations_of(spans, relations):
    bounds = list(map(tuple, spans.bounds.tolist()))
    pairs = [(bounds[head], bounds[tail]) for head, tail in relations.pairs.tolist()]
    return dict(zip(pairs, relations.labels.tolist(), strict=True))


def may_stand_together(one, two, nested):
    words, other = set(range(*one)), set(range(*two))
    return not words & other or (nested and (words <= other or other <= words))


def keep(head, inputs, selected, bias, options):
    """The label of each span that a relation may add, by sentence."""
    bounds = list(map(tuple, head.candidates.bounds(inputs.sentences).tolist()))
    scores = head.score_spans(inputs).detach()[:, : head.spans.labels]
    types = {span: row.softmax(0) for span, row in zip(bounds, scores, strict=True)}
    kept = []
    for start, end in inputs.sentences.tolist():
        inside = [span for span in bounds if start <= span[0] < end]
        budget = math.ceil(options["spans_per_word"] * (end - start))
        kept += sorted(inside, key=lambda span: types[span][0].item())[:budget]
    biased = {
        span: (row + torch.tensor([0.0, *[bias] * (len(row) - 1)])).softmax(0)
        for span, row in zip(bounds, scores, strict=True)
    }
    least = options.get("span_threshold", 0.0)
    labels = {
        span: 1 + int(biased[span][1:].argmax())
        for span in kept
        if biased[span][1:].max() >= least
        and all(may_stand_together(span, other, options["nested"]) for other in selected)
    }
    return labels | selected, types


def score(head, inputs, labels, types):
    """Scores of each pair of spans in one sentence."""
    bounds = sorted(labels)
    if not bounds:
        return {}
    sentence = {
        span: row
        for row, (start, end) in enumerate(inputs.sentences.tolist())
        for span in bounds
        if start <= span[0] < end
    }
    pairs = [pair for pair in permutations(bounds, 2) if sentence[pair[0]] == sentence[pair[1]]]
    with torch.no_grad():
        score_pairs = head.pair_scorer(
            inputs, torch.tensor(bounds), torch.stack([types[span] for span in bounds])
        )
        return {
            pair: score_pairs(torch.tensor([[bounds.index(span) for span in pair]]))[0]
            for pair in pairs
        }


def likely(scored, loss):
    """Return ``{pair: (probability, label)}`` of pairs that are relations."""
    if loss == "pairwise":
        probs = {pair: row.softmax(0).max(0) for pair, row in scored.items()}
        return {pair: (float(p), int(label)) for pair, (p, label) in probs.items() if label}
    chosen = {}
    for tail in {pair[1] for pair in scored}:
        rows = {pair: row[1:] for pair, row in scored.items() if pair[1] == tail}
        odds = torch.cat([torch.zeros(1), *rows.values()]).softmax(0)
        pair = max(rows, key=lambda pair: rows[pair].max().item())
        if rows[pair].max() > 0:
            chosen[pair] = float(odds[1:].max()), 1 + int(rows[pair].argmax())
    return chosen


def expect(task, head, inputs, selected, biases, options):
    """Spans and relations by the definition."""
    labels, types = keep(head, inputs, selected, biases.get("span", 0.0), options)
    scored = {}
    for pair, row in score(head, inputs, labels, types).items():
        names = tuple(task.vocabulary.spans[labels[span] - 1] for span in pair)
        if names in options.get("entity_pair_labels", [names]):
            is_new = not all(span in selected for span in pair)
            bias = biases.get("relation", 0.0) + is_new * biases["relation_end"]
            scored[pair] = row + torch.tensor([0.0, *[bias] * (len(row) - 1)])
    negative = options.get("negative_label")
    spans, relations = dict(selected), {}
    for pair, (_, label) in sorted(
        likely(scored, options["loss"]).items(),
        key=lambda item: (not all(span in selected for span in item[0]), -item[1][0]),
    ):
        new = [span for span in pair if span not in selected]
        if task.vocabulary.relations[label - 1] != negative and all(
            may_stand_together(span, other, options["nested"])
            for span in new
            for other in {*spans, *new} - {span}
        ):
            relations[pair] = label
            spans |= {span: labels[span] for span in new}
    return spans, relations


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
@pytest.mark.parametrize("loss", ["pairwise", "head-selection"])
@pytest.mark.parametrize(
    ("more", "biases"),
    [
        ({}, {"relation_end": 0.0}),
        ({}, {"relation_end": -0.1, "span": -0.1, "relation": -0.1}),
        ({}, {"relation_end": 0.3, "span": -0.4, "relation": -0.3}),
        ({"entity_pair_labels": [("e1", "e2")]}, {"relation_end": 0.5, "span": -0.3}),
        ({"negative_label": "Other"}, {"relation_end": 0.1, "span": -0.2}),
        ({"span_threshold": 0.3}, {"relation_end": 0.3, "span": -0.3}),
    ],
)
def test_the_likeliest_relations_add_the_spans_that_fit(nested, loss, more, biases):
    gold = NESTED if nested else FLAT
    options = SMALL | more | {"loss": loss, "nested": nested}
    task = make(KIND, [gold], biases=biases, **options)
    old = {name: bias for name, bias in biases.items() if name != "relation_end"}
    plain = make(KIND, [gold], biases=old, **options)
    added = 0
    for seed in range(4):
        head, inputs, (spans, relations) = decode(task, gold, seed)
        selected = spans_of(decode(plain, gold, seed)[2][0])
        expected = expect(task, head, inputs, selected, biases, options)
        assert (spans_of(spans), relations_of(spans, relations)) == expected
        assert spans.bounds.tolist() == sorted(spans.bounds.tolist())
        added += len(spans.bounds) - len(selected)
    assert added > 0


@pytest.mark.parametrize("loss", ["pairwise", "head-selection"])
@pytest.mark.parametrize("end", [-math.inf, -50.0])
def test_without_evidence_relations_hold_among_selected_spans_alone(loss, end):
    options, biases = SMALL | {"loss": loss, "nested": False}, {"span": 0.4}
    plain = make(KIND, [FLAT], biases=biases, **options)
    task = make(KIND, [FLAT], biases=biases | {"relation_end": end}, **options)
    assert plain.decoder.ends is None
    assert (task.decoder == plain.decoder) == (end == -math.inf)
    relations = 0
    for seed in range(4):
        old, new = decode(plain, FLAT, seed)[2], decode(task, FLAT, seed)[2]
        assert spans_of(new[0]) == spans_of(old[0])
        assert relations_of(*new) == relations_of(*old)
        relations += len(old[1].pairs)
    assert relations > 0


def test_one_relation_per_sentence_and_given_spans_have_no_ends_to_add():
    for option in ("single_relation", "gold_spans"):
        assert "relation_end" not in make(KIND, [FLAT], **{option: True}).decisions
    assert make(KIND, [FLAT]).decisions["relation_end"] == "mean_f1"


class UnsureHead(OracleHead):
    """Misses some gold spans by more than a bias of spans may make up for; pairs are sure."""

    def score_spans(self, inputs, coarse_scores=None, gold=None):
        scores = super().score_spans(inputs, coarse_scores, gold)
        for row, bounds in enumerate(self.candidates.bounds(inputs.sentences).tolist()):
            if tuple(bounds) in self.missed:
                scores[row, 0] = SURE + LIMIT + 1
        return scores


def answer(task, gold, missed=(), wrong=()):
    laid = lay(task, [gold])
    head = oracle_head(task, laid.targets)
    head.__class__, head.missed = UnsureHead, missed
    head.pair_labels |= dict.fromkeys(wrong, 1)
    vectors = HeadInputs(torch.zeros(len(laid.batch.words), DIM))
    return predict(task, head, laid, [gold], vectors)[0]


RAIN, MUD, ON = (0, 1), (3, 4), (4, 5)  # words


@pytest.mark.parametrize("loss", ["pairwise", "head-selection"])
@pytest.mark.parametrize("missed", [(), [RAIN], [RAIN, MUD]])
@pytest.mark.parametrize("gold", [FLAT, NESTED], ids=["flat", "nested"])
def test_perfect_scores_decode_to_gold_even_where_spans_are_missed(gold, missed, loss):
    links = [LINKS[0], LINKS[3]]  # one head per tail
    gold = document_of(*WORDS, *(PHRASES if gold is NESTED else ()), links=links)
    options = {"loss": loss, "spans_per_word": 1.0}
    ends = make(KIND, [gold], biases={"relation_end": 0.0}, **options)
    assert comparable(answer(ends, gold, missed)) == comparable(gold)
    plain = answer(make(KIND, [gold], **options), gold, missed)["main"]
    assert len(plain.spans) == len(gold["main"].spans) - len(missed)
    assert len(plain.relations) == len(links) - bool(missed)


def test_a_label_that_is_no_relation_adds_no_span():
    gold = document_of(*WORDS, links=[LINKS[1], LINKS[3]])
    task = make(
        KIND, [gold], biases={"relation_end": 0.0}, spans_per_word=1.0, negative_label="Other"
    )
    assert len(answer(task, gold, [MUD])["main"].spans) == len(WORDS) - 1
    task = make(KIND, [gold], biases={"relation_end": 0.0}, spans_per_word=1.0)
    assert len(answer(task, gold, [MUD])["main"].spans) == len(WORDS)


class UnsureModel:
    """As much of a model as tuning needs: what ``answer`` makes of gold, one text over and over."""

    network = None  # predictions are made up

    def __init__(self, gold, errors, biases):
        self.gold, self.errors, self.recipe = gold, errors, SimpleNamespace(biases=biases)
        self.tasks = {"task": make(KIND, [gold], biases=biases.get("task"), spans_per_word=1.0)}

    def with_biases(self, biases):
        return UnsureModel(self.gold, self.errors, biases)

    def with_network(self, network):
        return self

    def predict(self, documents, name):
        found = answer(self.tasks[name], self.gold, **self.errors)
        return [replace(found, name=document.name) for document in documents]


def test_tuning_finds_whether_relations_should_add_spans():
    gold = document_of(*WORDS, links=[LINKS[0], LINKS[3]])
    numbers = range(math.ceil(MIN_SPANS / len(WORDS)))
    dev = {"task": [replace(gold, name=str(number)) for number in numbers]}
    tuned, metrics = tune(UnsureModel(gold, {"missed": [MUD]}, {}), dev, ["task"])
    assert tuned.recipe.biases == {"task": {"relation_end": 0.0}}
    assert metrics["task"]["mean_f1"] == 1.0
    tuned, metrics = tune(UnsureModel(gold, {"wrong": [(RAIN, ON)]}, {}), dev, ["task"])
    assert tuned.recipe.biases == {}
    assert metrics["task"]["mean_f1"] == 1.0


def test_events_and_attributes_come_with_the_spans_that_are_added():
    gold = KIND.example
    task = make(KIND, [gold], biases={"relation_end": 0.0}, spans_per_word=1.0)
    assert comparable(answer(task, gold, [(2, 3), (4, 5)])) == comparable(gold)


def test_a_text_without_words_has_no_relations():
    texts = [Document("", (Layer("main"),), "empty"), FLAT]
    task = make(KIND, texts, biases={"relation_end": 0.0}, **SMALL)
    laid, head = lay(task, texts), head_of(KIND, task)
    found = predict(task, head, laid, texts, vectors_of(KIND, laid))
    assert not list(found[0]["main"].annotations())
