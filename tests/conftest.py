"""Where the golden files and corpora are, and the last lines: how many golden cases were run.

A test asks ``golden("brat")`` (or ``data("wlp")``) for a folder outside the repository; where it is
missing the test is skipped and counted. A test of many cases tells how many by ``golden.count(n)``.
"""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# a busy machine is slow, which is no failure; the gate draws the same few examples every time, so
# that a change is judged by itself, and the slow suite (make test-slow) draws others, and more
SLOWLY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gate", derandomize=True, max_examples=50, **SLOWLY)
settings.register_profile("explore", max_examples=200, **SLOWLY)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))

# a shell's background job ignores ctrl-C, and so would all processes that tests interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)

BESIDE = Path(__file__).resolve().parents[2] / "shared"


class Golden:
    """Finds folders of golden files, and has what was found or missed counted."""

    def __init__(self, root, record):
        self.root = root
        self.record = record

    def __call__(self, name):
        folder = self.root / name
        if not folder.exists():
            self.record("golden", ("skipped", 1))
            pytest.skip(f"no {folder.name} among the golden files")
        return folder

    def count(self, cases):
        """Tell that this many golden cases were compared."""
        self.record("golden", ("ran", cases))


@pytest.fixture
def golden(record_property):
    """Find a folder of golden files: SPANLOOM_GOLDEN, else beside the repository."""
    return Golden(Path(os.environ.get("SPANLOOM_GOLDEN", BESIDE / "golden")), record_property)


@pytest.fixture
def data(record_property):
    """Find a corpus: SPANLOOM_DATA, else beside the repository."""
    return Golden(Path(os.environ.get("SPANLOOM_DATA", BESIDE / "data")), record_property)


@pytest.fixture(scope="session", autouse=True)
def caches(tmp_path_factory):
    """Keep caches of large corpora apart from the user's; children inherit it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANLOOM_CACHE", str(tmp_path_factory.mktemp("caches")))
        yield


SYSTEM_CALLS = (
    "open",
    "write",
    "pread",
    "fstat",
    "fsync",
    "rename",
    "replace",
    "unlink",
    "rmdir",
    "mkdir",
    "ftruncate",
)


def _crashes_at(step, work):
    child = os.fork()
    if child:
        return os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 9
    calls_left = step

    def counted(call):
        def call_or_die(*args, **options):
            nonlocal calls_left
            calls_left -= 1
            if calls_left == 0:
                os._exit(9)
            return call(*args, **options)

        return call_or_die

    for name in SYSTEM_CALLS:
        setattr(os, name, counted(getattr(os, name)))
    try:
        work()
    finally:
        os._exit(0)


@pytest.fixture
def crash_at():
    """Run work in a child that dies before its n-th call to the system: ``crash_at(n, work)``.

    Returns whether the child died, so False once the work has fewer calls.
    """
    return _crashes_at


OLDEST = (20, 19)  # the first node that takes a module for what it is, whatever its suffix


@pytest.fixture(scope="session")
def node():
    """Where node is, which runs the modules of pages."""
    executable = shutil.which("node")
    if executable is None:
        pytest.skip("no node to run the modules of pages with")
    printed = subprocess.run(
        [executable, "--version"], capture_output=True, text=True, check=True
    ).stdout
    version = tuple(map(int, re.findall(r"\d+", printed)))
    if version < OLDEST:
        pytest.skip(f"node {printed.strip()} is older than {'.'.join(map(str, OLDEST))}")
    return executable


@pytest.fixture(scope="session")
def browser(node):
    """Have a script use a browser: ``browser(script, *arguments)`` returns the JSON it prints.

    SPANLOOM_PLAYWRIGHT is the folder of playwright-core, SPANLOOM_CHROMIUM the browser where it is
    not on the path.
    """
    library = os.environ.get("SPANLOOM_PLAYWRIGHT")
    names = ("chromium", "chromium-browser")
    chromium = os.environ.get("SPANLOOM_CHROMIUM") or next(
        filter(None, map(shutil.which, names)), None
    )
    for what, path in (("chromium", chromium), ("SPANLOOM_PLAYWRIGHT", library)):
        if not path:
            pytest.skip(f"no {what}: the pages are not tried in a browser")

    def used(script, *arguments):
        command = [node, script, Path(library).resolve(), chromium, *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=1200)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    return used


def pytest_terminal_summary(terminalreporter):
    """Say how many golden cases were run, so that none left out reads as passed."""
    totals = {"ran": 0, "skipped": 0}
    for kind in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(kind, []):
            for key, value in getattr(report, "user_properties", []):
                if key == "golden":
                    what, cases = value
                    totals[what] += cases
    terminalreporter.write_line(f"golden: ran {totals['ran']}, skipped {totals['skipped']}")
