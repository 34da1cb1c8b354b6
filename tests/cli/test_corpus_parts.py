"""The manifest of a corpus, how many workers there are, and what is said of the time left."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from spanloom.atomic_io import MANIFEST
from spanloom.cli import worker_count
from spanloom.cli.finished import OutputJob
from spanloom.cli.manifest import LOG, open_manifest
from spanloom.cli.outputs import ShownLayers
from spanloom.cli.progress_log import ProgressLog
from spanloom.cli.resumable import annotate_into
from spanloom.cli.shards import find_shards, open_shards
from spanloom.cli.stores import StoredFile, open_store
from spanloom.document import Document
from spanloom.errors import StorageError, WorkerError
from spanloom.formats import jsonl
from spanloom.model import stretches
from spanloom.workers.executors import Answer

WORK = {"model": "a", "form": "json"}


def add(manifest, name):
    (manifest.folder / name).write_text(name)
    manifest.add(name, 7, 3, manifest.folder / name, "v1")


def has(manifest, name, size=7, version="v1"):
    return manifest.has(name, size, lambda: version)


def test_a_shard_that_is_done_stays_done(tmp_path):
    with open_manifest(tmp_path, WORK, resume=False) as manifest:
        add(manifest, "a.jsonl")
        add(manifest, "b.jsonl")
        with (
            pytest.raises(StorageError, match="another process is at work here"),
            open_manifest(tmp_path, WORK, resume=True),
        ):
            pass
    with (tmp_path / LOG).open("ab") as log:
        log.write(b'{"name": "c.jsonl", "input_by')  # torn
    with open_manifest(tmp_path, WORK, resume=True) as manifest:
        assert has(manifest, "a.jsonl")
        assert not has(manifest, "a.jsonl", size=8)
        assert not has(manifest, "a.jsonl", version="v2")  # another input of the same size
        assert not has(manifest, "c.jsonl")
        (tmp_path / "b.jsonl").write_text("b.js")  # cut off
        assert not has(manifest, "b.jsonl")
        (tmp_path / "b.jsonl").unlink()
        assert not has(manifest, "b.jsonl")
        add(manifest, "b.jsonl")
        add(manifest, "c.jsonl")
        manifest.finish(["a.jsonl", "b.jsonl", "c.jsonl"])
    assert not (tmp_path / LOG).exists()
    content = json.loads((tmp_path / MANIFEST).read_bytes())
    assert [shard["name"] for shard in content["shards"]] == ["a.jsonl", "b.jsonl", "c.jsonl"]
    with open_manifest(tmp_path, WORK, resume=True) as manifest:
        assert list(manifest.done) == ["a.jsonl", "b.jsonl", "c.jsonl"]
    with open_manifest(tmp_path, WORK, resume=False) as manifest:
        assert not manifest.done


class Echo:
    """Workers that return the documents as they are."""

    def __init__(self, size):
        self.size, self.jobs, self.most, self.running = size, 0, 0, []

    def start(self, key, content):
        self.running.append((key, content))
        self.jobs, self.most = self.jobs + 1, max(self.most, len(self.running))

    def wait(self):
        key, content = self.running.pop(0)
        head, _, body = content.partition(b"\n")
        described = {
            "line": "echo",
            "work": {"compute": "c"},
            "layers": [],
            "doubts": {},
            "not_run": {},
            "types": {},
        }
        answer = described if b"description" in head else {"compute": "c"}
        return Answer(key, json.dumps(answer).encode() + b"\n" + body)

    def close(self):
        pass


def echo(folder, out, executor, resume=False):
    shards = open_shards(find_shards(folder), out, None)
    shown = ShownLayers(None)
    job = OutputJob("json", out, "x", {}, shown, resume, "again", folder, is_corpus=True)
    annotate_into(executor, shards, job)


def test_a_short_input_needs_one_worker(tmp_path):
    (tmp_path / "in").mkdir()
    jsonl.write(tmp_path / "in" / "a.jsonl", [Document("Stir.", name="1")])
    executor = Echo(2)
    echo(tmp_path / "in", tmp_path / "out", executor)
    assert (executor.jobs, executor.most) == (2, 1)  # the description, and the document
    assert [document.name for document in jsonl.read(tmp_path / "out" / "a.jsonl")] == ["1"]


class Mortal(Echo):
    """Workers that a text ends."""

    def wait(self):
        answer = super().wait()
        return Answer(answer.key, None) if b"poison" in answer.content else answer


def test_texts_that_end_workers_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(stretches, "_MAX_WORDS", 4)
    (tmp_path / "in").mkdir()
    texts = ["Stir it.", "Stir it.", "Some poison.", "Stir it."]
    many = [Document(text * 2, name=f"d{number}") for number, text in enumerate(texts)]
    jsonl.write(tmp_path / "in" / "a.jsonl", many)
    with pytest.raises(WorkerError, match=r"3 worker processes died.* They are 'd2'$"):
        echo(tmp_path / "in", tmp_path / "out", Mortal(2))


@pytest.mark.parametrize("size", [1, 2])
def test_every_shard_comes_to_its_end(tmp_path, monkeypatch, size):
    monkeypatch.setattr(stretches, "_MAX_WORDS", 4)
    (tmp_path / "in").mkdir()
    for name, count in (("a", 3), ("b", 0), ("c", 1), ("d", 0)):
        many = [Document("Stir it. " * 2, name=f"{name}{n}") for n in range(count)]
        jsonl.write(tmp_path / "in" / f"{name}.jsonl", many)
    echo(tmp_path / "in", tmp_path / "out", Echo(size))
    content = json.loads((tmp_path / "out" / MANIFEST).read_bytes())
    assert [(shard["name"][0], shard["documents"]) for shard in content["shards"]] == [
        ("a", 3),
        ("b", 0),
        ("c", 1),
        ("d", 0),
    ]
    again = Echo(size)
    echo(tmp_path / "in", tmp_path / "out", again, resume=True)
    assert again.jobs == 1  # all is done
    text = (tmp_path / "in" / "a.jsonl").read_text().replace("Stir", "Spin")
    (tmp_path / "in" / "a.jsonl").write_text(text)  # of the same size
    echo(tmp_path / "in", tmp_path / "out", again, resume=True)
    assert "Spin" in (tmp_path / "out" / "a.jsonl").read_text()


def test_files_that_are_not_read_and_outputs_without_input_are_told(tmp_path, capsys):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        jsonl.write(folder / name, [Document("Stir.", name="1")])
    echo(folder, out, Echo(1))
    find_shards(folder).log_ignored()
    assert "not read" not in capsys.readouterr().err
    for name in ("UP.JSONL", "x.jsonl.bz2", "x.parquet.gz", ".x.jsonl.bz2", "README.md"):
        (folder / name).touch()
    (folder / "test-evaluations.jsonl").touch()
    find_shards(folder).log_ignored()
    told = "in: not read: UP.JSONL, x.jsonl.bz2, x.parquet.gz; expected names that end in .jsonl"
    assert capsys.readouterr().err == f"{told} or .jsonl.gz or .parquet\n"
    (folder / "b.jsonl").unlink()
    for resume in (True, False):
        echo(folder, out, Echo(1), resume)
        assert f"{out}: of no input of this run: b.jsonl\n" in capsys.readouterr().err


def test_versions_of_files(tmp_path):
    jsonl.write(tmp_path / "a.jsonl", [Document("Stir.")])
    versions = []
    for text in ("Stir.", "Spin.", "Stir."):
        jsonl.write(tmp_path / "a.jsonl", [Document(text)])
        (file,) = find_shards(tmp_path).files
        versions.append(file.fingerprint())
    assert versions[0] == versions[2] != versions[1]
    store = open_store("memory://versions/in")
    infos = ({"size": 5, "ETag": '"1"'}, {"size": 5, "ETag": '"2"'}, {"size": 5})
    for info, version in zip(infos, ('etag:"1"', 'etag:"2"', None), strict=True):
        fs = SimpleNamespace(find=lambda _, info=info, **__: {"/versions/in/a": info})
        assert replace(store, fs=fs).files() == {"a": StoredFile(5, version)}


def test_a_manifest_without_fingerprints_is_still_read(tmp_path):
    with open_manifest(tmp_path, WORK, resume=False) as manifest:
        add(manifest, "a.jsonl")
        manifest.finish(["a.jsonl"])
    content = json.loads((tmp_path / MANIFEST).read_bytes())
    for key in ("output_bytes", "input_fingerprint"):
        del content["shards"][0][key]
    (tmp_path / MANIFEST).write_text(json.dumps(content))
    with open_manifest(tmp_path, WORK, resume=True) as manifest:
        assert has(manifest, "a.jsonl", version="v2")
        assert not has(manifest, "a.jsonl", size=8)


def test_other_work_and_other_files(tmp_path):
    with open_manifest(tmp_path, WORK, resume=False) as manifest:
        add(manifest, "a.jsonl")
    with (
        pytest.raises(StorageError, match="begun with model 'a', now model is 'b'"),
        open_manifest(tmp_path, {**WORK, "model": "b"}, resume=True),
    ):
        pass
    (tmp_path / MANIFEST).write_text("[1]")
    with (
        pytest.raises(StorageError, match="no manifest of an annotated corpus"),
        open_manifest(tmp_path, WORK, resume=True),
    ):
        pass


@pytest.mark.parametrize(
    ("load", "gigabytes", "num_bytes", "device", "workers"),
    [
        (0.2, 64, 10**9, None, 8),
        (0.2, 64, 10**9, "cuda", 1),
        (0.2, 64, 10**4, None, 1),
        (0.2, 64, 0, None, 1),
        (5.1, 64, 10**9, "cpu", 3),
        (50.0, 64, 10**9, None, 1),
        (0.2, 2, 10**9, None, 2),
        (0.2, 0.1, 10**9, None, 1),
    ],
)
def test_workers(monkeypatch, tmp_path, load, gigabytes, num_bytes, device, workers):
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(worker_count, "available_memory", lambda: int(gigabytes * 1e9))
    monkeypatch.setattr(worker_count, "_NVIDIA", tmp_path / "none")
    assert worker_count.default_workers(num_bytes, device) == workers


def test_a_container_has_less_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(worker_count, "_CGROUP", tmp_path)
    free = worker_count.available_memory()
    (tmp_path / "memory.current").write_text("100\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert worker_count.available_memory() > free / 2
    (tmp_path / "memory.max").write_text("1100\n")
    assert worker_count.available_memory() == 1000


def test_the_time_that_is_left(capsys):
    now = [0.0]
    progress = ProgressLog(1000, lambda: now[0])
    progress.skip(200)
    now[0] = 20.0
    progress.add(10, 300, 100)
    assert capsys.readouterr().err == ""
    now[0] = 120.0
    progress.add(20, 600, 100)
    line = capsys.readouterr().err
    speed = "0.2 documents and 8 words a second"
    left = "40 % of the input, about 6 min left"
    assert line == f"30 documents, 900 words done; {speed}; {left}\n"
    unknown = ProgressLog(0, lambda: now[0])
    now[0] = 240.0
    unknown.add(60, 1200, 0)
    speed = "0.5 documents and 10 words a second"
    assert capsys.readouterr().err == f"60 documents, 1200 words done; {speed}\n"


def test_a_slow_run_is_not_said_to_stand_still(capsys):
    now = [0.0]
    progress = ProgressLog(0, lambda: now[0])
    now[0] = 1000.0
    progress.add(2, 8000, 0)
    assert "; 0.002 documents and 8 words a second" in capsys.readouterr().err


def test_documents_that_pass_by_are_counted(capsys):
    now = [0.0]
    progress = ProgressLog(1000, lambda: now[0])
    for number, document in enumerate(progress.watch([Document("a b c")] * 3, lambda: 500)):
        now[0] = 40.0 * number
        assert document.text == "a b c"
    assert capsys.readouterr().err == (
        "3 documents, 9 words done; 0.1 documents and 0.2 words a second; "
        "50 % of the input, about 1 min left\n"
    )
