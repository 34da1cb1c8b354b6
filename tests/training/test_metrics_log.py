"""One line an event; after a resume nothing stands twice."""

import json

from spanloom.training.metrics_log import MetricsLog


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_fresh_start_forgets_a_resume_keeps_what_came_before(tmp_path):
    path, said = tmp_path / "metrics.jsonl", []
    journal = MetricsLog(path, said.append, active=True)
    journal.start(keep=None)
    for update in range(1, 6):
        journal.write({"step": update})
        journal.write({"step": update, "dev": {}})
    journal.start(keep=3)
    assert [each["step"] for each in lines(path)] == [1, 1, 2, 2, 3, 3]
    journal.write({"step": 4})
    assert lines(path)[-1] == {"step": 4}
    journal.start(keep=None)
    assert lines(path) == []
    journal.log("hello")
    assert said == ["hello"]


def test_lines_that_a_kill_cut_short_are_dropped(tmp_path):
    path = tmp_path / "metrics.jsonl"
    journal = MetricsLog(path, print, active=True)
    for torn in (b'{"step": 2, "los', b"\xff\x00", b"[]", b"7", b'{"step": null}', b"{}"):
        path.write_bytes(b'{"step": 1}\n' + torn)
        journal.start(keep=9)
        journal.write({"step": 2})
        assert lines(path) == [{"step": 1}, {"step": 2}]


def test_other_processes_keep_silent(tmp_path):
    path, said = tmp_path / "metrics.jsonl", []
    journal = MetricsLog(path, said.append, active=False)
    journal.start(keep=None)
    journal.write({"step": 1})
    journal.log("hello")
    assert not path.exists()
    assert said == []
