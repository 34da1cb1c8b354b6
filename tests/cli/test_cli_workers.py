"""``annotate -o`` by several processes, from shards and into them: the same bytes as by one."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny

from spanloom.annotation.comparable import comparable
from spanloom.cli.distinct_names import check_distinct_names
from spanloom.cli.shards import Shard, read_file
from spanloom.corpora import bounded_lines
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats import jsonl
from spanloom.interchange.parquet import parquet_chunks, read_parquet
from spanloom.model import stretches


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    monkeypatch.setattr(stretches, "_MAX_WORDS", 300)


def texts(count, seed):
    chance = random.Random(seed)
    return [Document(tiny.document(chance, 3)[0], name=f"d{seed}/{row}") for row in range(count)]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "in.jsonl"
    jsonl.write(path, texts(60, 5))
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder of shards: plain, zipped, Parquet, nested, empty."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "sub").mkdir()
    jsonl.write(folder / "a.jsonl", texts(30, 1))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(jsonl.dumps(texts(20, 2)).encode()))
    (folder / "c.parquet").write_bytes(to_parquet(texts(20, 3)))
    jsonl.write(folder / "sub" / "d.jsonl", texts(10, 4))
    (folder / "sub" / "e.jsonl").write_bytes(b"")
    return folder


def to_parquet(documents):
    return b"".join(parquet_chunks(jsonl.dumps([document]).encode() for document in documents))


@pytest.fixture
def annotate(home, spanloom):
    def run(*args):
        return spanloom("annotate", *args, "-m", home / "model", "--precision", "fp32")

    return run


def files(path):
    """The bytes of a file, or of every file of a folder."""
    if path.is_file():
        return path.read_bytes()
    return {str(f.relative_to(path)): f.read_bytes() for f in path.rglob("*") if f.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet", "out.conllu", "out"])
def test_two_processes_write_what_one_does(annotate, source, tmp_path, name):
    for count in ("1", "2"):
        (tmp_path / count).mkdir()
        told = annotate(source, "-o", tmp_path / count / name, "--workers", count)
        assert told.exit_code == 0, told.stderr
    assert files(tmp_path / "1" / name) == files(tmp_path / "2" / name)
    assert [path.name for path in (tmp_path / "2").iterdir()] == [name]


def read_shard(path):
    if path.name.endswith(".parquet"):
        with path.open("rb") as stream:
            return list(read_parquet(stream, str(path)))
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.name.endswith(".gz") else raw).decode()
    return list(jsonl.loads(text))


def test_a_corpus_becomes_a_corpus(annotate, corpus, tmp_path):
    told = annotate(corpus, "-o", tmp_path / "out")
    assert told.exit_code == 0, told.stderr
    shards = ["a.jsonl", "b.jsonl.gz", "c.parquet", "sub/d.jsonl", "sub/e.jsonl"]
    assert sorted(files(tmp_path / "out")) == [*shards[:3], "manifest.json", *shards[3:]]
    for name in shards:
        alone = tmp_path / Path(name).name
        annotate(corpus / name, "-o", alone)
        assert list(map(comparable, read_shard(tmp_path / "out" / name))) == list(
            map(comparable, read_shard(alone))
        )
        assert files(tmp_path / "out" / name) == files(alone)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert [(s["name"], s["documents"]) for s in manifest["shards"]] == [
        *zip(shards, [30, 20, 20, 10, 0], strict=True)
    ]


def test_a_corpus_in_another_form_and_in_one_file(annotate, corpus, tmp_path):
    assert annotate(corpus, "-o", tmp_path / "out", "--to", "parquet").exit_code == 0
    names = ["a.parquet", "b.parquet", "c.parquet", "manifest.json"]
    assert sorted(files(tmp_path / "out")) == [*names, "sub/d.parquet", "sub/e.parquet"]
    assert annotate(corpus, "-o", tmp_path / "one.jsonl").exit_code == 0
    parts = [read_shard(path) for path in sorted((tmp_path / "out").rglob("*.parquet"))]
    one = [document.name for document in jsonl.read(tmp_path / "one.jsonl")]
    assert one == [document.name for part in parts for document in part]


def test_shards_after_a_broken_one_are_done(annotate, corpus, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    lines = (corpus / "a.jsonl").read_bytes().splitlines(keepends=True)
    broken = [*lines[:20], b"{}\n", *lines[20:]]
    (folder / "a.jsonl.gz").write_bytes(b"no gzip")
    (folder / "b.jsonl").write_bytes(b"".join(broken))
    (folder / "c.jsonl").write_bytes(b"".join(broken))
    (folder / "d.jsonl").write_bytes(b"".join(lines))
    told = annotate(folder, "-o", out)
    assert told.exit_code == 1
    assert "a.jsonl.gz: cannot be read: Not a gzipped file" in told.stderr
    assert "b.jsonl:21: " in told.stderr
    assert "3 of 4 shards cannot be read: a.jsonl.gz, b.jsonl, c.jsonl" in told.stderr
    assert "1 of 4 shards done; to go on: spanloom annotate" in told.stderr
    shown = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert shown == {"d.jsonl"}
    (folder / "a.jsonl.gz").unlink()
    (folder / "b.jsonl").write_bytes(b"".join(lines))  # goes on
    (folder / "c.jsonl").write_bytes(b"".join(lines[5:]))  # its beginning is another one
    told = annotate(folder, "-o", out, "--resume")
    assert told.exit_code == 0, told.stderr
    assert told.stderr.count("done anew") == told.stderr.count("c.jsonl: not as it was") == 1
    fresh = tmp_path / "fresh"
    assert annotate(folder, "-o", fresh).exit_code == 0
    assert files(out) == files(fresh)


def test_what_is_done_stays_done(annotate, corpus, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (folder / name).write_bytes((corpus / "a.jsonl").read_bytes())
    (folder / "c.jsonl.gz").write_bytes(b"no gzip")
    out = tmp_path / "out"
    told = annotate(folder, "-o", out)
    assert told.exit_code == 1
    assert "2 of 3 shards done; to go on: spanloom annotate" in told.stderr
    assert "c.jsonl.gz: cannot be read: Not a gzipped file" in told.stderr
    assert {path.name for path in out.glob("*.jsonl")} == {"a.jsonl", "b.jsonl"}
    before = (out / "a.jsonl").stat().st_mtime_ns
    (folder / "c.jsonl.gz").write_bytes(gzip.compress((corpus / "a.jsonl").read_bytes()))
    assert annotate(folder, "-o", out, "--resume").exit_code == 0
    assert (out / "a.jsonl").stat().st_mtime_ns == before
    assert sorted(files(out)) == ["a.jsonl", "b.jsonl", "c.jsonl.gz", "manifest.json"]
    # a shard more, later
    (folder / "d.jsonl").write_bytes((corpus / "a.jsonl").read_bytes())
    assert annotate(folder, "-o", out, "--resume").exit_code == 0
    assert files(out)["d.jsonl"] == files(out)["a.jsonl"]
    assert (out / "a.jsonl").stat().st_mtime_ns == before
    told = annotate(folder, "-o", out, "--resume", "--to", "parquet")
    assert "cannot be gone on with: it was begun with form" in told.stderr


def test_a_run_that_began_anew_forgets_what_was_there(annotate, corpus, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out.v2"  # a folder, whatever its name looks like
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        jsonl.write(folder / name, texts(5, 1))
    assert annotate(folder, "-o", out).exit_code == 0
    assert sorted(files(out)) == ["a.jsonl", "b.jsonl", "manifest.json"]
    for name in ("a.jsonl", "b.jsonl"):
        raw = (folder / name).read_bytes()
        (folder / name).write_bytes(raw.replace(b"add", b"mix"))  # of the same size
    (folder / "c.jsonl").write_text("{")
    assert annotate(folder, "-o", out).exit_code == 1
    assert not (out / "manifest.json").exists()
    (folder / "c.jsonl").unlink()
    assert annotate(folder, "-o", out, "--resume").exit_code == 0
    assert files(out) == files_of_new_run(annotate, folder, tmp_path / "new")


def files_of_new_run(annotate, folder, out):
    annotate(folder, "-o", out)
    return files(out)


def test_hidden_folders_and_notes_are_no_shards(annotate, tmp_path):
    for name in ("a.jsonl", ".git/a.jsonl", ".git/notes.txt"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        jsonl.write(tmp_path / "in" / name, texts(2, 1))
    (tmp_path / "in" / "test-evaluations.jsonl").write_text('{"command": "evaluate"}\n')
    assert annotate(tmp_path / "in", "-o", tmp_path / "out").exit_code == 0
    assert sorted(files(tmp_path / "out")) == ["a.jsonl", "manifest.json"]


def test_a_compressed_line_has_a_bound(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "Stir."}\n{"text": "' + b"a" * 10**6 + b'"}\n'))
    shard = Shard(read_file(path, path.name), tmp_path / "out", "json")
    assert len(list(shard)) == 2
    monkeypatch.setattr(bounded_lines, "MAX_LINE", 100)
    for read in (lambda: list(shard), lambda: check_distinct_names(path)):
        with pytest.raises(FormatError, match=r"a\.jsonl\.gz:2: expected a line of at most 100"):
            read()


def test_documents_without_names_are_named_by_their_shard(annotate, tmp_path):
    import pyarrow
    import pyarrow.parquet

    for name in ("x/part.parquet", "y/part.parquet"):
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        pyarrow.parquet.write_table(
            pyarrow.table({"text": ["Add salt.", "Mix."]}), tmp_path / "in" / name
        )
    (tmp_path / "in" / "y" / "other.jsonl.gz").write_bytes(gzip.compress(b'{"text": "Stir."}'))
    told = annotate(tmp_path / "in", "-o", tmp_path / "brat", "--to", "brat")
    assert told.exit_code == 0, told.stderr
    names = ["x/part-00001", "x/part-00002", "y/other-00001", "y/part-00001", "y/part-00002"]
    assert sorted(name for name in files(tmp_path / "brat") if name.endswith(".txt")) == [
        f"{name}.txt" for name in names
    ]


def test_a_name_that_no_file_can_have(annotate, tmp_path):
    jsonl.write(tmp_path / "in.jsonl", [Document("Add salt.", name="a" * 320)])
    for count in ("1", "2"):
        out = tmp_path / count
        told = annotate(tmp_path / "in.jsonl", "-o", out, "--to", "brat", "--workers", count)
        assert told.exit_code == 1
        assert told.stderr.splitlines()[-1].startswith(f"spanloom: {out}: expected a name of at ")


def test_parquet_is_read_piece_by_piece(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(to_parquet(Document("Add salt. " * 50, name=f"d{row}") for row in range(3000)))
    shard = Shard(read_file(path, "a.parquet"), tmp_path / "out", "json")
    positions = [shard.position for _ in shard]
    size = path.stat().st_size
    assert positions[0] < size / 1000
    assert positions == sorted(positions)
    assert positions[-1] == size


def test_wrong_use(fails, source, corpus, tmp_path):
    assert "-o OUT" in fails("annotate", source, "--workers", "2", code=2)
    assert "-o OUT" in fails("annotate", source, "--to", "parquet", code=2)
    told = fails("annotate", corpus, "-o", corpus / "sub" / "out", code=2)
    assert "expected a place outside of the corpus" in told
    told = fails("annotate", corpus, "-o", corpus / "all.jsonl", code=2)  # read by the next run
    assert "expected a place outside of the corpus" in told
    (tmp_path / "raw" / "raw").mkdir(parents=True)
    for shard in (tmp_path / "raw/a.jsonl", tmp_path / "raw/raw/a.jsonl"):
        shard.write_bytes(source.read_bytes())
    told = fails("annotate", tmp_path / "raw", "-o", tmp_path, code=2)  # raw/a.jsonl is an input
    assert "expected a place outside of the corpus" in told
    told = fails("annotate", source, "-o", source, code=2)
    assert "is IN, which would be replaced" in told
    (tmp_path / "y.mrg").touch()
    told = fails("annotate", source, "-o", tmp_path / "y.prop", code=1)
    assert "y.mrg: not replaced, as it may belong to another file" in told
    (tmp_path / "x.parquet").write_bytes(b"none")
    told = fails("annotate", tmp_path / "x.parquet", "-o", tmp_path / "y.jsonl", code=1)
    assert "x.parquet: no Parquet:" in told


@pytest.mark.parametrize("to", ["json", "parquet", "conllu"])
def test_two_shards_never_become_one_file(fails, tmp_path, to):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    (folder / "a.parquet").write_bytes(to_parquet([Document("b")]))
    told = fails("annotate", folder, "-o", tmp_path / "out", "--to", to, code=2)
    assert "in: a.jsonl and a.parquet would both become" in told
    assert not (tmp_path / "out").exists()


def test_a_text_beside_shards_hides_none_of_them(fails, annotate, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    jsonl.write(folder / "a.jsonl", texts(3, 1))
    (folder / "LICENSE.txt").write_text("Do as you like.", encoding="utf-8")
    message = "expected texts or shards, got 1 text (LICENSE.txt) and 1 shard (a.jsonl)"
    for options in ((), ("-o", tmp_path / "out"), ("-o", tmp_path / "out.jsonl")):
        assert message in fails("annotate", folder, *options, code=1)
    assert message in fails("convert", folder, tmp_path / "out.jsonl", code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    (folder / "LICENSE.ann").touch()  # a brat folder: its annotated texts are meant
    assert annotate(folder, "-o", tmp_path / "out").exit_code == 0
    assert (tmp_path / "out" / "LICENSE.ann").is_file()


@pytest.mark.slow
def test_an_error_in_a_worker_is_one_line(spanloom, source, tmp_path):
    told = spanloom("annotate", source, "-o", tmp_path / "o.jsonl", "-m", "nosuch", "--workers", 2)
    assert told.exit_code == 1
    assert "no model 'nosuch'" in told.stderr.splitlines()[-1]


def children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def begin(command, out):
    """Start a run, and wait until both of its workers are there and something is kept."""
    run = subprocess.Popen([*command, str(out)], stderr=subprocess.DEVNULL)
    for _ in range(3000):
        if run.poll() is not None or (len(children(run.pid)) == 2 and any(out.glob("[.0-9]*"))):
            break
        time.sleep(0.02)
    return run


@pytest.mark.slow
def test_kills(home, tmp_path):
    """A run is killed again and again, or its workers are; the bytes are the same."""
    (tmp_path / "in").mkdir()
    for name in range(4):
        many = [Document(d.text, name=f"{name}/{row}") for row, d in enumerate(texts(300, name))]
        jsonl.write(tmp_path / "in" / f"{name}.jsonl", many)
    options = [tmp_path / "in", "-m", home / "model", "--precision", "fp32", "--resume"]
    command = [sys.executable, "-m", "spanloom", "annotate", *map(str, options)]
    two = [*command, "--workers", "2", "-o"]
    chance = random.Random(4)
    for _ in range(2):
        run = begin(two, tmp_path / "driver")
        time.sleep(chance.uniform(0, 2))
        run.send_signal(signal.SIGKILL)
        run.wait()
    subprocess.run([*two, str(tmp_path / "driver")], check=True, stderr=subprocess.DEVNULL)
    run = begin(two, tmp_path / "worker")
    os.kill(chance.choice(children(run.pid)), signal.SIGKILL)
    assert run.wait() == 0
    whole = [*command, "--workers", "1", "-o", str(tmp_path / "whole")]
    subprocess.run(whole, check=True, stderr=subprocess.DEVNULL)
    assert files(tmp_path / "driver") == files(tmp_path / "worker") == files(tmp_path / "whole")


@pytest.mark.slow
def test_ray_writes_what_one_process_does(home, corpus, tmp_path):
    pytest.importorskip("ray")
    model = ("-m", home / "model", "--precision", "fp32")
    for out, options in (("ray", ("--ray", "local", "--workers", "2")), ("one", ())):
        command = [sys.executable, "-m", "spanloom", "annotate", corpus, *model, *options]
        command = [str(word) for word in [*command, "-o", tmp_path / out]]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert files(tmp_path / "ray") == files(tmp_path / "one")
