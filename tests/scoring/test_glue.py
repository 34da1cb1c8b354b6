"""GLUE's measures: the cases of scikit-learn and scipy, small files, and plain counting."""

import json
import random
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError, FormatError
from spanloom.scoring.glue import KIND

CASES = [f"case{number:02}" for number in range(1, 7)]
LABELS = st.sampled_from(["0", "1", "2", "10"])


@pytest.mark.parametrize("case", CASES)
def test_official_case(case, golden):
    folder = golden("glue") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["scores"]
    found = KIND.score(folder / "gold.tsv", folder / "pred.tsv", {})
    assert json.loads(json.dumps(found)) == expected
    assert list(found) == list(expected)
    kind = json.loads((folder / "data.json").read_text(encoding="utf-8"))["kind"]
    assert KIND.score(folder / "gold.tsv", folder / "pred.tsv", {"--kind": kind}) == found
    assert "accuracy" in KIND.table(found) or "pearson" in KIND.table(found)
    golden.count(1)


def scored(folder, gold, predicted, **given_options):
    for name, lines in (("gold", gold), ("pred", predicted)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    told = {f"--{key}": value for key, value in given_options.items()}
    return KIND.score(folder / "gold", folder / "pred", told)


def test_label_1_is_the_positive_one(tmp_path):
    scores = scored(tmp_path, "1110", "1001")
    assert [scores[f"{name}_binary"] for name in ("precision", "recall")] == [1 / 2, 1 / 3]
    assert scores["f1_binary"] == 0.4
    assert scores["acc_and_f1"] == (0.25 + 0.4) / 2


def test_other_labels_have_no_binary_score(tmp_path):
    scores = scored(tmp_path, ["yes", "no"], ["yes", "yes"])
    assert "f1_binary" not in scores
    assert scores["f1_per_label"] == {"no": 0.0, "yes": 2 / 3}
    assert scores["f1_weighted"] == 1 / 3


def test_a_constant_prediction_has_no_correlation(tmp_path):
    classes = scored(tmp_path, "1100", "0000")
    assert classes["mcc"] == classes["f1_binary"] == 0.0
    numbers = scored(tmp_path, [1.5, 2, 3], [2, 2, 2])
    names = ("pearson", "spearman", "corr", "pearson_p", "spearman_p")
    assert [numbers[name] for name in names] == ["nan"] * 5
    assert numbers["mse"] == pytest.approx((0.25 + 0 + 1) / 3)
    assert "nan" in KIND.table(numbers)


def test_whole_numbers_are_labels_unless_told(tmp_path):
    assert scored(tmp_path, [1, 2, 3], [1, 2, 4])["accuracy"] == 2 / 3
    told = scored(tmp_path, [1, 2, 3], [1, 2, 4], kind="regression")
    assert told["spearman"] == 1.0
    assert told["mae"] == 1 / 3
    assert scored(tmp_path, ["1.0", "2"], ["1.0", "1.0"], kind="classification")["accuracy"] == 0.5
    with pytest.raises(DataError, match="classification, regression"):
        scored(tmp_path, [1], [1], kind="words")


@pytest.mark.parametrize(
    ("gold", "predicted", "line"),
    [
        ([], [], None),
        ([1, 2], [1], None),
        ([1, "", 2], [1, 1, 1], 2),
        ([1.5, 2.5], [1.5, "x"], 2),
        ([1.5, 2.5], [1.5, "1e999"], 2),
        ([1.5], [1.5], None),
    ],
)
def test_what_is_refused(tmp_path, gold, predicted, line):
    with pytest.raises(FormatError) as caught:
        scored(tmp_path, gold, predicted)
    assert caught.value.line == line


def test_whatever_bytes_come(tmp_path):
    draw = random.Random(1)
    (tmp_path / "gold").write_bytes(b"1.5\n2\n-3e1\n4\n")
    for _ in range(300):
        data = bytearray(b"1.5\n2\n-3e1\n4\n")
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(data))] = draw.choice(b"\n.-e19x\xff\x00")
        (tmp_path / "pred").write_bytes(bytes(data))
        with suppress(FormatError):
            assert KIND.table(KIND.score(tmp_path / "gold", tmp_path / "pred", {}))


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=12))
def test_classes_are_counted_plainly(tmp_path_factory, pairs):
    gold, predicted = zip(*pairs, strict=True)
    scores = scored(tmp_path_factory.mktemp("glue"), gold, predicted)
    labels = sorted({*gold, *predicted}, key=int)
    f1 = {
        label: 2 * sum(a == b == label for a, b in pairs) / (gold + predicted).count(label)
        for label in labels
    }
    assert scores["f1_per_label"] == f1
    assert list(scores["f1_per_label"]) == labels
    assert scores["f1_macro"] == pytest.approx(sum(f1.values()) / len(f1))
    weighted = sum(f1[label] * many for label, many in Counter(gold).items()) / len(pairs)
    assert scores["f1_weighted"] == pytest.approx(weighted)
    assert scores["f1_micro"] == scores["accuracy"] == sum(a == b for a, b in pairs) / len(pairs)
    assert -1 <= scores["mcc"] <= 1
