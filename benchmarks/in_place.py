"""``annotate --in-place`` among kills, other writers, full disks, links and modes: what is lost.

    python benchmarks/in_place.py [--kills 50] [--appends 10000] [--scratch DIR] [--json FILE]

The command's own code runs, with a stand-in for the model that needs no time: it finds a span over
every third word, over line breaks too, and a relation between neighbours. Every trial is judged by
the bytes: what stood there stands there still, every line of other programs is there once and
whole, no annotation is there twice, another run adds nothing.

* ``kills``: processes that add to a folder are killed (SIGKILL) at random until ``--kills`` of them
  were found between a journal and the end of its block, and as many again in the midst of the call
  that writes, after a random number of its bytes; each is followed by the next. In the end the
  files must be those of a run that nobody disturbed, byte for byte.
* ``appends``: four processes add lines to the same files all the while, without a lock and each by
  itself: three add notes, one adds spans under a lock, with ids that it looks up. ``appends and
  kills``: both at once.
* ``full disk``: a folder on a tmpfs of 1 MB (needs the right to mount; else ``RLIMIT_FSIZE``).
* ``links and modes``: links stay links, owner and mode stay, read-only files are left out.
"""

import argparse
import contextlib
import fcntl
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from spanloom.cli import in_place
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.formats.brat import read
from spanloom.glad.speed import processor

WORDS = "add mix warm cold buffer water cells tube for spin wash the and".split()
PAUSE = 0.0002  # seconds between two lines of one process
KILLED_SLOWER = 20  # times that, so that there is time for many kills
WRITING, MIDST = "while_writing", "inside_the_call"
HUMAN = "T1\tReagent 0 3\tfoo\r\nA1\tNegation T3\n#1\tAnnotatorNotes T2\tlost"


def main() -> None:
    """Run all trials, print and save what they found; stops at a promise that is broken."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--kills", type=int, default=50)
    arguments.add_argument("--appends", type=int, default=10_000)
    arguments.add_argument("--documents", type=int, default=12)
    arguments.add_argument("--words", type=int, default=300, help="of a document")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--scratch", type=Path, help="a folder on the disk to be tried")
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    result: dict[str, Any] = {"processor": processor(), "seed": options.seed}
    trials = {
        "kills": killed,
        "appends": appended,
        "appends_and_kills": both,
        "full_disk": full,
        "links_and_modes": linked,
    }
    for name, trial in trials.items():
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
            rng = random.Random(f"{options.seed} {name}")
            result[name] = trial(Path(scratch), rng, options)
        result[name]["seconds"] = round(time.monotonic() - began, 1)
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def killed(root: Path, rng: random.Random, options: argparse.Namespace) -> dict[str, Any]:
    """Kill up to four processes one after the other in a folder, then leave one to its end."""
    before = corpus(root / "before", rng, options.documents, options.words)
    shutil.copytree(root / "before", root / "undisturbed")
    add(root / "undisturbed")
    expected, seen = states(root / "undisturbed"), Counter[str]()
    target = root / "killed"
    while min(seen[WRITING], seen[MIDST]) < options.kills:
        shutil.copytree(root / "before", target)
        for _ in range(4):
            seen.update(_killed_once(target, rng, midst=seen[WRITING] >= options.kills))
            now = states(target)
            must(all(now[name].startswith(before[name]) for name in before), "a byte was changed")
        add(target)
        must(states(target) == expected, "killed and taken up again differs from undisturbed")
        must(add(target) == 0, "another run added something")
        shutil.rmtree(target)
    return {"documents": options.documents, "byte_identical": True, **seen}


def _killed_once(target: Path, rng: random.Random, *, midst: bool, step: int = 3) -> Counter[str]:
    """Kill a process that adds, when it has come to a document drawn at random, or soon after."""
    countdown = rng.randrange(1, 8) if midst else 0
    child = _process(lambda: add(target, step=step, seen=Counter(), dies_in=countdown, chance=rng))
    if not midst:
        path = rng.choice(sorted(target.glob("*.ann")))
        journal = path.with_name(f".{path.name}.adding")
        end = time.monotonic() + 0.7
        while not journal.exists() and time.monotonic() < end:
            time.sleep(0.0002)
        time.sleep(rng.choice([0, 0.001, 0.01, 0.1]) * rng.random())
        os.kill(child, signal.SIGKILL)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        return Counter({"ended_unkilled": 1})
    if midst:
        return Counter({MIDST: 1})
    has_journal = any(True for _ in target.glob(".*.adding"))
    return Counter({WRITING if has_journal else "between_documents": 1})


def appended(root: Path, rng: random.Random, options: argparse.Namespace) -> dict[str, Any]:
    """Others add lines while one process after the other adds."""
    return _crowded(root, rng, options, kills=False)


def both(root: Path, rng: random.Random, options: argparse.Namespace) -> dict[str, Any]:
    """Others add lines while processes that add are killed."""
    return _crowded(root, rng, options, kills=True)


def _crowded(
    root: Path, rng: random.Random, options: argparse.Namespace, *, kills: bool
) -> dict[str, Any]:
    corpus(root, rng, 5, 60)
    for path in root.glob("*.ann"):
        path.write_bytes(path.read_bytes() + b"\r\n")  # they do not look how it ends
    before = states(root)
    share, pause = options.appends // 4, PAUSE * (KILLED_SLOWER if kills else 1)
    others = [_process(lambda row=row: _noting(root, row, share, pause)) for row in range(3)]
    others.append(_process(lambda: _editing(root, options.appends - 3 * share, pause)))
    seen, running = Counter[str](), True
    step = 0
    while running or step < 3:  # each run finds something that is not there yet
        step += 1
        running = any([os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in others if _lives(pid)])
        if kills and running:
            midst = rng.random() < 0.5
            seen.update(_killed_once(root, rng, midst=midst, step=step))
        else:
            seen["annotations_added"] += add(root, step=step, seen=seen)
        seen["runs"] += 1
    last = step
    add(root, step=last)
    must(add(root, step=last) == 0, "another run added something")
    swallowed = _swallowed(root, before, options.appends)
    must(kills or not swallowed, "a line of others is torn")
    return {"lines_of_others": options.appends, "behind_a_torn_line": swallowed, **seen}


def _swallowed(root: Path, before: dict[str, bytes], appends: int) -> int:
    """Count the lines of others that stand behind a torn line of ours and nowhere else.

    All that stood there must stand there, every line of others with all its bytes, none twice.
    """
    now = states(root)
    must(all(now[name].startswith(before[name]) for name in before), "a byte was changed")
    lines = [line.removesuffix(b"\r") for content in now.values() for line in content.split(b"\n")]
    pattern = rb"#\d+\tby T1\t\d+ of \d+ whole|T\d+\tEdit 0 \d+\tnumber \d+"
    intact = Counter(line for line in lines if re.fullmatch(pattern, line))
    contents = Counter(line.rpartition(b"\t")[2] for line in intact)
    must(set(contents.values()) == {1}, "a line of others stands there twice")
    torn = [line for line in lines if not re.fullmatch(pattern, line)]
    ends = {line[match.start() :] for line in torn for match in re.finditer(pattern, line)}
    only = {end.rpartition(b"\t")[2] for end in ends} - contents.keys()
    must(
        len(contents) + len(only) == appends,
        f"{len(contents)} of {appends} lines of others are there",
    )
    for path in root.glob("*.txt"):
        layers = read.load(path).document.layers
        spans = Counter((span.label, span.fragments) for layer in layers for span in layer.spans)
        twice = [content for content, times in spans.items() if times > 1 and content[0] != "Edit"]
        must(not twice, f"spans that are there twice: {twice[:3]}")
    return len(only)


def _noting(root: Path, row: int, count: int, pause: float) -> None:
    """Add notes to the files in turn, as a program does that knows no lock."""
    paths = sorted(root.glob("*.ann"))
    for number in range(count):
        with paths[number % len(paths)].open("a", encoding="utf-8", newline="") as file:
            file.write(f"#{(row + 1) * 1_000_000 + number}\tby T1\t{number} of {row} whole\r\n")
        time.sleep(pause)


def _editing(root: Path, count: int, pause: float) -> None:
    """Add spans under a lock, as another careful program does."""
    paths = sorted(root.glob("*.ann"))
    for number in range(count):
        with paths[number % len(paths)].open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            ids = [int(existing) for existing in re.findall(rb"\bT(\d+)\t", file.read())]
            line = f"T{max(ids, default=0) + 1}\tEdit 0 {number % 7 + 1}\tnumber {number}\r\n"
            file.write(line.encode())
        time.sleep(pause)


def full(root: Path, rng: random.Random, options: argparse.Namespace) -> dict[str, Any]:
    """Add to a folder until its disk is full, then with room."""
    small = root / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        before = corpus(small, rng, 60, 600)
        again = shutil.copytree(small, root / "room")
        add(again)
        expected = states(again)
        left, usual = Counter[str](), resource.getrlimit(resource.RLIMIT_FSIZE)
        if not mounted:
            limit = sorted(map(len, expected.values()))[len(expected) // 2]
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, usual[1]))
        added = add(small, seen=left)
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        now = states(small)
        must(all(now[name] in (before[name], expected[name]) for name in before), "half a block")
        must(not list(small.glob(".*")), "a journal was left")
        must(left["left_out"] > 0, "the disk was not full")
        if mounted:
            subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        add(small)
        must(states(small) == expected, "with room it is not as it should be")
        must(add(small) == 0, "another run added something")
    finally:
        if mounted:
            subprocess.run(["umount", str(small)], check=True)
    how = "tmpfs of 1 MB" if mounted else "RLIMIT_FSIZE"
    return {"disk": how, "documents": len(before), "added_until_full": added, **left}


def linked(root: Path, rng: random.Random, _: argparse.Namespace) -> dict[str, Any]:
    """Add to files of all modes, behind links."""
    before = corpus(root, rng, 40, 60)
    (root / "store").mkdir()
    kept: dict[Path, tuple[int, ...]] = {}
    readonly = 0
    for path in sorted(root.glob("*.ann")):
        way = rng.randrange(4)
        if way == 0:
            path.rename(root / "store" / path.name)
            path.symlink_to(Path("store", path.name))
        elif way == 1:
            os.link(path, root / "store" / path.name)
        if os.geteuid() == 0:
            os.chown(path, rng.choice([0, 33, 1000]), rng.choice([0, 33, 1000]))
        mode = rng.choice([0o600, 0o640, 0o644, 0o664, 0o666, 0o444])
        path.chmod(mode)
        readonly += mode == 0o444
        kept[path] = _place(path)
    left = Counter[str]()
    add(root, seen=left)
    must(left["left_out"] == readonly, "what is read-only is left out, and nothing else")
    must(all(_place(path) == was for path, was in kept.items()), "a link, an owner or a mode went")
    now = states(root)
    grown = [name for name in now if now[name] != before[name]]
    must(all(now[name].startswith(before[name]) for name in before), "a byte was changed")
    must(len(grown) == len(before) - readonly, "a document got nothing")
    must(add(root, seen=Counter()) == 0, "another run added something")
    return {
        "files": len(before),
        "left_out": readonly,
        "all_kept": True,
    }


def _place(path: Path) -> tuple[int, ...]:
    target_stat, link_stat = path.stat(), path.lstat()
    return (
        target_stat.st_ino,
        target_stat.st_mode,
        target_stat.st_uid,
        target_stat.st_gid,
        link_stat.st_ino,
        link_stat.st_mode,
    )


def corpus(root: Path, rng: random.Random, documents: int, words: int) -> dict[str, bytes]:
    """Make a folder of wrapped texts with a human's annotation; returns the latter by file."""
    root.mkdir(exist_ok=True)
    for number in range(documents):
        text = "".join(f"{rng.choice(WORDS)}{rng.choice('    ' + chr(10))}" for _ in range(words))
        (root / f"{number:03}.txt").write_text(text)
        (root / f"{number:03}.ann").write_bytes(HUMAN.encode())
    return states(root)


def add(
    root: Path,
    *,
    step: int = 3,
    seen: Counter[str] | None = None,
    dies_in: int = 0,
    rng: random.Random | None = None,
) -> int:
    """Run the command's code in a folder; returns how many annotations it says to have added.

    ``step``: annotate every so manieth word; ``seen`` counts what is left out, which else must
    not be; ``dies_in``: be killed in the midst of that write.
    """
    if dies_in and rng:
        _mortal(dies_in, rng)
    output = io.StringIO()
    with contextlib.redirect_stderr(output):
        try:
            in_place.add(_model(step), in_place.list_documents(root), None)
        except DataError:
            must(seen is not None, output.getvalue())
    if seen is not None:
        seen["left_out"] += output.getvalue().count("left out: ")
    return int(re.findall(r"^(\d+) annotations added", output.getvalue(), re.M)[0])


def _mortal(left: int, rng: random.Random) -> None:
    """Have this process killed in the midst of a write to a file that may be torn."""
    write = os.write

    def killed(handle: int, data: bytes) -> int:
        nonlocal left
        left -= 1
        if left == 0:
            write(handle, data[: rng.randrange(len(data) + 1)])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(handle, data)

    os.write = killed


def _model(step: int) -> Any:
    """A stand-in for a model of one layer that finds every so manieth word, and what follows."""

    def annotate(documents: Iterable[Document], _: object) -> Iterator[Document]:
        for document in documents:
            bounds = [match.span() for match in re.finditer(r"\S+", document.text)]
            couples = list(zip(bounds, bounds[1:], strict=False))[::step]
            spans = [
                Span(f"T{n}", f"Step{step}", ((a[0], b[1]),)) for n, (a, b) in enumerate(couples, 1)
            ]
            relations = [
                Relation(f"R{n}", "Next", a.id, b.id)
                for n, (a, b) in enumerate(zip(spans, spans[1:], strict=False), 1)
            ]
            layer = Layer("steps", tuple(spans), tuple(relations))
            yield Document(document.text, (layer,), document.name)

    task = SimpleNamespace(layer="steps", annotates=True, inputs=())
    return SimpleNamespace(
        tasks={"steps": task},
        layers={"steps": "steps"},
        passes=lambda _: [("steps",)],
        annotate=annotate,
    )


def states(root: Path) -> dict[str, bytes]:
    """What the annotation files hold."""
    return {path.name: path.read_bytes() for path in sorted(root.glob("*.ann"))}


def must(holds: bool, problem: str) -> None:
    """Raise ``AssertionError`` where a promise is broken."""
    if not holds:
        raise AssertionError(problem)


def _process(work: Callable[[], object]) -> int:
    """Do work in a process of its own."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # a process of its own must not go on as its parent
        traceback.print_exc()
    finally:
        os._exit(code)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main()
