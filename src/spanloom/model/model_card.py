"""The model card: what a model was made from and how good it is, for people and for the hub."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from spanloom.config.recipe import Recipe
from spanloom.config.specs import EmbedderSpec
from spanloom.embedders._minilm import SOURCES
from spanloom.model.model import Model
from spanloom.model.plugin_parts import card_lines
from spanloom.model.quantization import StorageDtypes
from spanloom.tasks._base import Task

_STORED = "Weights are stored smaller than they were measured: "
_LABELS = {  # keys of a task's vocabulary, and what a card calls them
    "span_labels": "spans",
    "relation_labels": "relations",
    "labels": "labels",
    "attributes": "attributes",
}


def note_storage(card: str, store: StorageDtypes) -> str:
    """Return a card with a line on how weights are stored, replacing an earlier such line."""
    lines = [line for line in card.splitlines() if not line.startswith(_STORED)]
    if store != StorageDtypes():
        lines.append(f"{_STORED}{store}.")
    return "\n".join(lines) + "\n"


def labels(recipe: Recipe, task: Task) -> dict[str, tuple[str, ...]]:
    """Return the labels that a task writes, by kind of annotation."""
    vocabulary = task.written_vocabulary(recipe.vocabulary.get(task.name, {}))
    kept = {
        name: tuple(label for label in vocabulary[key] if label not in task.unwritten)
        for key, name in _LABELS.items()
        if key in vocabulary
    }
    return {key: names for key, names in kept.items() if names}


def front_matter(recipe: Recipe, weights_license: str | None = None) -> list[str]:
    """Return the lines that the hub reads: language, licence, the encoder that came before."""
    bases = [
        SOURCES[name].name
        for part in recipe.trunk
        if (name := _encoder_name(part)) is not None and name in SOURCES
    ]
    lines = ["---", "library_name: spanloom"]
    lines += [f"language: {recipe.card.language}"] if recipe.card.language else []
    lines += [f"license: {weights_license}"] if weights_license else []
    lines += [f"base_model: {name}" for name in bases]
    return [*lines, "tags: [spanloom, span-relation]", "---", ""]


def initial_models(recipe: Recipe) -> list[str]:
    """Return a section on the pre-trained models that training started from."""
    lines = ["## What it began with", ""]
    for part in recipe.trunk:
        lines += _initial_weights(part)
    lines += _earlier_models(recipe)
    return [*lines, ""] if len(lines) > 2 else []


def _earlier_models(recipe: Recipe) -> list[str]:
    """Return a line on the model that training started from, and on each that taught in it."""
    start, data, lines = recipe.init_from, ", ".join(recipe.pretraining_data), []
    if start is not None:
        lines.append(f"- All weights that fit: the model `{_source_name(start)}`")
    for teacher in dict.fromkeys(stage.teacher for stage in recipe.stages):
        if teacher is not None:
            tasks, share = ", ".join(teacher.tasks), f"{teacher.weight:.0%} of their losses"
            name = _source_name(teacher.model)
            lines.append(f"- Labels of spans and trees in {tasks}, for {share}: the model `{name}`")
    if len(lines) == 1 and data:
        return [f"{lines[0]}, learnt from {data}"]
    return [*lines, *([f"- Data of these models: {data}"] if lines and data else [])]


def purpose(recipe: Recipe, tasks: Mapping[str, Task]) -> list[str]:
    """Return sections on what the model is for, and on its limits."""
    lines = []
    if recipe.card.intended_use is not None:
        lines += ["## Intended use", "", recipe.card.intended_use.strip(), ""]
    limits = [limitation.strip() for limitation in recipe.card.limitations]
    for name, task in tasks.items():
        if recipe.tasks[name].on_request:
            limits.append(f"`{name}` runs only where it is asked for (`--tasks {name}`).")
        for label in sorted(task.unwritten):
            limits.append(
                f"`{label}` of `{name}` is no relation: it is learnt, but neither written nor "
                f"scored."
            )
    if limits:
        lines += ["## Limits", "", *(f"- {limitation}" for limitation in limits), ""]
    return lines


def write(model: Model, figures: Mapping[str, float]) -> str:
    """Return the README of a model folder, with the front matter that the hub reads."""
    recipe = model.recipe
    lines = [*front_matter(recipe), "# A Spanloom model", "", "Tasks:", ""]
    for name in recipe.kept_tasks:
        spec = recipe.tasks[name]
        sources = ", ".join(f"`{source}`" for source in recipe.sources(name))
        lines.append(f"- **{name}** ({spec.kind}), learnt from layer `{spec.layer}` of {sources}")
        for key, label_names in labels(recipe, model.tasks[name]).items():
            lines.append(f"  - {key}: {', '.join(f'`{source}`' for source in label_names)}")
    lines += [
        "",
        "Scores on the dev set (the model was chosen on it), in percent:",
        "",
        "| figure | score |",
        "|---|---|",
    ]
    lines += [f"| {name} | {100 * value:.2f} |" for name, value in figures.items()]
    lines += ["", *initial_models(recipe), *purpose(recipe, model.tasks), *card_lines(recipe)]
    lines += ["```python", "import spanloom", "", 'model = spanloom.load("this/folder")']
    lines += ['document = model("Add 5 ml of buffer.")', "```", ""]
    lines += ["The recipe (`recipe.yaml`) with its seed rebuilds it from the same data.", ""]
    return "\n".join(lines)


def _source_name(source: str) -> str:
    """Return a source; of a local path only the last name."""
    return Path(source).name if Path(source).is_absolute() else source


def _encoder_name(part: EmbedderSpec) -> str | None:
    """Return the name of a part's pre-trained encoder, None if it has none."""
    name = part.options.get("transformer")
    return None if name is None or part.options.get("init") == "random" else str(name)


def _initial_weights(part: EmbedderSpec) -> list[str]:
    """Return a line on what a part of the trunk was initialised from, if it was."""
    if "static" in part.options:
        return [f"- Word vectors: `{_source_name(str(part.options['static']))}`"]
    name = _encoder_name(part)
    if name is None:
        return []
    if name not in SOURCES:
        description = f"`{_source_name(name)}`, pre-trained; its licence is its own"
        return [f"- The encoder below all layers: {description}"]
    source = SOURCES[name]
    return [
        f"- The encoder below all layers: [{source.name}]({source.page}), pre-trained, licence "
        f"{source.license}; the package {source.package} holds it"
    ]


def weights_license(card: str) -> str | None:
    """Return the licence of the weights from a card's front matter, None if it has none."""
    return front_matter_value(card, "license")


def front_matter_value(card: str, key: str) -> str | None:
    """Return the value of a key of a card's front matter, None if it has none."""
    front = re.match(r"---\n(.*?\n)---\n", card, re.DOTALL)
    line = re.search(rf"^{key}:[ ]*(\S.*)$", front[1], re.MULTILINE) if front else None
    return line[1].strip() if line else None


def tables(card: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a card's tables, which hold its scores: cells by the head of the column."""
    head: list[str] = []
    for line in card.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            head = []
        elif not head:
            head = cells
        elif set("".join(cells)) - set("-:"):
            yield dict(zip(head, cells, strict=False))
