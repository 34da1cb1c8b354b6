"""``check`` and ``convert`` by several processes: the same bytes, messages and errors as by one."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from spanloom.cli import document_batches, document_mapper
from spanloom.corpora import check
from spanloom.formats import jsonl
from spanloom.formats.brat import folder
from spanloom.workers import executors


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(document_mapper, "SMALL_BYTES", 0)
    monkeypatch.setattr(document_batches, "BATCH_BYTES", 400)
    monkeypatch.setattr(check, "_BATCH_CHARACTERS", 300)


@pytest.fixture
def corpus(home, tmp_path):
    """The tiny corpus with a file whose lines are no annotation, and one without a text."""
    target = tmp_path / "corpus"
    for path in (home / "corpus").rglob("*.*"):
        copy = target / path.relative_to(home / "corpus")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    (target / "train/broken.txt").write_text("Stir it.", encoding="utf-8")
    (target / "train/broken.ann").write_text("T1\tA 0 4\tStir\nno line\n", encoding="utf-8")
    (target / "train/alone.ann").write_text("", encoding="utf-8")
    return target


@pytest.fixture
def lines(corpus, tmp_path):
    """JSON lines with blank ones between, some documents without a name."""
    path = tmp_path / "in.jsonl"
    documents = [reading.document for reading in folder.read_all(corpus)]
    texts = [jsonl.dumps([document]) for document in documents]
    nameless = '{"text": "a"}\n\u2002\n'
    path.write_text("\ufeff" + nameless + nameless.join(texts), encoding="utf-8")
    return path


def both(spanloom, command, args):
    """Run a command by one process and by two; returns what both said."""
    told = [spanloom(command, *args(count), "--workers", count) for count in ("1", "2")]
    one, two = ((run.exit_code, run.stdout, run.stderr) for run in told)
    assert one == tuple(part if isinstance(part, int) else part.replace("/2", "/1") for part in two)
    return told[0]


def files(path):
    if path.is_file():
        return path.read_bytes()
    return {str(f.relative_to(path)): f.read_bytes() for f in path.rglob("*") if f.is_file()}


@pytest.mark.parametrize("name", ["out.jsonl", "out", "out.conllu"])
@pytest.mark.parametrize("source", ["corpus", "lines"])
def test_convert(spanloom, request, tmp_path, source, name):
    path = request.getfixturevalue(source)
    for count in "12":
        (tmp_path / count).mkdir()
    told = both(spanloom, "convert", lambda count: (path, tmp_path / count / name))
    assert told.exit_code == 0
    assert ("broken.ann:2: " in told.stderr) == (source == "corpus")
    assert files(tmp_path / "1" / name) == files(tmp_path / "2" / name)
    assert sorted(os.listdir(tmp_path / "2")) == [name]


def test_convert_says_what_is_lost_and_where_a_mistake_is(spanloom, corpus, lines, tmp_path):
    line = '{"name": "s%s", "text": "ab", "layers": [{"name": "main", "spans": [{"id": "T1", '
    line += '"label": "A", "fragments": [[0, 1]], "score": 0.5}], "relations": []}]}\n'
    with lines.open("a", encoding="utf-8") as file:
        file.writelines(line % number for number in range(30))
    told = both(spanloom, "convert", lambda count: (lines, tmp_path / count, "--strict"))
    assert (told.exit_code, "has no place for scores: 30" in told.stderr) == (1, True)
    with lines.open("a", encoding="utf-8") as file:
        file.write("{}\n")
    told = both(spanloom, "convert", lambda count: (lines, tmp_path / f"{count}.jsonl"))
    assert told.exit_code == 1
    count = len(lines.read_text(encoding="utf-8").splitlines())
    assert f"in.jsonl:{count}: not a document" in told.stderr
    (corpus / "dev/latin.txt").write_bytes(b"caf\xe9")
    told = both(spanloom, "convert", lambda count: (corpus, tmp_path / f"{count}.jsonl"))
    assert (told.exit_code, told.stderr.count("latin.txt")) == (1, 1)
    assert f"{corpus}: 1 document was left out" in told.stderr
    written = (tmp_path / "2.jsonl").read_text(encoding="utf-8").splitlines()
    names = [json.loads(line)["name"] for line in written]
    texts = (path.relative_to(corpus).with_suffix("") for path in corpus.rglob("*.txt"))
    assert names == sorted({path.as_posix() for path in texts} - {"dev/latin"})


def test_convert_writes_nothing_where_nothing_can_be_read(fails, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/latin.txt").write_bytes(b"caf\xe9")
    out = tmp_path / "out.jsonl"
    assert "is not utf-8; --encoding NAME" in fails("convert", tmp_path / "in", out, code=1)
    assert "is not utf-8" in fails("convert", tmp_path / "in/latin.txt", out, code=1)
    assert not out.exists()


def test_check(spanloom, corpus, tmp_path):
    lines = tmp_path / "named.jsonl"
    spanloom("convert", corpus, lines)
    (corpus / "dev/latin.txt").write_bytes(b"caf\xe9")
    for args in ((corpus,), (corpus, "--json"), (lines,)):
        told = both(spanloom, "check", lambda _, args=args: args)
        assert told.exit_code == 0, told.stderr
    assert both(spanloom, "check", lambda _: (corpus / "none",)).exit_code == 1


def test_small_work_starts_no_process(spanloom, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(document_mapper, "SMALL_BYTES", 2_000_000)
    monkeypatch.setattr(executors, "_Worker", None)
    told = spanloom("convert", corpus, tmp_path / "o.jsonl", "--workers", "2")
    assert told.exit_code == 0
    assert spanloom("check", corpus, "--workers", "2").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 1), (signal.SIGKILL, -9)])
def test_no_worker_stays(tmp_path, number, code):
    text = "Stir the cells for a while. " * 300
    source = tmp_path / "in.jsonl"
    lines = (f'{{"name": "{name}", "text": "{text}"}}\n' for name in range(3000))
    source.write_text("".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "spanloom", "check", str(source), "--workers", "2"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    parent = psutil.Process(run.pid)
    while run.poll() is None and len(workers := parent.children()) < 2:
        time.sleep(0.02)
    run.send_signal(number)
    _, told = run.communicate(timeout=120)
    assert run.returncode == code, told
    assert "Traceback" not in told
    gone, alive = psutil.wait_procs(workers, timeout=60)
    assert (len(gone), alive) == (2, [])


@pytest.mark.slow
def test_a_conversion_that_is_ended_leaves_no_hidden_file(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    line = json.dumps({"name": "a", "text": "Stir the cells for a while. " * 300})
    source.write_text(f"{line}\n" * 20_000, encoding="utf-8")
    command = [sys.executable, "-m", "spanloom", "convert", str(source), str(out), "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while not any(path.name.startswith(".") for path in tmp_path.iterdir()):
            assert run.poll() is None
            time.sleep(0.01)
        run.send_signal(signal.SIGTERM)
    assert run.returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
