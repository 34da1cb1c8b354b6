"""The drawing's modules, run by node where there is one."""

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize(("name", "least"), [("layout", 24), ("reader", 15)])
def test_modules_that_need_no_page(node, name, least):
    command = [node, "--test", HERE / f"{name}.test.mjs"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert int(re.search(r"# pass (\d+)", run.stdout)[1]) >= least
