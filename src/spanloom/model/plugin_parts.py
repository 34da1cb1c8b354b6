"""The plugins that a model needs: named in its folder, compared when it is loaded, never imported.

``plugins.json`` maps group and name of each part to its module, package and version:

    {"tasks": {"marks": {"module": "labmarks.marks", "package": "labmarks", "version": "1.0"}}}
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spanloom import plugins
from spanloom.config.recipe import Recipe, load
from spanloom.errors import ModelError
from spanloom.plugins import Origin

FILE = "plugins.json"
Parts = Mapping[str, Mapping[str, Origin]]  # group -> name -> where the part comes from
_GROUPS = ("tasks", "embedders", "tokenizers", "sentence_splitters")  # of these models are made
_SAFE = re.compile(r"[\w.+!-]{0,100}", re.ASCII)  # no blank, no sign that a shell reads
_MAX_NAME = 100  # characters of a name that a refusal shows


def parts_of(recipe: Recipe) -> dict[str, dict[str, Origin]]:
    """Return the parts of plugins that a model of this recipe is made of; nothing is imported."""
    parts: dict[str, dict[str, Origin]] = {}
    for group, name in _names(recipe):
        part = plugins.find(group, name)
        if part is not None:
            parts.setdefault(group, {})[name] = plugins.origin(part)
    return parts


def dumps(parts: Parts) -> str:
    """Return the text of the file."""
    plain = {
        group: {name: origin._asdict() for name, origin in sorted(names.items())}
        for group, names in sorted(parts.items())
    }
    return json.dumps(plain, indent=1) + "\n"


def load_recipe(path: Path, parts_path: Path | None) -> Recipe:
    """Load the recipe of a model folder after its plugins were compared with those that are here.

    Nothing is imported. ``parts_path`` is the folder's ``plugins.json``, None if it has none.
    Raises ``ModelError`` if a plugin is not there, is of another package here, or is used by the
    recipe and not named; ``RecipeError`` for a broken recipe.
    """
    parts = {} if parts_path is None else _read(parts_path)
    for group, names in parts.items():
        for name, needed in names.items():
            _check_available(group, name, needed, path.parent)
    recipe = load(path)
    for group, used in parts_of(recipe).items():
        for name in used.keys() - parts.get(group, {}).keys():
            problem = f"uses {name!r} ({group}) of {used[name]}, which {FILE} does not name"
            raise ModelError(f"{path}: {problem}")
    return recipe


def card_lines(recipe: Recipe) -> list[str]:
    """Return the section of the model card on the plugins that a model needs."""
    lines = [
        f"- `{name}` ({group}): {origin}"
        for group, names in parts_of(recipe).items()
        for name, origin in names.items()
    ]
    return ["## Plugins it needs", "", *lines, ""] if lines else []


def _read(path: Path) -> Parts:
    """Return the parts that a model folder names."""
    try:
        return {
            group: {name: _origin(origin) for name, origin in names.items()}
            for group, names in json.loads(path.read_text(encoding="utf-8")).items()
            if _check(group in _GROUPS, f"no group {group!r:.{_MAX_NAME}}")
        }
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{path}: is broken: {str(error).splitlines()[0]}") from error


def _check_available(group: str, name: str, needed: Origin, folder: Path) -> None:
    part = plugins.find(group, name)
    what = f"{folder}: needs {name!r:.{_MAX_NAME}} ({group}) from {needed}"
    if part is None:
        raise ModelError(
            f"{what}, which is neither installed nor passed. If you trust it, install it, or pass "
            "--plugin MODULE (in Python spanloom.plugins.load(MODULE))"
        )
    if not _is_same(plugins.origin(part), needed):
        raise ModelError(f"{what}; here it is from {plugins.origin(part)}")


def _names(recipe: Recipe) -> Iterator[tuple[str, str]]:
    yield from (("tasks", task.kind) for task in recipe.tasks.values())
    yield from (("embedders", embedder.name) for embedder in recipe.trunk)
    yield "tokenizers", recipe.tokenization.tokenizer
    yield "sentence_splitters", recipe.tokenization.sentence_splitter


def _is_same(here: Origin, needed: Origin) -> bool:
    """Whether they are of one package, or of one module where a package is unknown."""
    if here.package and needed.package:
        return here.package == needed.package
    return here.module == needed.module


def _origin(plain: Any) -> Origin:
    origin = Origin(**plain)
    _check(all(isinstance(text, str) and _SAFE.fullmatch(text) for text in origin), "odd names")
    return origin


def _check(is_right: bool, problem: str) -> bool:
    if not is_right:
        raise ValueError(problem)
    return True
