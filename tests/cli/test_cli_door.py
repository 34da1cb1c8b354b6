"""The door: help at once, no torch where none is needed, exits that programs understand."""

import os
import subprocess
import sys
from importlib.metadata import version

import pytest
import tiny

import spanloom as package

COMMANDS = ("annotate", "view", "init", "train", "evaluate", "check", "convert")
HEAVY = ("torch", "transformers", "spacy", "numpy", "pydantic", "rich", "yaml", "regex")


def python(code, *args, **options):
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_help_imports_nothing_heavy():
    code = f"""
import sys, spanloom
from spanloom.cli.main import app
try:
    app(["--help"])
except SystemExit as end:
    sys.exit(end.code or ", ".join(each for each in {HEAVY!r} if each in sys.modules) or 0)
"""
    result = python(code)
    assert result.returncode == 0, result.stderr
    assert all(each in result.stdout for each in COMMANDS)


def test_document_commands_load_no_torch(tmp_path):
    corpus = tiny.corpus(tmp_path / "corpus", train=2, dev=1)
    code = """
import sys
from spanloom.cli.main import app
corpus = sys.argv[1]
for line in (["convert", corpus, "c.jsonl"], ["check", corpus], ["view", corpus], ["init", corpus]):
    try:
        app(line)
    except SystemExit as end:
        assert not end.code, line
sys.exit(", ".join(each for each in ("torch", "transformers", "spacy") if each in sys.modules) or 0)
"""
    result = python(code, corpus, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert {"c.jsonl", "corpus.spanloom.html", "recipe.yaml"} <= set(os.listdir(tmp_path))


def test_the_versions_are_those_of_the_packages(spanloom):
    result = spanloom("--version")
    assert result.exit_code == 0
    assert f"torch {version('torch')}\n" in result.stdout
    assert result.stdout.startswith(f"spanloom {package.__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(spanloom, command):
    result = spanloom(command, "--help")
    assert result.exit_code == 0
    assert f"Example: spanloom {command} " in result.stdout


@pytest.mark.parametrize(
    "line",
    [
        ["nosuch"],
        ["annotate", "--nosuch"],
        ["train"],
        ["evaluate", "a"],
        ["annotate", "a", "--in-place"],
    ],
)
def test_wrong_use_is_exit_2(spanloom, line):
    assert spanloom(*line).exit_code == 2


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    corpus = tiny.corpus(tmp_path / "corpus", train=60, dev=1)
    program = f'"{sys.executable}" -m spanloom check "{corpus}" --json | head -c 10'
    result = subprocess.run(["sh", "-c", program], capture_output=True, text=True)
    assert len(result.stdout) == 10
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()] == [
        str(corpus),
        "words",
    ]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_results_that_cannot_be_written_are_one_line(tmp_path):
    corpus = tiny.corpus(tmp_path / "corpus", train=2, dev=1)
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "spanloom", "check", str(corpus)]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "spanloom: No space left on device"


def test_an_interrupt_while_the_command_is_imported_is_quiet():
    code = """
import runpy, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
runpy.run_module("spanloom", run_name="__main__")
"""
    result = python(code)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_public_names_are_imported_when_used():
    code = "import spanloom, sys; sys.exit(any(m.startswith('spanloom.') for m in sys.modules))"
    assert python(code).returncode == 0
    assert package.Span("T1", "a", ((0, 1),)) == package.Document.__init__.__globals__["Span"](
        "T1", "a", ((0, 1),)
    )
    assert set(dir(package)) >= {"load", "Document", "Span", "Relation", "Layer"}
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = package.nosuch


def test_load_is_the_door_of_python(home, tmp_path):
    document = package.load(home / "model")("add 5 ml cold buffer .")
    assert isinstance(document, package.Document)
    assert [layer.name for layer in document.layers] == ["main"]
    with pytest.raises(package.SpanloomError, match="nosuch"):
        package.load(tmp_path / "nosuch")
