"""Every example of README and docs runs as it stands: Python in order, commands too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fenced import blocks

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def examples(page, language):
    return blocks((DOCS / page).read_text("utf-8"), language)


@pytest.fixture
def workplace(tmp_path):
    """A folder with what a clone has, where a reader would type."""
    for name in ("fixtures", "demo", "recipes"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "article.txt").write_text("Ada Lovelace met Charles Babbage in London. He wrote.\n")
    return tmp_path


def run(command, place):
    quiet = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    made = subprocess.run(
        command,
        cwd=place,
        env=os.environ | quiet | {"PATH": here},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    return made.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", ["../README.md", "start.md", "interchange.md"])
def test_python_of_a_page_runs_in_order(page, workplace):
    code = "\n".join(each for each in examples(page, "python") if "me/protocols" not in each)
    assert code
    run([sys.executable, "-c", code], workplace)


@pytest.mark.slow
def test_commands_that_annotate_run(workplace):
    (_, said) = examples("start.md", "")
    for line in said.splitlines():
        if not line.startswith("spanloom serve"):
            run(["sh", "-c", line], workplace)
    assert (workplace / "article.html").stat().st_size > 10_000


@pytest.mark.slow
def test_the_tutorial_leads_to_a_model(workplace):
    commands = examples("tutorial.md", "")
    assert len(commands) == 7
    for block in commands:
        run(["sh", "-e", "-c", block], workplace)
    assert (workplace / "runs/compared.html").exists()
    assert list((workplace / "runs/annotated").glob("**/*.ann"))
    packed, whole = (
        workplace / f"runs/{name}/model.safetensors" for name in ("small", "protocols")
    )
    assert packed.stat().st_size < 0.5 * whole.stat().st_size
