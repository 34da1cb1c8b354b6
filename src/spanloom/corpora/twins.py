"""Texts that occur more than once: a leak where one stands in train and another in test."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanloom.document import Document


@dataclass(frozen=True, slots=True)
class Twins:
    """Documents (``split/name``) with one text; ``annotation`` says whether spans agree as well."""

    names: tuple[str, ...]
    leak: bool
    annotation: bool


def twins(splits: Mapping[str, Sequence[Document]]) -> tuple[Twins, ...]:
    """Return the groups of documents with the same text, blank ones and blanks at both ends apart.

    ``leak``: the group has documents of two splits. Leaks come first.
    """
    groups: dict[str, list[tuple[str, Document]]] = defaultdict(list)
    for split, documents in splits.items():
        for document in documents:
            groups[document.text.strip()].append((split, document))
    found = [_twins(group) for text, group in groups.items() if text and len(group) > 1]
    return tuple(sorted(found, key=lambda each: (not each.leak, each.names)))


def _twins(group: Sequence[tuple[str, Document]]) -> Twins:
    """Describe one group."""
    names = tuple(f"{split}/{document.name}" for split, document in group)
    said = {_said(document) for _, document in group}
    return Twins(names, len({split for split, _ in group}) > 1, len(said) == 1)


def _said(document: Document) -> frozenset[tuple[str, str, object]]:
    """The spans of all layers, counted from the first character that is not blank."""
    shift = len(document.text) - len(document.text.lstrip())
    return frozenset(
        (layer.name, span.label, tuple(sorted((a - shift, b - shift) for a, b in span.fragments)))
        for layer in document.layers
        for span in layer.spans
    )
