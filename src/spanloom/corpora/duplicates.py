"""Find texts that occur more than once: a leak if one is in train and another in test."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanloom.document import Document


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Documents (``split/name``) with equal text; ``annotation``: whether their spans agree too."""

    names: tuple[str, ...]
    leak: bool
    annotation: bool


def duplicates(splits: Mapping[str, Sequence[Document]]) -> tuple[DuplicateGroup, ...]:
    """Return the groups of documents with equal text, ignoring blank texts and outer blanks.

    A group is a leak if its documents come from several splits. Leaks come first.
    """
    groups: dict[str, list[tuple[str, Document]]] = defaultdict(list)
    for split, documents in splits.items():
        for document in documents:
            groups[document.text.strip()].append((split, document))
    duplicate_groups = [
        _describe_group(group) for text, group in groups.items() if text and len(group) > 1
    ]
    return tuple(sorted(duplicate_groups, key=lambda group: (not group.leak, group.names)))


def _describe_group(group: Sequence[tuple[str, Document]]) -> DuplicateGroup:
    """Describe one group."""
    names = tuple(f"{split}/{document.name}" for split, document in group)
    annotations = {_span_contents(document) for _, document in group}
    return DuplicateGroup(names, len({split for split, _ in group}) > 1, len(annotations) == 1)


def _span_contents(document: Document) -> frozenset[tuple[str, str, object]]:
    """Return the spans of all layers, with offsets from the first character that is not blank."""
    leading_blanks = len(document.text) - len(document.text.lstrip())
    return frozenset(
        (
            layer.name,
            span.label,
            tuple(sorted((a - leading_blanks, b - leading_blanks) for a, b in span.fragments)),
        )
        for layer in document.layers
        for span in layer.spans
    )
