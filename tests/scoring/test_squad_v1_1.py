"""SQuAD's first program: its own cases, and answers whose scores are plain to see."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import FormatError
from spanloom.metrics.qa import normalize_answer
from spanloom.scoring.squad_v1_1 import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]
TEXTS = st.text("aA theb.-é ", max_size=8)


@pytest.mark.parametrize("case", CASES)
def test_official_case(case, golden):
    folder = golden("squad-v1.1") / case
    told = json.loads((folder / "scores.json").read_text())
    files = folder / "dataset.json", folder / "predictions.json"
    if told["exit_code"]:
        with pytest.raises(FormatError, match="expected a gold answer to the question '5726"):
            KIND.score(*files, {})
    else:
        found = KIND.score(*files, {})
        assert json.loads(json.dumps(found)) == told["scores"]
        assert KIND.table(found).count("\n") == 2
    golden.count(1)


def dataset(*asked):
    """A dataset of questions q0, q1, … of which only the gold answers matter."""
    questions = [
        {"id": f"q{row}", "answers": [{"text": text} for text in texts]}
        for row, texts in enumerate(asked)
    ]
    return {"version": "1.1", "data": [{"paragraphs": [{"qas": questions}]}]}


@pytest.fixture
def scored(tmp_path):
    def run(gold, predicted):
        for name, said in (("gold", gold), ("pred", predicted)):
            (tmp_path / name).write_text(said if isinstance(said, str) else json.dumps(said))
        return KIND.score(tmp_path / "gold", tmp_path / "pred", {})

    return run


@pytest.mark.parametrize(
    ("gold", "said", "exact", "f1"),
    [
        (["The cat."], "cat", 100, 100),
        (["cat", "a black cat"], "black cat", 100, 100),
        (["big black cat", "dog"], "cat", 0, 50),  # 1 of 1, 1 of 3
        (["a b b"], "b b b", 0, 80),  # "a" is an article: 2 of 3, 2 of 2
        (["the"], "a", 100, 0),  # nothing equals nothing, but shares no word
        (["the"], "", 100, 0),
        (["dog"], "", 0, 0),
        (["“dog”"], "dog", 0, 0),  # ASCII marks alone are left out
    ],
)
def test_one_answer(scored, gold, said, exact, f1):
    found = scored(dataset(gold), {"q0": said})
    assert found == {"exact_match": exact, "f1": pytest.approx(f1)}


def test_means_are_over_all_questions(scored):
    found = scored(dataset(["a b"], ["c"], ["d"], []), {"q0": "b", "q1": "x", "q9": 3})
    assert found == {"exact_match": 25.0, "f1": 25.0}
    assert KIND.table(found) == "exact_match     25.0000\nf1              25.0000\n"


def test_two_questions_of_one_id_share_a_prediction(scored):
    gold = dataset(["b"], ["c"])
    gold["data"][0]["paragraphs"][0]["qas"][1]["id"] = "q0"
    assert scored(gold, {"q0": "b"})["exact_match"] == 50


@pytest.mark.parametrize(
    ("gold", "predicted", "problem"),
    [
        (dataset(), {}, "gold: expected a question, got none"),
        (dataset([]), {"q0": "x"}, "gold: expected a gold answer to the question 'q0'"),
        (dataset(["x"]), {"q0": None}, "pred: question 'q0': expected a string, got None"),
        (dataset(["x"]), [], "pred: expected an object"),
        (dataset(["x"]), "{\n\n'", "pred:3: not JSON"),
        (dataset([3]), {}, "gold: expected a string, got 3"),
        ([], {}, "gold: expected an object"),
        ({"data": []}, {}, "gold: expected the key 'version', got 'data'"),
        ({"version": "1.1", "data": [3]}, {}, "gold: expected an object, got 3"),
        ({"version": "1.1", "data": {}}, {}, "gold: expected a list"),
    ],
)
def test_what_the_program_refuses(scored, gold, predicted, problem):
    with pytest.raises(FormatError, match=problem):
        scored(gold, predicted)


def test_whatever_bytes_come(tmp_path):
    text = json.dumps(dataset(["a b"], ["c", "d"])).encode()
    said = json.dumps({"q0": "b", "q1": "d"}).encode()
    draw = random.Random(1)
    for _ in range(100):
        for name, data in (("gold", bytearray(text)), ("pred", bytearray(said))):
            data[draw.randrange(len(data))] = draw.choice(b'"{}[],:\\0tn\xff\x00')
            (tmp_path / name).write_bytes(bytes(data if draw.random() < 0.7 else text))
        with suppress(FormatError):
            assert KIND.table(KIND.score(tmp_path / "gold", tmp_path / "pred", {}))


@given(st.lists(st.tuples(st.lists(TEXTS, min_size=1, max_size=3), TEXTS), min_size=1, max_size=4))
def test_scores_are_those_of_plain_loops(tmp_path_factory, asked):
    folder = tmp_path_factory.mktemp("squad")
    (folder / "gold").write_text(json.dumps(dataset(*(gold for gold, _ in asked))))
    said = {f"q{row}": text for row, (_, text) in enumerate(asked)}
    (folder / "pred").write_text(json.dumps(said))
    exact = [
        any(normalize_answer(each) == normalize_answer(text) for each in gold)
        for gold, text in asked
    ]
    f1 = [
        max(bags(normalize_answer(each), normalize_answer(text)) for each in gold)
        for gold, text in asked
    ]
    assert KIND.score(folder / "gold", folder / "pred", {}) == {
        "exact_match": pytest.approx(100 * sum(exact) / len(asked)),
        "f1": pytest.approx(100 * sum(f1) / len(asked)),
    }


def bags(one, two):
    """Twice the words that both have, of all words; 0 without any."""
    left = two.split()
    same = sum(1 for word in one.split() if word in left and left.remove(word) is None)
    return 2 * same / (len(one.split()) + len(two.split()) or 1)
