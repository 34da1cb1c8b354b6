"""The drawing's modules, run by node where there is one."""

import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def test_nothing_that_is_drawn_covers_anything_else(node):
    tests = [HERE / "layout.test.mjs"]
    run = subprocess.run([node, "--test", *tests], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_reader_sees_what_was_chosen(node):
    tests = [HERE / "reader.test.mjs"]
    run = subprocess.run([node, "--test", *tests], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert int(re.search(r"# pass (\d+)", run.stdout)[1]) >= 24
