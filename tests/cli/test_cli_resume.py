"""``annotate -o``: what is finished is kept; a run that was stopped ends as if it had not been."""

import os
import random
import shlex
import signal
import subprocess
import sys
import time

import pytest
import tiny

from spanloom.cli.run_record import check_same_run, record_run
from spanloom.document import Document
from spanloom.errors import StorageError
from spanloom.formats import jsonl
from spanloom.formats.brat import folder as brat
from spanloom.model import model as models
from spanloom.model import stretches
from spanloom.quantity import quantity

FORMS = ("out.jsonl", "out.txt", "out.html", "out.conllu", "out")


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    monkeypatch.setattr(stretches, "_MAX_WORDS", 150)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    chance = random.Random(5)
    made = [Document(tiny.document(chance, 3)[0], name=f"d/{row}") for row in range(40)]
    path = tmp_path_factory.mktemp("source") / "in.jsonl"
    jsonl.write(path, made)
    return path


@pytest.fixture
def annotate(home, spanloom):
    def run(*args, **options):
        return spanloom("annotate", *args, "-m", home / "model", "--precision", "fp32", **options)

    return run


def tree(path):
    """The bytes of a file, or of every file of a folder."""
    if path.is_file():
        return path.read_bytes()
    return {each.relative_to(path): each.read_bytes() for each in path.rglob("*.*")}


def stop_at(monkeypatch, number, error):
    """Have the model raise an error before its stretch of that number is done."""
    annotate_stretch = models.Model.annotate_stretch
    count = 0

    def stopped(*args, **options):
        nonlocal count
        count += 1
        stretch = annotate_stretch(*args, **options)
        if count <= number:
            yield from stretch
            return
        yield next(stretch)
        raise error

    monkeypatch.setattr(models.Model, "annotate_stretch", stopped)


@pytest.mark.parametrize("name", FORMS)
def test_stopped_and_taken_up_again(annotate, source, tmp_path, monkeypatch, name):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    assert annotate(source, "-o", tmp_path / "whole" / name).exit_code == 0
    out = tmp_path / "parts" / name
    kept = 0
    for number in (1, 2):
        with monkeypatch.context() as patched:
            stop_at(patched, number, KeyboardInterrupt())
            told = annotate(source, "-o", out, *(["--resume"] if kept else []))
        assert told.exit_code == 1
        *_, hint, last = told.stderr.splitlines()
        assert last == "spanloom: interrupted"
        assert int(hint.split(": ")[1].split()[0]) > kept
        kept = int(hint.split(": ")[1].split()[0])
        assert " kept; to go on: spanloom annotate " in hint
        assert " --resume " in hint
        assert name == "out" or not out.exists()
    told = annotate(source, "-o", out, "--resume")
    assert told.exit_code == 0, told.stderr
    assert f"{quantity(kept, 'document')} done" in told.stderr
    assert tree(out) == tree(tmp_path / "whole" / name)
    assert [each.name for each in (tmp_path / "parts").iterdir()] == [name]


def test_brat_files_are_there_as_they_come(annotate, source, tmp_path, monkeypatch):
    stop_at(monkeypatch, 2, KeyboardInterrupt())
    annotate(source, "-o", tmp_path / "out")
    found = brat.collect(tmp_path / "out").documents
    assert 0 < len(found) < 40


def test_the_line_that_goes_on_works_when_pasted(spanloom, home, source, tmp_path, monkeypatch):
    out = tmp_path / "two words.jsonl"
    options = ("-m", home / "model", "--precision", "fp32", "--tasks", "steps", "--to", "jsonl")
    with monkeypatch.context() as patched:
        stop_at(patched, 1, KeyboardInterrupt())
        told = spanloom("annotate", source, "-o", out, *options).stderr
    line = told.splitlines()[-2].split("to go on: ")[1]
    program, *words = shlex.split(line)
    assert program == "spanloom"
    assert spanloom(*words).exit_code == 0
    assert len(list(jsonl.read(out))) == 40


def test_what_was_there_before_stays_until_all_is_done(annotate, source, tmp_path, monkeypatch):
    (tmp_path / "out.jsonl").write_text("before", encoding="utf-8")
    stop_at(monkeypatch, 1, KeyboardInterrupt())
    annotate(source, "-o", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == "before"


def test_a_full_disk_keeps_what_is_finished(annotate, source, tmp_path, monkeypatch):
    written, write = 0, os.write

    def filling(handle, data):
        nonlocal written
        written += len(data)
        if written > 9000:
            raise OSError(28, "No space left on device")
        return write(handle, data)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", filling)
        told = annotate(source, "-o", tmp_path / "out.jsonl")
    assert told.exit_code == 1
    assert "kept; to go on" in told.stderr
    assert told.stderr.endswith("could not be written: No space left on device\n")
    assert annotate(source, "-o", tmp_path / "out.jsonl", "--resume").exit_code == 0
    annotate(source, "-o", tmp_path / "whole.jsonl")
    assert tree(tmp_path / "out.jsonl") == tree(tmp_path / "whole.jsonl")


def test_good_lines_before_a_broken_one_are_kept(annotate, source, tmp_path):
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    broken = tmp_path / "in.jsonl"
    broken.write_text("".join([*lines[:30], "broken\n", *lines[30:]]), encoding="utf-8")
    told = annotate(broken, "-o", tmp_path / "out.jsonl")
    assert "in.jsonl:31: not JSON" in told.stderr
    assert "kept; to go on" in told.stderr
    broken.write_text("".join(lines), encoding="utf-8")  # mended
    told = annotate(broken, "-o", tmp_path / "out.jsonl", "--resume")
    assert told.exit_code == 0
    assert "made anew" not in told.stderr
    annotate(source, "-o", tmp_path / "whole.jsonl")
    assert tree(tmp_path / "out.jsonl") == tree(tmp_path / "whole.jsonl")
    again = annotate(source, "-o", tmp_path / "whole.jsonl", "--resume")
    assert "whole.jsonl: is there, and nothing is left of an unfinished run" in again.stderr


def test_other_work_and_no_work(annotate, fails, home, source, tmp_path, monkeypatch):
    out = tmp_path / "out.txt"
    with monkeypatch.context() as patched:
        stop_at(patched, 1, KeyboardInterrupt())
        annotate(source, "-o", out)
    other = ("annotate", source, "-o", out, "--resume", "-m", home / "model")
    precision = ("--precision", "fp32")
    told = fails(*other, "--precision", "bf16", code=1)
    assert "begun with compute 'cpu, 1 thread, fp32" in told
    told = fails(*other, *precision, "--to", "json", code=1)
    assert "begun with form 'text', now form is 'json'" in told
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "other.jsonl").write_text("".join(lines[1:]), encoding="utf-8")
    told = fails("annotate", tmp_path / "other.jsonl", *other[2:], *precision, code=1)
    assert "inputs are not the first ones of what is read now" in told
    anew = annotate(source, "-o", out)
    assert "documents of a run that was not finished are done anew" in anew.stderr
    assert anew.exit_code == 0
    assert "-o OUT" in fails("annotate", source, "--resume", code=2)
    assert "-o OUT" in fails("annotate", source.parent, "--in-place", "--resume", code=2)
    assert annotate(source, "-o", tmp_path / "new.txt", "--resume").exit_code == 0
    assert tree(tmp_path / "new.txt") == tree(out)


def test_another_model_is_called_that_and_not_by_its_hash(tmp_path):
    record_run(tmp_path, {"model": "2005", "tasks": "ner"})
    (tmp_path / "a.ann").touch()
    with pytest.raises(StorageError, match=r"another run \(another model\); choose another place"):
        check_same_run(tmp_path, {"model": "2006", "tasks": "ner"})


def test_nothing_is_noted_in_a_folder_of_anyones_annotation(tmp_path):
    """Else a later run would take the annotation for that of an earlier one."""
    (tmp_path / "mine.ann").touch()
    record_run(tmp_path, {"model": "2005", "tasks": "ner"})
    assert [path.name for path in tmp_path.iterdir()] == ["mine.ann"]
    check_same_run(tmp_path, {"model": "2006", "tasks": "srl"})


@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_a_brat_folder_of_another_run_is_refused_at_once(
    annotate, fails, home, source, tmp_path, monkeypatch, more
):
    out = tmp_path / "out"
    assert annotate(source, "-o", out).exit_code == 0
    before = tree(out)
    assert annotate(source, "-o", out, *more).exit_code == 0
    stop_at(monkeypatch, 0, AssertionError("it computes"))
    other = ("-m", home / "model", "--precision", "bf16", *more)
    line = fails("annotate", source, "-o", out, *other, code=1)
    assert f"-o {out}: has the results of another run (compute was 'cpu, 1 thread, fp32" in line
    assert "and is now 'cpu, 1 thread, bf16" in line
    assert line.endswith(f"delete {out / '.spanloom.run'}")
    assert tree(out) == before


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals(home, source, tmp_path, how):
    """A process of its own, with its usual stretches, stopped when the first one is there."""
    many = tmp_path / "in.jsonl"
    jsonl.write(many, [each for _ in range(100) for each in jsonl.read(source)])
    model = ("-m", home / "model", "--precision", "fp32")
    line = ("annotate", many, "-o", tmp_path / "out.jsonl", *model)
    command = [sys.executable, "-m", "spanloom", *map(str, line)]
    part = tmp_path / "out.jsonl.part"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        while not (part.exists() and part.stat().st_size):
            assert run.poll() is None
            time.sleep(0.02)
        assert part.read_bytes().startswith(b'{"name": "d/0"')  # whoever looks sees what is done
        time.sleep(0.3)
        run.send_signal(how)
        told = run.communicate(timeout=30)[1]
    assert run.returncode == (-how if how == signal.SIGKILL else 1)
    assert ("kept; to go on" in told) == (how != signal.SIGKILL)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        *("in.jsonl", "out.jsonl.part", "out.jsonl.part.log")
    ]
    subprocess.run([*command, "--resume"], check=True, stderr=subprocess.DEVNULL)
    whole = [*command[:-5], str(tmp_path / "whole.jsonl"), *map(str, model)]
    subprocess.run(whole, check=True, stderr=subprocess.DEVNULL)
    assert tree(tmp_path / "out.jsonl") == tree(tmp_path / "whole.jsonl")
