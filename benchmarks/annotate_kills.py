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

from processor import processor
from serve import put

SENTENCES = Path(__file__).parents[1] / "fixtures" / "wlp"
OUT = {"jsonl": "out.jsonl", "brat": "out"}


def drawn(path: Path, count: int, chance: random.Random) -> int:
    """Write documents of one to four sentences; returns how many words they have."""
    texts = (each.read_text(encoding="utf-8") for each in sorted(SENTENCES.rglob("*.txt")))
    known = [line for text in texts for line in text.split("\n") if line.strip()]
    words = 0
    with path.open("w", encoding="utf-8") as lines:
        for number in range(count):
            text = "\n".join(chance.choices(known, k=chance.randint(1, 4)))
            lines.write(json.dumps({"name": f"{number // 100}/{number:05}", "text": text}) + "\n")
            words += len(text.split())
    return words


def held(place: Path) -> dict[str, bytes]:
    """All files below a place, hidden ones too."""
    files = (each for each in sorted(place.rglob("*")) if each.is_file())
    return {str(each.relative_to(place)): each.read_bytes() for each in files}


class Trial:
    """One form of output: a run that is left alone, and others that are killed."""

    def __init__(self, folder: Path, form: str, chosen: argparse.Namespace) -> None:
        """Annotate once, in peace."""
        self.folder, self.form, self.chosen = folder, form, chosen
        self.tried = 0
        start = time.monotonic()
        self.whole = self.fresh()
        self.run(self.whole, None)
        self.seconds = time.monotonic() - start
        self.expected = held(self.whole)

    def fresh(self) -> Path:
        """Return a new place."""
        self.tried += 1
        place = self.folder / f"{self.form}-{self.tried}"
        place.mkdir()
        return place

    def run(self, place: Path, moment: tuple[int, float] | None) -> bool:
        """Go on in a place, killed at a moment; returns whether it ended before that.

        The moment is so many seconds after so many more stretches were acknowledged, or none.
        """
        line = ["annotate", self.folder / "in.jsonl", "--tasks", self.chosen.tasks, "--resume"]
        line += ["-o", place / OUT[self.form]]
        line += ["-m", self.chosen.model] if self.chosen.model else []
        command = [sys.executable, "-m", "spanloom", *map(str, line)]
        with (place.with_suffix(".told")).open("w+") as told:
            process = subprocess.Popen(command, stderr=told)
            if moment is not None and self.came(place, process, moment[0]):
                time.sleep(moment[1])
            if moment is not None:
                process.kill()
            if process.wait() == -signal.SIGKILL:
                return False
            told.seek(0)
            if process.returncode:
                raise SystemExit(f"the run failed by itself: {told.read()}")
        return True

    def came(self, place: Path, process: "subprocess.Popen[bytes]", stretches: int) -> bool:
        """Wait until a run has begun, and acknowledged so many stretches; not if it ends before."""
        while process.poll() is None:
            said = self.said(place)
            mine = [at for at, each in enumerate(said) if each.get("process") == process.pid]
            if mine and len(said) - mine[-1] > stretches:
                return True
            time.sleep(0.01)
        return False

    def said(self, place: Path) -> list[dict[str, object]]:
        """What the log says."""
        log = next(iter(place.rglob("*.part.log")), None)
        try:
            lines = log.read_bytes().split(b"\n")[:-1] if log else []
        except FileNotFoundError:  # the run has just ended
            lines = []
        return [json.loads(each) for each in lines]

    def done(self, place: Path) -> int:
        """How many documents are kept."""
        return max((int(str(each.get("inputs", 0))) for each in self.said(place)), default=0)

    def trial(self, chance: random.Random) -> dict[str, object]:
        """Kill, go on, compare."""
        place = self.fresh()
        kept: list[int] = []
        torn = same = ended = 0
        while len(kept) < self.chosen.kills:
            if self.run(place, (chance.randint(0, 2), chance.uniform(0, self.chosen.seconds))):
                ended += 1
                same += held(place) == self.expected
                place = self.fresh()
                continue
            kept.append(self.done(place))
            part = next(iter(place.rglob("*.part")), None)
            torn += part is not None and part.read_bytes().count(b"\n") > kept[-1]
        self.run(place, None)
        ended += 1
        same += held(place) == self.expected
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
    chosen = arguments.parse_args()
    chance = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        words = drawn(Path(folder) / "in.jsonl", chosen.documents, chance)
        forms = {each: Trial(Path(folder), each, chosen).trial(chance) for each in chosen.forms}
    result = {
        "processor": processor(),
        "model": chosen.model.name if chosen.model else "spanloom-en",
        "tasks": chosen.tasks,
        "documents": chosen.documents,
        "words": words,
        "forms": forms,
    }
    put(result, chosen.json)
    if any(each["byte_identical"] != each["runs_that_ended"] for each in forms.values()):
        raise SystemExit("bytes differ")


if __name__ == "__main__":
    main()
