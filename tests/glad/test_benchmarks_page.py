"""docs/benchmarks.md is what its command makes of the recorded results."""

import importlib
import json
import re
from pathlib import Path
from statistics import mean, stdev

import pytest
from test_leaderboard import row

from spanloom import tasks
from spanloom.config import yaml
from spanloom.corpora import card as cards
from spanloom.glad.result import save
from spanloom.metrics.bootstrap import counts_per_document
from spanloom.metrics.counts import Counts

ROOT = Path(__file__).parents[2]
ASKED = ROOT / "benchmarks/results/asked.yaml"


@pytest.fixture
def made(monkeypatch):
    """The module that makes the page."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("benchmarks")


@pytest.fixture
def tables(made):
    return importlib.import_module("ten_tasks")


def test_the_page_is_what_its_command_makes_of_all_but_grids(made):
    """Grids take seconds: they resample their documents."""
    text = re.sub(r"^<!-- grid: .*\n", "", made.TEMPLATE.read_text(encoding="utf-8"), flags=re.M)
    lines = iter(made.PAGE.read_text(encoding="utf-8").splitlines())
    for line in made.page(text).splitlines():
        assert line in lines, f"run python docs/benchmarks.py: {line}"


@pytest.mark.slow
def test_the_page_is_what_its_command_makes(made):
    said = made.TEMPLATE.read_text(encoding="utf-8")
    assert made.PAGE.read_text(encoding="utf-8") == made.page(said), "run python docs/benchmarks.py"


@pytest.fixture
def results(tmp_path):
    (tmp_path / "a.json").write_text('{"n": 1234, "in": {"x": {"v": 0.5}, "y": {"v": [1, 2]}}}')
    (tmp_path / "s1.json").write_text('{"t": {"v": 0.25, "w": "one"}}')
    (tmp_path / "s2.json").write_text('{"t": {"v": 0.75, "w": "two"}}')
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ("rows: a.json | {n:,} | n", ["| 1,234 | n |"]),
        ("rows: a.json in.* | {*0} | `{v}`", ["| x | `0.5` |", "| y | `[1, 2]` |"]),
        ("rows: a.json in.y | {v.1:10*.1f}", ["| 20.0 |"]),
        ("rows: a.json in.x | {v:.0%} | {v:s}", ["| 50% | 0.50 |"]),
        ("rows: s*.json t | {w}", ["| one |", "| two |"]),
        ("together: s*.json t | {files} | {v:100*.1f}", ["| 2 | 50.0 ± 35.4 |"]),
    ],
)
def test_a_line_is_replaced_by_rows(made, results, asked, lines):
    text = f"| a |\n|---|\n<!-- {asked} -->\n\nend\n"
    assert made.page(text, results).splitlines()[2:-2] == lines


@pytest.mark.parametrize(
    "asked",
    [
        "rows: no.json | {n}",
        "rows: a.json | {no}",
        "rows: a.json in.no | {v}",
        "rows: a.json in.y | {v.7}",
        "rows: a.json in.y | {v.x}",
        "rows: a.json in.y.v.0 | x",
        "rows: a.json in.x | {v:q}",
        "cells: a.json | {n}",
        "rows a.json",
    ],
)
def test_what_is_not_there_is_told(made, results, asked):
    with pytest.raises(ValueError, match=re.escape(asked)):
        made.page(f"<!-- {asked} -->\n", results)


# the ten tasks


SAID = """
ratios: {entities: 75}
metrics:
  wnut17:
    ner:
      span_f1: {asked: 42, note: other data}
      unseen: {asked: 50}
      accuracy: {asked: 80, gold_inputs: true, paper: 85.5}
"""


@pytest.fixture
def line(tables, tmp_path):
    """The cells of the only line of a table of some rows, by the head."""
    (tmp_path / "asked.yaml").write_text(SAID)

    def told(*rows):
        for each in rows:
            save(each, tmp_path / "rows")
        said = tables.ten_tasks(tmp_path / "rows", tmp_path / "asked.yaml").splitlines()
        head, _, *lines = [[c.strip() for c in each.strip("|").split(" | ")] for each in said]
        return [dict(zip(head, each, strict=True)) for each in lines]

    return told


def test_a_row_tells_its_interval_and_what_is_asked(line):
    (said,) = line(row())
    assert said["task"] == "named entities, mentions"
    assert said["test, %"] == "span_f1 43.21 (41.0 to 45.0)"
    assert said["asked"] == "span_f1 42, unseen 50"
    assert said["reached"] == "span_f1 yes, unseen not told"
    assert said["others"] == "other data"
    assert said["of the bare encoder"] == "80% (≥ 75 %)"
    assert (said["CPU minutes"], said["words/s trained"]) == ("12.3", "1,234")
    assert (said["recipe"], said["seeds"]) == ("ner", "1")


def test_what_is_given_is_measured_by_what_is_asked_of_that(line):
    (said,) = line(row(gold_inputs=("entities",), metrics={"accuracy": 0.795}, intervals={}))
    assert said["task"] == "named entities, mentions, given"
    assert said["asked"] == "accuracy 80"
    assert said["reached"] == "no (-0.50)"
    assert said["others"] == "the paper: 85.5"


def test_seeds_of_one_recipe_share_a_line(line):
    values = [0.40, 0.43, 0.45]
    runs = [
        row(seed=n, metrics={"span_f1": value}, train_cpu_minutes=10.0 + n)
        for n, value in enumerate(values)
    ]
    (said,) = line(*runs)
    assert said["test, %"] == f"span_f1 {100 * mean(values):.2f} ± {100 * stdev(values):.2f}"
    assert said["CPU minutes"] == "11.0"
    assert said["seeds"] == "0, 1, 2"


def test_other_settings_recipes_and_tasks_have_lines_of_their_own(line):
    rows = [row(), row(settings=("dropout=0.1",)), row(recipe="other"), row(kind="pos", task="x")]
    found = line(*rows, row(kind="label", task="y"))
    assert [each["task"] for each in found] == [
        *("parts of speech", *["named entities, mentions"] * 3, "label")
    ]
    assert [each["recipe"] for each in found[1:4]] == ["ner", "ner dropout=0.1", "other"]


def test_what_is_not_known_is_left_empty(line):
    unknown = dict.fromkeys(
        ("train_cpu_minutes", "train_words_per_s", "encoder_words_per_s", "relative_speed")
    )
    (said,) = line(row(dataset="x", **unknown))
    empty = {name for name, cell in said.items() if not cell}
    assert empty == {
        *("asked", "reached", "others", "CPU minutes", "words/s trained", "of the bare encoder")
    }


def test_without_rows_it_says_so(tables, tmp_path):
    assert tables.ten_tasks(tmp_path, ASKED) == tables.peers(tmp_path) == "No row yet.\n"


def test_peers_are_told_the_best_first(tables, tmp_path):
    one = {"peer": "a", "dataset": "d", "metrics": {"f": {"f1": 0.5, "low": 0.4, "high": 0.6}}}
    one |= {"train_minutes": 3.25, "words_per_second": 1234.5, "tries": [{}, {}]}
    one |= {"settings": {"epochs": 3}, "versions": {"v|": "1"}}
    better = {"f": {"f1": 0.6, "low": 0.5, "high": 0.7}}
    two = {**one, "peer": "b", "metrics": better, "train_minutes": None}
    for each in (one, two):
        (tmp_path / f"{each['peer']}.json").write_text(json.dumps({**each, "seed": 1}))
    lines = tables.peers(tmp_path).splitlines()[2:]
    assert lines == [
        "| b | d | f 60.00 (50.0 to 70.0) |  | 1,234 | epochs 3 | 2 | v\\| 1 | 1 |",
        "| a | d | f 50.00 (40.0 to 60.0) | 3.2 | 1,234 | epochs 3 | 2 | v\\| 1 | 1 |",
    ]


def test_what_is_asked_is_asked_of_datasets_and_kinds_that_there_are(tables):
    said = yaml.load(ASKED).data
    assert set(said["metrics"]) <= set(cards.names())
    assert set(said["ratios"]) <= set(tables.TASKS) <= set(tasks.names())
    every = [
        each for by in said["metrics"].values() for one in by.values() for each in one.values()
    ]
    assert all(set(each) <= {"asked", "paper", "gold_inputs", "note"} for each in every)


def test_a_grid_has_an_arrow_where_a_column_surely_differs(made, tmp_path):
    good, bad, near = ([(n, 10, 10)] * 30 for n in (9, 5, 8))
    near[0] = (2, 10, 10)

    def saved(column, seed, counts):
        rows = counts_per_document([Counts(*each) for each in counts])
        metrics = {"mean_f1": 0.1, "span_f1": 0.9, "relation_f1": rows.value}
        stored = {"span_f1": rows.dumps(), "relation_f1": rows.dumps()}
        changed = {"metrics": metrics, "per_document_counts": stored}
        save(row(recipe=column, seed=seed, **changed), tmp_path / "g")

    for seed in (1, 2):
        saved("alone", seed, near)
        saved("joint", seed, bad)
        saved("joint-tuned", seed, good)
    saved("joint-own-best", 1, near)
    other = {"task": "ner", "recipe": "alone", "dataset": "btc", "train_cpu_minutes": None}
    metrics = {"span_f1": 0.5, "accuracy": 0.6}
    save(row(**other, metrics=metrics), tmp_path / "g")  # without counts, minutes unknown
    save(row(**{**other, "recipe": "joint"}, metrics=metrics), tmp_path / "g")
    made_of = importlib.import_module("grid").grid(tmp_path / "g")
    lines = [[cell.strip() for cell in line.split("|")][1:-1] for line in made_of.splitlines()[2:]]
    cells = ["", *next(line for line in lines if line[1] == "wnut17")]
    assert cells[3] == "relation_f1"
    assert ["ner", "btc", "span_f1", "50.00", "50.00", "", "", "", "1"] in lines
    assert cells[4:8] == ["78.00 ± 0.00", "50.00 ± 0.00 ↓", "78.00", "90.00 ± 0.00 ↑"]


def test_gains_stand_by_task_and_partner(made, tmp_path):
    def result(task, partner, comparison, control=None):
        said = {"design": "pairs", "metric": "f1", "comparison": comparison, "control": control}
        return {"task": task, "partners": [partner], **said}

    def compared(gain, p):
        return {"baseline": {"mean": 0.5}, "gain": gain, "p": p}

    results = [
        result("ner", "pos", compared(0.0125, 0.01)),
        result("ner", "srl", compared(0.5, 0.01), control=compared(-0.02, 0.04)),
        result("pos", "ner", compared(-0.003, 0.2)),
        {**result("pos", "srl", None), "design": "other"},
    ]
    (tmp_path / "r.json").write_text(json.dumps(results))
    lines = made.page("<!-- gains: r.json pairs -->\n", tmp_path).splitlines()
    assert lines[0] == "| task | metric | alone | ner | pos | srl |"
    assert lines[2:] == [
        "| ner | f1 | 50.00 |  | +1.25 ↑ | −2.00 ↓ |",
        "| pos | f1 | 50.00 | −0.30 |  |  |",
    ]
    with pytest.raises(ValueError, match="no gains of trios"):
        made.page("<!-- gains: r.json trios -->\n", tmp_path)


@pytest.fixture
def lines_of(made, tmp_path):
    """The lines of a table of some results."""

    def told(directive, results):
        (tmp_path / "r.json").write_text(json.dumps(results))
        head, _, *lines = made.page(f"<!-- {directive}: r.json -->\n", tmp_path).splitlines()
        return [head, *lines]

    return told


def result(task, condition, values, *, partners=(), gain=None, control=None, **keys):
    def compared(gained):
        return gained and {"gain": gained[0], "p": gained[1], "against": "alone twice"}

    deviation = stdev(values) if len(values) > 1 else 0.0
    return {
        "design": "curve" if "examples" in keys else "single",
        "task": task,
        "metric": "f1",
        "condition": condition,
        "trunk": "",
        "own_mean": None,
        "partners": list(partners),
        "examples": None,
        "scores": {"mean": mean(values), "deviation": deviation, "count": len(values)},
        "comparison": compared(gain),
        "control": compared(control),
        **keys,
    }


def test_scores_stand_by_task_and_condition(lines_of):
    results = [
        result("ner", "alone", [0.5, 0.52]),
        result("pos", "alone", [0.9]),
        result("ner", "jointly", [0.4], partners=["pos"], gain=(-0.1, 0.001)),
        result("ner", "then alone", [0.55], gain=(0.05, 0.2), control=(0.02, 0.03)),
        result("pos", "then alone", [0.95], gain=(0.05, 0.01)),
    ]
    assert lines_of("conditions", results) == [
        "| task | metric | alone | jointly | then alone | then alone: gain over alone twice |",
        "| ner | f1 | 51.00 ± 1.41 | 40.00 ↓ | 55.00 | +2.00 ↑ |",
        "| pos | f1 | 90.00 |  | 95.00 ↑ |  |",
    ]


def test_trunks_and_own_best_weights_have_columns_of_their_own(lines_of):
    results = [
        result("ner", "single", [0.5], trunk="minilm"),
        result("ner", "single", [0.55], trunk="mine", gain=(0.05, 0.01), control=(0.02, 0.3)),
        result("ner", "joint", [0.52], trunk="mine", own_mean=0.54),
    ]
    assert lines_of("conditions", results) == [
        "| task | metric | minilm | mine | joint, mine | mine: gain over alone twice | "
        "joint, mine, each with its own best weights |",
        "| ner | f1 | 50.00 | 55.00 ↑ | 52.00 | +2.00 | 54.00 |",
    ]


def test_curves_stand_by_task_and_size(lines_of):
    results = [
        result("srl", "a", [0.3], examples=1000),
        result("srl", "b", [0.2], examples=75),
        result("srl", "c", [0.25], examples=75, partners=["pos"], gain=(0.05, 0.01)),
        result("orl", "d", [0.1], examples=75, partners=["pos", "srl"]),
        result("srl", "e", [0.28], examples=1000, partners=["pos", "orl"], gain=(-0.02, 0.5)),
        result("srl", "f", [0.9]),
        result("pos", "f", [0.8]),  # has no curve
    ]
    assert lines_of("curves", results) == [
        "| task | metric | examples | alone | with one | with all |",
        "| orl | f1 | 75 |  |  | 10.00 |",
        "| srl | f1 | 75 | 20.00 | 25.00, +5.00 ↑ (pos) |  |",
        "| srl | f1 | 1,000 | 30.00 |  | 28.00, −2.00 |",
        "| srl | f1 | all | 90.00 |  |  |",
    ]
