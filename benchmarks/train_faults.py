"""Whether training loses or alters anything where it is killed, told to end, or its disk fails.

    python benchmarks/train_faults.py [--kills 100] [--enospc 50] [--eio 50] [--sigint 20]
        [--sigterm 20] [--seed 1] [--json FILE]

A tiny recipe of two stages is trained, hit at a random moment, taken up with ``--resume``, and hit
again, until it comes to its end; then everything it made is compared with what an undisturbed run
made (SHA-256 of weights, recipe, tokenizer, card). That is done until there were as many hits as
asked for, and a hit counts only where it is proved:

* kills: the process ended by SIGKILL. A checkpoint is written after each update.
* full disk, broken disk: ``failing_disk.c`` (gcc needed) is preloaded and lets one call below the
  run's folder fail: write, sendfile, and of a broken one (EIO), which fails once, fsync, rename and
  opening, too. A full disk (ENOSPC) stays full until the process ends. Each failure is a line in a
  log, which is counted.
* signals: two processes under ``torchrun``, by the command line. SIGINT goes to all of them, as
  from a terminal, and SIGTERM to ``torchrun``, which tells each.

After each hit nothing may be lost that was acknowledged: a checkpoint is never older than the one
before, ``metrics.jsonl`` is at most one update ahead of it (after a signal: none), and in the end
it has each update once. Untidy is an end after a signal without its line, or by an error not ours.
"""

import argparse
import ctypes
import errno
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serve import put

from spanloom.glad.speed import processor

HERE = Path(__file__).resolve().parent
TINY = HERE.parent / "fixtures" / "tiny"
FILES = ("model.safetensors", "recipe.yaml", "config.json", "tokenizer.json", "README.md")
SHIM = "SPANLOOM_FAILING_DISK"  # set in the process that has it preloaded
TOLD, UNTIDY = 3, 4  # exit codes of a forked run: an error of ours, any other
GONE = "process of this run is gone"
ASIDE, MANIFEST, SECONDS = ".state.old-*", "manifest.json", 300.0


def recipe(epochs: float) -> dict[str, Any]:
    """Two stages over two tasks, with what training keeps: averages, the best, each task's best."""
    data, stage = str(TINY / "steps"), {"batch_words": 96, "ema_decay": 0.9, "precision": "fp32"}
    both = {
        "tasks": ["steps", "names"],
        "epochs": epochs,
        "save_best_per_task": True,
        "gradient_accumulation_steps": 2,
    }
    both |= {"lr_schedule": "plateau", "eval_every_epochs": 0.5}
    return {
        "trunk": [{"transformer": str(TINY / "encoder"), "init": "random"}],
        "tasks": {
            "steps": {"data": data, "kind": "relations", "hidden_size": 16},
            "names": {"data": data, "kind": "entities", "hidden_size": 16},
        },
        "stages": [stage | both, stage | {"tasks": ["steps"], "epochs": epochs}],
        "window": 64,
    }


@dataclass
class Tally:
    """What came of the hits of one kind; ``runs`` came to their end and were compared."""

    hits: int = 0
    runs: int = 0
    identical: int = 0
    lost: int = 0
    untidy: int = 0
    finished_first: int = 0
    seconds: float = 0.0
    calls: Counter[str] = field(default_factory=Counter)

    def told(self) -> dict[str, Any]:
        """As JSON."""
        counts = {key: value for key, value in vars(self).items() if key != "calls" or value}
        return counts | {"seconds": round(self.seconds, 1)}


def sums(model: Path) -> dict[str, str]:
    """The SHA-256 of what training made."""
    return {name: hashlib.sha256((model / name).read_bytes()).hexdigest() for name in FILES}


def home(out: Path) -> Path:
    """The folder of a run."""
    return out.with_name(f"{out.name}.run")


def kept(out: Path) -> int:
    """How many updates the checkpoint holds, also one that a kill left moved aside; -1: none."""
    state = home(out) / "state"
    aside = sorted(home(out).glob(ASIDE)) if home(out).exists() else []
    if not state.exists():
        state = aside[-1] if aside else state
    try:
        return int(json.loads((state / "progress.json").read_bytes())["global_step"])
    except OSError:
        return -1


def logged(out: Path) -> list[int]:
    """The updates in ``metrics.jsonl``, a line that was cut short apart."""
    path, rows = home(out) / "metrics.jsonl", []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        rows += [event["step"]] if "losses" in event else []
    return rows


def run(recipe_path: Path, out: Path) -> None:
    """Train in this process, a checkpoint after each update, going on where one is."""
    from spanloom.config import recipe as recipes
    from spanloom.model.plan import resolve
    from spanloom.training.progress_line import LogIntervals
    from spanloom.training.train import train

    read = recipes.load(recipe_path)
    pace = LogIntervals(checkpoint=0, log=1)
    train(
        resolve(read, recipe_path.parent),
        out,
        lambda line: None,
        resume=True,
        pace=pace,
        device="cpu",
    )


def forked(work: Callable[[], None], output: Path) -> int:
    """Do some work in a child of this process, which has everything imported; returns its id."""
    child = os.fork()
    if child:
        return child
    code = UNTIDY
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        code = _coded(work)
    finally:
        os._exit(code)


def _coded(work: Callable[[], None]) -> int:
    import traceback

    from spanloom.errors import SpanloomError

    try:
        work()
    except SpanloomError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return TOLD
    except BaseException:
        traceback.print_exc()
        return UNTIDY
    return 0


def _ended(child: int) -> int:
    """The exit code of a child, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(folder: Path, path: Path, count: int, rng: random.Random) -> Tally:
    """Kill runs at random moments."""
    undisturbed, tally, output = folder / "whole", Tally(), folder / "said"
    began = time.monotonic()
    if _ended(forked(lambda: run(path, undisturbed), output)):
        raise SystemExit(output.read_text())
    lasts, reference = time.monotonic() - began, sums(undisturbed)
    while tally.hits < count:
        out = folder / f"kill-{tally.runs}"
        before = -1
        while True:
            child = forked(lambda out=out: run(path, out), output)
            # the last hit wanted is followed by a run to the end
            if tally.hits < count:
                time.sleep(rng.uniform(0, lasts * 0.8))
                os.kill(child, signal.SIGKILL)
            code = _ended(child)
            if code == -signal.SIGKILL:
                tally.hits += 1
                before = _look(out, before, tally, ahead=1)
                continue
            tally.untidy += code != 0
            break
        _close(out, reference, tally)
    return tally


def _look(out: Path, before: int, tally: Tally, *, ahead: int) -> int:
    """Compare what is kept with what was kept and logged before; returns what is."""
    now, lines = kept(out), logged(out)
    last = max(lines, default=0)
    tally.lost += now < before or last > max(now, 0) + ahead
    return now


def _close(out: Path, reference: dict[str, str], tally: Tally, *, evaluations: int = 1) -> None:
    """Compare a run that came to its end with the undisturbed one."""
    tally.runs += 1
    tally.identical += sums(out) == reference
    lines = logged(out)
    tally.lost += lines != list(range(evaluations, (len(lines) + 1) * evaluations, evaluations))
    shutil.rmtree(out)
    shutil.rmtree(home(out))


class Disk:
    """The preloaded disk of this process; ``log`` gets a line a failure."""

    def __init__(self, below: Path, log: Path) -> None:
        """All calls below a folder are counted from here on."""
        self.below, self.log = below, log
        self.library = ctypes.CDLL(None)
        self.library.disk_calls.restype = ctypes.c_long

    def arm(self, nth: int, error: int) -> None:
        """Let the so-manyth call fail from now, 0: none."""
        names = str(self.below).encode(), str(self.log).encode()
        self.library.disk_arm(*names, ctypes.c_long(nth), error, int(error == errno.ENOSPC))

    def failures(self) -> list[list[str]]:
        """What the log says: errno, number, call, path of each."""
        return [line.split("\t") for line in self.log.read_text().splitlines()]


def failing(folder: Path, path: Path, count: int, error: int, rng: random.Random) -> Tally:
    """Let the disk fail at random calls."""
    mount, tally, output, counted = folder / "disk", Tally(), folder / "said", folder / "calls"
    mount.mkdir()
    disk, undisturbed = Disk(mount, folder / "failures"), mount / "whole"

    def counting() -> None:
        disk.arm(0, 0)
        run(path, undisturbed)
        counted.write_text(str(disk.library.disk_calls()))

    if _ended(forked(counting, output)):
        raise SystemExit(output.read_text())
    calls, reference = int(counted.read_text()), sums(undisturbed)
    while tally.hits < count:
        out, before, left, code = mount / f"run-{tally.runs}", -1, calls, 1
        while code:
            nth = rng.randint(1, left) if tally.hits < count else 0
            disk.log.unlink(missing_ok=True)
            disk.log.touch()

            def hit(out: Path = out, nth: int = nth) -> None:
                disk.arm(nth, error)
                run(path, out)

            code = _ended(forked(hit, output))
            failures = disk.failures()
            if any(row[0] != str(error) for row in failures):
                raise SystemExit(f"not what was asked for: {failures[0]}")
            if failures:
                tally.hits += 1
                tally.calls[failures[0][2]] += 1
            elif code:
                raise SystemExit(
                    f"ended with {code}, and no call failed: {output.read_text()[-500:]}"
                )
            tally.untidy += code not in (0, TOLD)
            if code not in (0, TOLD):
                print(output.read_text()[-3000:], file=sys.stderr)
            before = _look(out, before, tally, ahead=1)
            left = max(20, left - nth // 2)
        _close(out, reference, tally)
    return tally


def torchrun(path: Path, out: Path, port: int) -> subprocess.Popen[str]:
    """The command line under torchrun, two processes."""
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    launcher += ["--master-addr", "127.0.0.1", "--master-port", str(port)]
    command = ["-m", "spanloom", "train", str(path), "-o", str(out), "--device", "cpu", "--resume"]
    quiet = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", SHIM)}
    return subprocess.Popen(
        [sys.executable, *launcher, *command],
        env=quiet | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def _training(process: subprocess.Popen[str]) -> Iterator[str]:
    """What a run says from where it trains on."""
    begun = False
    for line in process.stderr or ():
        begun = begun or "computing on" in line
        if begun:
            yield line


def told(folder: Path, path: Path, count: int, number: int, rng: random.Random) -> Tally:
    """Tell runs under torchrun to end, at random moments of their training."""
    from spanloom.training.train import is_unfinished

    tally, undisturbed, port = Tally(), folder / f"together-{number}", rng.randint(20_000, 50_000)
    process = torchrun(path, undisturbed, port)
    lines = list(_training(process))
    evaluations = sum(line.startswith("epoch") for line in lines)
    if process.wait():
        raise SystemExit("".join(lines))
    reference, rows = sums(undisturbed), logged(undisturbed)[0]
    while tally.hits < count:
        out, before, code = folder / f"told-{number}-{tally.runs}", -1, 1
        while code:
            port = 20_000 + (port + 1) % 30_000
            hit = tally.hits < count
            process = torchrun(path, out, port)
            lines = _until(process, rng.randint(0, evaluations // 4)) if hit else []
            if hit:
                time.sleep(rng.uniform(0, 0.3))
                _send(process, number)
            lines += _training(process) if not lines else process.stderr or ()
            code = process.wait(timeout=SECONDS)
            output = "".join(lines)
            if code and (out / MANIFEST).exists() and not is_unfinished(out):
                code = 0  # torchrun fails when it was told to end, also where its processes did not
            if code:
                tally.hits += 1
                clean = output.count("spanloom: interrupted; ") == 1 and GONE not in output
                tally.untidy += not clean
                if not clean:
                    print(output[-3000:], file=sys.stderr)
                before = _look(out, before, tally, ahead=0)
                tally.lost += "dev never scored" in output and not (out / MANIFEST).exists()
            elif hit:
                tally.finished_first += 1
        _close(out, reference, tally, every=rows)
    return tally


def _until(process: subprocess.Popen[str], evaluations: int) -> list[str]:
    """Read what a run says until it trains and dev was scored so many times."""
    lines = []
    for line in _training(process):
        lines.append(line)
        evaluations -= line.startswith("epoch")
        if evaluations < 0 or (evaluations == 0 and len(lines) > 1):
            break
    return lines


def _send(process: subprocess.Popen[str], number: int) -> None:
    """SIGINT to all, as a terminal does, another signal to torchrun alone."""
    try:
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    except ProcessLookupError:  # it had come to its end
        pass


def preloaded(folder: Path) -> None:
    """Begin this program anew with the failing disk; says so where gcc is missing."""
    library = folder / "failing_disk.so"
    build = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "failing_disk.c")]
    try:
        subprocess.run([*build, "-ldl"], check=True)
    except FileNotFoundError:
        raise SystemExit(
            "gcc is missing: it builds the failing disk (--enospc 0 --eio 0)"
        ) from None
    os.environ |= {"LD_PRELOAD": str(library), SHIM: str(folder), "OMP_NUM_THREADS": "1"}
    os.execv(sys.executable, [sys.executable, *sys.argv])


def main() -> None:
    """Do all kinds of hits, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    for kind, count in (
        ("kills", 100),
        ("enospc", 50),
        ("eio", 50),
        ("sigint", 20),
        ("sigterm", 20),
    ):
        arguments.add_argument(f"--{kind}", type=int, default=count)
    arguments.add_argument("--epochs", type=float, default=3, help="of each stage, alone")
    arguments.add_argument("--together", type=float, default=16, help="epochs under torchrun")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    if SHIM not in os.environ and (options.enospc or options.eio):
        preloaded(Path(tempfile.mkdtemp()))
    with tempfile.TemporaryDirectory() as name:
        result = measured(Path(name), options)
    if SHIM in os.environ:
        shutil.rmtree(os.environ[SHIM])
    put(result, options.json)
    kinds = result["kinds"].values()
    sys.exit(
        any(kind["lost"] or kind["untidy"] or kind["identical"] < kind["runs"] for kind in kinds)
    )


def measured(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The tally of each kind of hit."""
    import torch

    from spanloom.config import recipe as recipes
    from spanloom.model.plan import resolve
    from spanloom.training.train import new_model

    torch.set_num_threads(1)
    alone, together = folder / "alone.json", folder / "together.json"
    alone.write_text(json.dumps(recipe(options.epochs)))
    together.write_text(json.dumps(recipe(options.together)))
    # so that all is imported and a fork starts at once
    new_model(resolve(recipes.load(alone), folder), "cpu")
    kinds: dict[str, tuple[int, Callable[[Path, random.Random], Tally]]] = {
        "kills": (options.kills, lambda target, r: killed(target, alone, options.kills, r)),
        "enospc": (
            options.enospc,
            lambda target, r: failing(target, alone, options.enospc, errno.ENOSPC, r),
        ),
        "eio": (options.eio, lambda target, r: failing(target, alone, options.eio, errno.EIO, r)),
        "sigint": (
            options.sigint,
            lambda target, r: told(target, together, options.sigint, signal.SIGINT, r),
        ),
        "sigterm": (
            options.sigterm,
            lambda target, r: told(target, together, options.sigterm, signal.SIGTERM, r),
        ),
    }
    result: dict[str, Any] = {}
    for kind, (count, measure) in kinds.items():
        if count:
            run_folder = folder / kind
            run_folder.mkdir()
            began = time.monotonic()
            tally = measure(run_folder, random.Random(f"{options.seed}/{kind}"))
            tally.seconds = time.monotonic() - began
            result[kind] = tally.told()
            print(f"{kind}: {json.dumps(result[kind])}", file=sys.stderr, flush=True)
    return {"processor": processor(), "kinds": result}


if __name__ == "__main__":
    main()
