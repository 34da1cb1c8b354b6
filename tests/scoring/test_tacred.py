"""TACRED's numbers: its own cases, and small files whose numbers are counted by hand."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import FormatError
from spanloom.metrics.classification import ClassificationReport
from spanloom.metrics.counts import total
from spanloom.scoring.tacred import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]
LABELS = st.sampled_from(["no_relation", "a", "b", "c"])


@pytest.mark.parametrize("case", CASES)
def test_official_case(case, golden):
    folder = golden("tacred") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    files = folder / "gold.txt", folder / "pred.txt"
    if expected["exit_code"]:
        with pytest.raises(FormatError, match="labels"):
            KIND.score(*files, {})
    else:
        found = KIND.score(*files, {})
        assert json.loads(json.dumps(found)) == expected["scores"]
        assert KIND.table(found).count("\n") == len(expected["scores"]["per_relation"]) + 1
    golden.count(1)


def scored(tmp_path, gold, predicted):
    for name, text in (("gold", gold), ("pred", predicted)):
        (tmp_path / name).write_bytes(text.encode())
    return KIND.score(tmp_path / "gold", tmp_path / "pred", {})


def test_what_was_never_predicted_has_precision_100(tmp_path):
    assert scored(tmp_path, "a\nno_relation\n", "no_relation\nno_relation\n") == {
        "micro": {"precision": 100.0, "recall": 0.0, "f1": 0.0},
        "per_relation": {"a": {"precision": 100.0, "recall": 0.0, "f1": 0.0, "gold": 1}},
    }


def test_relations_that_gold_has_not_count_in_the_micro_average_alone(tmp_path):
    scores = scored(tmp_path, "a\na\nno_relation\n", "a\nb\nc\n")
    assert scores["micro"] == {"precision": 33.333, "recall": 50.0, "f1": 40.0}
    assert list(scores["per_relation"]) == ["a"]


def test_blanks_and_case_matter_and_line_ends_do_not(tmp_path):
    scores = scored(tmp_path, "a\nno_relation\na\n", "a\r\nno_relation \rA\n")
    assert scores["micro"] == {"precision": 33.333, "recall": 50.0, "f1": 40.0}


def test_no_lines(tmp_path):
    micro = {"precision": 100.0, "recall": 0.0, "f1": 0.0}
    assert scored(tmp_path, "", "") == {"micro": micro, "per_relation": {}}


def test_whatever_bytes_come(tmp_path):
    draw = random.Random(1)
    for _ in range(100):
        data = bytearray(b"a\nno_relation\nb\na\n")
        data[draw.randrange(len(data))] = draw.choice(b"\n\rab\xff\x00")
        (tmp_path / "gold").write_bytes(b"a\nb\nb\na\n")
        (tmp_path / "pred").write_bytes(bytes(data))
        with suppress(FormatError):
            assert KIND.table(KIND.score(tmp_path / "gold", tmp_path / "pred", {}))


@given(st.lists(st.tuples(LABELS, LABELS), max_size=20))
def test_counts_are_those_of_plain_loops(pairs):
    counts = ClassificationReport("", tuple(pairs)).by_label
    counts.pop("no_relation", None)
    for label, each in counts.items():
        assert label != "no_relation"
        assert each.hits == sum(a == b == label for a, b in pairs)
        assert each.gold == sum(a == label for a, _ in pairs)
        assert each.predicted == sum(b == label for _, b in pairs)
    assert total(counts.values()).gold == sum(a != "no_relation" for a, _ in pairs)
