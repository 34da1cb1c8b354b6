"""Colours of labels, readable on light and dark: the ink on a colour is near black or near white.

A label's colour is its place among all labels of the page in sorted order, so that the same labels
always bring the same page.
"""

import colorsys
from collections.abc import Callable, Iterable

Colour = tuple[int, int, int]

# Degrees on the colour wheel, neighbours far apart, so that neighbours in the alphabet differ.
_HUES = (212, 28, 145, 330, 262, 54, 184, 2, 96, 296, 236, 42, 164, 350, 72, 312)
_ROUNDS = 2  # each hue paler, then stronger
SIZE = len(_HUES) * _ROUNDS

LIGHT_INK: Colour = (22, 24, 29)
DARK_INK: Colour = (240, 241, 245)


def numbers(labels: Iterable[str]) -> dict[str, int]:
    """Return the palette number of each label."""
    return {label: at % SIZE for at, label in enumerate(sorted(set(labels)))}


def _colour(hue: int, lightness: float, saturation: float) -> Colour:
    red, green, blue = colorsys.hls_to_rgb(hue / 360, lightness, saturation)
    return round(red * 255), round(green * 255), round(blue * 255)


def fill(number: int, *, dark: bool) -> Colour:
    """Return the ground of a caption of that palette number."""
    hue, strong = _HUES[number % len(_HUES)], number >= len(_HUES)
    if dark:
        return _colour(hue, 0.28 if strong else 0.24, 0.55 if strong else 0.38)
    return _colour(hue, 0.80 if strong else 0.88, 0.75 if strong else 0.80)


def edge(number: int, *, dark: bool) -> Colour:
    """Return the border of a caption of that palette number."""
    hue = _HUES[number % len(_HUES)]
    return _colour(hue, 0.58, 0.55) if dark else _colour(hue, 0.46, 0.50)


def style() -> str:
    """Return the CSS of all palette numbers: class ``cN`` sets ``--f`` (fill), ``--e`` (edge)."""
    return "".join(
        f".c{number}{{--f:{_css(fill, number)};--e:{_css(edge, number)}}}" for number in range(SIZE)
    )


def _css(way: Callable[..., Colour], number: int) -> str:
    """Return one colour in both schemes."""
    light, dark = ("#{:02x}{:02x}{:02x}".format(*way(number, dark=dark)) for dark in (False, True))
    return f"light-dark({light},{dark})"
