"""srl-eval: golden cases, propositions counted by hand, an independent count, broken columns."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.props import Argument, column
from spanloom.errors import FormatError
from spanloom.scoring.srl_eval import KIND, match

CASES = [f"case{number:02}" for number in range(1, 13)]
CONFUSED = {"-C": ""}


@pytest.fixture
def scored(tmp_path):
    """Score two texts."""

    def run(gold, predicted, options):
        one, two = tmp_path / "gold.props", tmp_path / "pred.props"
        one.write_text(gold, encoding="utf-8")
        two.write_text(predicted, encoding="utf-8")
        return KIND.score(one, two, options)

    return run


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("options", "exit_code", "scores"),
    [({}, "exit_code", "scores"), (CONFUSED, "exit_code_with_C", "scores_with_C")],
    ids=["plain", "confusion"],
)
def test_golden(golden, case, options, exit_code, scores):
    folder = golden("srl-eval") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    files = folder / "gold.props", folder / "pred.props"
    golden.count(not options)
    if expected.get(exit_code, expected["exit_code"]):
        with pytest.raises(FormatError):
            KIND.score(*files, options)
    else:
        assert json.loads(json.dumps(KIND.score(*files, options))) == expected[scores]


def test_every_golden_case_is_listed(golden):
    assert sorted(each.name for each in golden("srl-eval").iterdir() if each.is_dir()) == CASES


def text(*columns):
    """Spell columns, each cells in one string, as a sentence of a file."""
    rows = zip(*(each.split() for each in columns), strict=True)
    return "\n".join("\t".join(row) for row in rows) + "\n\n"


def counts(scores):
    """Correct, excess and missed of each row."""
    return {
        label: (row["correct"], row["excess"], row["missed"])
        for label, row in scores["rows"].items()
    }


@pytest.mark.parametrize(
    ("gold", "predicted", "perfect", "rows"),
    [
        # V is outside the overall score, and outside what is perfect
        ("(V*) (A0*)", "(V* *)", 0.0, {"Overall": (0, 0, 1), "A0": (0, 0, 1), "V": (0, 1, 1)}),
        ("(V*) *", "(V* *)", 100.0, {"Overall": (0, 0, 0), "V": (0, 1, 1)}),
        # pieces: right as a whole alone
        ("(A0*) * (C-A0*)", "(A0*) * (C-A0*)", 100.0, {"Overall": (1, 0, 0), "A0": (1, 0, 0)}),
        ("(A0*) * (C-A0*)", "(A0*) * *", 0.0, {"Overall": (0, 1, 1), "A0": (0, 1, 1)}),
        ("(A0*) * (C-A0*)", "(A0* * *)", 0.0, {"Overall": (0, 1, 1), "A0": (0, 1, 1)}),
        # a piece joins the latest of its label; without one it is an argument
        (
            "(A0*) (A0*) (C-A0*)",
            "(A0*) (A0* *)",
            0.0,
            {"Overall": (1, 1, 1), "A0": (1, 1, 1)},
        ),
        ("(C-A0*) *", "(A0*) *", 100.0, {"Overall": (1, 0, 0), "A0": (1, 0, 0)}),
        # a label is not its reference
        ("(R-A0*)", "(A0*)", 0.0, {"Overall": (0, 1, 1), "A0": (0, 1, 0), "R-A0": (0, 0, 1)}),
        # of two on the same words the innermost counts
        ("(A0(A1*))", "(A1*)", 100.0, {"Overall": (1, 0, 0), "A1": (1, 0, 0)}),
        # what is within an argument belongs to it
        (
            "(A0(A1*) *)",
            "(A0* *)",
            0.0,
            {"Overall": (0, 1, 2), "A0": (0, 1, 1), "A1": (0, 0, 1)},
        ),
        # closing brackets may be labelled
        (
            "(A0*A0) (V*V)",
            "(A0*) (V*)",
            100.0,
            {"Overall": (1, 0, 0), "A0": (1, 0, 0), "V": (1, 0, 0)},
        ),
    ],
)
def test_rows_counted_by_hand(scored, gold, predicted, perfect, rows):
    lemmas = " ".join(["be", *["-"] * (len(gold.split()) - 1)])
    scores = scored(text(lemmas, gold), text(lemmas, predicted), {})
    assert (scores["propositions"], scores["perfect_props"]) == (1, perfect)
    assert counts(scores) == rows


def test_predicates_without_a_match(scored):
    gold = text("be -", "(V*) (A0*)") + text("- -")
    assert counts(scored(gold, gold.replace("be", "do"), {}))["Overall"] == (0, 0, 1)
    assert counts(scored(gold, text("- be", "(A0*) (V*)") + text("- -"), {}))["Overall"] == (
        0,
        0,
        1,
    )
    assert scored(gold, gold, {})["sentences"] == 2


def test_a_predicate_without_a_column_and_a_column_without_one(scored):
    bare = text("be")
    assert counts(scored(text("be", "(A0*)"), bare, {}))["A0"] == (0, 0, 1)
    assert counts(scored(text("be", "(A0*)"), text("be", "(A0*)", "?"), {}))["A0"] == (1, 0, 0)


def test_cells_move_up_where_a_row_lacks_one(scored):
    assert counts(scored("be\n- (A0*)\n", "be (A0*)\n- *\n", {}))["A0"] == (1, 0, 0)


def test_two_blank_lines_end_the_gold_file(scored):
    one = text("be", "(A0*)")
    assert scored(f"{one}\n{one}", one, {})["sentences"] == 1
    assert scored(f"\n{one}", "", {})["rows"]["Overall"]["f1"] == 0.0


def test_confusion_by_hand(scored):
    gold = text("be - - -", "(V*) (A0*) (A1*) (A2*)")
    predicted = text("be - - -", "(V*) (A0*) (A0*) *")
    scores = scored(gold, predicted, CONFUSED)
    unlabeled = scores["unlabeled"]
    assert (unlabeled["correct"], unlabeled["excess"], unlabeled["missed"]) == (2, 0, 1)
    assert (unlabeled["recall"], unlabeled["label_accuracy"]) == (66.67, 50.0)
    assert scores["confusion"] == {
        "labels": ["-NONE-", "A0", "A1", "A2", "V"],
        "rows": [[0] * 5, [0, 1, 0, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]],
    }
    assert "66.67" in KIND.table(scores)
    with pytest.raises(FormatError, match="right but for its label"):
        scored(gold, text("be - - -", "(V*) * * *"), CONFUSED)


@pytest.mark.parametrize(
    "cells", ["(A0* *", "*) *", "(A0*A1) *", "* x", "(*) *", "** *", "(A0*) *)x"]
)
def test_broken_columns(scored, cells):
    good = text("be -", "* *")
    with pytest.raises(FormatError, match=r"pred\.props:[45]: expected"):
        scored(good * 2, good + text("be -", cells), {})


def test_sentences_of_different_length(scored):
    with pytest.raises(
        FormatError, match=r"pred\.props:3: expected 1 words as in gold\.props, got 2"
    ):
        scored(text("-") * 2, text("-") + text("- -"), {})
    with pytest.raises(FormatError, match="got 0"):
        scored(text("-") * 2, text("-"), {})
    assert scored(text("-"), text("-") * 2, {})["sentences"] == 1


def test_mutations_raise_nothing_else(scored):
    dice = random.Random(9)
    good = text("be - do", "(V*) (A0* *)", "(A1(A2*) *) (V*)") + text("- -")
    for _ in range(100):
        letters = list(good)
        for _ in range(dice.randint(1, 4)):
            letters[dice.randrange(len(letters))] = dice.choice("()* -C\n\t\x00é")
        for sides in ((good, "".join(letters)), ("".join(letters), good)):
            for options in ({}, CONFUSED):
                try:
                    assert KIND.table(scored(*sides, options))
                except FormatError:
                    continue


def test_a_long_row_is_quick(scored):
    long = "be" + " *" * 200_000 + "\n" + "- *\n" * 20_000
    assert scored(long, long, {})["propositions"] == 1


SPANS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["A0", "A1", "C-A0", "R-A0", "V"])), max_size=4
)


def argue(drawn):
    """Make arguments side by side, of one or two words."""
    starts = sorted({start for start, _ in drawn})
    labels = dict(drawn)
    ends = [*starts[1:], 6][: len(starts)]
    return [
        Argument(start, min(end, start + 2), labels[start])
        for start, end in zip(starts, ends, strict=True)
    ]


@given(SPANS, SPANS)
def test_an_independent_count(one, two):
    def whole(arguments):
        found = []
        for start, end, label in arguments:
            plain = label.removeprefix("C-")
            heads = [each for each in found if each[0] == plain]
            if plain != label and heads:
                heads[-1][1].append((start, end))
            else:
                found.append((plain, [(start, end)]))
        return {(label, tuple(pieces)) for label, pieces in found}

    gold, predicted = argue(one), argue(two)
    found = match(gold, predicted)
    mine, theirs = whole(gold), whole(predicted)
    assert sorted(label for label, _ in found.hits) == sorted(each[0] for each in mine & theirs)
    assert sorted(found.missed) == sorted(each[0] for each in mine - theirs)
    assert sorted(found.excess) == sorted(each[0] for each in theirs - mine)
    assert all(label == other for label, other in found.hits)
    free = match(gold, predicted, with_labels=False)
    assert len(free.hits) >= len(found.hits)
    assert match(gold, gold).perfect
    assert column(gold, 6)
