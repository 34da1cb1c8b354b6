"""Extraction as in SpEx-BERT: what is read first, words of choices, ends, and no answer at all."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from flat_bench import PIECES, SPLIT, answer, collect, cuts, lay, make
from hypothesis import given
from hypothesis import strategies as st
from test_extract_tasks import CHOICE, NUMBER, QUESTION, asking, knowing, pairs, recalled, reviews
from test_extract_tasks import said as answers_of

from spanloom.annotation.text_pairs import classification_of
from spanloom.config.options import validate_options
from spanloom.config.yaml import SourceLocation
from spanloom.corpora.card import LabelPrompt
from spanloom.data.choice_bounds import place_choices
from spanloom.data.instances import tokenize_prompt
from spanloom.decoding.span_selection import best_answer_span, best_independent_ends
from spanloom.errors import DataError, RecipeError
from spanloom.nn.start_end import StartEndScorer
from spanloom.tasks import TaskSetup
from spanloom.tensors import HeadInputs

read = partial(tokenize_prompt, split=SPLIT, pieces=PIECES)
NLI = ("entailment", "contradiction", "neutral")


# what is read first


@pytest.mark.parametrize("order", ["prompt-first", "source-first"])
@pytest.mark.parametrize("kind", [CHOICE, NUMBER])
def test_both_orders_say_gold_by_heart(kind, order):
    gold = pairs("no", "no", "no", value=2.0) if kind is NUMBER else pairs("no", "yes", "no")
    task = make(kind, gold, order=order)
    assert lay(task, gold).units[0].prompt.after_text == (order == "source-first")
    report = task.compute_metrics(gold, recalled(task, gold))
    assert len(report.pairs) == len(gold)
    assert all(a == b for a, b in report.pairs)


def test_both_texts_are_the_prompt_where_they_are_joined():
    gold = pairs("no", "yes")
    (unit, _) = lay(make(CHOICE, gold, texts="joined"), gold).units
    assert unit.tokens == ("no", "yes")
    assert unit.prompt.tokens == ("It", "rains", "0", ".", "It", "is", "wet", ".")
    assert not unit.words
    found = recalled(make(CHOICE, gold, texts="joined"), gold)
    assert [each["main"].relations[0].label for each in found] == ["no", "yes"]


# words of choices


def test_choices_are_found_in_the_wording_the_longer_ones_first():
    wording, bounds = place_choices(("a", "not a"), "is it a or not a ?", read)
    assert wording.tokens == ("is", "it", "a", "or", "not", "a", "?")
    assert bounds == ((2, 3), (4, 6))


@pytest.mark.parametrize(
    ("choices", "wording", "message"),
    [
        (("good", "bad"), "good or fine ?", "choice 'bad' once in 'good or fine .', found it 0"),
        (("good", "bad"), "good or bad , good ?", "'good' once .* found it 2 times"),
    ],
)
def test_a_choice_that_is_not_there_once_is_refused(choices, wording, message):
    with pytest.raises(ValueError, match=message):
        place_choices(choices, wording, read)


def test_choices_that_the_encoder_reads_alike_are_named_before_training():
    task = make(CHOICE, reviews("good", "bad"))  # its tokenizer knows no word
    with pytest.raises(ValueError, match="reads the choices 'bad' and 'good' alike"):
        task.reader.check(read)


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=2).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=3, unique=True), st.text("abc ", max_size=12))
def test_what_is_found_is_the_choice_and_overlaps_no_other(choices, wording):
    if not wording.strip():
        return
    try:
        prompt, bounds = place_choices(choices, wording, read)
    except ValueError:
        return
    for choice, (start, end) in zip(choices, bounds, strict=True):
        assert list(prompt.tokens[start:end]) == [*read(choice).tokens]
    covered = [row for start, end in bounds for row in range(start, end)]
    assert len(covered) == len(set(covered))


CARD = LabelPrompt(verbalizer={"0": "negative", "1": "positive"}, prompt="negative or positive?")


@pytest.mark.parametrize(
    ("options", "forms"),
    [
        ({}, ("negative", "or", "positive", "?")),
        ({"verbalizer": {"1": "good"}}, ("0", "good")),
        ({"prompt": "is it 0 or 1 ?"}, ("is", "it", "0", "or", "1", "?")),
        ({"prompt": "positive or negative ?"}, ("positive", "or", "negative", "?")),
        ({"prompt": ""}, ("negative", "positive")),
        ({"verbalizer": {"0": "bad", "1": "good"}}, ("bad", "good")),
        (
            {"verbalizer": {"0": "positive", "1": "negative"}},
            ("negative", "or", "positive", "?"),
        ),
    ],
)
def test_the_card_says_how_labels_are_read_unless_the_recipe_does(options, forms):
    gold = reviews("0", "1")
    chosen = CHOICE.complete(CHOICE.options(**options), CARD)
    train = list(zip(gold, cuts(gold), strict=True))
    vocabulary = CHOICE.infer_vocabulary(chosen, "main", train)
    task = CHOICE.build(
        TaskSetup("task", "main", CHOICE.options(**options), vocabulary, vocabulary)
    )
    assert lay(task, gold).units[0].tokens == forms
    found = recalled(task, gold)
    assert [classification_of(each, "main").label for each in found] == ["0", "1"]


def test_a_prompt_without_the_words_of_the_card_names_these():
    chosen = CHOICE.complete(CHOICE.options(prompt="good or bad?"), CARD)
    assert chosen.verbalizer == CARD.verbalizer


@pytest.mark.parametrize(("key", "unused"), [("1", []), ("postive", ["'postive'"])])
def test_a_choice_that_train_does_not_have_is_reported(key, unused):
    gold = reviews("0", "1")
    task = make(CHOICE, gold, verbalizer={"0": "bad", key: "good"})
    encoded = {
        row: task.encode_gold(each, cut)
        for row, (each, cut) in enumerate(zip(gold, cuts(gold), strict=True))
    }
    _, *notes = task.coverage_notes([], [], encoded)
    assert notes == [f"task: choices that no text of train has: {label}" for label in unused]


def test_a_vocabulary_without_a_choice_for_each_label_is_refused():
    own = collect(CHOICE, reviews("good", "bad")) | {"choices": ["good"]}
    with pytest.raises(DataError, match="a choice for each of its labels"):
        CHOICE.build(TaskSetup("task", "main", CHOICE.options(), own, own))


def test_other_labels_and_ranges_take_the_place_of_those_learnt():
    task = make(CHOICE, reviews("good", "bad"), order="source-first").with_labels(("warm", "cold"))
    unit = lay(task, reviews("warm")).units[0]
    assert (unit.tokens, unit.prompt.after_text) == (("cold", "warm"), True)
    gold = reviews("cold", "warm")
    assert [classification_of(e, "main").label for e in recalled(task, gold)] == ["cold", "warm"]
    number = make(NUMBER, pairs("like", value=1.0), min=0, max=2).with_range(1, 3)
    assert (number.scale.low, number.scale.high) == (1, 3)
    assert number.reader.reader.choices[0] == "1.0"
    with pytest.raises(ValueError, match="low below high"):
        number.with_range(3, 1)


MOODS = {"verbalizer": {"0": "negative", "1": "positive"}, "prompt": "negative or positive ?"}


@pytest.mark.parametrize("labels", [("Positive", "negative"), ("1", "0")])
def test_labels_that_were_learnt_are_read_as_they_were_learnt(labels):
    learnt = make(CHOICE, reviews("0", "1"), **MOODS)
    task = learnt.with_labels(labels)
    assert task.reader == learnt.reader
    assert task.labels == labels[::-1]  # in the order of the choices


@pytest.mark.parametrize(
    ("labels", "wording"),
    [
        (("cold", "warm"), "cold or warm?"),
        (("cold", "Hot", "warm"), "cold, Hot, or warm?"),
        (("mixed", "negative", "positive"), "mixed, negative, or positive?"),
    ],
)
def test_other_labels_are_asked_as_the_learnt_ones_were(labels, wording):
    task = make(CHOICE, reviews("0", "1"), **MOODS).with_labels(labels)
    assert (task.labels, task.reader.reader.wording) == (labels, wording)
    assert make(CHOICE, reviews("0", "1"), **MOODS).with_labels(labels[::-1]) == task
    assert place_choices(task.reader.reader.choices, wording, read)
    assert not task.with_labels(("a", "b"), as_question=False).reader.reader.wording
    assert not make(CHOICE, reviews("0", "1")).with_labels(labels).reader.reader.wording


@pytest.mark.parametrize("options", [MOODS, {}])
@pytest.mark.parametrize("num_labels", [2, 3, 4, 7])
def test_other_labels_are_read_in_several_orders(options, num_labels):
    labels = ("boiling", "chilly", "cold", "hot", "mild", "tepid", "warm")[:num_labels]
    task = make(CHOICE, reviews("0", "1"), **options).with_labels(labels)
    units = lay(task, reviews("0")).units
    for unit in units:
        assert tuple(" ".join(unit.tokens[a:b]) for a, b in unit.choices) == labels
    first = {min(zip(unit.choices, labels, strict=True))[1] for unit in units}
    assert len(first) == len(units) == min(num_labels, 4)
    learnt = make(CHOICE, reviews("0", "1"), **options)
    assert len(lay(learnt.with_labels(("1", "0")), reviews("0")).units) == 1


@pytest.mark.parametrize("labels", [("warm", "cold"), ("cold", "warm")])
def test_where_a_new_label_stands_has_no_say(labels):
    (document,) = reviews("0")
    task = make(CHOICE, reviews("0", "1"), **MOODS).with_labels(labels)
    by_first_word = {"warm": {"warm": 0.9, "cold": 0.1}, "cold": {"warm": 0.4, "cold": 0.6}}
    predictions = [
        (unit, tuple(by_first_word[unit.tokens[0]][label] for label in task.labels))
        for unit in lay(task, [document]).units
    ]
    (span,) = task.to_layer(document, predictions, lambda _: "T1").spans
    assert (span.label, span.score) == ("warm", pytest.approx(0.65))


@pytest.mark.parametrize("buckets", [2, 6, 11, 41])
def test_buckets_divide_a_range_evenly(buckets):
    task = make(NUMBER, pairs("like", value=1.0), min=0, max=5, buckets=buckets)
    numbers = [float(choice) for choice in task.reader.reader.choices]
    assert numbers == pytest.approx(np.linspace(0, 5, buckets).tolist())


@pytest.mark.parametrize("options", [{"buckets": 5}, {"buckets": 5, "min": 0, "max": 1, "step": 1}])
def test_buckets_need_a_range_and_no_step(options):
    with pytest.raises(RecipeError, match="expected min and max, and no step"):
        validate_options(NUMBER.options, options, SourceLocation())


# ends of spans

SCORES = st.lists(st.integers(-3, 3), min_size=1, max_size=6)


@given(SCORES, st.data(), st.integers(1, 6))
def test_independent_ends_are_each_the_best(starts, data, widest):
    size = len(starts)
    ends = data.draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
    found = best_independent_ends(np.array(starts, float), np.array(ends, float), widest)
    first, last = starts.index(max(starts)), ends.index(max(ends))
    if first <= last < first + widest:
        assert found == (first, last + 1, starts[first] + ends[last])
        joint = best_answer_span(np.array(starts, float), np.array(ends, float), widest)
        assert joint[2] == found[2]  # where the best ends make a span, it is the best span
    else:
        assert found is None


def scored(laid, rows):
    """Vectors that give words these scores, and ``[CLS]`` its own after them."""
    size = int(laid.batch.instances[-1, 1])
    rows = torch.tensor(rows, dtype=torch.float32)
    return HeadInputs(rows[:size], rows[size:])


def test_independent_ends_that_are_no_choice_say_nothing():
    gold = reviews("bad", "good")[:1]
    task = make(CHOICE, reviews("bad", "good"), span_selection="independent")
    laid = lay(task, gold)
    assert laid.units[0].tokens == ("bad", "good")
    head, _ = knowing(laid)
    (crossed,) = answer(task, head, laid, scored(laid, [[0, 3], [1, 0], [0, 0]]))
    assert not crossed["main"].spans
    (agreed,) = answer(task, head, laid, scored(laid, [[2, 3], [1, 0], [0, 0]]))
    assert classification_of(agreed, "main").label == "bad"
    start, end = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-3))
    assert agreed["main"].spans[0].score == pytest.approx(start * end)
    joint = make(CHOICE, reviews("bad", "good"))
    (found,) = answer(joint, head, laid, scored(laid, [[0, 3], [1, 0], [0, 0]]))
    assert classification_of(found, "main").label == "bad"


def test_independent_ends_of_numbers_say_a_number_or_nothing():
    gold = reviews("film")[:1]
    task = make(NUMBER, gold, span_selection="independent", min=0, max=1, step=1)
    size = len(lay(task, gold).units[0].tokens)
    (first, last), numbers = lay(task, gold).units[0].choices, np.zeros((size, 2))
    numbers[first[0], 0] = numbers[last[1] - 1, 1] = 3
    assert task.choice_probs(numbers, (first, last)) == (0.0, 0.0)
    numbers[first[1] - 1, 1] = 9
    assert task.choice_probs(numbers, (first, last))[0] > 0


def test_an_expected_number_is_the_mean_of_all_by_their_probabilities():
    gold = reviews("film")[:1]
    task = make(NUMBER, gold, number="expected", min=0, max=2, step=0.5)
    label, prob = task.choose(np.array([0.1, 0.0, 0.2, 0.6, 0.1]))
    assert label.value == pytest.approx(0.2 * 1 + 0.6 * 1.5 + 0.1 * 2)
    assert prob == 0.6  # of 1.5, the nearest number
    likeliest, _ = make(NUMBER, gold, min=0, max=2, step=0.5).choose(
        np.array([0.4, 0, 0, 0.3, 0.3])
    )
    assert likeliest.value == 0
    laid = lay(task, gold)
    head, _ = knowing(laid)
    rows = [[0, 0]] * (int(laid.batch.instances[-1, 1]) + 1)
    (found,) = answer(task, head, laid, scored(laid, rows))
    assert classification_of(found, "main").value == pytest.approx(1)


def test_an_expected_number_needs_spans():
    options = {"number": "expected", "span_selection": "independent"}
    with pytest.raises(RecipeError, match="span_selection must be joint"):
        validate_options(NUMBER.options, options, SourceLocation())


# no answer


def test_an_unanswerable_query_points_to_the_word_behind_the_text():
    gold = [asking(["Ada"], []), asking([], ["met Bob"], name="e")]
    task = make(QUESTION, gold, no_answer="word", order="source-first")
    laid = lay(task, gold)
    unit = laid.units[1]
    assert unit.tokens[-1] == "unanswerable"
    assert unit.choices == ((len(unit.words), len(unit.tokens)),)
    size = int(laid.batch.instances[-1, 1])
    assert laid.targets[:, :2].lt(size).all()  # "[CLS]" is never right
    assert not task.has_no_answer
    found = recalled(task, gold)
    assert [answers_of(each) for each in found] == [answers_of(each) for each in gold]


@pytest.mark.parametrize("limit", [8, 20])
def test_the_word_stands_at_the_end_whatever_the_windows(limit):
    gold = [asking(["Ada"], [], ["London"])]
    task = make(QUESTION, gold, no_answer="word")
    laid = lay(task, gold, limit)
    assert all(unit.windows[-1][1] == len(unit.tokens) for unit in laid.units)
    assert answers_of(recalled(task, gold, limit)[0]) == answers_of(gold[0])


def test_without_no_answer_each_query_is_answered_and_only_answers_are_learnt():
    gold = [asking(["Ada"], [])]
    task = make(QUESTION, gold, no_answer="never")
    laid = lay(task, gold)
    assert task.count_items(laid.batch, laid.targets) == 1
    assert task.decisions == {}
    head, _ = knowing(laid)
    words = [[0, 0]] * 12
    found = answer(task, head, laid, scored(laid, [*words, [99, 99], [99, 99]]))
    assert [len(spans) for spans in answers_of(found[0]).values()] == [1, 1]
    score = found[0]["main"].spans[0].score
    assert score == pytest.approx(1 / 36)  # of six words each may be first, and last


def test_the_bias_of_an_answer_moves_both_ends():
    gold = [asking(["Ada"], [])]
    collected = collect(QUESTION, gold)
    laid = lay(make(QUESTION, gold), gold)
    head, _ = knowing(laid)
    vectors = scored(laid, [*([[1.0, 1.0]] * 12), [2.0, 2.0], [2.0, 2.0]])  # 2 below "no answer"

    def num_answers(bias):
        setup = TaskSetup("t", "main", QUESTION.options(), collected, collected, {"answer": bias})
        task = QUESTION.build(setup)
        assert task.decisions == {"answer": "f1"}
        (found,) = answer(task, head, laid, vectors)
        return len(found["main"].spans)

    assert [num_answers(bias) for bias in (0.0, 0.99, 1.01, 3.0)] == [0, 0, 2, 2]


def test_a_task_whose_train_always_answers_has_nothing_to_decide():
    assert make(QUESTION, [asking(["Ada"])]).decisions == {}
    assert make(QUESTION, [asking(["Ada"], [])]).decisions == {"answer": "f1"}


# the softmax


@given(st.integers(0, 99))
def test_the_softmax_of_choices_is_over_the_source_alone(seed):
    gold = pairs("no", "yes")
    task = make(CHOICE, gold, dropout=0.0)
    laid = lay(task, gold)
    torch.manual_seed(seed)
    size = int(laid.batch.instances[-1, 1])
    vectors = HeadInputs(torch.randn(size, 4), torch.randn(2, 4))
    head = StartEndScorer(4, 0.0)
    losses = task.loss(head, vectors, laid.batch, laid.targets)
    scores = head(vectors.word_vectors, vectors.cls_vectors).detach()[:size]
    total = 0.0
    for first, last, instance in laid.targets.tolist():
        start, end = laid.batch.instances[instance].tolist()
        total += float(scores[start:end].logsumexp(0).sum() - scores[first, 0] - scores[last, 1])
    assert len(laid.targets) == len(gold)
    assert losses["span"].item() == pytest.approx(total, abs=1e-4)
