"""CaRB: golden cases, tuples compared by hand, all partners tried, broken lines."""

import json
import random
from collections import Counter
from contextlib import suppress
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import FormatError
from spanloom.metrics.tuples import NoMatchError, Tuple, curve, lenient, simple, strict
from spanloom.scoring.carb import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]


@pytest.fixture
def scored(tmp_path):
    """Score lines whose cells are parted by bars."""

    def run(gold, predicted, options=()):
        one, two = tmp_path / "gold.tsv", tmp_path / "pred.tsv"
        one.write_text(gold.replace("|", "\t"), encoding="utf-8")
        two.write_text(predicted.replace("|", "\t"), encoding="utf-8")
        return KIND.score(one, two, dict.fromkeys(options, ""))

    return run


@pytest.mark.parametrize("case", CASES)
def test_golden(golden, case):
    folder = golden("carb") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["scores"]
    options = {option: "" for each in expected.values() for option in each["options"]}
    scores = KIND.score(folder / "gold.tsv", folder / "pred.tsv", options)
    golden.count(1)
    assert json.loads(json.dumps(scores)) == expected


def test_every_golden_case_is_listed(golden):
    assert sorted(each.name for each in golden("carb").iterdir() if each.is_dir()) == CASES


def of(text):
    """Write "ate|Ada|an apple" as a tuple."""
    relation, *arguments = text.split("|")
    return Tuple(relation, tuple(arguments))


@pytest.mark.parametrize(
    ("gold", "predicted", "precision", "recall"),
    [
        ("ate|Ada|an apple", "ate|Ada|apple", 3 / 3, 3 / 4),
        ("ate|Ada|an apple", "ate|ada|an apple", 3 / 4, 3 / 4),  # case matters
        ("ate|Ada|an apple", "saw|Ada|an apple", 0, 0),  # no word of the relation
        ("is in|it|town", "be|it|town", 3 / 3, 3 / 4),  # a form of be
        ("be in|it|town", "be be|it|town", 4 / 4, 4 / 4),  # once as a word, once as a form
        ("ate|Ada|it|at noon", "ate|Ada|it at noon", 5 / 5, 5 / 5),  # the others are one
        ("ate|Ada|it", "ate|Ada", 0, 0),  # an argument is lacking
        ("ate|Ada", "ate|Ada|it", 2 / 2, 2 / 2),  # one too many is not counted
        ("said|it|Ada", "said|Ada|it", 3 / 3, 3 / 3),  # the other way round
        ("ate|it|Ada", "ate|Ada|it", 1 / 3, 1 / 3),
        ("ate", "ate|Ada", 1, 1),
    ],
)
def test_lenient_by_hand(gold, predicted, precision, recall):
    assert lenient(of(gold), of(predicted)) == (precision, recall)


def test_simple_and_strict_by_hand():
    gold = of("ate|Ada|an apple|at noon")
    assert simple(gold, of("saw|Ada|an apple")) == (3 / 4, 3 / 6)
    assert strict(gold, of("ate|Ada|apple")) == (3 / 3, 3 / 6)
    assert strict(gold, of("ate|Ada|apple|noon|now")) == (4 / 4, 4 / 6)
    for other in ("saw|Ada|apple", "ate|Bob|apple", "ate|Ada"):
        with pytest.raises(NoMatchError):
            strict(gold, of(other))
    with pytest.raises(NoMatchError):
        simple(gold, of("ate"))
    with pytest.raises(NoMatchError):
        simple(of("|"), of("a|"))


def test_confidences_are_thresholds(scored):
    gold = "a b|ate|Ada|it\na b|saw|Ada|it\nc|is|x|y\n"
    predicted = "a b|0.9|ate|Ada|it\na b|0.5|none|z|z\nd|0.7|is|x|y\n"
    scores = scored(gold, predicted)["default"]
    assert scores["curve"] == [[0.5, 1 / 3, 0.5], [1.0, 1 / 3, 0.7], [1.0, 1 / 3, 0.9]]
    assert scores["optimal"] == [1.0, 0.333, 0.5]
    assert scores["auc"] == 0.333


def test_of_two_spellings_of_a_sentence_the_last_counts(scored):
    predicted = "a b|0.9|ate|Ada|it\nab .|0.5|none|z|z\n"
    curve = scored("a b|ate|Ada|it\n", predicted)["default"]["curve"]
    assert curve == [[0.0, 0.0, 0.5]]


def test_nothing_predicted_and_nothing_right(scored):
    assert scored("a|b|c\n", "")["default"]["printed"].endswith("(0, 0, 0)")
    scores = scored("a|b|c\n", "a|1|d|c\n")["default"]
    assert (scores["optimal"], scores["printed"][-7:]) == ([0, 0, 0], "[0 0 0]")


def test_binary_repeats_the_last(scored):
    gold = "s|gave|Ada|Bob|to Eve|at noon\n"
    right = scored(gold, "s|1|gave Bob at|Ada|noon\n")["binary"]
    assert right["curve"] == [[1.0, 1.0, 1.0]]
    assert scored(gold, "s|1|gave Bob to|Ada|Eve\n")["binary"]["curve"] == [[3 / 5, 3 / 5, 1.0]]


def test_a_matcher_that_fails_alone(scored):
    scores = scored("s|gave|Ada|it\n", "s|1|gave\n", ["--strictMatch"])
    assert [each["exit_code"] for each in scores.values()] == [0, 0, 1, 1]
    assert scores["simpleMatch"]["error"] == "IndexError: list index out of range"
    assert "IndexError" in KIND.table(scores)


@pytest.mark.parametrize("predicted", ["\n", "s|1\n", "s|x|gave|Ada\n", "s|nan|gave|Ada\n"])
def test_what_is_refused(scored, predicted):
    with pytest.raises(FormatError) as error:
        scored("s|gave|Ada|it\n", "s|1|gave|Ada|it\n" + predicted)
    assert error.value.line == 2


def test_broken_files_are_told(scored):
    rng = random.Random(5)
    whole = "s t|1|gave|Ada|it\nu|0.5|is|x|y\n"
    for _ in range(60):
        letters = list(whole)
        for _ in range(rng.randint(1, 5)):
            letters[rng.randrange(len(letters))] = rng.choice("|\n 1e.-\x00\u2028")
        with suppress(FormatError):
            scored("s t|gave|Ada|it\nu|is|x|y\n", "".join(letters))


WORDS = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(" ".join)
TUPLES = st.lists(
    st.builds(Tuple, WORDS, st.tuples(WORDS, WORDS), st.just(1.0)), min_size=1, max_size=3
)


@given(TUPLES, TUPLES)
def test_partners_as_if_all_were_tried(gold, predicted):
    (point,) = curve({"s": gold}, {"s": predicted}, simple)

    def share(one, two, side):
        parts = [(one.relation, two.relation), *zip(one.arguments, two.arguments, strict=True)]
        both = sum((Counter(a.split()) & Counter(b.split())).total() for a, b in parts)
        return both / sum(len(part[side].split()) for part in parts)

    recall = sum(max(share(one, two, 0) for two in predicted) for one in gold)
    assert point.recall == pytest.approx(recall / len(gold))
    few, many = sorted((range(len(gold)), range(len(predicted))), key=len)
    best = max(
        sum(
            share(gold[a], predicted[b], 1)
            if len(gold) <= len(predicted)
            else share(gold[b], predicted[a], 1)
            for a, b in zip(few, order, strict=False)
        )
        for order in permutations(many, len(few))
    )
    assert point.precision * len(predicted) <= best + 1e-9  # greedy is never better
    assert point.precision * len(predicted) >= best / 2 - 1e-9  # nor worse than half


@given(TUPLES)
def test_gold_against_itself_is_right(tuples):
    assert curve({"s": tuples}, {"s": tuples}, lenient) == [(1.0, 1.0, 1.0)]
