"""Where the golden files and corpora are, and the last lines: how many golden cases were run.

A test asks ``golden("brat")`` (or ``data("wlp")``) for a folder outside the repository; where it is
missing the test is skipped and counted. A test of many cases tells how many by ``golden.count(n)``.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# a busy machine is slow, which is no failure; the gate draws the same examples every time, so that
# a change is judged by itself, and the slow suite (make test-slow) draws others
SLOWLY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gate", derandomize=True, **SLOWLY)
settings.register_profile("explore", **SLOWLY)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))

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
