"""Join the labels of spans with the same characters, and split them again.

A model gives each candidate span one label. ``collapse_unary`` joins the labels of a unary chain of
constituents, outermost first. ``merge_spans`` merges spans that have several labels at the same
offsets for another reason: an argument that is also a predicate.
"""

from collections.abc import Callable
from dataclasses import replace

from spanloom.annotation.trees import TOP
from spanloom.document import Fragment, Layer, Relation, Span

JOINER = " "  # no brat label contains it


def collapse_unary(layer: Layer) -> Layer:
    """Return the layer with one span per set of characters, its labels joined, with the first id.

    Relations are left out: trees have none.
    """
    chains: dict[tuple[Fragment, ...], Span] = {}
    for span in layer.spans:
        fragments = tuple(sorted(span.fragments))
        chain = chains.get(fragments)
        label = span.label if chain is None else f"{chain.label}{JOINER}{span.label}"
        chains[fragments] = replace(span if chain is None else chain, label=label)
    return Layer(layer.name, tuple(chains.values()))


def expand_unary(label: str) -> list[str]:
    """Return the labels of a chain, outermost first."""
    return label.split(JOINER)


def drop_empty_labels(label: str) -> str:
    """Return a chain without its empty labels; ``TOP`` if no label is left.

    A recipe may have learnt chains with empty labels from brackets without a label.
    """
    return JOINER.join(part for part in expand_unary(label) if part) or TOP


def merge_spans(layer: Layer, name: Callable[[str], str]) -> Layer:
    """Return the layer's spans, relations and attributes, with spans of equal offsets merged.

    ``name`` maps a label to its displayed name; a merged label has each name once, in alphabetical
    order. Of equal relations the first is kept, and so of attributes with one span and name.
    Attributes of anything but spans, and all other annotations, are left out.
    """
    span_at: dict[tuple[Fragment, ...], Span] = {}
    labels: dict[str, set[str]] = {}
    merged_id: dict[str, str] = {}
    for span in layer.spans:
        first_span = span_at.setdefault(tuple(sorted(span.fragments)), span)
        labels.setdefault(first_span.id, set()).add(name(span.label))
        merged_id[span.id] = first_span.id
    spans = (replace(span, label=JOINER.join(sorted(labels[span.id]))) for span in span_at.values())
    relations: dict[tuple[str, str, str], Relation] = {}
    for original in layer.relations:
        if original.head in merged_id and original.tail in merged_id:
            head, tail = merged_id[original.head], merged_id[original.tail]
            relation = replace(original, head=head, tail=tail)
            relations.setdefault((relation.label, relation.head, relation.tail), relation)
    attribute_of = {
        (merged_id[attribute.target], attribute.label): replace(
            attribute, target=merged_id[attribute.target]
        )
        for attribute in reversed(layer.attributes)
        if attribute.target in merged_id
    }
    attributes = tuple(reversed(attribute_of.values()))
    return Layer(layer.name, tuple(spans), tuple(relations.values()), attributes=attributes)
