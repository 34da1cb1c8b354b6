"""A label a word, as a column of part-of-speech tags has it; ``_`` says that a word has none."""

from collections.abc import Callable, Iterable

from spanloom.formats._laid import Laid
from spanloom.formats._making import Making

XPOS = "xpos"
NONE = "_"


def label(
    making: Making, layer: str, first: int, labels: Iterable[str], none: str = NONE
) -> list[str | None]:
    """Add a span for each word from ``first`` on that has a label; return the ids by word.

    Where no word has one, the layer is not named.
    """
    return [
        None if each == none else making.over(layer, each, word, word + 1)
        for word, each in enumerate(labels, first)
    ]


def labels(
    laid: Laid, layer: str, spells: Callable[[str], object], none: str = NONE
) -> list[list[str]]:
    """Return the labels of words, by sentence; of several on a word the first that ``spells``."""
    found = [[none] * (end - first) for first, end in laid.words.sentences]
    for made, spans in zip(found, laid.by_sentence(layer)[0], strict=True):
        for start, end, span in spans:
            if end - start == 1 and made[start] == none and spells(span.label):
                made[start] = span.label
    return found
