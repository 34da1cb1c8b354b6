"""A corpus of shards, annotated by one process and by several, on Ray, and killed again and again.

    python benchmarks/annotate_corpus.py [MODEL] [--tasks upos] [--sentences 20000] [--shards 10]
        [--workers 1 2] [--ray] [--kills 5] [--seconds 30] [--seed 1] [--json FILE]

Short sentences are drawn from ``fixtures/wlp``. Each run annotates all shards; time is counted from
the moment at which the first model is loaded. Runs with another number of workers, on Ray, or with
SIGKILL for the command or for one of its workers at random moments must write the same bytes as the
first run, and each document once. The JSON is written again after each run.
"""

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from annotate_kills import SENTENCES
from serve import put

from spanloom.glad.speed import processor

SAMPLE_SECONDS = 0.5  # between two looks at memory
GAVE_UP = "worker processes died over the same texts"  # three kills at one place end a run


@dataclass
class Run:
    """What one run took: seconds from the loaded model on, of processors, and bytes of memory."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    startup_seconds: float = 0.0
    peak_megabytes: float = 0.0
    words_per_second: float = 0.0
    words_per_cpu_second: float = 0.0


def draw(folder: Path, sentences: int, shards: int, rng: random.Random) -> int:
    """Write shards of single sentences; returns how many words they have."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(SENTENCES.rglob("*.txt")))
    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    words = 0
    for shard in range(shards):
        with (folder / f"{shard:04}.jsonl").open("w", encoding="utf-8") as file:
            for number in range(sentences // shards):
                text = rng.choice(lines)
                file.write(json.dumps({"name": f"{shard:04}/{number:06}", "text": text}) + "\n")
                words += len(text.split())
    return words


class Watch(threading.Thread):
    """Looks at the memory and the processor time of a process and of those that it started."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Begin with nothing seen."""
        super().__init__(daemon=True)
        self.process, self.peak, self.cpu = process, 0, {}

    def run(self) -> None:
        """Look until the process has ended."""
        while self.process.poll() is None:
            try:
                root = psutil.Process(self.process.pid)
                family = [root, *root.children(recursive=True)]
                self.peak = max(self.peak, sum(one.memory_full_info().pss for one in family))
                for one in family:
                    self.cpu[one.pid] = sum(one.cpu_times()[:2])
            except psutil.Error:
                pass  # one of them has just ended
            time.sleep(SAMPLE_SECONDS)


class Log(threading.Thread):
    """Reads what a process tells until it ends."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Begin with nothing read."""
        super().__init__(daemon=True)
        self.process, self.text = process, ""

    def run(self) -> None:
        """Read until the process has ended."""
        for line in self.process.stderr or ():
            self.text += line


class Trial:
    """A corpus, and runs over it."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        """Draw the corpus."""
        self.folder, self.options = folder, options
        self.rng = random.Random(options.seed)
        (folder / "in").mkdir()
        self.words = draw(folder / "in", options.sentences, options.shards, self.rng)
        self.expected: dict[Path, str] = {}

    def start(self, out: Path, *more: str) -> "subprocess.Popen[str]":
        """Start the command."""
        line = [self.folder / "in", "--tasks", self.options.tasks, "-o", out, *more]
        line += ["-m", self.options.model] if self.options.model else []
        command = [sys.executable, "-m", "spanloom", "annotate", *map(str, line)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def measure(self, name: str, *more: str) -> dict[str, float]:
        """Annotate all of it once."""
        begin = time.monotonic()
        process = self.start(self.folder / name, *more)
        watch = Watch(process)
        watch.start()
        loaded, cpu_then, told = begin, 0.0, []
        for line in process.stderr or ():
            told.append(line)
            if line.startswith("model "):
                loaded, cpu_then = time.monotonic(), sum(watch.cpu.values())
        if process.wait():
            raise SystemExit(f"the run failed by itself: {''.join(told)}")
        run = Run(time.monotonic() - loaded, startup_seconds=loaded - begin)
        watch.join()
        run.cpu_seconds = sum(watch.cpu.values()) - cpu_then
        run.peak_megabytes = watch.peak / 1e6
        run.words_per_second = self.words / run.seconds
        run.words_per_cpu_second = self.words / max(run.cpu_seconds, 1e-9)
        self.compare(name)
        return {key: round(value, 1) for key, value in asdict(run).items()}

    def compare(self, name: str) -> None:
        """Compare a run's files with those of the first; raises ``SystemExit``."""
        digests, names = {}, []
        for path in sorted(filter(Path.is_file, (self.folder / name).rglob("*"))):
            content = path.read_bytes()
            digests[path.relative_to(self.folder / name)] = hashlib.sha256(content).hexdigest()
            if path.suffix == ".jsonl":
                names += [line.split(b'"', 4)[3] for line in content.splitlines()]
        self.expected = self.expected or digests
        if digests != self.expected:
            raise SystemExit(f"{name}: bytes differ from those of the first run")
        per_shard = self.options.sentences // self.options.shards
        if not len(names) == len(set(names)) == per_shard * self.options.shards:
            raise SystemExit(f"{name}: {len(names)} documents, {len(set(names))} names")

    def killed(self) -> dict[str, object]:
        """Kill the command or a worker, and go on, until it was killed often enough."""
        kills = {"command": 0, "worker": 0}
        ended = gave_up = 0
        while not ended or sum(kills.values()) < self.options.kills:
            name = f"killed-{ended}"
            process = self.start(self.folder / name, "--resume", *self.most_workers())
            log = Log(process)
            log.start()
            while process.poll() is None and sum(kills.values()) < self.options.kills:
                time.sleep(self.rng.uniform(0, self.options.seconds))
                self.kill(process, kills)
            code = process.wait()
            log.join()
            if code == 0:
                self.compare(name)
                ended += 1
            elif GAVE_UP in log.text:
                gave_up += 1
            elif code != -signal.SIGKILL:
                raise SystemExit(f"a run failed by itself: {log.text}")
        return {
            "kills": kills,
            "runs_that_ended": ended,
            "runs_that_gave_up": gave_up,
            "byte_identical": True,
        }

    def kill(self, process: "subprocess.Popen[str]", kills: dict[str, int]) -> None:
        """Kill the command or one of its workers, whichever chance says, and count it."""
        try:
            workers = psutil.Process(process.pid).children()
            victim = self.rng.choice(("command", "worker"))
            if victim == "command":
                process.kill()
                kills[victim] += process.wait() == -signal.SIGKILL  # else it had ended
            elif workers:
                self.rng.choice(workers).kill()
                kills[victim] += 1
        except psutil.NoSuchProcess:
            pass  # it ended just now

    def most_workers(self) -> tuple[str, str]:
        """Return the option for the largest number of workers."""
        return "--workers", str(max(self.options.workers))


def main() -> None:
    """Measure, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path, nargs="?")
    arguments.add_argument("--tasks", default="upos")
    arguments.add_argument("--sentences", type=int, default=20_000)
    arguments.add_argument("--shards", type=int, default=10)
    arguments.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--ray", action="store_true", help="also on a Ray cluster of its own")
    arguments.add_argument("--kills", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=30.0, help="between kills, at most")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), options)
        runs: dict[str, object] = {}
        result = {
            "processor": processor(),
            "model": options.model.name if options.model else "spanloom-en",
            "tasks": options.tasks,
            "sentences": options.sentences,
            "shards": options.shards,
            "words": trial.words,
            "runs": runs,
            "killed": None,
        }
        for count in options.workers:
            runs[f"{count} workers"] = trial.measure(f"workers-{count}", "--workers", str(count))
            put(result, options.json)
        if options.ray:
            runs["ray"] = trial.measure("ray", "--ray", "local", *trial.most_workers())
            put(result, options.json)
        if options.kills:
            result["killed"] = trial.killed()
            put(result, options.json)


if __name__ == "__main__":
    main()
