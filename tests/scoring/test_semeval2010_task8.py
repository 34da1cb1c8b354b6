"""SemEval-2010 task 8: the official cases, small files, and three evaluations counted plainly."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import FormatError
from spanloom.scoring.semeval2010_task8 import KIND, compare_directed, compare_undirected, official

CASES = [f"case{number:02}" for number in range(1, 13)]
LABELS = ["A-B(e1,e2)", "A-B(e2,e1)", "C-D(e1,e2)", "C-D(e2,e1)", "_Other"]
ANSWERS = st.lists(
    st.tuples(st.sampled_from(LABELS), st.none() | st.sampled_from(LABELS)), min_size=1, max_size=15
).filter(lambda rows: any(gold != "_Other" for gold, _ in rows))


@pytest.mark.parametrize("case", CASES)
def test_official_case(case, golden):
    folder = golden("semeval2010-task8") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    files = folder / "answer_key.txt", folder / "proposed.txt"
    if expected["exit_code"]:
        with pytest.raises(FormatError) as caught:
            KIND.score(*files, {})
        assert caught.value.line
    else:
        found = KIND.score(*files, {})
        assert json.loads(json.dumps(found)) == expected["scores"]
        assert KIND.table(found).endswith("%\n")
    golden.count(1)


def scored(tmp_path, gold, proposed):
    for name, text in (("key", gold), ("proposed", proposed)):
        (tmp_path / name).write_bytes(text.encode())
    return KIND.score(tmp_path / "key", tmp_path / "proposed", {})


def test_a_wrong_direction_adds_to_the_denominator_of_precision(tmp_path):
    key = "1\tCause-Effect(e1,e2)\n2\tCause-Effect(e1,e2)\n3\tOther\n4\tMessage-Topic(e1,e2)\n"
    scores = scored(tmp_path, key, "1\tCause-Effect(e1,e2)\n2\tCause-Effect(e2,e1)\n3\tOther\n")
    main = scores["way10_official"]
    assert main["relations"]["Cause-Effect"] == {
        "correct": 1,
        "gold": 2,
        "precision": 50.0,
        "recall": 50.0,
        "f1": 50.0,
        "proposed": 1,
        "wrong_direction": 1,
    }
    assert main["confusion"]["C-E"] == {"counts": [1, 0, 0], "sums": [1, 1, 0, 2]}
    assert main["sum_row"] == [1, 0, 1, 2, 1, 1, 4]
    assert scores["way10_no_direction"]["relations"]["Cause-Effect"]["f1"] == 100.0
    assert scores["official_macro_f1"] == 25.0
    assert scores["warnings"] == [
        "The proposed file contains 1 label(s) of type 'Cause-Effect(e2,e1)', "
        "which is NOT present in the key file."
    ]


def test_the_macro_mean_is_over_relations_of_the_key(tmp_path):
    key = "1\tCause-Effect(e1,e2)\n2\tOther\n"
    scores = scored(tmp_path, key, "1\tCause-Effect(e1,e2)\n2\tMessage-Topic(e2,e1)\n")
    assert scores["official_macro_f1"] == 100.0
    assert scores["way19_directional"]["columns"] == ["C-E1", "_O_", "*MT2"]
    assert scores["way10_official"]["micro"]["proposed"] == 1


def test_what_is_skipped_counts_as_wrong_or_as_other(tmp_path):
    scores = scored(
        tmp_path, "1\tCause-Effect(e1,e2)\n2\tOther\n03\tOther\n", "1\tCause-Effect(e1,e2)\r\n"
    )
    told = scores["way10_official"]
    assert told["coverage"] == [1, 3, 33.33]
    assert told["accuracy"] == [1, 1, 100.0]
    assert told["accuracy_skipped_wrong"] == [1, 3, 33.33]
    assert told["accuracy_skipped_other"] == [3, 3, 100.0]


@pytest.mark.parametrize(
    ("proposed", "line"),
    [
        ("1\tOther\n1\tOther\n", 2),
        ("1\tOther", 1),
        ("1 Other\n", 1),
        ("2\tOther\n", 1),
        ("-1\tOther\n", 1),
        ("1\tCause-Effect\n", 1),
        ("1\t_Other\n", 1),
        ("1\tOther \n", 1),
        ("\n", 1),
        ("", None),
    ],
)
def test_what_is_refused(tmp_path, proposed, line):
    with pytest.raises(FormatError) as caught:
        scored(tmp_path, "1\tCause-Effect(e1,e2)\n", proposed)
    assert caught.value.line == line


def test_a_key_of_other_alone_is_refused(tmp_path):
    with pytest.raises(FormatError, match="not Other"):
        scored(tmp_path, "1\tOther\n", "1\tOther\n")


def test_whatever_bytes_come(tmp_path):
    draw = random.Random(1)
    sample = b"1\tCause-Effect(e1,e2)\n2\tOther\n3\tCause-Effect(e2,e1)\n"
    (tmp_path / "key").write_bytes(sample)
    for _ in range(200):
        data = bytearray(sample)
        data[draw.randrange(len(data))] = draw.choice(b"\n\r\t123\xff\x00")
        (tmp_path / "proposed").write_bytes(bytes(data))
        with suppress(FormatError):
            assert KIND.table(KIND.score(tmp_path / "key", tmp_path / "proposed", {}))


def bare(label):
    return label.split("(")[0]


@given(ANSWERS)
def test_evaluations_are_those_of_plain_loops(rows):
    gold = {str(place): one for place, (one, _) in enumerate(rows)}
    proposed = {str(place): two for place, (_, two) in enumerate(rows) if two}
    answered = [(one, two) for one, two in rows if two]
    for label, counts in official(compare_directed(gold, proposed)).counts("_Other").items():
        near = sum(bare(a) == bare(b) == label for a, b in answered)
        right = sum(a == b and bare(a) == label for a, b in answered)
        strangers = sum(bare(b) == label != bare(a) for a, b in answered)
        assert counts.hits == right
        assert counts.predicted == near + strangers
        assert counts.gold == sum(bare(one) == label for one, _ in rows)
    for label, counts in compare_directed(gold, proposed).counts().items():
        assert counts.hits == sum(a == b == label for a, b in answered)
        assert counts.predicted == sum(b == label for _, b in answered)
    for label, counts in compare_undirected(compare_directed(gold, proposed)).counts().items():
        assert counts.hits == sum(bare(a) == bare(b) == label for a, b in answered)
    skipped = sum(
        official(compare_directed(gold, proposed)).skipped(label)
        for label in {*map(bare, gold.values())}
    )
    assert skipped == sum(two is None for _, two in rows)


@given(ANSWERS)
def test_the_key_against_itself_is_right(rows):
    gold = {str(place): one for place, (one, _) in enumerate(rows)}
    assert official(compare_directed(gold, gold)).macro("_Other").f1 == 100.0
