"""The batch types that encoders, data, nn and tasks share.

A batch holds no padding but that of the encoder's windows: its words lie flat, sentence after
sentence, and everything above the encoder speaks in rows of that flat list. Bounds are
``[start, end)`` in those rows. Label 0 is "none" in every score tensor.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Some windows of text: their words, sentences, and the pieces an encoder reads.

    ``piece_row`` names, for each piece in reading order, its place in ``ids.flatten()``: the window
    in which it has most context. ``piece_word`` names the word it belongs to. ``units`` are the
    stretches of text that were read together: each covers whole sentences.
    """

    words: tuple[str, ...]
    sentences: Int[Tensor, "sentence 2"]
    units: Int[Tensor, "unit 2"]
    ids: Int[Tensor, "window seq"]
    mask: Bool[Tensor, "window seq"]
    piece_row: Int[Tensor, " piece"]
    piece_word: Int[Tensor, " piece"]

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch on another device."""
        text = (self.sentences, self.units)
        tensors = (*text, self.ids, self.mask, self.piece_row, self.piece_word)
        return Batch(self.words, *(each.to(device) for each in tensors))


@dataclass(frozen=True, slots=True)
class SpanTargets:
    """Gold spans and the relations between them, in rows of the batch's words.

    ``pairs`` holds rows ``(head, tail, label)`` where head and tail are rows of ``bounds``.
    """

    bounds: Int[Tensor, "gold 2"]
    labels: Int[Tensor, " gold"]
    pairs: Int[Tensor, "relation 3"]

    def to(self, device: torch.device) -> "SpanTargets":
        """Return the same targets on another device."""
        return SpanTargets(self.bounds.to(device), self.labels.to(device), self.pairs.to(device))


@dataclass(frozen=True, slots=True)
class Loss:
    """A summed loss and the number of units it is summed over (a sum can be split over ranks)."""

    total: Float[Tensor, ""]
    count: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """Spans a decoder kept: bounds in rows of the batch's words, labels, probabilities."""

    bounds: Int[Tensor, "kept 2"]
    labels: Int[Tensor, " kept"]
    scores: Float[Tensor, " kept"]


@dataclass(frozen=True, slots=True)
class Linked:
    """Relations a decoder kept: rows ``(head, tail)`` of chosen spans, labels, probabilities."""

    ends: Int[Tensor, "link 2"] = field(default_factory=lambda: torch.zeros(0, 2, dtype=torch.long))
    labels: Int[Tensor, " link"] = field(default_factory=lambda: torch.zeros(0, dtype=torch.long))
    scores: Float[Tensor, " link"] = field(default_factory=lambda: torch.zeros(0))
