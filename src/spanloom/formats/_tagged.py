"""Convert spans to tags and back; each word has one tag, so spans must not overlap."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from spanloom.annotation.tag_schemes import OUTSIDE, Scheme, Tagged
from spanloom.document import WORDS, Span
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._word_view import WordView

Placed = tuple[int, int, Span]  # bounds in words of a sentence


def apart(view: WordView, layer: str, is_writable: Callable[[Tagged], bool]) -> list[list[Placed]]:
    """Return the spans of a layer that tags can encode, by sentence.

    Left out are spans that ``is_writable`` refuses, spans that are not whole words of one sentence,
    and of overlapping spans all but the one that starts first (of several, the widest).
    """
    return [list(_select_disjoint(spans, is_writable)) for spans in view.by_sentence(layer)[0]]


def written(form: str, separator: re.Pattern[str]) -> str:
    """Return a word as a cell, with ``_`` for characters that would end it and for blank words."""
    cell = separator.sub("_", form)
    return cell if cell.strip() else "_" * len(cell)


def openings(scheme: Scheme) -> tuple[str, ...]:
    """Return the prefixes that a scheme's tags have before their labels."""
    return tuple(tag[:-1] for tag in scheme.tags(("x",)) if tag != OUTSIDE)


def is_tag(tag: str, prefixes: Iterable[str]) -> bool:
    """Whether a text is the outside tag, or a prefix and a label."""
    return tag == OUTSIDE or any(tag.startswith(prefix) and tag != prefix for prefix in prefixes)


def annotate(
    builder: DocumentBuilder, layer: str, scheme: Scheme, first: int, tags: Sequence[str]
) -> list[str]:
    """Add the spans of tags, from word ``first`` on, and return their ids.

    A tag that the scheme would not produce for these spans becomes an attribute of its word,
    labelled with the layer's name.
    """
    spans = scheme.decode(tags)
    ids = [
        builder.add_word_span(layer, label, first + start, first + end)
        for start, end, label in spans
    ]
    for word, (tag, expected_tag) in enumerate(
        zip(tags, scheme.encode(spans, len(tags)), strict=True)
    ):
        if tag != expected_tag:
            builder.attribute(WORDS, layer, builder.words[first + word], tag)
    return ids


def respelt(
    scheme: Scheme, placed: Iterable[Placed], stated_tags: Sequence[str | None]
) -> list[str]:
    """Return a sentence's tags: those that words state, if they encode the same spans."""
    spans = [(start, end, span.label) for start, end, span in placed]
    default_tags, prefixes = scheme.encode(spans, len(stated_tags)), openings(scheme)
    tags = [
        tag if stated_tag is None else stated_tag
        for stated_tag, tag in zip(stated_tags, default_tags, strict=True)
    ]
    is_equivalent = all(is_tag(tag, prefixes) for tag in tags) and scheme.decode(tags) == spans
    return tags if is_equivalent else default_tags


def _select_disjoint(
    placed_spans: list[Placed], is_writable: Callable[[Tagged], bool]
) -> Iterator[Placed]:
    covered = 0
    for start, end, span in sorted(placed_spans, key=lambda placed: (placed[0], -placed[1])):
        if start >= covered and is_writable((start, end, span.label)):
            yield start, end, span
            covered = end
