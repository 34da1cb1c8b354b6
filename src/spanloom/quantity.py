"""Quantities in messages: "1 document", "2 documents"."""


def quantity(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, in the singular for 1; the plural ends in s if not given."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
