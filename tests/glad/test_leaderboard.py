"""Rows of the board: saved, read again, shown; what is hostile in them stays text."""

import json
from dataclasses import asdict

import pytest

from spanloom.errors import FormatError
from spanloom.glad.leaderboard import HEAD, cells, page, sort_rows, table
from spanloom.glad.result import Result, load_results, save


def row(**changes):
    said = {
        "dataset": "wnut17",
        "version": "1",
        "key": "k",
        "task": "ner",
        "kind": "entities",
        "gold_inputs": (),
        "recipe": "ner",
        "settings": (),
        "seed": 1,
        "commit": "abc",
        "command": "spanloom glad run ner.yaml",
        "date": "2026-11-21",
        "metrics": {"span_f1": 0.4321},
        "intervals": {"span_f1": (0.41, 0.45)},
        "dev": {"ner.span_f1": 0.5678},
        "updates": 300,
        "epoch": 4.0,
        "train_cpu_minutes": 12.34,
        "train_words_per_s": 1234.0,
        "annotate_words_per_s": 4321.0,
        "encoder_words_per_s": 5432.0,
        "relative_speed": 0.8,
        "compute": "cpu, 1 thread, fp32",
        "report": {},
    }
    return Result(**{**said, **changes})


def test_rows_come_back(tmp_path):
    rows = [
        row(),
        row(seed=2, intervals={}, train_cpu_minutes=None, relative_speed=None),
        row(task="other"),
    ]
    rows += [row(settings=("dropout=0.1",)), row(settings=("dropout=0.2",), gold_inputs=("main",))]
    for each in rows:
        save(each, tmp_path / "rows")
    assert sorted(load_results(tmp_path / "rows"), key=lambda r: r.file) == sorted(
        rows, key=lambda r: r.file
    )
    save(row(train_cpu_minutes=1.0), tmp_path / "rows")  # the same run again takes its place
    assert len(load_results(tmp_path / "rows")) == len(rows)


BROKEN = [
    "",
    "[]",
    "{}",
    '{"dataset": 1}',
    "nan",
    "\ud800",
    json.dumps(asdict(row(metrics={}))),
    json.dumps(asdict(row(metrics=[1]))),
    json.dumps(asdict(row(intervals={"span_f1": [1]}))),
    json.dumps(asdict(row(train_cpu_minutes="long"))),
    json.dumps({**asdict(row()), "more": 1}),
]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_row_is_told(tmp_path, text):
    (tmp_path / "a.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(FormatError, match=r"a\.json: no row of the board"):
        load_results(tmp_path)


@pytest.mark.parametrize(
    ("settings", "told"),
    [((), "ner"), (("a=1", "b=2"), "ner a=1 b=2"), ("abcd", "ner a and 3 settings more")],
)
def test_of_many_settings_the_first_is_told(settings, told):
    assert row(settings=tuple(settings)).made_by == told


def test_the_table_has_a_line_a_row_the_best_first():
    rows = [row(seed=1), row(seed=2, metrics={"span_f1": 0.5}), row(dataset="a|b")]
    lines = table(rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert [each.seed for each in sort_rows(rows)] == [1, 2, 1]
    assert "a\\|b" in lines[2]
    assert "| 50.00 |" in lines[3]
    assert "| 56.78 | 43.21 | 41.0 to 45.0 |" in lines[4]
    assert "| 12.3 | 1,234 | 4,321 | 80 |" in lines[4]


def test_cells_of_what_is_not_known_are_empty():
    unknown = (
        *("train_cpu_minutes", "train_words_per_s", "encoder_words_per_s", "relative_speed"),
        *("updates", "epoch"),
    )
    said = row(**dict.fromkeys(unknown), intervals={}, dev={})
    assert [len(cells(each)) for each in (said, row())] == [len(HEAD)] * 2
    names = {name for name, cell in zip(HEAD, cells(said), strict=True) if not cell}
    assert names == {"95 %", "dev", "min", "trained", "of encoder"}


def test_what_makes_rows_differ_is_shown():
    said = cells(row(gold_inputs=("entities",), settings=("dropout=0.1",)))
    assert "entities, given" in said
    assert "ner dropout=0.1" in said


def test_the_page_writes_hostile_names_as_text():
    said = page([row(dataset="<script>x</script>", command="<b>", recipe='"&')])
    assert "<script>" not in said
    assert "<b>" not in said
    assert "http" not in said  # nothing is fetched from outside
    json.dumps(said)
