"""The drawing's modules, run by node where there is one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("layout.test.mjs")
OLDEST = (20, 19)  # the first that takes a module for what it is, whatever its suffix


@pytest.fixture(scope="module")
def node():
    found = shutil.which("node")
    if found is None:
        pytest.skip("no node to run the drawing's modules with")
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"\d+", told)))
    if version < OLDEST:
        pytest.skip(f"node {told.strip()} is older than {'.'.join(map(str, OLDEST))}")
    return found


def test_nothing_that_is_drawn_covers_anything_else(node):
    run = subprocess.run([node, "--test", TESTS], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert int(re.search(r"# pass (\d+)", run.stdout)[1]) >= 24
