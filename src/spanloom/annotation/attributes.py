"""Collect attribute names and values from train, and index the values per annotation.

An event's attributes count as its trigger's. An attribute without a value has the value "". The
speaker of a sentence or word is an attribute, too.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from spanloom.annotation.queries import QUERY
from spanloom.annotation.text_pairs import VALUE
from spanloom.document import SENTENCES, WORDS, Attribute, Document, Fragment, Layer

Values = dict[str, tuple[str, ...]]  # attribute name -> its values

SPEAKER = "speaker"  # an attribute of sentences or words

_SEPARATOR = re.compile(r"[/_]")  # between parts of a document's name
_MAX_VALUES = 50  # an attribute with more values is free text or a number, not a class
_RESERVED = {QUERY, VALUE}  # names with a meaning of their own


@dataclass(frozen=True, slots=True)
class AttributeScheme:
    """Attribute names and values of a corpus; ``events`` are the names used for events."""

    spans: Values
    relations: Values
    events: frozenset[str] = frozenset()


def collect(layers: Iterable[Layer]) -> AttributeScheme:
    """Return the names and values; a name belongs to spans or to relations, by majority."""
    values: dict[str, set[str]] = defaultdict(set)
    target_kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for layer in layers:
        kinds = dict.fromkeys((span.id for span in layer.spans), "span")
        kinds |= dict.fromkeys((relation.id for relation in layer.relations), "relation")
        kinds |= dict.fromkeys((event.id for event in layer.events), "event")
        for attribute in layer.attributes:
            if attribute.target in kinds and attribute.label not in _RESERVED:
                values[attribute.label].add(attribute.value or "")
                target_kinds[attribute.label][kinds[attribute.target]] += 1
    by_kind: dict[str, Values] = {"span": {}, "relation": {}, "event": {}}
    for name in sorted(values):
        if len(values[name]) <= _MAX_VALUES:
            main_kind = target_kinds[name].most_common(1)[0][0]
            by_kind[main_kind][name] = tuple(sorted(values[name]))
    of_spans = dict(sorted({**by_kind["span"], **by_kind["event"]}.items()))
    return AttributeScheme(of_spans, by_kind["relation"], frozenset(by_kind["event"]))


def rows(layer: Layer, values: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    """Return the value indices of each annotation that has attributes (a trigger for its event).

    Each tuple has one number per attribute, in the order of ``values``: 0 for an absent attribute,
    -1 for an unknown value, else the index of the value counted from 1.
    """
    slot_of = {name: slot for slot, name in enumerate(values)}
    triggers = {event.id: event.trigger for event in layer.events}
    indices: dict[str, list[int]] = {}
    for attribute in layer.attributes:
        if attribute.label in slot_of:
            names, value = values[attribute.label], attribute.value or ""
            target = triggers.get(attribute.target, attribute.target)
            row = indices.setdefault(target, [0] * len(slot_of))
            row[slot_of[attribute.label]] = 1 + names.index(value) if value in names else -1
    return {target: tuple(row) for target, row in indices.items()}


def attribute(
    name: str, value: str, target: str, score: float, new_id: Callable[[str], str]
) -> Attribute:
    """Return a new attribute; ``new_id`` makes its id."""
    return Attribute(new_id("A"), name, target, value or None, score)


def speakers(document: Document, words: Sequence[Fragment]) -> tuple[str, ...]:
    """Return the speaker of each word: the word's own, else its sentence's, "" if unknown.

    A word starts in at most one given sentence; ``words`` are in the order of the text.
    """
    speakers = [""] * len(words)
    starts = [start for start, _ in words]
    for name in (SENTENCES, WORDS):
        if not document.has_layer(name):
            continue
        layer = document[name]
        speaker_of = {
            attribute.target: attribute.value or ""
            for attribute in layer.attributes
            if attribute.label == SPEAKER
        }
        for span in layer.spans:
            if span.id in speaker_of:
                first = bisect_right(starts, span.start - 1)
                for word in range(first, bisect_right(starts, span.end - 1)):
                    speakers[word] = speaker_of[span.id]
    return tuple(speakers)


def genre(name: str, part: int) -> str:
    """Return the ``part``-th part of a document's name, split at ``_`` and ``/``; "" if missing."""
    parts = _SEPARATOR.split(name)
    return parts[part] if part < len(parts) else ""
