"""Which relations are written: between which labels, and which labels are relations at all."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool
from torch import Tensor

from spanloom.document import Document, Layer
from spanloom.forms.kept import without
from spanloom.tensors import Chosen, Linked

LabelPairs = tuple[tuple[str, str], ...]  # of the spans at a relation's head and tail


def related_labels(spans: Sequence[str], pairs: LabelPairs) -> Bool[Tensor, "head tail"]:
    """Return a table of which span labels may be related; row and column 0 are "none"."""
    rows = {label: row for row, label in enumerate(spans, 1)}
    table = torch.zeros(1 + len(spans), 1 + len(spans), dtype=torch.bool)
    for head, tail in pairs:
        table[rows[head], rows[tail]] = True
    return table


def without_label(
    chosen: Chosen, linked: Linked, label: int, *, ends: bool
) -> tuple[Chosen, Linked]:
    """Return spans and links without those of a label; with ``ends`` the linked spans alone."""
    rows = linked.labels != label
    values, sure = (None if each is None else each[rows] for each in (linked.values, linked.sure))
    kept = Linked(linked.ends[rows], linked.labels[rows], linked.scores[rows], values, sure)
    if not ends:
        return chosen, kept
    spans, place = kept.ends.unique(return_inverse=True)
    return chosen.rows(spans), replace(kept, ends=place)


def inside(document: Document, layer: str, outside: str, *, ends: bool) -> Document:
    """Return a document without the relations of a label.

    With ``ends`` the spans that only those link are gone, too. A document that lacks the layer
    stays as it is.
    """
    if not document.has(layer):
        return document
    whole = document[layer]
    gone = {each.id for each in whole.relations if each.label == outside}
    if ends:
        gone |= _ends(whole, gone) - _ends(whole, {each.id for each in whole.relations} - gone)
    return document.with_layer(without(whole, gone))


def _ends(layer: Layer, relations: set[str]) -> set[str]:
    """The ids of the spans at some relations' ends."""
    some = (each for each in layer.relations if each.id in relations)
    return {end for each in some for end in (each.head, each.tail)}
