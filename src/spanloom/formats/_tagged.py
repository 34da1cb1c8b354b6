"""Spans that a file spells as tags: a word holds one, so no two of them overlap."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from spanloom.document import WORDS, Span
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.forms.tag_schemes import OUTSIDE, Scheme, Tagged

Placed = tuple[int, int, Span]  # bounds in words of a sentence


def apart(laid: Laid, layer: str, spells: Callable[[Tagged], bool]) -> list[list[Placed]]:
    """Return the spans of a layer that tags can hold, by sentence.

    Left out are those that ``spells`` refuses, those that are no whole words of one sentence, and
    of spans that overlap all but the one that starts first (of several, the widest).
    """
    return [list(_disjoint(found, spells)) for found in laid.by_sentence(layer)[0]]


def written(form: str, parting: re.Pattern[str]) -> str:
    """Return a word as a line can hold it: ``_`` for what would end it, and for mere blanks."""
    made = parting.sub("_", form)
    return made if made.strip() else "_" * len(made)


def openings(scheme: Scheme) -> tuple[str, ...]:
    """Return what the tags of a scheme begin with, before their labels."""
    return tuple(tag[:-1] for tag in scheme.tags(("x",)) if tag != OUTSIDE)


def is_tag(tag: str, beginnings: Iterable[str]) -> bool:
    """Whether a text is the tag of a word that is outside, or begins so and has a label."""
    return tag == OUTSIDE or any(tag.startswith(each) and tag != each for each in beginnings)


def annotate(
    making: Making, layer: str, scheme: Scheme, first: int, tags: Sequence[str]
) -> list[str]:
    """Add the spans of tags, from the word ``first`` on, and return their ids.

    A tag that the scheme would not make of them is the word's attribute of the layer's name.
    """
    spans = scheme.decode(tags)
    ids = [making.over(layer, label, first + a, first + b) for a, b, label in spans]
    for word, (tag, said) in enumerate(zip(tags, scheme.encode(spans, len(tags)), strict=True)):
        if tag != said:
            making.attribute(WORDS, layer, making.words[first + word], tag)
    return ids


def respelt(scheme: Scheme, placed: Iterable[Placed], said: Sequence[str | None]) -> list[str]:
    """Return the tags of a sentence; where words say theirs, those, if they mean these spans."""
    spans = [(start, end, span.label) for start, end, span in placed]
    usual, beginnings = scheme.encode(spans, len(said)), openings(scheme)
    tags = [tag if own is None else own for own, tag in zip(said, usual, strict=True)]
    same = all(is_tag(tag, beginnings) for tag in tags) and scheme.decode(tags) == spans
    return tags if same else usual


def _disjoint(found: list[Placed], spells: Callable[[Tagged], bool]) -> Iterator[Placed]:
    done = 0
    for start, end, span in sorted(found, key=lambda each: (each[0], -each[1])):
        if start >= done and spells((start, end, span.label)):
            yield start, end, span
            done = end
