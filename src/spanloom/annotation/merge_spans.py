"""Merge spans with equal offsets into one span with a joined label.

A model gives each candidate span one label. Where two spans have the same offsets (for example, an
argument that is also a predicate), the merged span's label names both.
"""

from collections.abc import Callable
from dataclasses import replace

from spanloom.annotation.unary_chains import JOINER
from spanloom.document import Fragment, Layer, Relation, Span


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
