"""Assign colors to labels, readable on light and dark backgrounds with near black or white ink.

A label has the same color in every document and every run: that of a table of usual labels, else
one chosen by its letters. So two rare labels of a page may have one color.
"""

import colorsys
import zlib
from collections.abc import Callable

Color = tuple[int, int, int]

# Degrees on the color wheel; successive ones differ clearly, so successive labels do too.
_HUES = (212, 28, 145, 330, 262, 54, 184, 2, 96, 296, 236, 42, 164, 350, 72, 312)
_ROUNDS = 2  # each hue first pale, then strong
SIZE = len(_HUES) * _ROUNDS

LIGHT_INK: Color = (22, 24, 29)
DARK_INK: Color = (240, 241, 245)


_USUAL = {
    **{"person": 0, "per": 0, "organization": 1, "org": 1, "corporation": 17, "group": 17},
    **{"place": 2, "location": 2, "loc": 2, "gpe": 18, "event": 3, "work": 4, "creative-work": 4},
    **{"product": 5, "time": 6, "date": 6, "misc": 13, "animal": 8, "plant": 24, "object": 11},
    **{"substance": 12, "abstract": 9, "quantity": 22},
    **{"action": 4, "amount": 1, "reagent": 0, "device": 12, "temperature": 7, "concentration": 9},
    **{"method": 14, "speed": 22, "modifier": 11, "numerical": 17, "size": 20, "mention": 13},
    **{"argument": 0, "predicate": 1, "argument predicate": 17},
    **{"noun": 0, "propn": 16, "pron": 10, "verb": 2, "aux": 18, "adj": 1, "adv": 11, "det": 4},
    **{"adp": 3, "num": 6, "cconj": 9, "sconj": 25, "part": 12, "punct": 13, "sym": 14, "x": 15},
    **{"s": 2, "np": 0, "vp": 1, "pp": 3, "sbar": 18, "adjp": 11, "advp": 27, "nml": 16, "qp": 6},
    **{"srl": 4, "openie": 12, "dependency": 0, "relations": 9, "coreference": 2, "main": 10},
}  # labels and layers by their lower-case names


def number(name: str) -> int:
    """Return the palette number of a label or a layer, which depends on its name alone."""
    usual = _USUAL.get(name.lower())
    return zlib.crc32(name.encode(errors="surrogatepass")) % SIZE if usual is None else usual


def _color(hue: int, lightness: float, saturation: float) -> Color:
    """Return the RGB color of a hue in degrees."""
    red, green, blue = colorsys.hls_to_rgb(hue / 360, lightness, saturation)
    return round(red * 255), round(green * 255), round(blue * 255)


def fill(number: int, *, dark: bool) -> Color:
    """Return the background of a caption with that palette number."""
    hue, is_strong = _HUES[number % len(_HUES)], number >= len(_HUES)
    if dark:
        return _color(hue, 0.28 if is_strong else 0.24, 0.55 if is_strong else 0.38)
    return _color(hue, 0.80 if is_strong else 0.88, 0.75 if is_strong else 0.80)


def edge(number: int, *, dark: bool) -> Color:
    """Return the border of a caption with that palette number."""
    hue = _HUES[number % len(_HUES)]
    return _color(hue, 0.58, 0.55) if dark else _color(hue, 0.38, 0.55)


def style() -> str:
    """Return the CSS of all palette numbers: class ``cN`` sets ``--f`` (fill), ``--e`` (edge)."""
    return "".join(
        f".c{number}{{--f:{_css_color(fill, number)};--e:{_css_color(edge, number)}}}"
        for number in range(SIZE)
    )


def _css_color(choose_color: Callable[..., Color], number: int) -> str:
    """Return one color for both schemes."""
    light, dark = (
        "#{:02x}{:02x}{:02x}".format(*choose_color(number, dark=dark)) for dark in (False, True)
    )
    return f"light-dark({light},{dark})"
