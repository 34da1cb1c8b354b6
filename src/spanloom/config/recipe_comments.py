"""A recipe as YAML that explains itself, for people who are about to change it."""

from collections.abc import Mapping
from types import MappingProxyType

from spanloom.config import yaml
from spanloom.config.options import model_at
from spanloom.config.recipe import Recipe, to_plain
from spanloom.config.yaml import Keys

_NONE: Mapping[Keys, str] = MappingProxyType({})


def with_comments(recipe: Recipe, notes: Mapping[Keys, str] = _NONE) -> str:
    """Write a recipe as YAML with a short comment a key; it loads back to an equal recipe.

    ``notes`` explains other keys, by their path: ``("tasks", "wlp", "max_span_width")``.
    """
    lines = yaml.dump(to_plain(recipe), width=2**20).splitlines()
    told: dict[int, str] = {}
    for keys, (_, line) in yaml.loads("\n".join(lines), "recipe").location.places.items():
        note = notes.get(keys) or _note(keys)
        if note and line and line not in told:  # the first key of a line speaks for it
            told[line] = note
    return "".join(
        f"{line}  # {told[number]}\n" if number in told else f"{line}\n"
        for number, line in enumerate(lines, 1)
    )


def _note(keys: Keys) -> str | None:
    """What the recipe's frame says about a key."""
    model = model_at(Recipe, keys[:-1]) if keys else None
    field = model.model_fields.get(str(keys[-1])) if model else None
    return field.description if field else None
