"""Tables of options: each key with the values it takes, its default as YAML, and its meaning."""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from spanloom.config import yaml

Links = Mapping[type[BaseModel], str]  # where the keys of a mapping are described, as Markdown

_WORDS = {str: "text", int: "integer", float: "number", bool: "`true`, `false`"}
_SIGNS = {Ge: ("≥", "ge"), Gt: (">", "gt"), Le: ("≤", "le"), Lt: ("<", "lt")}


def table(fields: Mapping[str, FieldInfo], links: Links) -> str:
    """Return a Markdown table with a row per key; a key without a default is required."""
    lines = ["| key | values | default | what it does |", "|---|---|---|---|"]
    for key, field in fields.items():
        default = "required" if field.is_required() else f"`{as_yaml(field.get_default())}`"
        cells = f"`{key}`", _values(field.annotation, field.metadata, links), default
        description = (field.description or "").replace("|", r"\|")
        lines.append(f"| {' | '.join(cells)} | {description} |")
    return "\n".join(lines)


def as_yaml(value: Any) -> str:
    """Return a default as a recipe has it, on one line."""
    plain = value.model_dump() if isinstance(value, BaseModel) else value
    if isinstance(plain, Mapping):
        return f"{{{', '.join(f'{key}: {as_yaml(item)}' for key, item in plain.items())}}}"
    return yaml.dump(plain, width=2**20).removesuffix("...\n").strip()


def _values(annotation: Any, bounds: Sequence[Any], links: Links) -> str:
    """Return in words what an annotation allows; ``bounds`` limit its numbers."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _values(parts[0], [*bounds, *_metadata(parts[1:])], links)
    if origin is Literal:
        return ", ".join(f"`{as_yaml(choice)}`" for choice in parts)
    if origin in (Union, UnionType):
        return " or ".join(_values(part, bounds, links) for part in parts)
    if origin is tuple:
        return f"list ({_values(parts[0], (), links)})"
    if origin is dict:
        return "mapping" if parts[1] is Any else f"mapping ({_values(parts[1], (), links)})"
    if annotation is NoneType:
        return "`null`"
    if annotation in links:
        return links[annotation]
    return f"{_WORDS[annotation]} {_limits(annotation, bounds)}".strip()


def _metadata(parts: Sequence[Any]) -> list[Any]:
    """Return the bounds of an annotated type, those in a pydantic field too."""
    nested = (part.metadata if isinstance(part, FieldInfo) else [part] for part in parts)
    return [bound for group in nested for bound in group]


def _limits(annotation: Any, bounds: Sequence[Any]) -> str:
    """Return the bounds of a number, as ``≥ 0, < 1``; nothing for what is no number."""
    if annotation not in (int, float):
        return ""
    signs = [(*_SIGNS[type(bound)], bound) for bound in bounds if type(bound) in _SIGNS]
    return ", ".join(f"{sign} {getattr(bound, name)}" for sign, name, bound in signs)
