"""SQuAD's second program: its own cases, small ones, and every threshold tried."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError, FormatError
from spanloom.scoring.squad_v2_0 import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]
REFUSED = {
    "case09": "predictions.json: no prediction",
    "case11": "na_prob.json: lacks the question",
}


@pytest.mark.parametrize("case", CASES)
def test_official_case(case, golden):
    folder = golden("squad-v2.0") / case
    told = json.loads((folder / "scores.json").read_text())
    typed = told["command"].split()[4:]
    options = dict(zip(typed[::2], typed[1::2], strict=True))
    files = folder / "dataset.json", folder / "predictions.json"
    if told["exit_code"]:
        with pytest.raises(FormatError, match=REFUSED[case]):
            KIND.score(*files, options)
    else:
        found = KIND.score(*files, options)
        assert json.loads(json.dumps(found)) == told["scores"]
        assert KIND.table(found).count("\n") == len(told["scores"])
    golden.count(1)


def dataset(*asked):
    """A dataset of questions q0, q1, … of which only the gold answers matter."""
    questions = [
        {"id": f"q{row}", "answers": [{"text": text} for text in texts]}
        for row, texts in enumerate(asked)
    ]
    return {"data": [{"paragraphs": [{"qas": questions[:1]}, {"qas": questions[1:]}]}]}


def numbered(values):
    return {f"q{row}": value for row, value in enumerate(values)}


@pytest.fixture
def scored(tmp_path):
    """Score gold answers, predictions and doubts (if there are any) in their order."""

    def run(gold, predicted, doubts=None, **options):
        typed = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
        files = {"gold": dataset(*gold), "pred": numbered(predicted)}
        if doubts is not None:
            files["doubts"] = doubts if isinstance(doubts, dict) else numbered(doubts)
            typed["--na-prob-file"] = "doubts"  # beside the predictions
        for name, said in files.items():
            (tmp_path / name).write_text(json.dumps(said))
        return KIND.score(tmp_path / "gold", tmp_path / "pred", typed)

    return run


def test_means_over_all_and_over_both_parts(scored):
    found = scored([["big cat", "cat"], ["dog"], [], []], ["a cat", "dog dog", "", "x"])
    every = {"exact": 50.0, "f1": pytest.approx(200 / 3), "total": 4}
    answerable = {"HasAns_exact": 50.0, "HasAns_f1": pytest.approx(250 / 3), "HasAns_total": 2}
    others = {"NoAns_exact": 50.0, "NoAns_f1": 50.0, "NoAns_total": 2}
    assert found == every | answerable | others
    lines = KIND.table(found).splitlines()
    assert lines[:3] == [
        "exact            50.0000",
        "f1               66.6667",
        "total             4",
    ]


def test_a_part_without_questions_is_left_out(scored):
    found = scored([["x"]], ["x"])
    assert list(found)[:4] == ["exact", "f1", "total", "HasAns_exact"]
    assert "NoAns_total" not in found
    assert "HasAns_total" not in scored([[]], ["x"])


def test_gold_answers_without_a_word_are_dropped_but_the_question_keeps_an_answer(scored):
    found = scored([["the"], ["the", "dog"], ["."]], ["", "", "an"])
    assert (found["exact"], found["HasAns_total"]) == (pytest.approx(200 / 3), 3)


def test_a_prediction_with_more_doubt_than_the_threshold_is_taken_back(scored):
    asked, said, doubts = [["x"], [], ["y"]], ["x", "x", "y"], [0.5, 0.7, 0.6]
    assert scored(asked, said, doubts, na_prob_thresh="0.6")["exact"] == 100
    assert scored(asked, said, doubts, na_prob_thresh="0.5")["HasAns_exact"] == 50
    assert scored(asked, said, doubts)["exact"] == pytest.approx(200 / 3)
    assert scored(asked, said, na_prob_thresh="-1")["exact"] == pytest.approx(100 / 3)


def test_the_best_threshold_is_found_before_anything_is_taken_back(scored):
    asked, said, doubts = [["x"], [], ["y"]], ["x", "x", "y"], [0.5, 0.7, 0.6]
    found = scored(asked, said, doubts, na_prob_thresh="0")
    assert found["exact"] == pytest.approx(100 / 3)
    assert (found["best_exact"], found["best_exact_thresh"]) == (100, 0.6)
    wrong = scored([["x"]], ["y"], [0.5])
    assert (wrong["best_f1"], wrong["best_f1_thresh"]) == (0, 0)  # all taken back


def test_the_best_can_be_worse_than_the_mean(scored):
    """Where doubts are equal the file's order decides, and "" that is wrong costs 1."""
    found = scored([[], ["the"]], [" ", ""], [0.5, 0.5])
    assert (found["exact"], found["best_exact"], found["best_exact_thresh"]) == (100, 50, 0)


def test_areas_under_precision_and_recall(scored):
    asked, said, doubts = [["x"], [], ["y"], ["z"]], ["x", "x", "n", "z"], [0.1, 0.2, 0.3, 0.3]
    found = scored(asked, said, doubts, out_image_dir="nowhere")
    assert found["pr_exact_ap"] == pytest.approx(100 * (1 / 3 + 2 / 4 * 1 / 3))
    assert found["pr_oracle_ap"] == pytest.approx(100 * (1 / 3 + 3 / 4 * 2 / 3))
    assert found == scored(asked, said, doubts)
    assert "pr_exact_ap" not in scored([[]], [""], [0.5])


def test_doubts_of_other_questions_leave_no_areas(scored):
    doubts = {"q0": 0.1, "other": 0.2}
    assert "pr_f1_ap" not in scored([["x"]], ["x"], doubts)
    assert scored([["x"]], ["x"], doubts)["best_exact"] == 100
    with pytest.raises(FormatError, match="doubts: no such question: 'other'"):
        scored([["x"]], ["x"], doubts, out_image_dir="nowhere")


def test_of_two_questions_of_one_id_the_last_counts(tmp_path):
    gold = dataset(["b"], ["c"])
    gold["data"][0]["paragraphs"][1]["qas"][0]["id"] = "q0"
    (tmp_path / "gold").write_text(json.dumps(gold))
    (tmp_path / "pred").write_text('{"q0": "c"}')
    found = KIND.score(tmp_path / "gold", tmp_path / "pred", {})
    assert (found["exact"], found["total"]) == (100, 1)


def test_what_the_program_refuses(scored):
    with pytest.raises(FormatError, match="pred: no prediction for the question 'q1'"):
        scored([["x"], []], ["x"])
    with pytest.raises(FormatError, match="doubts: lacks the question 'q1'"):
        scored([["x"], []], ["x", ""], [0.5])
    with pytest.raises(FormatError, match="doubts: question 'q0': expected a number, got '1'"):
        scored([["x"]], ["x"], ["1"])
    with pytest.raises(FormatError, match="gold: expected a question, got none"):
        scored([], [])
    with pytest.raises(FormatError, match="pred: question 'q0': expected a string, got 1"):
        scored([["x"]], [1])
    with pytest.raises(DataError, match="--na-prob-thresh: expected a number, got 'x'"):
        scored([["x"]], ["x"], na_prob_thresh="x")
    with pytest.raises(FormatError, match="nowhere: cannot be read"):
        scored([["x"]], ["x"], na_prob_file="nowhere")


def test_whatever_bytes_come(tmp_path):
    texts = {
        "gold": json.dumps(dataset(["a b"], ["c", "d"], [])),
        "pred": json.dumps(numbered(["b", "d", ""])),
        "doubts": json.dumps(numbered([0.25, 1, -3.5])),
    }
    draw = random.Random(1)
    for _ in range(150):
        for name, text in texts.items():
            data = bytearray(text.encode())
            if draw.random() < 0.4:
                data[draw.randrange(len(data))] = draw.choice(b'"{}[],:\\0te-\xff\x00')
            (tmp_path / name).write_bytes(bytes(data))
        options = {"--na-prob-file": str(tmp_path / "doubts"), "--out-image-dir": "nowhere"}
        with suppress(FormatError):
            assert KIND.table(KIND.score(tmp_path / "gold", tmp_path / "pred", options))


ASKED = st.tuples(st.booleans(), st.booleans(), st.booleans())


@given(
    st.lists(ASKED, min_size=1, max_size=6).flatmap(
        lambda asked: st.tuples(st.just(asked), st.permutations(range(len(asked))))
    )
)
def test_the_best_is_that_of_all_thresholds(tmp_path_factory, drawn):
    """With doubts that differ, each is tried with the program itself (and one below them all)."""
    asked, order = drawn
    folder = tmp_path_factory.mktemp("squad")
    gold = [["x"] if answerable else [] for answerable, _, _ in asked]
    said = ["" if silent else "x" if right else "y" for _, silent, right in asked]
    doubts = numbered([(place + 1) / 8 for place in order])
    for name, value in (("gold", dataset(*gold)), ("pred", numbered(said)), ("doubts", doubts)):
        (folder / name).write_text(json.dumps(value))
    files, given_doubts = (folder / "gold", folder / "pred"), {"--na-prob-file": f"{folder}/doubts"}
    tried = [
        KIND.score(*files, given_doubts | {"--na-prob-thresh": str(threshold)})["exact"]
        for threshold in (0, *doubts.values())
    ]
    found = KIND.score(*files, given_doubts)
    assert found["best_exact"] == pytest.approx(max(tried))
    at_best = KIND.score(
        *files, given_doubts | {"--na-prob-thresh": str(found["best_exact_thresh"])}
    )
    assert at_best["exact"] == pytest.approx(found["best_exact"])
