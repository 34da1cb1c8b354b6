"""Spanloom: one model for every kind of text annotation, as labelled spans and relations.

>>> import spanloom
>>> model = spanloom.load("runs/wlp")  # doctest: +SKIP
>>> model("Add 5 ml of buffer.")  # doctest: +SKIP

The names below are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanloom.document import (
        Argument,
        Attribute,
        Document,
        Equivalence,
        Event,
        Layer,
        Normalization,
        Note,
        Query,
        Relation,
        Span,
    )
    from spanloom.errors import SpanloomError
    from spanloom.model.serialization import load, push_to_hub
    from spanloom.model.serialization import load as from_pretrained

__all__ = [
    "Argument",
    "Attribute",
    "Document",
    "Equivalence",
    "Event",
    "Layer",
    "Normalization",
    "Note",
    "Query",
    "Relation",
    "Span",
    "SpanloomError",
    "from_pretrained",
    "load",
    "push_to_hub",
]

_LOCATIONS = {
    "SpanloomError": ("spanloom.errors", "SpanloomError"),
    "from_pretrained": ("spanloom.model.serialization", "load"),  # the name that hub users look for
    "load": ("spanloom.model.serialization", "load"),
    "push_to_hub": ("spanloom.model.serialization", "push_to_hub"),
}


def __getattr__(name: str) -> object:
    """Import a public name from its module."""
    if name not in __all__:
        raise AttributeError(f"module 'spanloom' has no attribute {name!r}")
    module, attribute = _LOCATIONS.get(name, ("spanloom.document", name))
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
