"""Spanloom: one model for every kind of text annotation, as labelled spans and relations.

>>> import spanloom
>>> model = spanloom.load("runs/wlp")  # doctest: +SKIP
>>> model("Add 5 ml of buffer.")  # doctest: +SKIP

The names below are imported when they are first used. In a notebook documents are drawn.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from spanloom.interchange.authoring import from_markup, from_words
    from spanloom.model.serialization import load, push_to_hub
    from spanloom.model.serialization import load as from_pretrained
    from spanloom.training.from_data import train

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
    "from_markup",
    "from_pretrained",
    "from_words",
    "load",
    "push_to_hub",
    "train",
]

_LOCATIONS = {
    "SpanloomError": ("spanloom.errors", "SpanloomError"),
    "from_markup": ("spanloom.interchange.authoring", "from_markup"),
    "from_pretrained": ("spanloom.model.serialization", "load"),  # the name that hub users look for
    "from_words": ("spanloom.interchange.authoring", "from_words"),
    "load": ("spanloom.model.serialization", "load"),
    "push_to_hub": ("spanloom.model.serialization", "push_to_hub"),
    "train": ("spanloom.training.from_data", "train"),
}


def __getattr__(name: str) -> object:
    """Import a public name from its module."""
    if name == "__version__":
        return import_module("importlib.metadata").version("spanloom")
    if name not in __all__:
        raise AttributeError(f"module 'spanloom' has no attribute {name!r}")
    module, attribute = _LOCATIONS.get(name, ("spanloom.document", name))
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__


def _draw_in_notebooks() -> None:
    """Let a notebook draw documents, if this is one."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        formatter = shell.display_formatter.formatters["text/html"]
        formatter.for_type_by_name("spanloom.document", "Document", _as_frame)


def _as_frame(document: "Document") -> str:
    """Return the page of a document as a frame of a notebook."""
    from html import escape  # not above, as ctrl-C during imports here cannot be caught

    page = import_module("spanloom.viewer.html").render([document], title=document.name)
    style = "width:100%;height:24em;border:0;resize:vertical;overflow:auto"
    return f'<iframe srcdoc="{escape(page)}" style="{style}" title="annotated text"></iframe>'


_draw_in_notebooks()
