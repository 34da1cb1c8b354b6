"""Thirty things that newcomers do, end to end, as shell commands in an empty folder.

    python benchmarks/newcomers.py [--only TEXT] [--json FILE] [--page docs/newcomers.md]

Each task writes its files, runs its commands with the ``spanloom`` of this environment, and checks
what they print and leave behind. Printed are the tasks with their seconds; the status is 1 if one
fails. ``--page`` writes the commands and seconds of all as a page of the docs.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
WLP = ROOT / "fixtures" / "wlp"
TIMEOUT = 600  # seconds of one task

NAMES = ["Ada", "Bob", "Eve Smith", "Carl", "Dora Maar", "Fay"]
PLACES = ["Paris", "New York", "Oslo", "Bonn"]
PAIRS = [(name, place) for name in NAMES for place in PLACES]
TEXT = "Ada Lovelace met Charles Babbage in London. She wrote to him."

INTRODUCTION = """\
# First tasks

Common tasks as shell commands. Replace `a.txt`, `texts`, `corpus` and `c` (a brat folder) by your
own; [Formats](formats.md) shows the formats. `spanloom train` guesses the kind of task from the
data. Times include the start of Python, on two busy cores (a page of a text: on quiet ones). The
trainings here read 24 sentences for few epochs: ignore their scores, and leave `--set` out for your
own data.
`python benchmarks/newcomers.py` runs all of this.
"""

Writer = Callable[[Path], object]


@dataclass(frozen=True)
class Task:
    """What somebody wants, the shell commands that do it, and how success shows.

    ``prints`` are parts of the output, ``leaves`` files; ``fails`` where an error is expected.
    """

    name: str
    commands: str
    prints: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    files: dict[str, str | Writer] = field(default_factory=dict)
    fails: bool = False


def sentence(name: str, place: str) -> str:
    """A sentence about somebody somewhere."""
    return f"{name} lives in {place} now ."


def lines(record: Callable[[str, str], object]) -> str:
    """A line of JSON for each sentence."""
    return "".join(json.dumps(record(*pair)) + "\n" for pair in PAIRS)


def bounds(name: str, place: str) -> tuple[tuple[int, int, str], tuple[int, int, str]]:
    """The entities of a sentence."""
    start = sentence(name, place).index(place)
    return (0, len(name), "PER"), (start, start + len(place), "LOC")


def iob(name: str, place: str) -> str:
    """A sentence in columns."""
    tags = {0: "B-PER", len(name.split()) + 2: "B-LOC"}
    inside = {row for row in range(1, len(name.split()))}
    words = sentence(name, place).split()
    after = {len(name.split()) + 2 + row for row in range(1, len(place.split()))}
    rows = [
        f"{word} {tags.get(row, 'I-PER' if row in inside else 'I-LOC' if row in after else 'O')}"
        for row, word in enumerate(words)
    ]
    return "\n".join(rows) + "\n\n"


def doccano(name: str, place: str) -> object:
    """A line of doccano's."""
    return {"text": sentence(name, place), "label": [list(entry) for entry in bounds(name, place)]}


def prodigy(name: str, place: str) -> object:
    """A line of Prodigy's."""
    spans = [
        {"start": start, "end": end, "label": label} for start, end, label in bounds(name, place)
    ]
    return {"text": sentence(name, place), "spans": spans, "answer": "accept"}


def label_studio() -> str:
    """An export of Label Studio."""
    tasks = []
    for number, pair in enumerate(PAIRS):
        results = [
            {
                **{"id": str(row), "from_name": "label", "to_name": "text", "type": "labels"},
                "value": {"start": start, "end": end, "labels": [label]},
            }
            for row, (start, end, label) in enumerate(bounds(*pair))
        ]
        annotations = [{"result": results}]
        tasks.append({"id": number, "data": {"text": sentence(*pair)}, "annotations": annotations})
    return json.dumps(tasks)


def pubtator() -> str:
    """An export of PubTator."""
    blocks = []
    for number, pair in enumerate(PAIRS):
        text = sentence(*pair)
        rows = [f"{number}|t|{text}"]
        rows += [
            f"{number}\t{start}\t{end}\t{text[start:end]}\t{label}\tC{row}"
            for row, (start, end, label) in enumerate(bounds(*pair))
        ]
        blocks.append("\n".join([*rows, f"{number}\tlives\tC0\tC1"]) + "\n\n")
    return "".join(blocks)


def brat(folder: Path, *, related: bool) -> None:
    """A brat folder with entities, and relations between them."""
    folder.mkdir(parents=True)
    for number, pair in enumerate(PAIRS):
        text = sentence(*pair)
        rows = [
            f"T{row}\t{label} {start} {end}\t{text[start:end]}"
            for row, (start, end, label) in enumerate(bounds(*pair), 1)
        ]
        rows += ["R1\tLives Arg1:T1 Arg2:T2"] * related
        (folder / f"{number:02}.txt").write_text(text + "\n")
        (folder / f"{number:02}.ann").write_text("\n".join(rows) + "\n")


def conllu(name: str, place: str) -> str:
    """A sentence of a treebank."""
    words = f"{name.split()[0]} lives in {place.split()[0]} .".split()
    tags, heads = "PROPN VERB ADP PROPN PUNCT".split(), "2 0 4 2 2".split()
    labels = "nsubj root case obl punct".split()
    rows = [
        f"{row}\t{word}\t_\t{tag}\t_\t_\t{head}\t{label}\t_\t_"
        for row, (word, tag, head, label) in enumerate(
            zip(words, tags, heads, labels, strict=True), 1
        )
    ]
    return "\n".join(rows) + "\n\n"


def tree(name: str, place: str) -> str:
    """A sentence in Penn brackets."""
    who, where = name.split()[0], place.split()[0]
    return f"(S (NP (NNP {who})) (VP (VBZ lives) (PP (IN in) (NP (NNP {where})))) (. .))\n"


def squad() -> str:
    """Questions with answers."""
    paragraphs = [
        {
            "context": sentence(name, place),
            "qas": [
                {
                    **{"id": f"{number}a", "question": "Who lives there?"},
                    "answers": [{"text": name, "answer_start": 0}],
                },
                {
                    **{"id": f"{number}b", "question": "Where?"},
                    "answers": [
                        {"text": place, "answer_start": sentence(name, place).index(place)}
                    ],
                },
            ],
        }
        for number, (name, place) in enumerate(PAIRS)
    ]
    return json.dumps({"version": "1.1", "data": [{"title": "a", "paragraphs": paragraphs}]})


def table(path: Path, rows: list[tuple[str, ...]], delimiter: str) -> None:
    """A table as spreadsheets write it."""
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows(rows)


MOODS = [("review", "mood")] + [
    (f"This is a {word} film about {place}, really", mood)
    for place in [*PLACES, "Rome", "Kiel"]
    for word, mood in (("good", "glad"), ("bad", "sad"), ("great", "glad"), ("poor", "sad"))
]
ALIKE = [("sentence1", "sentence2", "score")] + [
    (f"{name} is in {place}", f"{name} is in {other}", "5.0" if place == other else "1.5")
    for name in NAMES
    for place in PLACES[:2]
    for other in PLACES[:2]
]
TRAINED = ("next: spanloom annotate",)
SCORED = """\
spanloom train corpus -o model --set stages.0.epochs=20
spanloom annotate "Eve Smith lives in Oslo now ." -m model --to table
spanloom evaluate model corpus
"""
SERVE = """\
spanloom serve --port 0 2> log &
for i in $(seq 200); do grep -q "serving at" log && break; sleep 0.3; done
python ask.py "$(sed -n "s/.*serving at \\(http[^;]*\\);.*/\\1/p" log)"
kill %1
"""
ASK = """\
import json, sys, urllib.request

page = urllib.request.urlopen(sys.argv[1]).read().decode()
body, kind = json.dumps({"text": "Ada met Bob."}).encode(), {"Content-Type": "application/json"}
request = urllib.request.Request(sys.argv[1].rstrip("/") + "/v1/annotate", body, kind)
print(page[:60], urllib.request.urlopen(request).read().decode())
"""
PYTHON = f"""\
import spanloom

document = spanloom.load()("{TEXT}")
print([span.label for span in document["ner"].spans])
"""


def train(name: str, path: str, kind: str, content: str | Writer, more: str = "") -> Task:
    """Somebody trains on a file or folder of their own, without a recipe."""
    commands = f"spanloom train {path} -o model --set stages.0.epochs=8 {more}"
    return Task(
        name, commands, prints=(*TRAINED, f": {kind} ("), leaves=("model",), files={path: content}
    )


TASKS = (
    Task("annotate a sentence", f'spanloom annotate "{TEXT}"', ("Ada Lovelace", "person")),
    Task("annotate what is piped in", f'echo "{TEXT}" | spanloom annotate', ("Ada Lovelace",)),
    Task("see all layers", f'spanloom annotate "{TEXT}" --layers all', ("coreference", "PROPN")),
    Task("get a table", f'spanloom annotate "{TEXT}" --to table', ("Ada Lovelace", "person")),
    Task(
        "get JSON for a program",
        f'spanloom annotate "{TEXT}" --to json | python -m json.tool',
    ),
    Task(
        "annotate a text file for brat",
        "spanloom annotate a.txt -o out",
        ("out",),
        ("out/a.ann",),
        {"a.txt": TEXT},
    ),
    Task(
        "annotate a folder of texts",
        "spanloom annotate texts -o out",
        (),
        ("out/a.ann", "out/b.ann"),
        {"texts/a.txt": TEXT, "texts/b.txt": TEXT},
    ),
    Task(
        "add to brat files in place",
        "spanloom annotate c --in-place --tasks ner && cat c/a.ann",
        ("Ada Lovelace", "T9\tX 0 3"),
        (),
        {"c/a.txt": TEXT, "c/a.ann": "T9\tX 0 3\tAda\n"},
    ),
    Task(
        "a page of a text",
        "spanloom annotate a.txt -o a.html",
        (),
        ("a.html",),
        {"a.txt": TEXT},
    ),
    Task(
        "CoNLL-U from a text",
        "spanloom annotate a.txt -o a.conllu && head -9 a.conllu",
        ("PROPN",),
        (),
        {"a.txt": TEXT},
    ),
    Task("check a brat folder", f"spanloom check {WLP}", ("5881", "Reagent")),
    Task(
        "a recipe from a brat folder",
        f"spanloom init {WLP} && spanloom train recipe.yaml -o m --dry-run",
        ("relations", "minutes without dev"),
        ("recipe.yaml",),
    ),
    train("train on brat entities", "corpus", "entities", lambda path: brat(path, related=False)),
    train("train on brat relations", "corpus", "relations", lambda path: brat(path, related=True)),
    Task(
        "train, annotate, score",
        SCORED,
        ("Eve Smith", "F1"),
        ("model",),
        {"corpus": lambda path: brat(path, related=False)},
    ),
    train(
        "train on columns called eng.train",
        "eng.train",
        "entities",
        "".join(iob(*pair) for pair in PAIRS),
    ),
    train(
        "train on a treebank", "a.conllu", "dependency", "".join(conllu(*pair) for pair in PAIRS)
    ),
    train("train on trees", "a.mrg", "constituency", "".join(tree(*pair) for pair in PAIRS)),
    train(
        "train on a CSV of classes",
        "a.csv",
        "text_classification",
        lambda path: table(path, MOODS, ","),
    ),
    train(
        "train on a table with semicolons",
        "a.csv",
        "text_classification",
        lambda path: table(path, MOODS, ";"),
    ),
    train(
        "train on pairs with a number",
        "a.tsv",
        "extractive_regression",
        lambda path: table(path, ALIKE, "\t"),
    ),
    train("train on SQuAD", "a.json", "extractive_qa", squad()),
    train("train on a doccano export", "a.jsonl", "entities", lines(doccano)),
    train("train on a Prodigy export", "a.jsonl", "entities", lines(prodigy)),
    train("train on a Label Studio export", "a.json", "entities", label_studio()),
    train("train on PubTator", "a.pubtator", "relations", pubtator()),
    Task(
        "convert columns to brat",
        "spanloom convert eng.train out --to brat && cat out/*.ann | head -3",
        ("PER",),
        (),
        {"eng.train": "".join(iob(*pair) for pair in PAIRS)},
    ),
    Task("a missing file", "spanloom train none.csv -o m", ("none.csv: no such",), fails=True),
    Task(
        "a file of no known format",
        "spanloom train a.bin -o m",
        ("a.bin: expected a recipe",),
        (),
        {"a.bin": "\x01\x02"},
        fails=True,
    ),
    Task(
        "a folder without annotation",
        "spanloom train c -o m",
        ("without annotations",),
        (),
        {"c/a.txt": TEXT, "c/b.txt": TEXT},
        fails=True,
    ),
    Task(
        "a server and a request",
        "bash serve.sh",
        ("<!DOCTYPE html>", '"Ada met Bob."'),
        files={"serve.sh": SERVE, "ask.py": ASK},
    ),
    Task("from Python", "python a.py", ("person",), files={"a.py": PYTHON}),
)


def run(task: Task, folder: Path) -> tuple[float, str]:
    """Do a task; return its seconds, and what went wrong or ""."""
    for name, content in task.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_text(content)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    start = time.monotonic()
    try:
        done = subprocess.run(
            ["bash", "-c", task.commands],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return TIMEOUT, "not done in time"
    seconds = time.monotonic() - start
    output = done.stdout + done.stderr
    missing = [part for part in task.prints if part not in output]
    missing += [name for name in task.leaves if not (folder / name).exists()]
    if bool(done.returncode) != task.fails or missing:
        return seconds, f"status {done.returncode}, missing {missing}:\n{output[-2000:]}"
    return seconds, ""


def page(seconds: dict[str, float]) -> str:
    """A page of the docs: what each task is called, its commands, how long they took."""
    in_rows = [task for task in TASKS if "\n" not in task.commands.strip() and not scripts(task)]
    right = [task for task in in_rows if not task.fails]
    wrong = [task for task in in_rows if task.fails]
    sections = [
        f"## {title(task)}\n\n{seconds[task.name]:.0f} s\n\n```sh\n{commands(task)}\n```\n"
        f"{scripts(task)}"
        for task in TASKS
        if task not in in_rows
    ]
    return "\n".join(
        [
            INTRODUCTION,
            table_of(right, seconds),
            "These end with an error of one line, which says what is wrong:\n",
            table_of(wrong, seconds),
            *sections,
        ]
    )


def table_of(tasks: list[Task], seconds: dict[str, float]) -> str:
    """A row for each task: its name, its commands, its seconds."""
    rows = [
        (title(task), f"`{commands(task)}`".replace("|", "\\|"), f"{seconds[task.name]:.0f} s")
        for task in tasks
    ]
    head = ("task", "commands", "time")
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * 3, *rows))


def title(task: Task) -> str:
    """What a task is called, as a heading."""
    return task.name[0].upper() + task.name[1:]


def commands(task: Task) -> str:
    """The commands of a task as a reader would type them, in a clone."""
    return task.commands.replace(f"{ROOT}/", "").strip()


def scripts(task: Task) -> str:
    """The scripts that the commands of a task run, as blocks of code."""
    shown = {
        name: text.strip()
        for name, text in task.files.items()
        if isinstance(text, str) and name.endswith((".py", ".sh"))
    }
    languages = {".py": "python", ".sh": "sh"}
    return "".join(
        f"\n`{name}`:\n\n```{languages[Path(name).suffix]}\n{text}\n```\n"
        for name, text in shown.items()
    )


def main() -> None:
    """Read the arguments, do the tasks, print and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="tasks whose name has this text")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    rows = []
    for task in TASKS:
        if options.only in task.name:
            with TemporaryDirectory() as folder:
                seconds, problem = run(task, Path(folder))
            rows.append({"task": task.name, "seconds": round(seconds, 1), "passed": not problem})
            print(f"{'FAILED' if problem else 'passed'} {seconds:6.1f} s  {task.name}", flush=True)
            if problem:
                print(problem, flush=True)
    if options.json:
        summary = {"tasks": len(rows), "passed": sum(row["passed"] for row in rows), "rows": rows}
        options.json.write_text(json.dumps(summary, indent=1) + "\n")
    if options.page:
        options.page.write_text(page({str(row["task"]): float(row["seconds"]) for row in rows}))
    raise SystemExit(not all(row["passed"] for row in rows))


if __name__ == "__main__":
    main()
