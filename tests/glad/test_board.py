"""Rows of the board: saved, read again, shown; what is hostile in them stays text."""

import json

import pytest

from spanloom.errors import FormatError
from spanloom.glad.board import cells, ordered, page, table
from spanloom.glad.row import Row, load_all, save


def row(**changes):
    said = {
        "dataset": "wnut17",
        "version": "1",
        "key": "k",
        "task": "ner",
        "kind": "entities",
        "recipe": "ner",
        "seed": 1,
        "commit": "abc",
        "command": "spanloom glad run ner.yaml",
        "date": "2026-11-21",
        "figures": {"spans": 0.4321},
        "interval": (0.41, 0.45),
        "minutes": 12.34,
        "annotated": 4321.0,
        "report": {},
    }
    return Row(**{**said, **changes})


def test_rows_come_back(tmp_path):
    rows = [row(), row(seed=2, interval=None), row(task="other")]
    for each in rows:
        save(each, tmp_path / "rows")
    assert sorted(load_all(tmp_path / "rows"), key=lambda r: r.file) == sorted(
        rows, key=lambda r: r.file
    )
    save(row(minutes=1.0), tmp_path / "rows")  # the same run again takes its place
    assert len(load_all(tmp_path / "rows")) == 3


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dataset": 1}', "nan"])
def test_what_is_no_row_is_told(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FormatError, match=r"a\.json: no row of the board"):
        load_all(tmp_path)


def test_the_table_has_a_line_a_row_the_best_first():
    rows = [row(seed=1), row(seed=2, figures={"spans": 0.5}), row(dataset="a|b")]
    lines = table(rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert [each.seed for each in ordered(rows)] == [1, 2, 1]
    assert "a\\|b" in lines[2]
    assert "| 50.00 |" in lines[3]
    assert "| 43.21 | 41.0 to 45.0 |" in lines[4]


def test_cells_of_a_row_without_interval():
    assert "" in cells(row(interval=None))


def test_the_page_writes_hostile_names_as_text():
    said = page([row(dataset="<script>x</script>", command="<b>", recipe='"&')])
    assert "<script>" not in said
    assert "<b>" not in said
    assert "http" not in said  # nothing is fetched from outside
    json.dumps(said)
