"""``annotate`` from and into stores: ``memory://`` in this process, ``dir://`` across processes."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest
import tiny

from spanloom.cli import stores
from spanloom.cli.manifest import LOG
from spanloom.cli.stores import StorePath, is_url, open_store
from spanloom.document import Document
from spanloom.errors import NameNotFound, PackageMissing, StorageError
from spanloom.formats import jsonl
from spanloom.model import stretches

fsspec = pytest.importorskip("fsspec")
NAMES = ["a.jsonl", "b.jsonl.gz", "c.parquet", "sub/d.jsonl"]


@pytest.fixture(autouse=True)
def state(monkeypatch, tmp_path):
    """The folder of working folders."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(stretches, "_MAX_WORDS", 300)
    return tmp_path / "state" / "spanloom" / "annotate"


@pytest.fixture
def memory():
    """An empty store in memory."""
    store = fsspec.filesystem("memory")
    store.store.clear()
    yield store
    store.store.clear()


def texts(count, seed):
    chance = random.Random(seed)
    return [Document(tiny.document(chance, 3)[0], name=f"d{seed}/{row}") for row in range(count)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, spanloom, home):
    """A folder of shards, nested, in all forms."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "in/sub").mkdir(parents=True)
    for number, name in enumerate(NAMES):
        plain = folder / "plain.jsonl"
        jsonl.write(plain, texts(20, number))
        if name.endswith(".jsonl"):
            plain.rename(folder / "in" / name)
        else:
            spanloom("annotate", plain, "-o", folder / "in" / name, "-m", home / "model")
    return folder / "in"


@pytest.fixture
def annotate(home, spanloom):
    def run(*args):
        return spanloom("annotate", *args, "-m", home / "model", "--precision", "fp32")

    return run


@pytest.fixture
def expected(annotate, corpus, tmp_path):
    """The bytes that a local run writes, by name."""
    assert annotate(corpus, "-o", tmp_path / "local").exit_code == 0
    return files(tmp_path / "local")


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): content(path.name, path.read_bytes()) for path in paths
    }


def objects(store, root):
    return {
        path.removeprefix(root): content(path, store.cat_file(path)) for path in store.find(root)
    }


def content(name, raw):
    """The bytes of a file; of a manifest what it says, but for what each store knows of inputs."""
    if not name.endswith("manifest.json"):
        return raw
    manifest = json.loads(raw)
    assert all(shard.pop("input_fingerprint") for shard in manifest["shards"])
    return manifest


def put(store, folder, root):
    for name, content in files(folder).items():
        store.pipe_file(root + name, content)


def test_what_a_url_is():
    for url in ("s3://b/x", "memory://a", "dir://a::file:///b", "simplecache::s3://b/x", "C1://x"):
        assert is_url(url)
    for text in ("C://x", "C:/x", "std::vector", "see http://a.b/c", "a/b", "://x", "x:y", ""):
        assert not is_url(text)


def test_a_corpus_in_a_store(annotate, corpus, memory, expected, state):
    put(memory, corpus, "/in/")
    told = annotate("memory://in", "-o", "memory://out/x")
    assert told.exit_code == 0, told.stderr
    assert objects(memory, "/out/x/") == expected
    assert "written to memory://out/x/: 4 shards" in told.stderr
    assert not list(state.iterdir())


@pytest.mark.parametrize("name", ["one.jsonl", "one.jsonl.gz", "one.parquet", "one.conllu"])
def test_one_file(annotate, corpus, memory, tmp_path, name, state):
    put(memory, corpus, "/in/")
    form = ("--to", "conllu") if name.endswith("conllu") else ()
    assert annotate(corpus, "-o", tmp_path / name, *form).exit_code == 0
    assert annotate("memory://in", "-o", f"memory://out/{name}", *form).exit_code == 0
    assert objects(memory, "/out/") == {name: (tmp_path / name).read_bytes()}
    assert annotate("memory://in/a.jsonl", "-o", tmp_path / "a.jsonl").exit_code == 0
    assert len(list(jsonl.read(tmp_path / "a.jsonl"))) == 20
    assert not list(state.iterdir())


def test_texts_in_a_store(annotate, home, memory, tmp_path):
    put(memory, home / "corpus", "/texts/")
    told = annotate("memory://texts", "-o", tmp_path / "out")
    assert told.exit_code == 0, told.stderr
    assert annotate(home / "corpus", "-o", tmp_path / "local").exit_code == 0
    assert files(tmp_path / "out") == files(tmp_path / "local")
    memory.pipe_file("/one.txt", b"Stir the cells.")
    assert annotate("memory://one.txt", "-o", "memory://one.jsonl").exit_code == 0
    assert json.loads(memory.cat_file("/one.jsonl"))["text"] == "Stir the cells."


def test_a_file_url_is_a_path(annotate, corpus, tmp_path, expected, state):
    told = annotate(f"file://{corpus}", "-o", f"file://{tmp_path}/out")
    assert told.exit_code == 0, told.stderr
    assert files(tmp_path / "out") == expected


def test_a_run_that_failed_goes_on(annotate, corpus, memory, expected, state, tmp_path):
    put(memory, corpus, "/in/")
    broken = memory.cat_file("/in/c.parquet")
    memory.pipe_file("/in/c.parquet", b"broken" + bytes(len(broken) - 6))
    told = annotate("memory://in", "-o", "memory://out")
    assert told.exit_code == 1
    assert "memory://out: 3 of 4 shards done; to go on: spanloom annotate" in told.stderr
    assert "memory://in/c.parquet: no Parquet" in told.stderr
    assert sorted(objects(memory, "/out/")) == [
        ".spanloom.shards.log",
        "a.jsonl",
        "b.jsonl.gz",
        "sub/d.jsonl",
    ]
    memory.pipe_file("/in/c.parquet", broken)
    created = memory.info("/out/a.jsonl")["created"]
    # the log in the store is enough, as on another machine
    state.rename(tmp_path / "gone")
    told = annotate("memory://in", "-o", "memory://out", "--resume")
    assert told.exit_code == 0, told.stderr
    assert objects(memory, "/out/") == expected
    assert memory.info("/out/a.jsonl")["created"] == created
    # a finished run has nothing left to do, but for an object that is gone
    memory.rm_file("/out/b.jsonl.gz")
    assert annotate("memory://in", "-o", "memory://out", "--resume").exit_code == 0
    assert objects(memory, "/out/") == expected
    assert memory.info("/out/a.jsonl")["created"] == created


def test_the_log_is_not_uploaded_after_each_shard(annotate, corpus, memory, monkeypatch, state):
    put(memory, corpus, "/in/")
    uploads = []
    upload = StorePath.upload
    monkeypatch.setattr(
        StorePath, "upload", lambda self, path: (uploads.append(path.name), upload(self, path))
    )
    assert annotate("memory://in", "-o", "memory://out").exit_code == 0
    assert uploads.count(LOG) == 1  # when it is begun; the run is over before the next is due
    monkeypatch.setattr("spanloom.cli.manifest.PUBLISHING", 0.0)
    uploads.clear()
    assert annotate("memory://in", "-o", "memory://other").exit_code == 0
    assert uploads.count(LOG) == 1 + 4


def test_an_upload_that_fails_loses_nothing(annotate, corpus, memory, monkeypatch, state):
    put(memory, corpus, "/in/")
    upload = StorePath.upload

    def fail(store, source):
        if store.name == "one.jsonl":
            raise StorageError(f"{store.url}: could not be written: no network")
        upload(store, source)

    monkeypatch.setattr(StorePath, "upload", fail)
    told = annotate("memory://in", "-o", "memory://one.jsonl")
    assert told.exit_code == 1
    assert "80 documents kept; to go on" in told.stderr
    assert told.stderr.splitlines()[-1].endswith("could not be written: no network")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(state.parent.parent))
    told = annotate("memory://in", "-o", "memory://one.jsonl", "--resume")
    assert "80 documents done" in told.stderr
    assert len(memory.cat_file("/one.jsonl").splitlines()) == 80


def test_wrong_use(fails, corpus, memory, tmp_path, monkeypatch):
    put(memory, corpus, "/in/")
    out = tmp_path / "out"
    assert "-o OUT" in fails("annotate", "memory://in", code=2)
    assert "--in-place" in fails("annotate", "memory://in", "--in-place", code=2)
    assert "http is read only" in fails("annotate", corpus, "-o", "http://a.b/c", code=2)
    told = fails("annotate", "memory://in", "-o", "memory://in/out", code=2)
    assert "expected a folder outside of the corpus" in told
    assert "--to json" in fails("annotate", "memory://in", "-o", "memory://o", "--to=brat", code=2)
    assert "no such file" in fails("annotate", tmp_path / "no", "-o", "memory://o", code=1)
    assert "memory://no: cannot be read" in fails("annotate", "memory://no", "-o", out, code=1)
    told = fails("annotate", "nosuch://in", "-o", out, code=2)
    assert "no protocol 'nosuch'" in told
    memory.pipe_file("/none/a.bin", b"")
    assert "no documents" in fails("annotate", "memory://none", "-o", out, code=1)
    memory.pipe_file("/in/README.txt", b"Read me.")
    told = fails("annotate", "memory://in", "-o", out, code=1)
    assert "memory://in: expected texts or shards, got 1 text (README.txt) and 4 shards" in told
    memory.pipe_file("/up/../../x.jsonl", b"")
    assert "leads out of the folder" in fails("annotate", "memory://up", "-o", out, code=1)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_errors_of_stores_are_one_line(fails, corpus, memory, monkeypatch):
    class NoCredentials(Exception):
        """As the packages of stores raise them."""

    def refuse(*args, **options):
        raise NoCredentials("Unable to locate\ncredentials")

    monkeypatch.setattr(type(memory), "open", refuse)
    told = fails("annotate", corpus, "-o", "memory://bucket/out", code=1)
    assert "memory://bucket/out: could not be written: Unable to locate credentials" in told
    for url in ("s4://x/y", "simplecache::s4://x", "dir://a::s4://b"):
        with pytest.raises(NameNotFound, match="no protocol 's4'"):
            open_store(url)
    monkeypatch.setattr(stores, "_IN_EXTRA", {"s3": "s3fs"})
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(PackageMissing, match=r"s3fs.*pip install 'spanloom\[stores\]'"):
        open_store("s3://bucket/x")
    monkeypatch.setattr("spanloom.errors.find_spec", lambda name: None)
    with pytest.raises(PackageMissing, match=r"fsspec.*pip install 'spanloom\[stores\]'"):
        open_store("memory://x")


def test_a_second_run_waits_for_nobody(corpus, memory):
    from spanloom.cli.endpoints import open_endpoints

    with (
        open_endpoints(str(corpus), "memory://out"),
        pytest.raises(StorageError, match="another process is at work here"),
        open_endpoints(str(corpus), "memory://out"),
    ):
        pass


@pytest.mark.slow
def test_kills(home, corpus, tmp_path, expected, state):
    """A run with workers is killed again and again; no object is ever half, none is lost."""
    command = [sys.executable, "-m", "spanloom", "annotate", f"dir://in::file://{corpus.parent}"]
    command += ["-o", f"dir://out::file://{tmp_path}", "-m", home / "model", "--precision", "fp32"]
    command = [*map(str, command), "--workers", "2", "--resume"]
    chance = random.Random(4)
    for _ in range(3):
        run = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(1, 5))
        run.send_signal(signal.SIGKILL)
        run.wait()
        for name, content in files(tmp_path / "out").items():
            assert name not in expected or content == expected[name]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert files(tmp_path / "out") == expected
    assert not list(state.iterdir())
