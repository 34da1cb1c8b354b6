"""Libraries that come with an extra of the package."""

from importlib import import_module
from typing import Any

from spanloom.errors import PackageMissing


def extra(module: str, wanted: str) -> Any:
    """Import a library whose extra has its name; raises ``PackageMissing`` without it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise PackageMissing(wanted, str(error.name), module) from error
