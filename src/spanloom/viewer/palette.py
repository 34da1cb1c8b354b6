"""Assign colors to labels, readable on light and dark backgrounds with near black or white ink.

A label's color is its index among the sorted labels of the page, so equal labels give equal pages.
"""

import colorsys
from collections.abc import Callable, Iterable

Color = tuple[int, int, int]

# Degrees on the color wheel; successive ones differ clearly, so successive labels do too.
_HUES = (212, 28, 145, 330, 262, 54, 184, 2, 96, 296, 236, 42, 164, 350, 72, 312)
_ROUNDS = 2  # each hue first pale, then strong
SIZE = len(_HUES) * _ROUNDS

LIGHT_INK: Color = (22, 24, 29)
DARK_INK: Color = (240, 241, 245)


def numbers(labels: Iterable[str]) -> dict[str, int]:
    """Return the palette number of each label."""
    return {label: index % SIZE for index, label in enumerate(sorted(set(labels)))}


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
    return _color(hue, 0.58, 0.55) if dark else _color(hue, 0.46, 0.50)


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
