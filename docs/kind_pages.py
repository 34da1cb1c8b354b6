"""Write a page and a drawing for each kind of task, made from its example."""

from importlib import import_module
from pathlib import Path
from typing import Any

from spanloom import tasks
from spanloom.document import Document
from spanloom.formats.brat import write
from spanloom.viewer import html

HEAD = """# {name}

{said}

## Example

{drawing}

{files}

## In a recipe

```yaml
trunk: [{{transformer: minilm, freeze_embeddings: true, casing_embeddings: true}}]
tasks:
  mine: {{data: mydata, kind: {name}}}
stages:
  - {{tasks: [mine], epochs: 8, lr: {{encoder: 4e-4, task: 2e-3}}}}
```

## Options

{options}
"""
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


def pages(out: Path, images: Path) -> None:
    """Write ``out/NAME.md`` and ``drawn/NAME.html`` for each kind, and ``out/index.md``."""
    out.mkdir(parents=True, exist_ok=True)
    images.mkdir(parents=True, exist_ok=True)
    names = tasks.names()
    for name in names:
        sample = tasks.load(name).example
        (images / f"{name}.html").write_text(html.render([sample], title=name), encoding="utf-8")
        (out / f"{name}.md").write_text(page(name, sample), encoding="utf-8")
    (out / "index.md").write_text(INDEX.format(names="\n".join(names)), encoding="utf-8")


def page(name: str, sample: Document) -> str:
    """Return the page of one kind."""
    description = (import_module(f"spanloom.tasks.{name}").__doc__ or "").strip()
    return HEAD.format(
        name=name,
        said=_literal(description),
        drawing=DRAWN.format(name=name),
        files=_files(sample),
        options=_options(tasks.load(name).options.model_fields),
    )


def _files(sample: Document) -> str:
    """Return the example as brat files."""
    parts = {".txt": sample.text, **write.parts(sample)}
    lines = [
        f"`sample{suffix}`\n\n````text\n{text.rstrip()}\n````" for suffix, text in parts.items()
    ]
    return "\n\n".join(lines)


def _options(fields: dict[str, Any]) -> str:
    lines = ["| option | default | what it does |", "|---|---|---|"]
    for key, field in fields.items():
        usual = "" if field.is_required() else f"`{field.default!r}`"
        lines.append(
            f"| `{key}` | {usual} | {(field.description or '').replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines)


def _literal(docstring: str) -> str:
    """Return a docstring as Markdown: indented text is a literal block."""
    return docstring.replace("::\n", ":\n")
