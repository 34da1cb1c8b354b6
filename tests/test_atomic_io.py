import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanloom import atomic_io
from spanloom.atomic_io import recover, verify_folder, write_file, write_folder
from spanloom.errors import ModelError, StorageError


def fill(target: Path, word: str) -> None:
    """Write a folder all of whose files hold one word."""
    with write_folder(target) as staging:
        write_file(staging / "model.safetensors", word.encode() * 3)
        (staging / "tokenizer").mkdir()
        (staging / "tokenizer" / "vocab.json").write_text(word)


def word_of(target: Path) -> str:
    """The word of a whole folder; fails where files disagree."""
    files = verify_folder(target)
    assert sorted(files) == ["model.safetensors", "tokenizer/vocab.json"]
    word = files["tokenizer/vocab.json"].read_text()
    assert files["model.safetensors"].read_text() == word * 3
    return word


def test_a_file_is_old_or_new_after_a_crash_at_any_step(tmp_path, crash_at):
    path = tmp_path / "recipe.yaml"
    write_file(path, b"old")
    step = 1
    while crash_at(step, lambda: write_file(path, b"new")):
        assert path.read_bytes() in (b"old", b"new")
        write_file(path, b"old")
        assert os.listdir(tmp_path) == ["recipe.yaml"]
        step += 1
    assert step > 5
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_is_whole_after_a_crash_at_any_step(tmp_path, crash_at, there):
    target = tmp_path / "model"
    step = 1
    while True:
        if there:
            fill(target, "old")
        if not crash_at(step, lambda: fill(target, "new")):
            break
        if there or target.exists():
            assert word_of(target) in ("old", "new")
            word = word_of(target)
            assert word_of(target) == word
        fill(target, "next")
        assert os.listdir(tmp_path) == ["model"], step
        if not there:
            shutil.rmtree(target)
        step += 1
    assert step > 15
    assert word_of(target) == "new"


def loop_and_kill(target: Path, rounds: int) -> int:
    """Kill a child that rewrites ``target`` in a loop, at random points; count what was seen."""
    script = (
        "import itertools, sys, pathlib; sys.path.insert(0, sys.argv[1]);"
        "from test_atomic_io import fill;"
        "[fill(pathlib.Path(sys.argv[2]), str(k)) for k in itertools.count()]"
    )
    rng, seen = random.Random(7), set()
    for _ in range(rounds):
        fill(target, "start")
        args = [sys.executable, "-c", script, str(Path(__file__).parent), str(target)]
        child = subprocess.Popen(args)
        while word_of_living(target) == "start" and child.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        child.wait()
        seen.add(word_of(target))
    return len(seen)


def word_of_living(target: Path) -> str:
    """The word, or "start" in the moment between two renames."""
    try:
        return (target / "tokenizer" / "vocab.json").read_text()
    except FileNotFoundError:
        return "start"


@pytest.mark.slow
def test_a_killed_writer_leaves_a_whole_folder(tmp_path):
    assert loop_and_kill(tmp_path / "model", 20) > 1
    fill(tmp_path / "model", "last")
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, call):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a.ann"
    write_file(path, b"old")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(StorageError, match=r"a\.ann: could not be written: No space left"):
        write_file(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.ann"]


@pytest.mark.parametrize("call", ["fsync", "rename", "mkdir"])
def test_a_full_disk_leaves_the_old_folder_and_no_other(tmp_path, monkeypatch, call):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    fill(tmp_path / "model", "old")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(StorageError, match="No space left"):
        fill(tmp_path / "model", "new")
    monkeypatch.undo()
    assert word_of(tmp_path / "model") == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_a_failed_second_rename_puts_the_old_folder_back(tmp_path, monkeypatch):
    real, target = os.rename, tmp_path / "model"

    def failing(source, goal):
        if goal == target and ".staging-" in str(source):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(source, goal)

    fill(target, "old")
    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(StorageError, match="Input/output error"):
        fill(target, "new")
    assert word_of(target) == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:3]))
    write_file(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_a_missing_parent_and_a_bad_name_are_told(tmp_path):
    with pytest.raises(StorageError, match="could not be written: no folder"):
        write_file(tmp_path / "none" / "a", b"")
    with (
        pytest.raises(StorageError, match="no folder"),
        write_folder(tmp_path / "none" / "m"),
    ):
        pytest.fail("not reached")
    for name in ("", "..", "/"):
        with pytest.raises(StorageError, match="ends in a name"):
            write_file(Path(name), b"")


def test_an_error_in_the_block_leaves_everything_as_it_was(tmp_path):
    fill(tmp_path / "model", "old")

    def stop():
        with write_folder(tmp_path / "model") as staging:
            (staging / "half").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert word_of(tmp_path / "model") == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_only_an_own_folder_is_replaced(tmp_path):
    target = tmp_path / "model"
    target.mkdir()
    fill(target, "into an empty folder")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(StorageError, match=r"no manifest\.json"):
        fill(tmp_path / "thesis", "new")
    with pytest.raises(StorageError, match="something else"):
        fill(tmp_path / "thesis" / "chapter.tex", "new")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(StorageError, match="something else"):
        fill(tmp_path / "link", "new")
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years of work"


def test_what_could_not_be_verified_is_not_written(tmp_path):
    for bad in ("weights.bin", "back\\slash"):
        with pytest.raises(StorageError), write_folder(tmp_path / "m") as staging:
            (staging / bad).write_text("x")
    with pytest.raises(StorageError), write_folder(tmp_path / "m") as staging:
        (staging / "link").symlink_to("/etc/hostname")
    assert os.listdir(tmp_path) == []


def test_writers_at_once_leave_one_whole_result(tmp_path, monkeypatch):
    rename, iterdir = os.rename, Path.iterdir

    def rename_slowly(*names):
        rename(*names)
        time.sleep(0.002)

    def list_slowly(path):  # while one writer looks, another has the time to move what it looks at
        paths = list(iterdir(path))
        time.sleep(0.002)
        return iter(paths)

    monkeypatch.setattr(os, "rename", rename_slowly)
    monkeypatch.setattr(Path, "iterdir", list_slowly)
    fill(tmp_path / "model", "start")

    def write(word):
        for _ in range(5):
            fill(tmp_path / "model", word)
            write_file(tmp_path / "file", word.encode() * 1000)

    threads = [threading.Thread(target=write, args=(word,)) for word in ("a", "bb", "ccc")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert word_of(tmp_path / "model") in ("a", "bb", "ccc")
    assert (tmp_path / "file").read_text() in ("a" * 1000, "bb" * 1000, "ccc" * 1000)
    assert sorted(os.listdir(tmp_path)) == ["file", "model"]


def test_a_living_writer_is_not_swept_and_neighbours_are_not_touched(tmp_path):
    other = tmp_path / ".model-2.staging-1-aa"
    other.mkdir()
    with write_folder(tmp_path / "model") as staging:
        fill(tmp_path / "model", "meanwhile")
        (staging / "a").write_text("later")
    assert list(verify_folder(tmp_path / "model")) == ["a"]
    assert sorted(os.listdir(tmp_path)) == [".model-2.staging-1-aa", "model"]


def test_recover_does_nothing_where_nothing_is_left(tmp_path):
    recover(tmp_path / "model")
    recover(tmp_path / "none" / "model")
    assert os.listdir(tmp_path) == []


NAME = st.text("abc.- é", min_size=1, max_size=6).filter(
    lambda name: name.strip(".") and Path(name).suffix not in atomic_io.PICKLED
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(NAME, st.binary(max_size=20), min_size=1, max_size=4), data=st.data())
def test_verify_returns_what_was_written_and_sees_any_flipped_bit(tmp_path, files, data):
    target = tmp_path / "model"
    with write_folder(target) as staging:
        (staging / "sub").mkdir()
        for name, content in files.items():
            write_file(staging / "sub" / name, content)
    read = {name: path.read_bytes() for name, path in verify_folder(target).items()}
    assert read == {f"sub/{name}": content for name, content in files.items()}

    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name] or b"\0")
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    (target / "sub" / name).write_bytes(content)
    with pytest.raises(ModelError) as error:
        verify_folder(target)
    assert repr(f"sub/{name}") in str(error.value)
    fill(target, "whole again")


def drop(target: Path) -> None:
    (target / "model.safetensors").unlink()


def tear(target: Path) -> None:
    (target / "model.safetensors").write_bytes(b"o")


def add(target: Path) -> None:
    (target / "tokenizer" / "extra.json").write_text("{}")


def link(target: Path) -> None:
    drop(target)
    (target / "outside").write_text("oldoldold")
    (target / "model.safetensors").symlink_to(target / "outside")


def link_folder(target: Path) -> None:
    (target / "tokenizer").rename(target.parent / "elsewhere")
    (target / "tokenizer").symlink_to(target.parent / "elsewhere")


def pipe(target: Path) -> None:
    drop(target)
    os.mkfifo(target / "model.safetensors")


def pickle(target: Path) -> None:
    (target / "pytorch_model.BIN").write_bytes(b"")


def no_manifest(target: Path) -> None:
    (target / "manifest.json").unlink()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (drop, "'model.safetensors' is listed .* but is not there"),
        (tear, "'model.safetensors' has 1 bytes, .* says 9"),
        (add, "'tokenizer/extra.json' is not listed"),
        (link, "'model.safetensors' is not a regular file"),
        (link_folder, "'tokenizer' is not a regular file"),
        (pipe, "'model.safetensors' is not a regular file"),
        (pickle, "'pytorch_model.BIN' may hold pickled code"),
        (no_manifest, r"no manifest\.json"),
    ],
)
def test_an_altered_folder_is_refused_by_name(tmp_path, harm, message):
    fill(tmp_path / "model", "old")
    harm(tmp_path / "model")
    with pytest.raises(ModelError, match=message):
        verify_folder(tmp_path / "model")


GOOD = {"size": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "[]",
        "{}",
        '{"files": []}',
        "\xff",
        "[" * 100_000,
        '{"files": ' + "1" * 5000 + "}",
        json.dumps({"files": {"a": 3}}),
        json.dumps({"files": {"a": {"size": True, "sha256": ""}}}),
        json.dumps({"files": {"a": {"size": 0, "sha256": None}}}),
        json.dumps({"files": {"a": GOOD, "": GOOD}}),
        json.dumps({"files": {"a": GOOD, "/etc/passwd": GOOD}}),
        json.dumps({"files": {"a": GOOD, "../a": GOOD}}),
        json.dumps({"files": {"a": GOOD, "b/../a": GOOD}}),
        json.dumps({"files": {"a": GOOD, "b\\a": GOOD}}),
        json.dumps({"files": {"a": GOOD, "./a": GOOD}}),
        json.dumps({"files": {"a": GOOD, "\ud800": GOOD}}),
        json.dumps({"files": {"a": GOOD, "a/": GOOD}}),
        f'{{"files": {{"a": {json.dumps(GOOD)}, "a": {json.dumps(GOOD)}}}}}',
        json.dumps({"files": {"a": GOOD}}) + " " * 1_000_000,
    ],
)
def test_a_hostile_manifest_is_refused(tmp_path, manifest):
    (tmp_path / "a").touch()
    (tmp_path / "manifest.json").write_bytes(manifest.encode("latin-1"))
    with pytest.raises(ModelError, match=r"manifest\.json"):
        verify_folder(tmp_path)


def test_too_many_files_and_no_folder_are_refused(tmp_path, monkeypatch):
    fill(tmp_path / "model", "old")
    monkeypatch.setattr(atomic_io, "MAX_FILES", 2)
    with pytest.raises(ModelError, match="more than 2 files"):
        verify_folder(tmp_path / "model")
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        verify_folder(tmp_path / "none")


def test_pipes_devices_and_links_to_open_files_are_not_replaced(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "stdout"
    os.mkfifo(pipe)
    link.symlink_to("/proc/self/fd/1")
    for path in (pipe, link):
        with pytest.raises(StorageError, match=f"{path.name}: .*got a pipe or device"):
            write_file(path, b"new")
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "stdout"]
