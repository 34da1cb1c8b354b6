"""Annotating many documents, killed again and again and taken up again: are the bytes the same?

    python benchmarks/annotate_kills.py [MODEL] [--tasks upos] [--documents 2000] [--kills 20]
        [--forms jsonl brat] [--seed 1] [--json FILE]

Documents are drawn from the sentences of ``fixtures/wlp``. One run is left alone. Another gets
SIGKILL at a random moment, up to some seconds after it began or after one or two more stretches
were acknowledged, and goes on with ``--resume``, until it was killed so often; one that ends before
that begins anew. Each that ends is compared with the one that was left alone, byte by byte; so is
what lies beside it.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serve import put

from spanloom.glad.speed import processor

SENTENCES = Path(__file__).parents[1] / "fixtures" / "wlp"
OUT = {"jsonl": "out.jsonl", "brat": "out"}


def drawn(path: Path, count: int, rng: random.Random) -> int:
    """Write documents of one to four sentences; returns how many words they have."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(SENTENCES.rglob("*.txt")))
    sentences = [line for text in texts for line in text.split("\n") if line.strip()]
    words = 0
    with path.open("w", encoding="utf-8") as lines:
        for number in range(count):
            text = "\n".join(rng.choices(sentences, k=rng.randint(1, 4)))
            lines.write(json.dumps({"name": f"{number // 100}/{number:05}", "text": text}) + "\n")
            words += len(text.split())
    return words


def held(folder: Path) -> dict[str, bytes]:
    """All files below a place, hidden ones too."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Trial:
    """One form of output: a run that is left alone, and others that are killed."""

    def __init__(self, folder: Path, form: str, options: argparse.Namespace) -> None:
        """Annotate once, in peace."""
        self.folder, self.form, self.chosen = folder, form, options
        self.tried = 0
        start = time.monotonic()
        self.whole = self.fresh()
        self.run(self.whole, None)
        self.seconds = time.monotonic() - start
        self.expected = held(self.whole)

    def fresh(self) -> Path:
        """Return a new place."""
        self.tried += 1
        folder = self.folder / f"{self.form}-{self.tried}"
        folder.mkdir()
        return folder

    def run(self, folder: Path, moment: tuple[int, float] | None) -> bool:
        """Go on in a place, killed at a moment; returns whether it ended before that.

        The moment is so many seconds after so many more stretches were acknowledged, or none.
        """
        line = ["annotate", self.folder / "in.jsonl", "--tasks", self.chosen.tasks, "--resume"]
        line += ["-o", folder / OUT[self.form]]
        line += ["-m", self.chosen.model] if self.chosen.model else []
        command = [sys.executable, "-m", "spanloom", *map(str, line)]
        with (folder.with_suffix(".told")).open("w+") as errors:
            process = subprocess.Popen(command, stderr=errors)
            if moment is not None and self.came(folder, process, moment[0]):
                time.sleep(moment[1])
            if moment is not None:
                process.kill()
            if process.wait() == -signal.SIGKILL:
                return False
            errors.seek(0)
            if process.returncode:
                raise SystemExit(f"the run failed by itself: {errors.read()}")
        return True

    def came(self, folder: Path, process: "subprocess.Popen[bytes]", stretches: int) -> bool:
        """Wait until a run has begun, and acknowledged so many stretches; not if it ends before."""
        while process.poll() is None:
            log = self.said(folder)
            lines = [
                index for index, entry in enumerate(log) if entry.get("process") == process.pid
            ]
            if lines and len(log) - lines[-1] > stretches:
                return True
            time.sleep(0.01)
        return False

    def said(self, folder: Path) -> list[dict[str, object]]:
        """What the log says."""
        log = next(iter(folder.rglob("*.part.log")), None)
        try:
            lines = log.read_bytes().split(b"\n")[:-1] if log else []
        except FileNotFoundError:  # the run has just ended
            lines = []
        return [json.loads(line) for line in lines]

    def done(self, folder: Path) -> int:
        """How many documents are kept."""
        return max((int(str(entry.get("inputs", 0))) for entry in self.said(folder)), default=0)

    def trial(self, rng: random.Random) -> dict[str, object]:
        """Kill, go on, compare."""
        folder = self.fresh()
        kept: list[int] = []
        torn = same = ended = 0
        while len(kept) < self.chosen.kills:
            if self.run(folder, (rng.randint(0, 2), rng.uniform(0, self.chosen.seconds))):
                ended += 1
                same += held(folder) == self.expected
                folder = self.fresh()
                continue
            kept.append(self.done(folder))
            part = next(iter(folder.rglob("*.part")), None)
            torn += part is not None and part.read_bytes().count(b"\n") > kept[-1]
        self.run(folder, None)
        ended += 1
        same += held(folder) == self.expected
        return {
            "kills": len(kept),
            "documents_kept_at_each": kept,
            "kills_within_a_stretch_that_was_being_written": torn,
            "runs_that_ended": ended,
            "byte_identical": same,
            "files": len(self.expected),
            "bytes": sum(map(len, self.expected.values())),
            "seconds_left_alone": round(self.seconds, 1),
        }


def main() -> None:
    """Measure, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path, nargs="?")
    arguments.add_argument("--tasks", default="upos")
    arguments.add_argument("--documents", type=int, default=2000)
    arguments.add_argument("--kills", type=int, default=20)
    arguments.add_argument("--seconds", type=float, default=3.0, help="after the moment, at most")
    arguments.add_argument("--forms", nargs="+", choices=OUT, default=list(OUT))
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        words = drawn(Path(folder) / "in.jsonl", options.documents, rng)
        forms = {form: Trial(Path(folder), form, options).trial(rng) for form in options.forms}
    result = {
        "processor": processor(),
        "model": options.model.name if options.model else "spanloom-en",
        "tasks": options.tasks,
        "documents": options.documents,
        "words": words,
        "forms": forms,
    }
    put(result, options.json)
    if any(form["byte_identical"] != form["runs_that_ended"] for form in forms.values()):
        raise SystemExit("bytes differ")


if __name__ == "__main__":
    main()
