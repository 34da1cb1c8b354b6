"""The examples of README and docs run as they stand: Python in order, commands too.

Left out is what needs the network or the reader's own data; servers listen at a free port.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fenced import blocks

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def examples(page, language):
    return blocks((DOCS / page).read_text("utf-8"), language)


@pytest.fixture
def workplace(tmp_path):
    """A folder with what a clone has, where a reader would type."""
    for name in ("fixtures", "demo", "recipes", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "article.txt").write_text("Ada Lovelace met Charles Babbage in London. He wrote.\n")
    return tmp_path


def around():
    quiet = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | quiet | {"PATH": here}


def run(command, folder):
    done = subprocess.run(
        command, cwd=folder, env=around(), capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@contextmanager
def served(command, folder):
    """The address of a server that a command starts, at a free port, and that ends as it should."""
    line = f"exec {command.partition('#')[0]} --port 0"
    with subprocess.Popen(
        ["sh", "-c", line], cwd=folder, env=around(), stderr=subprocess.PIPE, text=True
    ) as process:
        lines = []
        try:
            for printed in process.stderr:
                lines.append(printed)
                if match := re.search(r"http://\S+:\d+", printed):
                    yield match[0]
                    break
            else:
                pytest.fail("".join(lines))
        finally:
            process.terminate()
            process.stderr.read()
    assert process.returncode == 0


def serving(commands):
    """The line of some commands that starts a server."""
    (line,) = [command for command in commands.splitlines() if command.startswith("spanloom serve")]
    return line


@pytest.mark.slow
@pytest.mark.parametrize("page", ["../README.md", "start.md", "interchange.md"])
def test_python_of_a_page_runs_in_order(page, workplace):
    code = "\n".join(block for block in examples(page, "python") if "me/protocols" not in block)
    assert code
    run([sys.executable, "-c", code], workplace)


@pytest.mark.slow
def test_commands_that_annotate_run(workplace):
    # what a cluster, a store and another model need is not here
    _, commands, resumed, _questions = examples("start.md", "")
    shards, _ray, _stores = examples("large_corpora.md", "")
    lines = '{"text": "Ada wrote."}\n{"text": "Bob read."}\n'
    (workplace / "corpus").mkdir()
    for name in ("corpus.jsonl", "corpus/a.jsonl", "corpus/b.jsonl"):
        (workplace / name).write_text(lines)
    few = shards.replace("--workers 8", "--workers 2")
    for line in (*commands.splitlines(), resumed.splitlines()[0], *few.splitlines()):
        if not line.startswith("spanloom serve"):
            run(["sh", "-c", line], workplace)
    assert (workplace / "article.html").stat().st_size > 10_000
    annotated = {path.name for path in (workplace / "annotated").iterdir()}
    assert {"a.jsonl", "b.jsonl", "manifest.json"} <= annotated
    assert (workplace / "annotated.parquet").stat().st_size > 0


@pytest.mark.slow
def test_the_command_that_serves_starts_a_page(workplace):
    _, commands, *_ = examples("start.md", "")
    with served(serving(commands), workplace) as url:
        assert "<title>" in httpx.get(url).text


@pytest.mark.slow
def test_a_server_answers_and_refuses_as_its_page_says(workplace):
    if shutil.which("curl") is None:
        pytest.skip("no curl to ask a server with")
    (start, ask, measure), (error,) = examples("serve.md", ""), examples("serve.md", "json")
    (workplace / "src").symlink_to(ROOT / "src")
    with served(serving(start), workplace) as url:
        done = run(["sh", "-e", "-c", ask.replace("http://127.0.0.1:8080", url)], workplace)
        (document,) = json.loads(done)["documents"]
        assert document["text"] == "Add 5 ml of buffer."
        wrong = json.dumps({"texts": ["a", "b", "c", "d" * 17 + "\ud800"]})
        kind = {"Content-Type": "application/json"}
        refused = httpx.post(f"{url}/v1/annotate", content=wrong, headers=kind)
        assert refused.json() == json.loads(error)
    quick = f"{measure.rstrip()} --seconds 1 --warm 1"
    assert json.loads(run(["sh", "-c", quick], workplace))["clients"] == 16


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", "".join(examples("recipes.md", "")).splitlines(), ids=lambda line: line.split()[2]
)
def test_a_tiny_recipe_trains(command, workplace):
    run(["sh", "-c", command], workplace)
    assert list(workplace.glob("runs/*/model.safetensors"))


@pytest.mark.slow
def test_the_tutorial_leads_to_a_model(workplace):
    commands = examples("tutorial.md", "")
    assert len(commands) == 8
    for block in commands:
        run(["sh", "-e", "-c", block], workplace)
    assert (workplace / "runs/compared.html").exists()
    assert list((workplace / "runs/annotated").glob("**/*.ann"))
    packed, full_size = (
        workplace / f"runs/{name}/model.safetensors" for name in ("small", "protocols")
    )
    assert packed.stat().st_size < 0.5 * full_size.stat().st_size
