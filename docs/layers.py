"""Write the table of spanloom-en's layers into README.md, between its two marks.

Example: python docs/layers.py
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ten_tasks import table

from spanloom.glad.row import Row, load_all

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
ROWS = ROOT / "benchmarks" / "results" / "spanloom-en"

_MARKED = re.compile(r"(<!-- layers -->\n).*?(<!-- end of layers -->)", re.S)
SAYS = {
    "upos": "universal parts of speech",
    "xpos": "parts of speech of the Penn Treebank",
    "dependency": "universal dependencies",
    "constituency": "constituents",
    "ner": "names: persons, places, organizations, works, events",
    "mentions": "nested mentions of ten kinds of entity",
    "coreference": "which mentions mean the same",
    "srl": "predicates and their PropBank arguments",
    "openie": "open relations: predicate and arguments",
    "relations": "one of nine relations between two nominals",
}
FIGURES = {
    "spans": "F1",
    "relations": "F1",
    "las": "LAS",
    "uas": "UAS",
    "evalb": "evalb F1",
    "conll": "CoNLL F1",
}
MAIN = {  # which figures stand for a layer; F1 of spans where none is named
    "dependency": ("uas", "las"),
    "constituency": ("evalb",),
    "coreference": ("conll",),
    "srl": ("relations",),
    "openie": ("relations",),
    "relations": ("relations",),
}
HEAD = ("layer", "what it says", "test")


def layers(rows: Sequence[Row]) -> str:
    """Return a line a layer; ``ValueError`` for one that is not described here."""
    by_task: dict[str, list[Row]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row)
    unknown = set(by_task) - set(SAYS)
    if unknown:
        raise ValueError(f"expected layers that docs/layers.py describes, got {sorted(unknown)}")
    lines = [
        (f"`{name}`", said, "; ".join(_said(row) for row in by_task[name]))
        for name, said in SAYS.items()
        if name in by_task
    ]
    return table(HEAD, lines)


def _said(row: Row) -> str:
    names = MAIN.get(row.task, ("spans",))
    found = ", ".join(f"{FIGURES[name]} {100 * row.figures[name]:.1f}" for name in names)
    return f"{row.dataset}: {found}"


def written(text: str) -> str:
    """Return README with its table as the saved rows have it."""
    made = layers(sorted(load_all(ROWS), key=lambda row: row.dataset))
    return _MARKED.sub(lambda found: f"{found[1]}{made}{found[2]}", text)


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"written to {README}\n")
