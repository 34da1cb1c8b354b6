"""The reference scorer's numbers: its own cases, and small files counted by hand."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import FormatError
from spanloom.scoring.conll2012_coref import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]
MEASURES = ("muc", "bcub", "ceafm", "ceafe")

# {a b c} {d e f g} and {a b} {c d} {f g h i}, the example of Pradhan et al. (2014), a word each
GOLD = "(0) (0) (0) (1) (1) (1) (1) - -"
PREDICTED = "(0) (0) (1) (1) _ (2) (2) (2) (2)"


@pytest.mark.parametrize("case", CASES)
def test_official_case(case, golden):
    folder = golden("conll2012-coref") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    files = folder / "key.conll", folder / "response.conll"
    if any(expected["exit_code"].values()):
        with pytest.raises(FormatError, match=r"response.conll:\d+: expected at most 10 "):
            KIND.score(*files, {})
    else:
        found = KIND.score(*files, {})
        assert json.dumps(found) == json.dumps(expected["scores"])
        assert "CoNLL average" in KIND.table(found)
    golden.count(1)


def written(documents):
    """The text of a file with the given columns, one a document."""
    blocks = [
        f"#begin document ({name}); part 000\n"
        + "".join(f"{name}\t0\t{row}\tw\t{cell}\n" for row, cell in enumerate(cells.split()))
        + "\n#end document\n"
        for name, cells in documents.items()
    ]
    return "".join(blocks)


def scored(folder, gold, predicted):
    for name, documents in (("gold", gold), ("pred", predicted)):
        (folder / name).write_text(written(documents), encoding="utf-8")
    return KIND.score(folder / "gold", folder / "pred", {})


def ends(row):
    return tuple(row[f"{side}_{end}"] for side in ("recall", "precision") for end in ("num", "den"))


def test_the_example_of_the_paper(tmp_path):
    scores = scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})
    assert ends(scores["muc"]["mentions"]) == (6, 7, 6, 8)
    assert {name: ends(scores[name]["coreference"]) for name in MEASURES} == {
        "muc": (2, 5, 2, 5),
        "bcub": (2.91666666666667, 7, 4, 8),  # 35/12
        "ceafm": (4, 7, 4, 8),
        "ceafe": (1.3, 2, 1.3, 3),
    }
    assert ends(scores["blanc"]["coreference_links"]) == (2, 9, 2, 8)
    assert ends(scores["blanc"]["non_coreference_links"]) == (8, 12, 8, 20)
    assert ends(scores["blanc"]["blanc"]) == (0.444444444444444, 1, 0.325, 1)
    assert scores["blanc"]["blanc"]["f1"] == 36.76
    assert "per_document" not in scores


def test_percentages_are_cut_off_and_whole_ones_have_no_fraction(tmp_path):
    row = scored(tmp_path, {"x": "(0) (0) (1) (1)"}, {"x": "(0) (0) (1) -"})["muc"]["mentions"]
    assert (row["recall"], row["precision"], row["f1"]) == (75, 100, 85.71)  # 85.714
    row = scored(tmp_path, {"x": "(0) (0) (0)"}, {"x": "(0) (0) -"})["muc"]["mentions"]
    assert row["recall"] == 66.66
    assert isinstance(row["precision"], int)


def test_averages_of_printed_and_of_computed_f1(tmp_path):
    scores = scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})
    average = scores["conll_average"]
    # CEAFe is 0.52 less a bit, and cut off
    assert average["from_printed_f1"] == (40 + 45.45 + 51.99) / 3
    assert average["f1_from_fractions"] == pytest.approx(
        {"muc": 40, "bcub": 100 * 2 * 0.5 * (35 / 84) / (0.5 + 35 / 84), "ceafe": 52}
    )
    assert average["from_fractions"] == pytest.approx(
        sum(average["f1_from_fractions"].values()) / 3
    )


def test_a_document_that_the_response_lacks_counts_as_empty(tmp_path):
    gold = {"x": GOLD, "y": "(5 - 5) (5)"}
    scores = scored(tmp_path, gold, {"x": PREDICTED, "z": "(1) (1)"})
    assert list(scores["per_document"]) == ["(x); part 000", "(y); part 000"]
    assert (
        scores["per_document"]["(x); part 000"]["muc"]
        == (scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})["muc"])
    )
    assert ends(scores["per_document"]["(y); part 000"]["bcub"]["coreference"]) == (0, 2, 0, 0)
    assert ends(scores["muc"]["coreference"]) == (2, 6, 2, 5)
    assert ends(scores["ceafe"]["coreference"]) == (1.3, 3, 1.3, 3)
    assert scored(tmp_path, gold, {})["conll_average"]["from_printed_f1"] == 0


def test_repeated_mentions_of_the_response_are_dropped(tmp_path):
    plain = scored(tmp_path, {"x": GOLD}, {"x": PREDICTED})
    again = PREDICTED.replace("(0) (0)", "(0)|(0) (0)|(9)")
    assert scored(tmp_path, {"x": GOLD}, {"x": again}) == plain


def test_ten_repeated_mentions_are_borne_and_no_more(tmp_path):
    gold = {"x": "(0) (0)", "y": " ".join(["(0)"] * 9)}
    many = {"x": "(0)|(1) (0)|(1)", "y": " ".join(["(0)|(1)"] * 8) + " (0)"}
    assert scored(tmp_path, gold, many)["muc"]["coreference"]["f1"] == 100
    many["y"] = many["y"] + "|(1)"
    with pytest.raises(FormatError, match="at most 10") as caught:
        scored(tmp_path, gold, many)
    assert caught.value.line == 1 + 2 + 2 + 1 + 9


def test_a_span_of_two_gold_clusters_is_at_home_in_the_last(tmp_path):
    scores = scored(tmp_path, {"x": "(0)|(1) (0) (1)"}, {"x": "(0) (1) (0)"})
    assert ends(scores["muc"]["mentions"]) == (3, 3, 3, 3)
    assert ends(scores["muc"]["coreference"]) == (1, 2, 1, 1)
    assert ends(scores["bcub"]["coreference"]) == (2.5, 4, 3, 3)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("#begin document (x)\nx\t(0\n#end document\n", 2),
        ("#begin document (x)\nx\t-\nx\t0)\n", 3),
        ("#begin document (x)\nx\tword\n", 2),
        ("x\t-\n", 1),
        ("#begin document (x)\n#end document\nx\t-\n", 3),
        ("#begin document (x)\n#end document\n#begin document (x)\n", 3),
        ("", None),
        (b"#begin document (x)\n\xff\n", 2),
    ],
)
def test_malformed_gold_names_its_line(text, line, tmp_path):
    (tmp_path / "gold").write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "pred").write_text(written({"x": PREDICTED}), encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        KIND.score(tmp_path / "gold", tmp_path / "pred", {})
    assert caught.value.line == line


def test_mutated_files_raise_nothing_else(tmp_path):
    dice = random.Random(5)
    text = written({"x": GOLD, "y": "(5 (6|(7 7)|5) 6)"}).encode()
    for side in ("gold", "pred"):
        for _ in range(60):
            for name in ("gold", "pred"):
                (tmp_path / name).write_bytes(text)
            damaged = bytearray(text)
            for _ in range(dice.randrange(1, 4)):
                damaged[dice.randrange(len(damaged))] = dice.choice(b"()|0#\t\n\r\x00\xff-")
            (tmp_path / side).write_bytes(bytes(damaged))
            with suppress(FormatError):
                json.dumps(KIND.score(tmp_path / "gold", tmp_path / "pred", {}), allow_nan=False)


@given(st.lists(st.sampled_from(["(0)", "(1)", "(2)", "-"]), min_size=1, max_size=8))
def test_a_perfect_response_scores_100(tmp_path_factory, cells):
    folder = tmp_path_factory.mktemp("perfect")
    column = {"x": " ".join(["(7)", "(7)", *cells])}
    scores = scored(folder, column, column)
    assert all(scores[name]["coreference"]["f1"] == 100 for name in MEASURES)
    assert scores["blanc"]["blanc"]["f1"] == 100
    assert scores["conll_average"]["from_fractions"] == pytest.approx(100)
