"""The values of a study's page: JSON beside it, which other commands read."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from spanloom.errors import DataError, FormatError

V = TypeVar("V")


def to_json(values: Any) -> str:
    """Return the fields of a dataclass as JSON."""
    return json.dumps(asdict(values), indent=1) + "\n"


def read(path: Path, adapter: TypeAdapter[V], noun: str, command: str) -> V:
    """Read what ``to_json`` wrote; ``noun`` says what it is, ``command`` what makes it.

    Raises ``FormatError``, and ``DataError`` for a missing file.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; {command} makes it")
    try:
        return adapter.validate_json(path.read_bytes())
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"]
        raise FormatError(str(path), None, f"no {noun}: {problem}") from error
