"""Write a page and a drawing for each kind of task, made from its sample."""

from importlib import import_module
from pathlib import Path
from typing import Any

from spanloom import tasks
from spanloom.document import Document
from spanloom.formats.brat import write
from spanloom.page import html

HEAD = """# {name}

{said}

## A sample

{drawing}

{files}

## In a recipe

```yaml
trunk: [{{transformer: minilm, embeddings: frozen, spelling: true}}]
tasks:
  mine: {{data: mydata, kind: {name}}}
stages:
  - {{tasks: [mine], epochs: 8, lr: {{trunk: 4e-4, rest: 2e-3}}}}
```

## Options

{options}
"""
DRAWN = """```{{raw}} html
<iframe src="../../drawn/{name}.html" title="a sample of {name}" loading="lazy"
  style="width: 100%; height: 22rem; border: 1px solid #8884"></iframe>
```"""
INDEX = """# Kinds of task

A page for each, made from its sample: what the annotation looks like, and what a recipe can say.

```{{toctree}}
:maxdepth: 1

{names}
```
"""


def pages(out: Path, drawn: Path) -> None:
    """Write ``out/NAME.md`` and ``drawn/NAME.html`` for each kind, and ``out/index.md``."""
    out.mkdir(parents=True, exist_ok=True)
    drawn.mkdir(parents=True, exist_ok=True)
    names = tasks.names()
    for name in names:
        sample = tasks.load(name).sample
        (drawn / f"{name}.html").write_text(html.render([sample], title=name), encoding="utf-8")
        (out / f"{name}.md").write_text(page(name, sample), encoding="utf-8")
    (out / "index.md").write_text(INDEX.format(names="\n".join(names)), encoding="utf-8")


def page(name: str, sample: Document) -> str:
    """Return what is said of one kind."""
    said = (import_module(f"spanloom.tasks.{name}").__doc__ or "").strip()
    return HEAD.format(
        name=name,
        said=_literal(said),
        drawing=DRAWN.format(name=name),
        files=_files(sample),
        options=_options(tasks.load(name).options.model_fields),
    )


def _files(sample: Document) -> str:
    """The sample as brat has it."""
    parts = {".txt": sample.text, **write.parts(sample)}
    shown = [
        f"`sample{suffix}`\n\n````text\n{text.rstrip()}\n````" for suffix, text in parts.items()
    ]
    return "\n\n".join(shown)


def _options(fields: dict[str, Any]) -> str:
    lines = ["| option | usually | what it does |", "|---|---|---|"]
    for key, field in fields.items():
        usual = "" if field.is_required() else f"`{field.default!r}`"
        lines.append(
            f"| `{key}` | {usual} | {(field.description or '').replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines)


def _literal(said: str) -> str:
    """A docstring as Markdown: what is indented in it is a block as it stands."""
    return said.replace("::\n", ":\n")
