"""A page of a study: one HTML file that needs no other."""

import html
from collections.abc import Iterable

_CSS = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #8884; }
td.number { text-align: right; } .score { white-space: nowrap; } .gain { min-width: 9em; }
.higher { color: #0b62b0; } .lower { color: #b01c2e; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { background: #fff; max-width: 100%; height: auto; }
figcaption { color: #777; } code { font-size: 90%; }
@media (prefers-color-scheme: dark) { .higher { color: #7ab8f5; } .lower { color: #ff8a94; } }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return the page with a title and the parts of its body."""
    title = html.escape(title)
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_CSS}</style></head>\n"
        f"<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    )


def figure(svg: str, caption: str) -> str:
    """Return a drawing with its caption."""
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def row(cells: Iterable[str]) -> str:
    """Return the cells of a row of a table: what it is about, then numbers."""
    first, *others = map(html.escape, cells)
    return f"<td>{first}</td>" + "".join(f'<td class="number">{text}</td>' for text in others)


def table(head: Iterable[str], rows: Iterable[str]) -> str:
    """Return a table; each row is its cells as HTML."""
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "\n".join(f"<tr>{cells}</tr>" for cells in rows)
    return f"<table><thead><tr>{names}</tr></thead>\n<tbody>{body}</tbody></table>"
