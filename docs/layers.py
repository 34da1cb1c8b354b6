"""Write the table of spanloom-en's layers into README.md, between its two marks.

Example: python docs/layers.py
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from grid import ALONE
from ten_tasks import main_metric, table

from spanloom.glad.result import Result, load_results

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"

_MARKED = re.compile(r"(<!-- layers -->\n).*?(<!-- end of layers -->)", re.S)
SAYS = {
    "upos": "universal parts of speech",
    "xpos": "parts of speech of the Penn Treebank",
    "dependency": "universal dependencies",
    "constituency": "constituents",
    "ner": "names: persons, places, organizations, products, works, events",
    "mentions": "nested mentions of ten kinds of entity",
    "coreference": "mentions of the same thing",
    "srl": "predicates and their PropBank arguments",
    "openie": "open relations: predicate and arguments",
    "relations": "on request: nine relations between two nominals; `Other` is not scored",
}
METRICS = {
    "span_f1": "F1",
    "relation_f1": "F1",
    "las": "LAS",
    "uas": "UAS",
    "evalb": "evalb F1",
    "conll_f1": "CoNLL F1",
}
BESIDE = {"las": ("uas",)}  # what is told before a main metric
SPACY = "spaCy, small, trained on EWT"
TOKENS = "Hugging Face token classifier, same encoder"
PEERS = {  # layer: what peers trained on the same data are called, their files, their metrics
    "upos": (
        (SPACY, "spacy-ewt", "tags"),
        (TOKENS, "hf_tokens-ewt", "tags"),
    ),
    "dependency": ((SPACY, "spacy-ewt", "las"),),
}
HEAD = ("layer", "contents", "test", "single-task model", "others on the same data")


def layers(rows: Sequence[Result], alone: Sequence[Result], peers: Path) -> str:
    """Return a line a layer; ``ValueError`` for one that is not described here.

    ``alone`` are rows of models of one task, told where test set, labels and metrics are the same,
    the first of several; ``peers`` is the folder with what others reached.
    """
    by_task: dict[str, list[Result]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row)
    unknown = set(by_task) - set(SAYS)
    if unknown:
        raise ValueError(f"expected layers that docs/layers.py describes, got {sorted(unknown)}")
    lines = []
    for name, description in SAYS.items():
        results = by_task.get(name, [])
        same = [(row, _single(row, alone)) for row in results]
        others = (_peer(peers, *peer) for peer in PEERS.get(name, ()))
        lines.append(
            (
                f"`{name}`",
                description,
                "; ".join(f"{row.dataset}: {_metrics(row, row)}" for row in results),
                "; ".join(_metrics(metrics, row) for row, metrics in same if metrics is not None),
                "; ".join(others),
            )
        )
    return table(HEAD, lines)


def _single(row: Result, alone: Sequence[Result]) -> Result | None:
    """A model of the row's task alone on the same test set, scored alike."""
    key = row.dataset, row.kind, tuple(row.labels), ()
    candidates = [
        r for r in alone if (r.dataset, r.kind, tuple(r.labels), tuple(r.gold_inputs)) == key
    ]
    comparable = [c for c in candidates if set(row.metrics) == set(c.metrics)]
    tags = row.kind == "pos"  # two layers of one kind and test set: the recipe says which
    return next(
        (e for e in comparable if not tags or row.task in (e.task, *e.recipe.split("-"))), None
    )


def _names(row: Result) -> tuple[str, ...]:
    metric = main_metric(row)
    return *BESIDE.get(metric, ()), metric


def _metrics(row: Result, like: Result) -> str:
    """The metrics of a row that stand for another."""
    return ", ".join(f"{METRICS[name]} {100 * row.metrics[name]:.1f}" for name in _names(like))


def _peer(folder: Path, called: str, file: str, metric: str) -> str:
    value = json.loads((folder / f"{file}.json").read_text(encoding="utf-8"))["metrics"][metric]
    return f"{called}: {100 * value['f1']:.1f}"


def written(text: str) -> str:
    """Return README with its table as the saved rows have it."""
    rows = sorted(load_results(RESULTS / "spanloom-en"), key=lambda row: row.dataset)
    grid = [row for row in load_results(RESULTS / "grid-spanloom-en") if row.recipe == ALONE]
    tables = layers(rows, [*grid, *load_results(RESULTS / "glad")], RESULTS / "peers")
    return _MARKED.sub(lambda found: f"{found[1]}{tables}{found[2]}", text)


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"written to {README}\n")
