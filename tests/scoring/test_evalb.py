"""evalb: golden cases, sentences counted by hand, an independent count, and what is no tree."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import FormatError
from spanloom.metrics.constituents import COLLINS, Sentence, compare
from spanloom.scoring.evalb import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]


@pytest.fixture
def scored(tmp_path):
    """Score two texts; the program has no options here."""

    def run(gold, predicted):
        one, two = tmp_path / "gold.mrg", tmp_path / "test.mrg"
        one.write_text(gold, encoding="utf-8")
        two.write_text(predicted, encoding="utf-8")
        return KIND.score(one, two, {})

    return run


@pytest.mark.parametrize("case", CASES)
def test_golden(golden, case):
    folder = golden("evalb") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    files = folder / "gold.mrg", folder / "test.mrg"
    golden.count(1)
    if expected["exit_code"]:
        with pytest.raises(FormatError) as caught:
            KIND.score(*files, {})
        assert caught.value.line == int(expected["stderr"].splitlines()[-1].split()[0])
    else:
        assert json.loads(json.dumps(KIND.score(*files, {}))) == expected["scores"]


def test_every_golden_case_is_listed(golden):
    assert sorted(each.name for each in golden("evalb").iterdir() if each.is_dir()) == CASES


FIGURES = ("matched", "gold_brackets", "test_brackets", "cross", "words", "correct_tags")


@pytest.mark.parametrize(
    ("gold", "predicted", "status", "figures"),
    [
        # only TOP is deleted: ROOT and the empty label are brackets
        ("(TOP (S (A a)))", "(TOP (S (A a)))", 0, (1, 1, 1, 0, 1, 1)),
        ("(ROOT (S (A a)))", "(TOP (S (A a)))", 0, (1, 2, 1, 0, 1, 1)),
        ("( (S (A a)))", "( (S (A a)))", 0, (2, 2, 2, 0, 1, 1)),
        # of two equal brackets one is matched by one
        ("(S (S (A a)))", "(S (A a))", 0, (1, 2, 1, 0, 1, 1)),
        # functions do not count, and a label that begins with one is empty
        ("(NP-SBJ=1 (A a))", "(NP=2 (A a))", 0, (1, 1, 1, 0, 1, 1)),
        ("(-X (A a))", "(=Y (A a))", 0, (1, 1, 1, 0, 1, 1)),
        # but those of tags do
        ("(S (A-1 a))", "(S (A a))", 0, (1, 1, 1, 0, 1, 0)),
        # PRT is ADVP, as a bracket and as a tag
        ("(PRT (ADVP a))", "(ADVP (PRT a))", 0, (1, 1, 1, 0, 1, 1)),
        # punctuation is left out, and what is over nothing else with it
        ("(S (NP (A a)) (PRN (, ,)))", "(S (NP (A a) (. ,)))", 0, (2, 2, 2, 0, 1, 1)),
        # a trace need not be there
        ("(S (NP (-NONE- *)) (A a))", "(S (A a))", 0, (1, 1, 1, 0, 1, 1)),
        # brackets that cross: each predicted one counts once
        (
            "(S (X (A a) (A b)) (Y (A c) (A d)))",
            "(S (A a) (X (A b) (Y (A c))) (A d))",
            0,
            (1, 3, 3, 1, 4, 4),
        ),
        # words and lengths that differ; nothing predicted
        ("(S (A a))", "(S (A b))", 1, (0, 0, 0, 0, 0, 0)),
        ("(S (A a))", "(S (A a) (A a))", 1, (0, 0, 0, 0, 0, 0)),
        ("(S (A .))", "(S (. .))", 2, (0, 0, 0, 0, 0, 0)),
        ("(S (A .) (A b))", "(S (. .) (A b))", 1, (0, 0, 0, 0, 0, 0)),
        ("", "", 2, (0, 0, 0, 0, 0, 0)),
        # brackets without anything, and a leaf without anything
        ("(S () (X) (A a))", "(S (A a))", 0, (1, 1, 1, 0, 1, 1)),
        ("(S ( ) (A a))", "(S ( ) (A a))", 0, (1, 1, 1, 0, 2, 2)),
        # what is not closed is an error, though it is compared
        ("(S (X (A a))", "(S (X (A a)))", 1, (1, 2, 2, 0, 1, 1)),
    ],
)
def test_rows_counted_by_hand(scored, gold, predicted, status, figures):
    scores = scored(f"{gold}\n", f"{predicted}\n")
    row = scores["sentences"][0]
    assert (row["status"], tuple(row[name] for name in FIGURES)) == (status, figures)
    assert scores["All"]["Number of Valid sentence"] == (status == 0)
    if status:
        assert "total_line" not in scores
        assert scores["All"]["Bracketing FMeasure"] == "-nan"


def test_summaries_by_hand(scored):
    words = " ".join(f"(A {number})" for number in range(41))
    gold = f"(TOP (S (NP (A a)) (. .)))\n(TOP (S (-NONE- *) {words}))\n(S (A a))\n"
    predicted = f"(TOP (S (A a) (. .)))\n(TOP (X {words}))\n(S (A b))\n"
    scores = scored(gold, predicted)
    assert [row["length"] for row in scores["sentences"]] == [2, 41, 1]
    assert scores["total_line"] == [33.33, 50.0, 1, 3, 2, 0, 42, 42, 100.0]
    assert scores["All"] == {
        "Number of sentence": 3,
        "Number of Error sentence": 1,
        "Number of Skip  sentence": 0,
        "Number of Valid sentence": 2,
        "Bracketing Recall": 33.33,
        "Bracketing Precision": 50.0,
        "Bracketing FMeasure": 40.0,
        "Complete match": 0.0,
        "Average crossing": 0.0,
        "No crossing": 100.0,
        "2 or less crossing": 100.0,
        "Tagging accuracy": 100.0,
    }
    short = scores["len<=40"]
    assert (short["Number of sentence"], short["Bracketing Recall"]) == (2, 50.0)
    assert "66.67" in KIND.table(scores)


def test_files_of_different_length(scored):
    tree = "(S (A a))\n"
    assert len(scored(tree * 3, tree * 2)["sentences"]) == 2
    assert len(scored(tree * 2, tree * 3)["sentences"]) == 2
    assert scored("", "")["sentences"] == []
    assert len(scored(tree[:-1], tree)["sentences"]) == 1


def test_the_twelfth_error_is_refused(scored):
    good, bad = "(S (A a))\n", "(S (A b))\n"
    assert scored(good * 11, bad * 11)["All"]["Number of Error sentence"] == 11
    with pytest.raises(FormatError, match=r"test\.mrg:13: "):
        scored(good * 14, good + bad * 13)
    with pytest.raises(FormatError):
        scored(good * 12, bad * 11)


@pytest.mark.parametrize("line", ["a", "(S a b)", "(S (A a) b)", "(S b (A a))", "(A a", "x (A a)"])
def test_what_is_no_tree(scored, line):
    with pytest.raises(FormatError, match=r"gold\.mrg:2: expected"):
        scored(f"(A a)\n{line}\n", "(A a)\n(A a)\n")


def test_mutations_raise_nothing_else(scored):
    dice = random.Random(7)
    text = "(TOP (S (NP-SBJ (DT the) (NN man)) (VP (VBD ran)) (. .)))\n"
    for _ in range(100):
        letters = list(text)
        for _ in range(dice.randint(1, 4)):
            letters[dice.randrange(len(letters))] = dice.choice("() a\n\x00é-")
        for sides in ((text, "".join(letters)), ("".join(letters), text)):
            try:
                assert KIND.table(scored(*sides))
            except FormatError:
                continue


def test_no_text(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(b"(A \xff)\n")
    with pytest.raises(FormatError, match="utf-8"):
        KIND.score(path, path, {})
    with pytest.raises(FormatError, match="cannot be read"):
        KIND.score(Path(tmp_path / "none"), path, {})


def test_deep_and_long_trees_are_quick(scored):
    deep = "(X " * 50_000 + "(A a)" + ")" * 50_000
    right = "".join(f"(X (A {number}) " for number in range(20_000)) + ")" * 20_000
    left = "(X " * 20_000 + "".join(f"(A {number}))" for number in range(20_000))
    rows = scored(f"{deep}\n{right}\n", f"{deep}\n{left}\n")["sentences"]
    assert [row["matched"] for row in rows] == [50_000, 1]
    assert rows[1]["cross"] == 19_998  # all but the whole and the first word


@st.composite
def brackets(draw, words):
    """Draw the brackets of a tree, by cutting runs in runs."""
    found, todo = [], [(0, words)]
    while todo:
        start, end = todo.pop()
        labels = draw(st.lists(st.sampled_from(["S", "NP", "PRT", "ADVP", "TOP"]), max_size=2))
        found += [(start, end, label) for label in labels]
        if end - start > 1:
            cut = draw(st.integers(start + 1, end - 1))
            todo += [(start, cut), (cut, end)]
    return found


@given(
    st.integers(1, 8).flatmap(
        lambda words: st.tuples(st.just(words), brackets(words), brackets(words))
    )
)
def test_an_independent_count(drawn):
    words, gold, predicted = drawn
    here = Sentence(["w"] * words, ["A"] * words, gold)
    there = Sentence(["w"] * words, ["A"] * words, predicted)

    def plain(each):
        return [
            (*one[:2], "ADVP" if one[2] == "PRT" else one[2]) for one in each if one[2] != "TOP"
        ]

    mine, theirs = plain(gold), plain(predicted)
    left, hits = list(theirs), 0
    for one in mine:
        if one in left:
            left.remove(one)
            hits += 1
    crossing = sum(any(a < c < b < d or c < a < d < b for a, b, _ in mine) for c, d, _ in theirs)
    found = compare(here, there, COLLINS)
    assert found.brackets == type(found.brackets)(hits, len(theirs), len(mine))
    assert found.crossing == crossing
    again = compare(there, here)
    assert again.brackets.hits == hits
    perfect = compare(here, here)
    assert (perfect.brackets.hits, perfect.crossing) == (len(mine), 0)
    assert Counter(mine).total() == perfect.brackets.gold
