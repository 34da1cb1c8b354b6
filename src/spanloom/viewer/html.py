"""Render documents as one HTML file: text with spans and arcs, or gold beside predicted.

A page makes no network requests. The policy names the hashes of the only style and script, so
that nothing else is run, whatever a document contains. Without scripts a page shows texts and
tables.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from spanloom.document import Document
from spanloom.viewer import palette
from spanloom.viewer.data import comparison, drawing
from spanloom.viewer.script import DRAWING, policy, script
from spanloom.viewer.table import table
from spanloom.viewer.text_width import visible

_START = """
const given = JSON.parse(document.getElementById("data").textContent);
draw(document.getElementById("drawing"), given);
"""
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def render(
    documents: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
    doubts: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return an HTML page of the documents that loads nothing from elsewhere.

    ``layers`` names the layers to draw; None draws all but words and sentences. ``doubts`` says by
    layer why it is hidden until the reader asks for it. Raises ``LayerError`` for a layer that a
    document does not have.
    """
    all_documents = tuple(documents)
    return _page(
        drawing(all_documents, title=title, layers=layers, doubts=doubts),
        _text_sections(all_documents, layers, ""),
    )


def render_pair(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
) -> str:
    """Return an HTML page with gold beside predicted and a list of their differences.

    Raises ``DataError`` if a document has no counterpart or a name occurs twice, ``DocumentError``
    if two texts differ, ``LayerError`` for a layer in ``layers`` that a document does not have.
    """
    sides = tuple(gold), tuple(predicted)
    data = comparison(*sides, title=title, layers=layers)
    text_sections = [
        *_text_sections(sides[0], layers, "gold: "),
        *_text_sections(sides[1], layers, "predicted: "),
    ]
    return _page(data, text_sections)


def _text_sections(
    documents: Iterable[Document], layers: Collection[str] | None, side: str
) -> Iterator[tuple[str, str]]:
    """Yield a heading, the text and a table for each document."""
    for number, document in enumerate(documents, 1):
        name = document.name or f"document {number}"
        yield f"{side}{name}", f"{document.text}\n\n{table(document, layers=layers)}"


def _page(data: dict[str, Any], text_sections: Iterable[tuple[str, str]]) -> str:
    """Return a complete HTML file that draws ``data``.

    ``text_sections`` are heading and text pairs for browsers that run no scripts.
    """
    css, javascript = style(), script(DRAWING) + _START
    title = escape(visible(data["title"]))
    sections = "\n".join(
        f"<h2>{escape(visible(heading))}</h2>\n<pre>{escape(_visible_lines(text))}</pre>"
        for heading, text in text_sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(javascript, css)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{css}</style></head>\n"
        f'<body><header><h1>{title}</h1></header>\n<main id="drawing"></main>\n'
        "<noscript><p>Spans and arcs are drawn by a script, which this browser does not run. "
        f"Texts and tables are here.</p>\n{sections}</noscript>\n"
        f'<script type="application/json" id="data">{_to_script_json(data)}</script>\n'
        f'<script type="module">{javascript}</script>\n</body></html>\n'
    )


def _to_script_json(data: dict[str, Any]) -> str:
    """Return ASCII JSON without ``<>&``: it cannot end the script, and keeps lone surrogates."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def _visible_lines(text: str) -> str:
    """Return the text with hidden characters made visible, line by line."""
    return "\n".join(map(visible, text.split("\n")))


@cache
def style() -> str:
    """Return the CSS of the drawing and of the page around it."""
    rules = files("spanloom.viewer").joinpath("draw", "draw.css").read_text(encoding="utf-8")
    return rules + palette.style()
