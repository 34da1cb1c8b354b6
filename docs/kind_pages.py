"""Write a page and a drawing for each kind of task, made from its example, and one of all keys."""

from collections.abc import Iterator
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from option_tables import table
from pydantic import BaseModel

from spanloom import embedders, tasks
from spanloom.config import specs
from spanloom.config.recipe import Recipe
from spanloom.config.tokenization import TokenizationSpec
from spanloom.document import Document
from spanloom.formats.brat import write
from spanloom.nn import recurrent
from spanloom.tasks.masked_lm import MaskingOptions
from spanloom.viewer import html

HEAD = """# {name}

{said}

## Example

{drawing}

{files}

## In a recipe

{recipe}

## Options

The keys that all kinds have are on the page [Keys of recipes](../keys.md#tasks).

{options}
"""
RECIPE = """```yaml
trunk: [{{transformer: minilm, freeze_embeddings: true, casing_embeddings: true}}]
tasks:
  mine: {{data: mydata, kind: {name}}}
stages:
  - {{tasks: [mine], epochs: 8, lr: {{encoder: 4e-4, task: 2e-3}}}}
```"""
PRETRAINING = """```yaml
trunk: [{{transformer: minilm, layers: last}}]
tasks:
  text: {{data: texts, kind: {name}}}
stages:
  - {{tasks: [text], updates_per_task: 2000, batch_words: 16384, lr: {{encoder: 2e-4, task: 1e-3}}}}
window: 254
```

`spanloom pretrain` makes an encoder of it ([pre-training](../../pretraining.md))."""
DRAWN = """```{{raw}} html
<iframe src="../../drawn/{name}.html" title="a sample of {name}" loading="lazy"
  style="width: 100%; height: 22rem; border: 1px solid #8884"></iframe>
```"""
INDEX = """# Kinds of task

Each kind has a page with an example of its annotation and the options of a recipe.

```{{toctree}}
:maxdepth: 1

{names}
```
"""
KEYS = """# Keys of recipes

A recipe has the keys of the first table; the tables below it are of its parts.
[Recipes](../recipes.md) explains the most important keys, and the pages of
[kinds of task](kinds/index.md) have the options of each kind. A key that is not required may be
left out and then has its default. In brackets is what the items of a list, or the values of a
mapping, can be.

"""
SECTIONS: dict[str, type[BaseModel]] = {  # a heading, and the part of a recipe it is about
    "The recipe": Recipe,
    "Embedders": specs.EmbedderSpec,
    "Levels": specs.LevelSpec,
    "Span layers": specs.SpanLayerSpec,
    "Tasks": specs.TaskSpec,
    "Corpora": specs.CorpusPartSpec,
    "Tokenization": TokenizationSpec,
    "Stages": specs.StageSpec,
    "Learning rates": specs.LearningRates,
    "Teacher": specs.TeacherSpec,
    "Card": specs.CardSpec,
}
LINKS = {
    model: f"[{heading.lower()}](#{heading.lower().replace(' ', '-')})"
    for heading, model in SECTIONS.items()
}


def pages(out: Path, images: Path) -> None:
    """Write ``out/NAME.md``, ``drawn/NAME.html`` for each kind, ``out/index.md``, ``keys.md``."""
    out.mkdir(parents=True, exist_ok=True)
    images.mkdir(parents=True, exist_ok=True)
    names = tasks.names()
    for name in names:
        sample = tasks.load(name).example
        (images / f"{name}.html").write_text(html.render([sample], title=name), encoding="utf-8")
        (out / f"{name}.md").write_text(page(name, sample), encoding="utf-8")
    (out / "index.md").write_text(INDEX.format(names="\n".join(names)), encoding="utf-8")
    (out.parent / "keys.md").write_text(keys(), encoding="utf-8")


def page(name: str, sample: Document) -> str:
    """Return the page of one kind."""
    description = (import_module(f"spanloom.tasks.{name}").__doc__ or "").strip()
    options = tasks.load(name).options
    recipe = PRETRAINING if issubclass(options, MaskingOptions) else RECIPE
    return HEAD.format(
        name=name,
        said=_literal(description),
        drawing=DRAWN.format(name=name),
        files=_files(sample),
        recipe=recipe.format(name=name),
        options=table(options.model_fields, {}),
    )


def _files(sample: Document) -> str:
    """Return the example as brat files."""
    parts = {".txt": sample.text, **write.parts(sample)}
    lines = [
        f"`sample{suffix}`\n\n````text\n{text.rstrip()}\n````" for suffix, text in parts.items()
    ]
    return "\n\n".join(lines)


def keys() -> str:
    """Return the page of all keys but the options of kinds of task."""
    return KEYS + "\n\n".join(part for name in SECTIONS for part in _section(name)) + "\n"


def _section(heading: str) -> Iterator[str]:
    """Yield the heading and the tables of a part of a recipe; each embedder has its own."""
    model = SECTIONS[heading]
    yield f"## {heading}"
    if model is specs.EmbedderSpec:
        yield "The first key of an embedder is its name, as in `{transformer: minilm}`."
        for name in embedders.names():
            options = embedders.load(name).options
            yield f"### {name}"
            yield cleandoc(options.__doc__ or "")
            yield table(options.model_fields, LINKS)
        return
    yield cleandoc(model.__doc__ or "")
    fields = dict(model.model_fields)
    fields.pop("options", None)  # gathers the keys that a kind of part has
    if model is specs.LevelSpec:
        fields |= recurrent.Options.model_fields
    yield table(fields, LINKS)


def _literal(docstring: str) -> str:
    """Return a docstring as Markdown: indented text is a literal block."""
    return docstring.replace("::\n", ":\n")
