"""The frame of a page: head, style, script, data, security policy. It asks nothing of any network.

The policy names the sums of the one style and the one script, so that nothing else is run, whatever
stands in a document. Without scripts a page shows texts and tables.
"""

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from spanloom.page import palette
from spanloom.page.glyphs import visible
from spanloom.page.script import script

_START = """
const given = JSON.parse(document.getElementById("data").textContent);
draw(document.getElementById("drawing"), given);
"""
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def sheet(data: dict[str, Any], plain: Iterable[tuple[str, str]]) -> str:
    """Return a whole HTML file that draws ``data``.

    ``plain`` has the heading and the text of what is shown where no script is run.
    """
    style, code = _style(), script() + _START
    policy = (
        f"default-src 'none'; script-src {_sum(code)}; style-src {_sum(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    title = escape(visible(data["title"]))
    shown = "\n".join(
        f"<h2>{escape(visible(head))}</h2>\n<pre>{escape(_lines(text))}</pre>"
        for head, text in plain
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style></head>\n"
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


def _sum(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _style() -> str:
    rules = files("spanloom.page").joinpath("draw", "draw.css").read_text(encoding="utf-8")
    return rules + palette.style()
