"""Speed of the scorers beside the official programs, on the same files: seconds of CPU time.

    python benchmarks/scorers.py --golden DIR --official DIR [--python FILE] [--json FILE]

``--golden`` holds a folder of cases a metric; ``--official`` holds a folder a metric with the
official program, called as ``TABLE`` says. ``--python`` runs those in Python (default: the one that
runs this); glue, coval-lea, carb and squad-v2.0 need numpy, scipy or scikit-learn there.

A metric is scored on its largest golden case of those without options, and on that case repeated
until gold has ``--megabytes``, names made unique (of a case whose repetition is refused the next
largest). Three things are timed in turn, and of several rounds the least counts: our function in
this process, our command with its start, and the official commands with theirs, as many as print
what one call of ours returns. Our numbers on the golden case must be those written there.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanloom.errors import FormatError
from spanloom.scoring._base import Scorer, find

Case = dict[str, Any]  # as a case's JSON or ours says


def repeated(names: str) -> Callable[[str, int], str]:
    """Return what repeats a text; ``names`` matches what stands before a name, if any needs be."""

    def copied(text: str, copy: int) -> str:
        return re.sub(names, lambda match: f"{match[0]}{copy:04}", text) if names else text

    return lambda text, times: "".join(copied(text, copy) for copy in range(times))


def questions(text: str, times: int) -> str:
    """Repeat SQuAD's articles, or answers by question."""
    data = json.loads(text)
    if "data" in data:
        identity = re.compile('("id": ")')
        articles = json.dumps(data["data"])
        copies = (identity.sub(rf"\g<1>{copy:04}", articles) for copy in range(times))
        return json.dumps({**data, "data": [item for copy in copies for item in json.loads(copy)]})
    return json.dumps({f"{copy:04}{key}": data[key] for copy in range(times) for key in data})


@dataclass(frozen=True)
class Official:
    """A case's two files, how they are repeated, and the official commands, parted by bars.

    ``HERE`` is the program's folder, ``GOLD`` and ``PRED`` the files, ``PYTHON`` the interpreter;
    what follows ``<`` is read as standard input.
    """

    gold: str
    predicted: str
    repeat: Callable[[str, int], str]
    commands: str


PLAIN = repeated("")
COREF = repeated(r"(?m)^#begin document \(")
COLUMNS = ("key.conll", "response.conll")
TABLE = {
    "conlleval": Official("input.txt", "input.txt", PLAIN, "perl HERE/conlleval.pl < GOLD"),
    "tacred": Official("gold.txt", "pred.txt", PLAIN, "PYTHON HERE/scorer.py GOLD PRED"),
    "semeval2010-task8": Official(
        "answer_key.txt",
        "proposed.txt",
        repeated(r"(?m)^(?=\d)"),
        "perl HERE/semeval2010_task8_scorer-v1.2.pl PRED GOLD",
    ),
    "glue": Official("gold.tsv", "pred.tsv", PLAIN, "PYTHON HERE/reference.py GOLD PRED"),
    "conll2012-coref": Official(
        *COLUMNS,
        COREF,
        " | ".join(
            f"perl HERE/scorer.pl {each} GOLD PRED none"
            for each in ("muc", "bcub", "ceafm", "ceafe", "blanc")
        ),
    ),
    "coval-lea": Official(
        *COLUMNS,
        COREF,
        "PYTHON HERE/scorer.py GOLD PRED | PYTHON HERE/scorer.py GOLD PRED remove_singletons",
    ),
    "evalb": Official("gold.mrg", "test.mrg", PLAIN, "HERE/evalb -p HERE/COLLINS.prm GOLD PRED"),
    "srl-eval": Official("gold.props", "pred.props", PLAIN, "perl HERE/srl-eval.pl GOLD PRED"),
    "ud-eval": Official("gold.conllu", "system.conllu", PLAIN, "PYTHON HERE/eval.py -v GOLD PRED"),
    "squad-v1.1": Official(
        "dataset.json", "predictions.json", questions, "PYTHON HERE/evaluate-v1.1.py GOLD PRED"
    ),
    "squad-v2.0": Official(
        "dataset.json", "predictions.json", questions, "PYTHON HERE/evaluate-v2.0.py GOLD PRED"
    ),
    "streuseval": Official(
        "gold.conllulex",
        "system.autoid.conllulex",
        repeated(r"(?m)^# (?:streusle_)?sent_id = "),
        "PYTHON HERE/streuseval.py -x GOLD PRED",
    ),
    "carb": Official(
        "gold.tsv",
        "pred.tsv",
        repeated(r"(?m)^(?=\S)"),
        " | ".join(
            f"PYTHON HERE/carb.py --gold=GOLD --out=/dev/null --tabbed=PRED {each}"
            for each in ("", "--binary", "--simpleMatch")
        ),
    ),
}


def plain(case: Case) -> bool:
    """Whether the official program scored this case, and needed no options."""
    codes = case.get("exit_code", 0)
    failed = any(codes.values()) if isinstance(codes, dict) else codes
    return not (failed or case.get("options") or "--na-prob-file" in case.get("command", ""))


def cases(folder: Path, metric: str) -> list[Path]:
    """Return the folders of the cases that were scored without options, the largest first."""
    names = (TABLE[metric].gold, TABLE[metric].predicted)
    sizes = {
        path.parent: sum((path.parent / name).stat().st_size for name in names)
        for path in sorted(folder.glob("*/scores.json"))
        if plain(json.loads(path.read_text(encoding="utf-8")))
        and all((path.parent / name).exists() for name in names)
    }
    return sorted(sizes, key=sizes.__getitem__, reverse=True)


def repeat(case: Path, metric: str, megabytes: float, folder: Path) -> tuple[Path, Path]:
    """Write a case's files as often as it takes, and return where."""
    official = TABLE[metric]
    files = [case / official.gold, case / official.predicted]
    times = round(megabytes * 1e6 / files[0].stat().st_size)
    for file in files:
        text = file.read_bytes().decode()
        (folder / file.name).write_bytes(official.repeat(text, times).encode())
    return folder / official.gold, folder / official.predicted


def fitting(folder: Path, scorer: Scorer, options: argparse.Namespace, target: Path) -> Path:
    """Return the largest case whose repetition is not refused, and leave that in ``made``."""
    for case in cases(folder, scorer.name):
        with suppress(FormatError):
            gold, predicted = repeat(case, scorer.name, options.megabytes, target)
            scorer.score(gold, predicted, {})
            return case
    raise SystemExit(f"{folder}: no case that can be repeated")


def spent(command: Sequence[str]) -> float:
    """Run a command and return its CPU time in seconds; raises ``SystemExit`` where it fails."""
    words = list(command)
    source = words.pop() if "<" in words else os.devnull
    words = [word for word in words if word != "<"]
    with open(source, "rb") as given:
        process = subprocess.Popen(
            words, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def theirs(
    metric: str, gold: Path, predicted: Path, options: argparse.Namespace
) -> list[list[str]]:
    """Return the official commands on these files; none where the program is not at hand."""
    here = options.official / metric
    if not here.is_dir():
        return []
    paths = {"HERE": here, "GOLD": gold, "PRED": predicted, "PYTHON": options.python}
    pattern = re.compile("|".join(paths))
    commands = (command.split() for command in TABLE[metric].commands.split("|"))
    return [
        [pattern.sub(lambda name: str(paths[name[0]]), word) for word in words]
        for words in commands
    ]


def timed(
    scorer: Scorer, gold: Path, predicted: Path, options: argparse.Namespace
) -> dict[str, float]:
    """Time all three in turn and return the least of each; the official one may be missing."""
    ours = [sys.executable, "-m", "spanloom", "score", str(gold), str(predicted)]
    ours += ["--metric", scorer.name, "--json"]
    official = theirs(scorer.name, gold, predicted, options)
    rounds: dict[str, list[float]] = {"function": [], "command": [], "official": []}
    for _ in range(options.rounds):
        began = time.process_time()
        scorer.score(gold, predicted, {})
        rounds["function"].append(time.process_time() - began)
        rounds["command"].append(spent(ours))
        if official:
            rounds["official"].append(sum(map(spent, official)))
    return {name: round(min(seconds), 3) for name, seconds in rounds.items() if seconds}


def measure(metric: str, folder: Path, options: argparse.Namespace) -> Case:
    """Check our numbers on the case, then time it and its repetition."""
    official, scorer = TABLE[metric], find(metric)
    with tempfile.TemporaryDirectory() as scratch:
        case = fitting(folder, scorer, options, Path(scratch))
        expected = json.loads((case / "scores.json").read_text(encoding="utf-8"))["scores"]
        report = scorer.score(case / official.gold, case / official.predicted, {})
        scores = json.loads(json.dumps(report))
        if any(scores[name] != expected[name] for name in scores):
            raise SystemExit(f"{metric}: other numbers than in {case}")
        runs = official.commands.count("|") + 1
        result: Case = {"case": case.name, "official_runs": runs}
        for name, case_folder in {"golden": case, "repeated": Path(scratch)}.items():
            gold, predicted = case_folder / official.gold, case_folder / official.predicted
            seconds = timed(scorer, gold, predicted, options)
            result[name] = {"gold_bytes": gold.stat().st_size, **seconds}
    return result


def main() -> None:
    """Measure every metric, print the times and write them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--golden", type=Path, required=True)
    arguments.add_argument("--official", type=Path, required=True)
    arguments.add_argument("--python", default=sys.executable)
    arguments.add_argument("--metrics", nargs="*", default=list(TABLE))
    arguments.add_argument("--megabytes", type=float, default=2.0)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    result: dict[str, Any] = {"python": platform.python_version(), "rounds": options.rounds}
    result["metrics"] = rows = {}
    print(f"{'seconds of CPU time':20} {'bytes':>8} {'function':>9} {'command':>9} {'official':>9}")
    for metric in options.metrics:
        rows[metric] = measure(metric, options.golden / metric, options)
        for name in ("golden", "repeated"):
            row = rows[metric][name]
            cells = (
                f"{row.get(column, 'missing'):>9}" for column in ("function", "command", "official")
            )
            print(f"{metric:20} {row['gold_bytes']:8} {' '.join(cells)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
