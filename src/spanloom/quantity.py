"""Quantities in messages: "1 document", "2 documents"; "a, b and 3 others"."""

from collections.abc import Sequence


def quantity(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, in the singular for 1; the plural ends in s if not given."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def shorten_list(names: Sequence[str], limit: int = 5) -> str:
    """Return names with commas, or some and how many others there are."""
    others = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {quantity(others, 'other')}" if others > 0 else "")
