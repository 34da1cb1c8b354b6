"""The drawing's modules, run by node where there is one."""

import re
import subprocess
from pathlib import Path

TESTS = Path(__file__).with_name("layout.test.mjs")


def test_nothing_that_is_drawn_covers_anything_else(node):
    run = subprocess.run([node, "--test", TESTS], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert int(re.search(r"# pass (\d+)", run.stdout)[1]) >= 24
