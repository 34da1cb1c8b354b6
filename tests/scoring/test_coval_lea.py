"""Coval's numbers: its own cases, and small files whose numbers are counted by hand."""

import json
import random
from contextlib import suppress

import pytest

from spanloom.errors import FormatError
from spanloom.metrics import coreference
from spanloom.scoring import coval_lea
from spanloom.scoring.coval_lea import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]
GOLD = ["(0)", "(0)", "(0)", "(1)", "(1)", "(1)", "(1)", "-", "-", "(2)"]
PREDICTED = ["(0)", "(0)", "(1)", "(1)", "_", "(2)", "(2)", "(2)", "(2)", "(3)"]


@pytest.mark.parametrize("case", CASES)
def test_official_case(case, golden):
    folder = golden("coval-lea") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    found = KIND.score(folder / "key.conll", folder / "response.conll", {})
    assert json.dumps(found) == json.dumps(expected["scores"])
    assert KIND.table(found).count("lea") == 2
    golden.count(1)


def scored(folder, gold, predicted):
    for name, documents in (("gold", gold), ("pred", predicted)):
        lines = []
        for document, cells in documents.items():
            lines += [f"#begin document ({document});", *(f"w\t{cell}" for cell in cells)]
            lines += ["", "#end document"]
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return KIND.score(folder / "gold", folder / "pred", {})


def test_the_example_of_the_paper_and_a_cluster_of_one(tmp_path):
    """Moosavi and Strube (2016), section 3, and beside it a mention that is alone on both sides."""
    scores = scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})
    many = scores["without_singletons"]
    assert many["full_precision"]["lea"]["recall"] == pytest.approx((3 / 3 + 4 / 6) / 7)
    assert many["full_precision"]["lea"]["precision"] == pytest.approx((2 + 0 + 4 / 6) / 8)
    assert (many["printed"]["lea"]["recall"], many["printed"]["lea"]["precision"]) == (23.81, 33.33)
    every = scores["with_singletons"]["full_precision"]
    assert every["lea"]["recall"] == pytest.approx((3 / 3 + 4 / 6 + 1) / 8)
    assert every["lea"]["precision"] == pytest.approx((2 + 0 + 4 / 6 + 1) / 9)
    assert every["muc"] == many["full_precision"]["muc"]
    assert (every["ceafe"]["recall_num"], every["ceafe"]["recall_den"]) == (pytest.approx(2.3), 3)


def test_a_mention_alone_is_right_only_where_it_is_alone(tmp_path):
    scores = scored(tmp_path, {"x": ["(0)", "(1)", "(2)"]}, {"x": ["(0)", "(1)", "(1)"]})
    assert scores["with_singletons"]["full_precision"]["lea"]["recall_num"] == 1
    assert scores["with_singletons"]["full_precision"]["lea"]["precision_num"] == 1
    assert scores["without_singletons"]["full_precision"]["mentions"]["recall_den"] == 0


def test_repeated_mentions_count_in_each_cluster_and_are_never_refused(tmp_path):
    again = [f"{cell}|(9)" for cell in ["(0)"] * 12]
    full = scored(tmp_path, {"x": ["(0)"] * 12}, {"x": again})["with_singletons"]["full_precision"]
    assert (full["mentions"]["precision_num"], full["mentions"]["precision_den"]) == (12, 12)
    assert (full["muc"]["precision_num"], full["muc"]["precision_den"]) == (22, 22)
    assert (full["muc"]["recall_num"], full["muc"]["recall_den"]) == (11, 11)
    assert (full["ceafe"]["recall_num"], full["ceafe"]["precision_den"]) == (1, 2)


def test_a_document_that_the_response_lacks_counts_as_empty(tmp_path):
    one = scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})["with_singletons"]["full_precision"]
    two = scored(tmp_path, {"x": GOLD, "y": ["(0)", "(0)"]}, {"x": PREDICTED})
    lea = two["with_singletons"]["full_precision"]["lea"]
    assert lea["recall_num"] == one["lea"]["recall_num"]
    assert lea["recall_den"] == one["lea"]["recall_den"] + 2
    assert lea["precision_den"] == one["lea"]["precision_den"]


def test_a_table_too_large_is_not_made(tmp_path, monkeypatch):
    usual = scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})
    monkeypatch.setattr(coval_lea, "CELLS", 4)
    monkeypatch.setattr(coval_lea, "full_assignment", None)
    sparse = scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})["with_singletons"]["full_precision"]
    expected = usual["with_singletons"]["full_precision"]["ceafe"]
    assert sparse["ceafe"] == pytest.approx(expected)


def test_equal_to_what_tasks_count(tmp_path):
    """``metrics.coreference.score`` counts the same, up to the order of sums."""
    scores = scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})["with_singletons"]["full_precision"]
    found = coreference.score([[0, 1, 2], [3, 4, 5, 6], [9]], [[0, 1], [2, 3], [5, 6, 7, 8], [9]])
    assert found.average == pytest.approx(scores["conll_average"])
    assert found.lea.f1 == pytest.approx(scores["lea"]["f1"])


def test_mutated_files_raise_nothing_else(tmp_path):
    dice = random.Random(5)
    scored(tmp_path, {"x": GOLD}, {"x": [*PREDICTED[:8], "(2", "2)"]})
    text = (tmp_path / "pred").read_bytes()
    for _ in range(100):
        damaged = bytearray(text)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.choice(b"()|0#\t\n\r\x00\xff-")
        (tmp_path / "pred").write_bytes(bytes(damaged))
        with suppress(FormatError):
            json.dumps(KIND.score(tmp_path / "gold", tmp_path / "pred", {}), allow_nan=False)
