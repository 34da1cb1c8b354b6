"""Whether a study's queue loses or repeats runs, what a run costs beside training, its speed-up.

    python benchmarks/study_runs.py faults [--runs 500] [--driver-kills 20] [--worker-kills 50]
    python benchmarks/study_runs.py speed [--runs 60]
    python benchmarks/study_runs.py ray [--runs 24]

``--json FILE`` saves the result.

Runs are tiny: random encoders of two layers, two updates. ``faults`` kills the driver (SIGKILL) and
single workers at random moments until there were as many kills as asked for, starts the study again
after each kill of the driver, and lets it end. A row counts as altered if its file is another one
than when it was first seen. ``speed`` executes the same runs with one worker and with two, and says
how many runs an hour they make from the first row to the last, and what a run costs in a warm
worker beyond its training loop. ``ray`` compares the rows of a local Ray
cluster with those of local workers.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from spanloom.glad.speed import processor

RECIPE = Path(__file__).resolve().parents[1] / "recipes/studies/tiny-joint.yaml"
POLL_SECONDS = 0.05


def write_study(folder: Path, num_runs: int) -> Path:
    """Write a study of ``num_runs`` runs, a fourth of them on from another run."""
    study = {
        "recipe": str(RECIPE),
        "tasks": ["pos", "ner", "steps"],
        "settings": ["stages.0.updates_per_task=2", "stages.0.precision=fp32"],
        "seeds": list(range(num_runs // 4)),
        "designs": [{"design": "single"}, {"design": "chains", "orders": [["pos", "ner"]]}],
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study), encoding="utf-8")
    return path


def start(study: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
    """Start ``spanloom study run``; rows and models are below the study's folder."""
    home = study.parent
    command = [sys.executable, "-m", "spanloom", "study", "run", str(study)]
    folders = ["-o", str(home / f"{name}-runs"), "--results", str(home / f"{name}-rows")]
    log = (home / f"{name}.log").open("ab")
    return subprocess.Popen([*command, *folders, *options], stdout=log, stderr=log)


def rows_of(study: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return the rows by key."""
    paths = (study.parent / f"{name}-rows").glob("*.json")
    return {path.stem: json.loads(path.read_bytes()) for path in paths}


def workers_of(driver: int) -> list[int]:
    """Return the process ids of a driver's workers."""
    children = Path(f"/proc/{driver}/task/{driver}/children")
    try:
        return [int(pid) for pid in children.read_text().split()]
    except OSError:
        return []


def kill_worker(driver: int, rng: random.Random) -> bool:
    """Kill one worker of a driver; return whether there was one."""
    workers = workers_of(driver)
    if workers:
        try:
            os.kill(rng.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            return False
    return bool(workers)


class RowWatch:
    """Remembers each row's file when it is first seen."""

    def __init__(self, folder: Path) -> None:
        """``folder`` holds the rows."""
        self.folder = folder
        self.seen: dict[str, tuple[int, int]] = {}
        self.altered: set[str] = set()
        self.lost: set[str] = set()

    def look(self) -> int:
        """Compare all rows with what was seen before; return their number."""
        now = {}
        for path in self.folder.glob("*.json") if self.folder.is_dir() else ():
            status = path.stat()
            now[path.stem] = status.st_ino, status.st_mtime_ns
        self.lost |= self.seen.keys() - now.keys()
        self.altered |= {key for key, file in self.seen.items() if now.get(key, file) != file}
        self.seen |= now
        return len(now)


def faults(home: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Kill driver and workers at random moments, evenly over the runs."""
    study, rng = write_study(home, options.runs), random.Random(1)
    moments = sorted(
        (rng.uniform(0.01, 0.97) * options.runs, kind)
        for kind, count in (("driver", options.driver_kills), ("worker", options.worker_kills))
        for _ in range(count)
    )
    watch, begun, kills = (
        RowWatch(home / "faults-rows"),
        time.monotonic(),
        {"driver": 0, "worker": 0},
    )
    driver = start(study, "faults", "--workers", "2")
    while True:
        finished = watch.look()
        if moments and finished >= moments[0][0]:
            time.sleep(rng.uniform(0, 2))
            kind = moments[0][1]
            if kind == "worker" and kill_worker(driver.pid, rng):
                kills["worker"] += 1
                moments.pop(0)
            elif kind == "driver" and driver.poll() is None:
                driver.kill()
                driver.wait()
                kills["driver"] += 1
                moments.pop(0)
                driver = start(study, "faults", "--workers", "2")
        elif driver.poll() is not None:
            break
        time.sleep(POLL_SECONDS)
    watch.look()
    log = (home / "faults.log").read_text(encoding="utf-8")
    return {
        "runs": options.runs,
        "kills": kills,
        "recorded": len(watch.seen),
        "lost": len(watch.lost),
        "altered": len(watch.altered),
        "exit_code": driver.returncode,
        "errors": [line for line in log.splitlines() if ": failed: " in line],
        "left_on_disk": sorted(path.name for path in (home / "faults-runs").iterdir())[:5],
        "minutes": round((time.monotonic() - begun) / 60, 1),
    }


def speed(home: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Execute the same runs with one worker and with two."""
    study, seconds, between = write_study(home, options.runs), {}, {}
    for workers in (1, 2):
        begun = time.monotonic()
        start(study, f"speed{workers}", "--workers", str(workers)).wait()
        seconds[workers] = time.monotonic() - begun
        times = [path.stat().st_mtime for path in home.glob(f"speed{workers}-rows/*.json")]
        between[workers] = (max(times) - min(times)) / (len(times) - 1)
    rows = rows_of(study, "speed1")
    other = [60 * row["other_cpu_minutes"] for row in rows.values()]
    return {
        "runs": options.runs,
        "seconds": {str(workers): round(took, 1) for workers, took in seconds.items()},
        "speed_up": round(seconds[1] / seconds[2], 2),
        "runs_per_hour": {str(workers): round(3600 / took) for workers, took in between.items()},
        "speed_up_once_started": round(between[1] / between[2], 2),
        "cpu_seconds_beside_training": round(median(other), 2),
        "equal_scores": same_scores(rows, rows_of(study, "speed2")),
    }


def ray(home: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Execute the same runs in a local Ray cluster and in local workers."""
    study = write_study(home, options.runs)
    for name, more in (("local", ()), ("ray", ("--ray", "local"))):
        start(study, name, "--workers", "2", *more).wait()
    local, remote = rows_of(study, "local"), rows_of(study, "ray")
    return {
        "runs": options.runs,
        "recorded": len(remote),
        "equal_scores": same_scores(local, remote),
    }


def same_scores(a: dict[str, dict[str, Any]], b: dict[str, dict[str, Any]]) -> bool:
    """Whether two folders have the same rows with the same scores."""
    return {k: row["scores"] for k, row in a.items()} == {k: row["scores"] for k, row in b.items()}


def main(arguments: Sequence[str]) -> None:
    """Run one of the trials."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", choices=("faults", "speed", "ray"))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--driver-kills", type=int, default=20)
    parser.add_argument("--worker-kills", type=int, default=50)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    options.runs = options.runs or {"faults": 500, "speed": 60, "ray": 24}[options.trial]
    home = Path(tempfile.mkdtemp())
    try:
        result = {"faults": faults, "speed": speed, "ray": ray}[options.trial](home, options)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    text = json.dumps({"processor": processor(), "trial": options.trial, **result}, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
