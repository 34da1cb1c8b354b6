"""What a small corpus has taught after 1, 2, 4 and 8 minutes of a core, beside spaCy from scratch.

    python benchmarks/small_data.py CORPUS [--sentences 1500] [--minutes 1 2 4 8] [--json FILE]

CORPUS has sentences with flat entities in one layer, as `spanloom glad prepare wnut17` makes. Both
sides get its first sentences and its whole dev. `spanloom train` has no recipe but the data; spaCy
has the config of `spacy init config --lang en --pipeline ner --optimize efficiency` and runs till
time is up. Minutes are CPU time of the whole command, start and dev included; a score is the best
F1 on dev so far (exact spans and labels).
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spanloom.corpora import folder as corpora
from spanloom.document import Document
from spanloom.formats import jsonl
from spanloom.interchange.spacy import to_spacy

TICKS = os.sysconf("SC_CLK_TCK")
OURS = re.compile(r"^epoch .*?\.span_f1 ([\d.]+)")
SPACY = re.compile(r"^\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+\s+([\d.]+)")
Curve = list[tuple[float, float]]


def followed(command: list[str], folder: Path, score: re.Pattern[str], minutes: float) -> Curve:
    """Run a command; return (CPU seconds so far, score) of each line with a score, till time is up.

    A command that fails raises ``SystemExit`` with its last lines.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    curve: Curve = []
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment, **streams) as process:
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            seconds = cpu_seconds(process.pid)
            if match := score.match(line):
                curve.append((round(seconds, 1), float(match[1])))
            if seconds > 60 * minutes:
                process.terminate()
                break
        else:
            if process.wait():
                raise SystemExit("".join(lines[-20:]))
    return curve


def cpu_seconds(pid: int) -> float:
    """The CPU time of a running process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def spacy_command(train: list[Document], dev: list[Document], folder: Path) -> list[str]:
    """Write what spaCy reads; return its command."""
    from spacy.cli.init_config import init_config
    from spacy.tokens import DocBin

    for name, documents in (("train", train), ("dev", dev)):
        docs = [to_spacy(document, entities="entities") for document in documents]
        DocBin(docs=docs).to_disk(folder / f"{name}.spacy")
    config = init_config(lang="en", pipeline=["ner"], optimize="efficiency", silent=True)
    config.to_disk(folder / "config.cfg")
    paths = ["--paths.train", "train.spacy", "--paths.dev", "dev.spacy"]
    endless = ["--training.max_steps", "0", "--training.patience", "0"]
    often = ["--training.eval_frequency", "50"]
    return [sys.executable, "-m", "spacy", "train", "config.cfg", *paths, *endless, *often]


def our_command(train: list[Document], dev: list[Document], folder: Path) -> list[str]:
    """Write what ``spanloom train`` reads; return its command."""
    data = folder / "data"
    data.mkdir()
    for name, documents in (("train", train), ("dev", dev)):
        jsonl.write(data / f"{name}.jsonl", documents)
    return [sys.executable, "-m", "spanloom", "train", "data", "-o", "model"]


def best(curve: Curve, minutes: float) -> float:
    """The best score up to some minutes; 0 before the first one."""
    return max((score for seconds, score in curve if seconds <= 60 * minutes), default=0.0)


def turns(minutes: float) -> Iterator[tuple[str, Any, re.Pattern[str], float]]:
    """Each side: its name, how it is started, how it says its score, its time."""
    yield "spacy", spacy_command, SPACY, minutes
    yield "spanloom", our_command, OURS, minutes


def main() -> None:
    """Read the arguments, train both, print and write the scores."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sentences", type=int, default=1500)
    parser.add_argument("--minutes", type=float, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    train = list(corpora.read(options.corpus, "train").documents)[: options.sentences]
    dev = list(corpora.read(options.corpus, "dev").documents)
    row: dict[str, Any] = {"corpus": options.corpus.name, "sentences": len(train)}
    for name, start, pattern, minutes in turns(max(options.minutes)):
        with TemporaryDirectory() as place:
            command = start(train, dev, Path(place))
            curve = followed(command, Path(place), pattern, minutes)
        row[name] = {f"{at:g} min": best(curve, at) for at in options.minutes}
        row[f"{name}_curve"] = curve
    print(json.dumps(row))
    if options.json:
        options.json.write_text(json.dumps(row, indent=1) + "\n")


if __name__ == "__main__":
    main()
