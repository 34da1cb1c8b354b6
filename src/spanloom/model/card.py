"""The model card: what a model was made from and how good it is, for people and for the hub."""

from collections.abc import Mapping

from spanloom.model.model import Model


def write(model: Model, figures: Mapping[str, float]) -> str:
    """Return the README of a model folder, with the front matter that the hub reads."""
    lines = ["---", "library_name: spanloom", "tags: [spanloom, span-relation]", "---", ""]
    lines += ["# A Spanloom model", "", "Tasks:", ""]
    for name, spec in model.recipe.tasks.items():
        labels = model.recipe.collected.get(name, {})
        spans = ", ".join(f"`{each}`" for each in labels.get("spans", ()))
        relations = ", ".join(f"`{each}`" for each in labels.get("relations", ()))
        lines.append(
            f"- **{name}** ({spec.kind}), learnt from layer `{spec.layer}` of `{spec.data}`"
        )
        lines += [f"  - spans: {spans}"] if spans else []
        lines += [f"  - relations: {relations}"] if relations else []
    lines += [
        "",
        "F1 on the dev set (the model was chosen on it):",
        "",
        "| figure | F1 |",
        "|---|---|",
    ]
    lines += [f"| {name} | {100 * value:.2f} |" for name, value in figures.items()]
    lines += ["", "```python", "import spanloom", "", 'model = spanloom.load("this/folder")']
    lines += ['document = model("Add 5 ml of buffer.")', "```", ""]
    lines += ["The recipe (`recipe.yaml`) with its seed rebuilds it from the same data.", ""]
    return "\n".join(lines)
