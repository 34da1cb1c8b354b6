"""What every page is put together from: the legend, a row, the list of what has no place."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from spanloom.page.glyphs import visible
from spanloom.page.layout import Strip
from spanloom.page.marks import Picture
from spanloom.page.palette import numbers
from spanloom.page.svg import draw


def colours_of(pictures: Iterable[Picture]) -> dict[str, int]:
    """Return the palette number of every label of the page."""
    return numbers(mark.label for drawn in pictures for mark in drawn.marks)


def number_of(strip: Strip) -> str:
    """Return the number of the line that a row opens, "" for a row that goes on with one."""
    return str(strip.row.line + 1) if strip.row.opens else ""


def draw_row(strip: Strip, colours: Mapping[str, int], gutter: str) -> str:
    """Return a row with a word or a number in front."""
    way = " rtl" if strip.row.backward else ""
    return f'<div class="s{way}"><span class="n">{gutter}</span>{draw(strip, colours)}</div>'


def draw_loose(drawn: Picture) -> str:
    """Return the list of the annotations that have no place on the text."""
    lines = "".join(f"<li>{escape(visible(line))}</li>" for line in drawn.loose)
    return f'<ul class="loose">{lines}</ul>' if lines else ""


def draw_legend(sides: Sequence[Sequence[Picture]], colours: Mapping[str, int]) -> str:
    """Return the labels of each layer with their counts, one count a side."""
    marks = [Counter((m.layer, m.label) for drawn in side for m in drawn.marks) for side in sides]
    links = [Counter((k.layer, k.label) for drawn in side for k in drawn.links) for side in sides]
    lines = []
    for layer in sorted({layer for counter in (*marks, *links) for layer, _ in counter}):
        keys = [*_keys(layer, marks, colours), *_keys(layer, links, {})]
        lines.append(f"<p><b>{escape(visible(layer))}</b>{' '.join(keys)}</p>")
    return f'<div class="legend">{"".join(lines)}</div>' if lines else ""


def _keys(
    layer: str, counters: Sequence[Counter[tuple[str, str]]], colours: Mapping[str, int]
) -> Iterator[str]:
    """Yield the labels of one layer; those without a colour are links."""
    for label in sorted({label for each in counters for home, label in each if home == layer}):
        colour = f"c{colours[label]}" if label in colours else "r"
        count = " / ".join(f"{each[layer, label]:,}" for each in counters)
        name = f'<span class="{colour}">{escape(visible(label))}</span>'
        yield f'<span class="k">{name} <i>{count}</i></span>'
