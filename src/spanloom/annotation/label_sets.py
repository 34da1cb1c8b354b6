"""Join the labels of spans on the same characters to one label, and split them again.

A model gives each span one label, so several are learnt as one that joins them ("label powerset";
Tsoumakas and Katakis 2007): a set of labels that train does not have is never predicted as such.
Relations and attributes are those of the joined span. Going back, each goes to the label that it
went with most often in train.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from spanloom.annotation.partial_labels import UNKNOWN_LABEL
from spanloom.document import Attribute, Document, Fragment, Layer, Relation, Span
from spanloom.errors import DataError

JOINER = " & "


def label_set(label: str) -> list[str]:
    """Return the labels that a joined label is made of."""
    return label.split(JOINER)


def join_labels(layer: Layer) -> Layer:
    """Return the layer with one span per set of characters, its labels joined, with the first id.

    Labels are in alphabetical order, each once; an unknown label gives way to known ones. Of equal
    relations the first is kept, and so of attributes with one target and name.
    """
    span_at: dict[tuple[Fragment, ...], Span] = {}
    labels: dict[str, set[str]] = defaultdict(set)
    joined_id: dict[str, str] = {}
    for span in layer.spans:
        first_span = span_at.setdefault(tuple(sorted(span.fragments)), span)
        labels[first_span.id].add(span.label)
        joined_id[span.id] = first_span.id
    if len(span_at) == len(layer.spans):
        return layer
    relations: dict[tuple[str, str, str], Relation] = {}
    for relation in layer.relations:
        head, tail = (joined_id.get(end, end) for end in (relation.head, relation.tail))
        moved = replace(relation, head=head, tail=tail)
        relations.setdefault((relation.label, head, tail), moved)
    attributes: dict[tuple[str, str], Attribute] = {}
    for attribute in layer.attributes:
        target = joined_id.get(attribute.target, attribute.target)
        attributes.setdefault((attribute.label, target), replace(attribute, target=target))
    return replace(
        layer,
        spans=tuple(replace(span, label=_join(labels[span.id])) for span in span_at.values()),
        relations=tuple(relations.values()),
        attributes=tuple(attributes.values()),
    )


def _join(labels: set[str]) -> str:
    return JOINER.join(sorted(labels - {UNKNOWN_LABEL} or labels))


def label_sets_of(spans: Iterable[Span]) -> set[frozenset[str]]:
    """Return the sets of labels on the same characters, those of one label too."""
    labels_at: dict[tuple[Fragment, ...], set[str]] = defaultdict(set)
    for span in spans:
        labels_at[tuple(sorted(span.fragments))].add(span.label)
    return {frozenset(labels) for labels in labels_at.values()}


@dataclass(frozen=True, slots=True)
class LabelOwners:
    """Which of several labels on a span has the relations that begin or end there, its attributes.

    Each maps a relation's label, or an attribute's name, to labels of spans, most frequent first.
    """

    head: Mapping[str, Sequence[str]]
    tail: Mapping[str, Sequence[str]]
    attribute: Mapping[str, Sequence[str]]


def count_owners(layers: Iterable[Layer]) -> LabelOwners:
    """Count which labels of spans relations and attributes go with."""
    heads, tails, attributes = (defaultdict[str, Counter[str]](Counter) for _ in range(3))
    for layer in layers:
        labels = {span.id: span.label for span in layer.spans}
        for relation in layer.relations:
            for counts, end in ((heads, relation.head), (tails, relation.tail)):
                if end in labels:
                    counts[relation.label][labels[end]] += 1
        for attribute in layer.attributes:
            if attribute.target in labels:
                attributes[attribute.label][labels[attribute.target]] += 1
    return LabelOwners(*map(_by_frequency, (heads, tails, attributes)))


def _by_frequency(counts: Mapping[str, Counter[str]]) -> dict[str, list[str]]:
    return {
        name: sorted(labels, key=lambda label: (-labels[label], label))
        for name, labels in sorted(counts.items())
    }


def split_labels(layer: Layer, owners: LabelOwners, new_id: Callable[[str], str]) -> Layer:
    """Return the layer with a span for each label of a joined one; the first keeps its id."""
    spans: list[Span] = []
    ids: dict[str, dict[str, str]] = {}  # the span of each label, by the id of the joined one
    for span in layer.spans:
        first_label, *others = label_set(span.label)
        spans.append(replace(span, label=first_label))
        if others:
            ids[span.id] = {first_label: span.id} | {label: new_id("T") for label in others}
            spans += (replace(span, id=ids[span.id][label], label=label) for label in others)
    if not ids:
        return layer

    def owner(id: str, labels: Sequence[str]) -> str:
        of_label = ids.get(id, {})
        return next((of_label[label] for label in labels if label in of_label), id)

    relations = tuple(
        replace(
            relation,
            head=owner(relation.head, owners.head.get(relation.label, ())),
            tail=owner(relation.tail, owners.tail.get(relation.label, ())),
        )
        for relation in layer.relations
    )
    attributes = tuple(
        replace(
            attribute, target=owner(attribute.target, owners.attribute.get(attribute.label, ()))
        )
        for attribute in layer.attributes
    )
    return replace(layer, spans=tuple(spans), relations=relations, attributes=attributes)


def check_labels(documents: Iterable[Document], layer: str) -> None:
    """Raise ``DataError`` for a label that would read as several."""
    for document in documents:
        for span in document[layer].spans:
            if JOINER in span.label:
                expected = f"expected labels without {JOINER!r}, which joins labels"
                raise DataError(f"{document.name}: {expected}, got {span.label!r:.60}")
