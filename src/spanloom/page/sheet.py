"""The frame of a page: head, style, script, data, security policy. It asks nothing of any network.

The policy names the sums of the one style and the one script, so that nothing else is run, whatever
stands in a document. Without scripts a page shows texts and tables.
"""

import json
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from spanloom.page import palette
from spanloom.page.glyphs import visible
from spanloom.page.policy import policy
from spanloom.page.script import DRAWING, script

_START = """
const given = JSON.parse(document.getElementById("data").textContent);
draw(document.getElementById("drawing"), given);
"""
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def sheet(data: dict[str, Any], plain: Iterable[tuple[str, str]]) -> str:
    """Return a whole HTML file that draws ``data``.

    ``plain`` has the heading and the text of what is shown where no script is run.
    """
    rules, code = style(), script(DRAWING) + _START
    title = escape(visible(data["title"]))
    shown = "\n".join(
        f"<h2>{escape(visible(head))}</h2>\n<pre>{escape(_lines(text))}</pre>"
        for head, text in plain
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(code, rules)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{rules}</style></head>\n"
        f'<body><h1>{title}</h1>\n<main id="drawing"></main>\n'
        "<noscript><p>Spans and arcs are drawn by a script, which this browser does not run. "
        f"Texts and tables are here.</p>\n{shown}</noscript>\n"
        f'<script type="application/json" id="data">{_data(data)}</script>\n'
        f'<script type="module">{code}</script>\n</body></html>\n'
    )


def _data(data: dict[str, Any]) -> str:
    """Return JSON of ASCII letters, so that lone surrogates stay what they are, without a tag."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def _lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


@cache
def style() -> str:
    """Return the rules of a drawing and of the page around it."""
    rules = files("spanloom.page").joinpath("draw", "draw.css").read_text(encoding="utf-8")
    return rules + palette.style()
