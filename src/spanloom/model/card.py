"""The model card: what a model was made from and how good it is, for people and for the hub."""

import re
from collections.abc import Iterator, Mapping

from spanloom.model.model import Model
from spanloom.model.packing import Store

_STORED = "Weights are stored smaller than they were measured: "
LABELS = ("spans", "relations", "labels", "attributes")  # of what was collected, for people


def stored(card: str, store: Store) -> str:
    """Return a card that says how weights are stored, and no more what it said of that before."""
    lines = [line for line in card.splitlines() if not line.startswith(_STORED)]
    if store != Store():
        lines.append(f"{_STORED}{store}.")
    return "\n".join(lines) + "\n"


def write(model: Model, figures: Mapping[str, float]) -> str:
    """Return the README of a model folder, with the front matter that the hub reads."""
    lines = ["---", "library_name: spanloom", "tags: [spanloom, span-relation]", "---", ""]
    lines += ["# A Spanloom model", "", "Tasks:", ""]
    for name in model.recipe.kept:
        spec = model.recipe.tasks[name]
        sources = ", ".join(f"`{each}`" for each in model.recipe.sources(name))
        lines.append(f"- **{name}** ({spec.kind}), learnt from layer `{spec.layer}` of {sources}")
        for key, labels in model.recipe.collected.get(name, {}).items():
            if key in LABELS and labels:
                lines.append(f"  - {key}: {', '.join(f'`{each}`' for each in labels)}")
    lines += [
        "",
        "Scores on the dev set (the model was chosen on it), in percent:",
        "",
        "| figure | score |",
        "|---|---|",
    ]
    lines += [f"| {name} | {100 * value:.2f} |" for name, value in figures.items()]
    lines += ["", "```python", "import spanloom", "", 'model = spanloom.load("this/folder")']
    lines += ['document = model("Add 5 ml of buffer.")', "```", ""]
    lines += ["The recipe (`recipe.yaml`) with its seed rebuilds it from the same data.", ""]
    return "\n".join(lines)


def licence(card: str) -> str | None:
    """Return what the front matter of a card says of the weights' licence, None for nothing."""
    front = re.match(r"---\n(.*?\n)---\n", card, re.DOTALL)
    found = re.search(r"^license:[ ]*(\S.*)$", front[1], re.MULTILINE) if front else None
    return found[1].strip() if found else None


def tables(card: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a card's tables, which hold its scores: cells by the head of the column."""
    head: list[str] = []
    for line in card.splitlines():
        cells = [each.strip() for each in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            head = []
        elif not head:
            head = cells
        elif set("".join(cells)) - set("-:"):
            yield dict(zip(head, cells, strict=False))
