"""Tags: which spans they spell, what a head answers, shared heads, and whole training runs."""

import json
import math
from collections import Counter
from itertools import pairwise, product

import pytest
import tiny
import torch
from flat_bench import answer, collect, cuts, document, head, lay, learn, make, said, vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.annotation.tag_schemes import SCHEMES
from spanloom.config import recipe as recipes
from spanloom.document import Document, Layer, Span
from spanloom.errors import RecipeError
from spanloom.metrics.bootstrap import interval, loads
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.scoring import changpinyo
from spanloom.tasks import HeadInputSpec, TaskSetup, load
from spanloom.tensors import HeadInputs
from spanloom.training.train import train

KIND = load("sequence_tagging")
EVERY = pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES", "BILOU", "none"])
SURE = 50.0
WORDS = document("a b\nc", ("X", "a"), ("Y", "b"), ("X", "c"))


def knowing(task, laid):
    """A head and vectors that say gold: word vectors are scores of tags."""
    size = len(task.tags)
    made = task.build_head(HeadInputSpec(size))
    with torch.no_grad():
        made.emission.weight.copy_(torch.eye(size))
        made.emission.bias.zero_()
    return made, HeadInputs(SURE * torch.nn.functional.one_hot(laid.targets, size).float())


def recalled(task, documents, limit=100):
    laid = lay(task, documents, limit)
    return answer(task, *[knowing(task, laid)[0], laid, knowing(task, laid)[1]])


def flat(words):
    """A text of lines of words, and the bounds of its words, line by line."""
    text, bounds = "", []
    for line in words:
        bounds.append([])
        for _ in range(line):
            bounds[-1].append((len(text), len(text) + 2))
            text += "ab "
        text = text[:-1] + "\n"
    return text, bounds


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES", "BILOU"])
@pytest.mark.parametrize("limit", [1, 6, 100])
def test_gold_tags_decode_to_gold(scheme, limit):
    gold = [KIND.example, Document("No one .", (Layer("main"),), "none"), KIND.example]
    task = make(KIND, gold, scheme=scheme)
    found = recalled(task, gold, limit)
    assert [comparable(each) for each in found] == [comparable(each) for each in gold]
    assert all(span.score > 0.99 for each in found for span in each["main"].spans)
    report = task.compute_metrics(gold[:2], found[:2])
    assert task.metrics(report) == {"span_f1": 1.0}
    assert tuple(task.metrics(report)) == task.metric_names


def test_every_word_has_a_label_without_a_scheme():
    gold = [WORDS]
    task = make(KIND, gold, scheme="none")
    assert collect(KIND, gold, scheme="none") == {"none": ["X", "Y"]}
    assert task.tags == ("O", "X", "Y")
    found = recalled(task, gold)
    assert said(found[0]) == said(WORDS)
    wrong = document("a b\nc", ("X", "a"), ("X", "b"), ("X", "c"))
    assert task.metrics(task.compute_metrics(gold, [wrong])) == {"span_f1": pytest.approx(2 / 3)}


@EVERY
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_learnt_is_flat_and_all_else_has_a_reason(scheme, data):
    """Any spans at all: those kept are gold, apart, in a sentence; nothing more would fit."""
    text, bounds = flat(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    place = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
    drawn = data.draw(st.lists(st.tuples(st.sampled_from("XY"), place), max_size=8))
    gold = document(text, *((label, min(ends), max(ends)) for label, ends in drawn))
    task = make(KIND, [gold], scheme=scheme)
    (mine,) = (task.encode_gold(gold, each) for each in cuts([gold]))
    assert len(mine) + sum(mine.skipped.values()) == len(drawn)
    kept = {(each.start, each.end) for each in recalled(task, [gold])[0]["main"].spans}
    assert len(kept) == len(mine)
    fits = {
        (line[i][0], line[j][1])
        for line in bounds
        for i in range(len(line))
        for j in range(i, 1 + (i if scheme == "none" else len(line) - 1))
    }
    there = {(each.start, each.end) for each in gold["main"].spans} & fits
    assert kept <= there
    assert all(a[1] <= b[0] for a, b in pairwise(sorted(kept)))
    assert all(any(a < d and c < b for c, d in kept) for a, b in there)


def test_of_spans_that_overlap_the_earlier_stays_then_the_longer():
    spans = [("X", "b c"), ("Y", "a b c d"), ("X", "a b"), ("Y", "e f"), ("X", "f g")]
    gold = document("a b c d e f g", *spans)
    task = make(KIND, [gold])
    assert said(recalled(task, [gold])[0]) == [("Y", "a b c d"), ("Y", "e f")]
    assert task.encode_gold(gold, *cuts([gold])).skipped == Counter({"overlapping others": 3})


def test_remarks_say_what_is_left_out_and_why():
    broken = Span("T9", "X", ((0, 1), (4, 5)))
    gold = document("a b cd\ne f", ("X", "a b"), ("X", "cd\ne"), ("X", 4, 5), ("Y", "b"))
    gold = gold.with_layer(Layer("main", (*gold["main"].spans, broken)))
    other = document("x y", ("Z", "x"))
    task = make(KIND, [gold])
    documents = [gold, other]
    every = cuts(documents)
    tagged = {row: task.encode_gold(each, every[row]) for row, each in enumerate(documents)}
    train = list(zip(documents, every, strict=True))
    whole = [each.sentences for each in every]
    assert sorted(task.coverage_notes(train, whole, tagged)) == [
        "task: 2 documents, 1 span to learn from",
        "task: not learnt: 1 span across sentences",
        "task: not learnt: 1 span of labels that are none of its own",
        "task: not learnt: 1 span overlapping others",
        "task: not learnt: 2 spans off word borders or in pieces",
    ]
    cut_before = [((0, 5),), ((0, 2),)]
    assert task.coverage_notes(train, cut_before, tagged)[-1].startswith(
        "task: long sentences of 1 doc"
    )
    assert task.unseen_labels(documents) == {"Z"}


@pytest.mark.parametrize("crf", [True, False])
@EVERY
def test_one_batch_overfits_and_then_decodes_to_gold(scheme, crf):
    gold = [WORDS if scheme == "none" else KIND.example]
    task = make(KIND, gold, scheme=scheme, crf=crf, dropout=0.0)
    laid, made = lay(task, gold), head(task)
    losses = learn(task, made, vectors(laid), laid)
    assert tuple(losses) == task.loss_names
    assert losses["tags"] < 0.2
    assert all(each.grad is not None for each in made.parameters())
    assert said(answer(task, made, laid, vectors(laid))[0]) == said(gold[0])


def test_gold_never_reaches_the_answer():
    task = make(KIND, [KIND.example])
    blank = KIND.example.unannotated().with_layer(Layer("main"))
    made = head(task)
    told, untold = (
        answer(task, made, lay(task, [each]), vectors(lay(task, [each])))
        for each in (KIND.example, blank)
    )
    assert told == untold


@EVERY
def test_what_was_collected_is_plain_data(scheme):
    own = collect(KIND, [WORDS], scheme=scheme)
    back = json.loads(json.dumps(own))
    options = KIND.options(scheme=scheme)
    assert KIND.build(TaskSetup("t", "main", options, back, back)) == KIND.build(
        TaskSetup("t", "main", options, own, own)
    )


def test_o_is_no_label_of_plain_tags():
    gold = document("a b", ("O", "a"), ("X", "b"))
    task = make(KIND, [gold], scheme="none")
    assert task.tags == ("O", "X")
    assert said(recalled(task, [gold])[0]) == [("X", "b")]
    assert said(recalled(make(KIND, [gold]), [gold])[0]) == said(gold)


# --- shared heads --------------------------------------------------------------------------------

FIRST = document("a b c", ("X", "a b"), ("Y", "c"))
SECOND = document("a b c", ("Y", "b"), ("Z", "c"))


def test_a_shared_head_knows_all_tags_and_a_task_answers_with_its_own():
    both = KIND.merge_vocabularies([collect(KIND, [FIRST]), collect(KIND, [SECOND])])
    assert both == {"BIOES": ["X", "Y", "Z"]}
    one, two = (make(KIND, [each], both) for each in (FIRST, SECOND))
    assert one.tags == two.tags == tuple(SCHEMES["BIOES"].tags("XYZ"))
    made = head(one)
    laid = lay(one, [FIRST])
    found = set()
    for seed in range(30):
        torch.manual_seed(seed)
        words = HeadInputs(9 * torch.randn(3, 16))
        mine = [{span.label for span in answer(t, made, laid, words)[0]["main"].spans}
                for t in (one, two)]  # fmt: skip
        assert mine[0] <= {"X", "Y"}
        assert mine[1] <= {"Y", "Z"}
        found |= {(task, label) for task, labels in enumerate(mine) for label in labels}
    assert found == {(0, "X"), (0, "Y"), (1, "Y"), (1, "Z")}


@EVERY
def test_a_head_of_ones_own_allows_what_its_scheme_allows(scheme):
    task = make(KIND, [WORDS], scheme=scheme)
    chain = head(task).crf
    masks = [~each for each in (chain.never_first, chain.never_after, chain.never_last)]
    assert tuple(each.tolist() for each in masks) == SCHEMES[scheme].allowed_transitions(task.tags)


def test_plain_tags_share_a_head_with_others_and_the_two_never_mix():
    names, words = collect(KIND, [FIRST]), collect(KIND, [SECOND], scheme="none")
    both = KIND.merge_vocabularies([words, names])
    assert both == {"BIOES": ["X", "Y"], "none": ["Y", "Z"]}
    one = make(KIND, [FIRST], both)
    two = make(KIND, [SECOND], both, scheme="none")
    assert one.tags == two.tags
    assert one.tags[-2:] == ("Y", "Z")
    chain = head(one).crf
    row = {tag: place for place, tag in enumerate(one.tags)}
    follow = ~chain.never_after
    assert not follow[row["S-X"], row["Z"]]
    assert not follow[row["Z"], row["S-X"]]
    assert follow[row["O"], row["Z"]]
    assert follow[row["O"], row["B-X"]]
    assert follow[row["Z"], row["Y"]]
    assert not follow[row["B-X"], row["O"]]
    for task, gold in ((one, FIRST), (two, SECOND)):
        assert said(recalled(task, [gold])[0]) == said(gold)


def test_schemes_of_spans_share_a_head_and_each_task_keeps_its_own_rules():
    """X is a label of both schemes, so B-X is one tag; only in BIO may O follow it."""
    first, second = document("a b c d", ("X", "a b"), ("Y", "c")), document("a b c", ("X", "b"))
    both = KIND.merge_vocabularies([collect(KIND, [first]), collect(KIND, [second], scheme="BIO")])
    assert both == {"BIO": ["X"], "BIOES": ["X", "Y"]}
    strict, loose = make(KIND, [first], both), make(KIND, [second], both, scheme="BIO")
    assert strict.tags == loose.tags
    made = head(strict)
    row = {tag: place for place, tag in enumerate(strict.tags)}
    assert not made.crf.never_after[row["B-X"], row["O"]]
    for task, gold in ((strict, first), (loose, second)):
        assert said(recalled(task, [gold])[0]) == said(gold)
    laid = lay(loose, [second])
    knows, inputs = knowing(loose, laid)
    (spans,) = [span for span in answer(loose, knows, laid, inputs)[0]["main"].spans]
    assert spans.label == "X"
    for seed in range(20):
        torch.manual_seed(seed)
        words = HeadInputs(9 * torch.randn(4, 16))
        (said_by_strict,) = answer(strict, made, lay(strict, [first]), words)
        assert strict.encode_gold(said_by_strict, *cuts([first])).tags == tuple(
            row[tag] for tag in decoded(strict, made, words)
        )


def decoded(task, made, words):
    """The best tags of four words that the task's own scheme allows, of all sequences."""
    own = task.scheme.tags(task.labels)
    row = {tag: place for place, tag in enumerate(task.tags)}
    starts, follow, ends = task.scheme.allowed_transitions(own)
    emissions, chain = made.eval()(words.word_vectors).detach(), made.crf
    best, score = (), -math.inf
    for path in product(range(len(own)), repeat=4):
        steps = list(pairwise(path))
        if starts[path[0]] and ends[path[-1]] and all(follow[a][b] for a, b in steps):
            ids = [row[own[tag]] for tag in path]
            total = sum(emissions[word, tag] for word, tag in enumerate(ids))
            total += sum(chain.transitions[a, b] for a, b in pairwise(ids))
            total += chain.start_transitions[ids[0]] + chain.end_transitions[ids[-1]]
            if total > score:
                best, score = [own[tag] for tag in path], total
    return best


# --- metrics -------------------------------------------------------------------------------------


def test_words_count_one_by_one_where_tags_have_no_prefix():
    """Bare B and I are two labels (Changpinyo et al. 2018): of four words three are right."""
    gold = document("a b c d", ("B", "a"), ("I", "b"), ("B", "d"))
    wrong = document("a b c d", ("B", "a"), ("I", "b"), ("I", "d"))
    task = make(KIND, [gold], scheme="none", metric="changpinyo", label_metrics=("I",))
    metrics = task.metrics(task.compute_metrics([gold], [wrong]))
    assert tuple(metrics) == task.metric_names
    assert metrics == {
        "changpinyo": pytest.approx(2 / 3),
        "span_f1": pytest.approx(2 / 3),
        "balanced_accuracy": pytest.approx(3 / 4),
        "f1_I": pytest.approx(2 / 3),
    }


@pytest.mark.parametrize("scheme", ["none", "BIO"])
def test_f1_of_single_labels_has_counts_per_document(scheme):
    """Their totals give the metric, so it gets an interval and a test as the others do."""
    gold = [document("a b c d", ("X", "a"), ("Y", word), name=word) for word in "bcd"]
    wrong = [
        document("a b c d", ("X", "a"), ("X", "b"), name="b"),
        document("a b c d", ("X", "a"), ("Y", "c"), name="c"),
        document("a b c d", name="d"),
    ]
    task = make(KIND, gold, scheme=scheme, metric="changpinyo", label_metrics=("X", "Y"))
    report = task.compute_metrics(gold, wrong)
    metrics, counts = task.metrics(report), report.per_document_counts()
    assert counts["f1_X"].rows.tolist() == [[1, 2, 1], [1, 1, 1], [0, 0, 1]]
    assert counts["f1_Y"].rows.tolist() == [[0, 0, 1], [1, 1, 1], [0, 0, 1]]
    for name in ("changpinyo", "span_f1", "f1_X", "f1_Y"):
        stored = loads(counts[name].dumps())
        bounds = interval(stored)
        assert stored.value == pytest.approx(metrics[name])
        assert bounds.low <= metrics[name] <= bounds.high
    plain = make(KIND, gold, scheme=scheme, metric="changpinyo").compute_metrics(gold, wrong)
    assert [*plain.per_document_counts(), "f1_X", "f1_Y"] == list(counts)
    assert plain.to_json() == report.to_json()


def test_balanced_accuracy_is_over_the_labels_of_gold():
    """A label that is only predicted has no recall of its own."""
    train = document("a b c d", ("A", "a"), ("B", "b"))
    gold = document("a b c d", *(("A", word) for word in "abcd"))
    wrong = document("a b c d", *(("A", word) for word in "abc"), ("B", "d"))
    task = make(KIND, [train], scheme="none", metric="changpinyo")
    metrics = task.metrics(task.compute_metrics([gold], [wrong]))
    assert metrics["balanced_accuracy"] == pytest.approx(3 / 4)


@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
def test_spans_count_whole_where_tags_have_a_prefix(scheme):
    """A span that tags cannot hold is missed by the F1 of spans, and unseen by that of tags."""
    gold = document("a b c d", ("X", "a b"), ("X", "b c"), ("Y", "d"))
    part = document("a b c d", ("X", "a"), ("Y", "d"))
    task = make(KIND, [gold], scheme=scheme, metric="changpinyo")
    report = task.compute_metrics([gold], [part])
    assert task.metrics(report)["changpinyo"] == pytest.approx(1 / 2)
    assert task.metrics(report)["span_f1"] == pytest.approx(2 / 5)
    assert list(report.per_document_counts())[0] == "changpinyo"
    assert "tags as Changpinyo" in report.to_table()


@pytest.mark.parametrize("scheme", ["none", "BIO"])
def test_spans_within_blanks_have_tags_where_no_words_are_given(scheme):
    gold = document("to Rome, or Bern?", ("X", "Rome"), ("X", "Bern"))
    part = document("to Rome, or Bern?", ("X", "Rome,"), ("X", "Bern"))
    task = make(KIND, [gold], scheme=scheme, metric="changpinyo")
    assert task.metrics(task.compute_metrics([gold], [gold]))["changpinyo"] == 1
    tags = task.compute_metrics([gold], [part]).tags.micro
    assert (tags.hits, tags.predicted, tags.gold) == (1, 2, 2)


@pytest.mark.parametrize("scheme", ["none", "BIO", "BILOU"])
def test_predictions_do_not_change_what_gold_is(scheme):
    gold = document("add 50ml now", ("V", "add"), ("N", "50ml"))
    wrong = document("add 50ml now", ("V", "add"), ("X", "ml"))
    task = make(KIND, [gold], scheme=scheme, metric="changpinyo")
    tags = task.compute_metrics([gold], [wrong]).tags.micro
    assert (tags.hits, tags.predicted, tags.gold) == (1, 2, 2)


@given(data=st.data())
def test_the_metric_is_that_of_the_scorer_on_the_same_tags(data, tmp_path_factory):
    """Written as two files of tags and read by ``spanloom score``, both sides count the same."""
    labels = st.lists(st.sampled_from(["O", "NOUN", "VERB"]), min_size=4, max_size=4)
    sides = [data.draw(labels), data.draw(labels)]
    documents = [
        document("a b c d", *(pair for pair in zip(side, "abcd", strict=True) if pair[0] != "O"))
        for side in sides
    ]
    task = make(KIND, [WORDS], scheme="none", metric="changpinyo")
    folder = tmp_path_factory.mktemp("tags")
    for name, side in zip(("gold", "predicted"), sides, strict=True):
        (folder / name).write_text("".join(f"w\t{tag}\n" for tag in side))
    official = changpinyo.KIND.score(folder / "gold", folder / "predicted", {})
    ours = task.metrics(task.compute_metrics(documents[:1], documents[1:]))["changpinyo"]
    assert 100 * ours == pytest.approx(official["f1"], abs=0.006)


# --- whole runs ----------------------------------------------------------------------------------

TEXT = "add the warm buffer .\nspin cells"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("tags")
    tiny.recipe(place)
    return place


def run(home, out, tasks, **changes):
    """Train a tiny recipe; return what was said, and the model as it is loaded."""
    stage = {"tasks": list(tasks), "batch_words": 64, "precision": "fp32", "epochs": 1}
    made = {name: {"data": "corpus", **each} for name, each in tasks.items()}
    path = tiny.recipe(home, tasks=made, stages=[stage], **changes)
    lines = []
    train(resolve(recipes.load(path), home), home / out, lines.append, device="cpu")
    return lines, serialization.load(home / out, device="cpu")


def test_tags_and_word_pairs_train_save_and_annotate(home):
    tasks = {
        "names": {"kind": "sequence_tagging"},
        "steps": {"kind": "word_relations", "hidden_size": 8},
    }
    lines, model = run(home, "both", tasks)
    assert any(line.startswith("names: 6 documents, ") for line in lines)
    assert any(line.startswith("steps: 6 documents, ") for line in lines)
    assert any("names.span_f1" in line and "steps.relation_f1" in line for line in lines)
    found = model(TEXT)
    assert found == serialization.load(home / "both", device="cpu")(TEXT)
    assert {each.name for each in found.layers} == {"names", "steps"}
    assert {each.label for each in found["steps"].spans} <= {"word"}


def test_given_spans_are_kept_in_a_whole_run(home):
    _, model = run(
        home, "given", {"steps": {"kind": "word_relations", "hidden_size": 8, "gold_spans": True}}
    )
    words = ("Action", "add"), ("Reagent", "buffer"), ("Thing", "spin"), ("Reagent", "cells")
    gold = document(TEXT, *words)
    (found,) = model.annotate([gold])
    assert said(found) == said(gold)
    assert [each.label for each in found["main"].events] == ["Action"]


@pytest.mark.parametrize("sharing", ["task-embedding", "task-token", "shared-head"])
def test_two_tasks_of_tags_share_one_head(home, sharing):
    tasks = {
        "names": {"kind": "sequence_tagging"},
        "words": {"kind": "sequence_tagging", "scheme": "none"},
    }
    _, model = run(home, sharing, tasks, sharing=sharing)
    assert list(model.network.heads) == ["tags"]
    found = model(TEXT)
    labels = {span.label for layer in found.layers for span in layer.spans}
    assert labels <= set(tiny.LABELS.values())


def test_word_pairs_cannot_share_a_head(home):
    with pytest.raises(RecipeError, match="'word_relations' cannot share its head"):
        run(home, "none", {"steps": {"kind": "word_relations"}}, sharing="shared-head")
