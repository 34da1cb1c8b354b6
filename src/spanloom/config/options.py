"""Typed options from a mapping of a recipe; errors name line, key and the expected value."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from spanloom.config.yaml import Keys, SourceLocation
from spanloom.errors import RecipeError
from spanloom.quantity import quantity

M = TypeVar("M", bound=BaseModel)


class Options(BaseModel):
    """Base of every typed part of a recipe: frozen, no key but its fields, finite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def validate_options(
    model: type[M], raw: Mapping[str, Any], location: SourceLocation, extra_keys: Iterable[str] = ()
) -> M:
    """Check ``raw`` against ``model`` and return the typed value.

    ``location`` is that of the mapping in its recipe; ``extra_keys`` are keys of the same mapping
    that other code reads (offered as corrections of misspelt keys). Raises ``RecipeError`` with
    path, line, key, the expected value, the actual one and the most similar key, for the first of
    several problems, and with the number of the others.
    """
    try:
        return model.model_validate(dict(raw))
    except ValidationError as error:
        (path, first), *more = _problems_by_value(raw, error).items()
        others = f" (and {len(more)} more)" if more else ""
        raise _error_of(model, path, first, location, extra_keys, others) from error


def _problems_by_value(raw: Any, error: ValidationError) -> dict[Keys, list[ErrorDetails]]:
    """Return pydantic's problems by the path of the value that each is about."""
    # a misspelt key first: it explains the one that is missing
    problems = error.errors(include_url=False)
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    by_value: dict[Keys, list[ErrorDetails]] = {}
    for problem in problems:
        by_value.setdefault(_value_path(raw, problem), []).append(problem)
    # a list of which an item is wrong counts as too short, too
    outer = {path for path in by_value if any(_is_inside(other, path) for other in by_value)}
    return {path: problems for path, problems in by_value.items() if path not in outer}


def _is_inside(path: Keys, outer: Keys) -> bool:
    return len(path) > len(outer) and path[: len(outer)] == outer


def _value_path(raw: Any, problem: ErrorDetails) -> Keys:
    """Return the keys of the value that a problem is about.

    For a value of several types pydantic has a problem with each, and names the type as a key.
    """
    value: Any = raw
    for depth, key in enumerate(problem["loc"]):
        is_index = isinstance(key, int) and isinstance(value, list | tuple)
        is_there = key in value if isinstance(value, Mapping) else is_index
        if not is_there:
            is_missing = problem["type"] == "missing"
            return problem["loc"] if is_missing else problem["loc"][:depth]
        value = value[key]
    return problem["loc"]


def model_at(kind: Any, keys: Iterable[str | int]) -> type[BaseModel] | None:
    """Return the model at the path ``keys`` below a model or annotation, None for none."""
    path = tuple(keys)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if not path:
            return kind
        field = kind.model_fields.get(str(path[0]))
        return model_at(field.annotation, path[1:]) if field else None
    inner = path[1:] if get_origin(kind) in (list, tuple, dict) else path
    models = (model_at(part, inner) for part in get_args(kind) if len(inner) == len(path) or path)
    return next((part for part in models if part), None)


def fields(model: type[BaseModel] | None) -> set[str]:
    """Return the keys a model has in a recipe; ``options`` gathers keys and is none itself."""
    return set(model.model_fields) - {"options"} if model else set()


def did_you_mean(key: str, valid_names: Iterable[str]) -> str:
    """Return the end of an error message: the most similar of ``valid_names``, and all of them."""
    choices = sorted(valid_names)
    nearest = difflib.get_close_matches(key, choices, n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"{hint} (known: {', '.join(choices) or 'none'})"


def _error_of(
    model: type[BaseModel],
    path: Keys,
    problems: Sequence[ErrorDetails],
    location: SourceLocation,
    extra_keys: Iterable[str],
    others: str,
) -> RecipeError:
    """Return pydantic's problems with one value as this package's error."""
    problem = problems[0]
    if not path:  # of several keys at once
        return location.error(f"{_describe_expected(problem)}{others}")
    *above, last = keys = path
    if problem["type"] == "extra_forbidden":
        owner = model_at(model, above)
        valid_keys = fields(owner) | (set() if above else set(extra_keys))
        inner = "" if above else _inner_key(model, str(last))
        return location.location_of(*keys).error(
            f"unknown key{inner or did_you_mean(str(last), valid_keys)}{others}"
        )
    if problem["type"] == "missing":
        return location.location_of(*above).error(f"the key {last!r} is missing{others}")
    expected = dict.fromkeys(map(_describe_expected, problems))  # each once
    first, *alternatives = expected
    described = " or ".join([first, *(text.removeprefix("expected ") for text in alternatives)])
    return location.location_of(*keys).error(f"{described}, got {problem['input']!r:.60}{others}")


def _inner_key(model: type[BaseModel], key: str) -> str:
    """Return the end of an error message where a list of the model has such a key, else ""."""
    for name, field in model.model_fields.items():
        is_list = get_origin(field.annotation) in (list, tuple)
        if is_list and key in fields(model_at(model, (name, 0))):
            return f"; {name} have it: {name}.0.{key}"
    return ""


def _describe_expected(problem: ErrorDetails) -> str:
    """Return the value that pydantic expected, in words."""
    if problem["type"] in ("model_type", "dict_type"):
        return "expected a mapping (key: value)"
    if problem["type"] in ("tuple_type", "list_type"):
        return "expected a list"
    if problem["type"] == "too_short":
        return f"expected {quantity(problem['ctx']['min_length'], 'item')} or more"
    if problem["type"] == "too_long":
        return f"expected {quantity(problem['ctx']['max_length'], 'item')} or fewer"
    if problem["type"] == "string_pattern_mismatch":
        return f"expected a text that matches {problem['ctx']['pattern']}"
    message = problem["msg"].removeprefix("Value error, ").partition(", unable to parse")[0]
    return message.replace("Input should", "expected to", 1).replace("expected to be", "expected")
