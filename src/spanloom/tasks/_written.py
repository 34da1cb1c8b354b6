"""Which relations are written: between which labels, and which labels are relations at all."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool
from torch import Tensor

from spanloom.annotation.removal import without_annotations
from spanloom.document import Document, Layer
from spanloom.tensors import PredictedRelations, PredictedSpans

LabelPairs = tuple[tuple[str, str], ...]  # of the spans at a relation's head and tail


def related_labels(spans: Sequence[str], pairs: LabelPairs) -> Bool[Tensor, "head tail"]:
    """Return a table of which span labels may be related; row and column 0 are "none"."""
    rows = {label: row for row, label in enumerate(spans, 1)}
    table = torch.zeros(1 + len(spans), 1 + len(spans), dtype=torch.bool)
    for head, tail in pairs:
        table[rows[head], rows[tail]] = True
    return table


def without_label(
    chosen: PredictedSpans, linked: PredictedRelations, label: int, *, ends: bool
) -> tuple[PredictedSpans, PredictedRelations]:
    """Return spans and links without those of a label; with ``ends`` the linked spans alone."""
    rows = linked.labels != label
    values, sure = (
        None if each is None else each[rows]
        for each in (linked.attribute_values, linked.value_probs)
    )
    kept = PredictedRelations(
        linked.pairs[rows], linked.labels[rows], linked.scores[rows], values, sure
    )
    if not ends:
        return chosen, kept
    spans, place = kept.pairs.unique(return_inverse=True)
    return chosen.select(spans), replace(kept, pairs=place)


def inside(document: Document, layer: str, outside: str, *, ends: bool) -> Document:
    """Return a document without the relations of a label.

    With ``ends`` the spans that only those link are gone, too. A document that lacks the layer
    stays as it is.
    """
    if not document.has_layer(layer):
        return document
    whole = document[layer]
    gone = {each.id for each in whole.relations if each.label == outside}
    if ends:
        gone |= _ends(whole, gone) - _ends(whole, {each.id for each in whole.relations} - gone)
    return document.with_layer(without_annotations(whole, gone))


def _ends(layer: Layer, relations: set[str]) -> set[str]:
    """The ids of the spans at some relations' ends."""
    some = (each for each in layer.relations if each.id in relations)
    return {end for each in some for end in (each.head, each.tail)}
