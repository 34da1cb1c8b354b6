"""The batch types that encoders, data, nn and tasks share.

Only the encoder's input is padded. The words of a batch form one flat list, sentence after
sentence, and everything above the encoder indexes that list; bounds are ``[start, end)`` in it.
Label 0 is "none" in every score tensor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Losses = dict[str, Float[Tensor, ""]]  # of a task, by name; each is a sum


@dataclass(frozen=True, slots=True)
class PromptLayout:
    """Layout of a batch with prompts: indices of text words and of "[CLS]", and segment bounds.

    All indices count the words that the encoder reads, prompts included. ``text_rows`` are the
    words of the text, ``document_rows`` those of the document, in text or prompt, ``cls_rows`` one
    "[CLS]" word per instance if a task asked for it. ``sentences`` and ``windows`` are bounds; a
    prompt belongs to the segment of its text that is next to it.
    """

    text_rows: Int[Tensor, " text_rows"]
    document_rows: Int[Tensor, " document_rows"]
    cls_rows: Int[Tensor, " instance"] | None
    sentences: Int[Tensor, "sentence 2"]
    windows: Int[Tensor, "context 2"]

    @property
    def level_runs(self) -> tuple[Int[Tensor, "sentence 2"], Int[Tensor, "context 2"]]:
        """Return the segments that contextual levels read: sentences and windows."""
        return self.sentences, self.windows

    def to(self, device: torch.device) -> "PromptLayout":
        """Return the same layout on another device."""
        cls_rows = None if self.cls_rows is None else self.cls_rows.to(device)
        segments = self.sentences.to(device), self.windows.to(device)
        rows = self.text_rows.to(device), self.document_rows.to(device)
        return PromptLayout(*rows, cls_rows, *segments)


@dataclass(frozen=True, slots=True)
class Batch:
    """Instances collated for one forward pass: words, segment bounds, and the encoder's input.

    ``words`` are all words the encoder reads. ``sentences``, ``windows`` (what the encoder reads
    at once) and ``instances`` (what a task reads at once) are bounds in the words of the text,
    which are all words unless there is a ``prompt_layout``. ``piece_index`` is the position of each
    piece in ``input_ids.flatten()``, in reading order; where encoder windows overlap, it is in the
    window that gives the piece most context. ``piece_to_word`` is the word of each of these pieces,
    ascending. ``position_to_word`` is the word at each position of ``input_ids``, -1 for none; a
    word in two overlapping windows appears twice. ``token_type_ids`` are 1 in the second of two
    parts: in texts that follow a prompt, and in prompts that follow a text. ``task_tokens`` is the
    task's number at each word that is a task token, -1 at all others; None if the batch has no such
    word. ``corpora`` has the corpus of each instance, "" for none; () if no instance has one.
    """

    words: tuple[str, ...]
    sentences: Int[Tensor, "sentence 2"]
    windows: Int[Tensor, "context 2"]
    instances: Int[Tensor, "instance 2"]
    input_ids: Int[Tensor, "window seq"]
    attention_mask: Bool[Tensor, "window seq"]
    piece_index: Int[Tensor, " piece"]
    piece_to_word: Int[Tensor, " piece"]
    position_to_word: Int[Tensor, "window seq"]
    token_type_ids: Int[Tensor, "window seq"] | None = None
    prompt_layout: PromptLayout | None = None
    task_tokens: Int[Tensor, " word"] | None = None
    corpora: tuple[str, ...] = ()

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch on another device."""
        return Batch(
            self.words,
            self.sentences.to(device),
            self.windows.to(device),
            self.instances.to(device),
            self.input_ids.to(device),
            self.attention_mask.to(device),
            self.piece_index.to(device),
            self.piece_to_word.to(device),
            self.position_to_word.to(device),
            None if self.token_type_ids is None else self.token_type_ids.to(device),
            None if self.prompt_layout is None else self.prompt_layout.to(device),
            None if self.task_tokens is None else self.task_tokens.to(device),
            self.corpora,
        )


class Targets(Protocol):
    """The gold of a batch as a loss reads it."""

    def to(self, device: Any) -> "Targets":
        """Return the same targets on another device."""


@runtime_checkable
class SpanVectors(Protocol):
    """The hidden vectors of all spans of a batch, made when they are asked for.

    Bounds are ``[start, end)`` in the batch's words, of spans that are never empty.
    """

    @property
    def weights(self) -> Float[Tensor, "word 1"]:
        """The attention weight of each word."""

    def gather(self, bounds: Int[Tensor, "span 2"]) -> Float[Tensor, "span hidden"]:
        """Return the vectors of some spans."""

    def blocks(self, starts: Sequence[Int[Tensor, " _"]]) -> Iterator[Float[Tensor, "_ hidden"]]:
        """Yield those of spans of 1, then 2, … words; ``starts`` has their first words by width."""

    def within(self, start: int, end: int) -> "SpanVectors":
        """Return the spans inside the words ``[start, end)``, whose bounds count from ``start``."""


@dataclass(frozen=True, slots=True)
class HeadInputs:
    """Inputs of a task head: word vectors and, if requested, one "[CLS]" vector per instance.

    For a task that reads pieces, ``word_vectors`` are the encoder's last hidden states, one per
    position of ``input_ids.flatten()``, and ``piece_embeddings`` is the encoder's embedding matrix.
    ``token_vectors`` are the trunk's vectors of the same words, whatever level the task reads.
    ``span_vectors`` are those of the span layer that the task reads, if it reads one.
    """

    word_vectors: Float[Tensor, "word dim"]
    cls_vectors: Float[Tensor, "instance dim"] | None = None
    piece_embeddings: Float[Tensor, "vocabulary width"] | None = None
    token_vectors: Float[Tensor, "word token"] | None = None
    span_vectors: SpanVectors | None = None


@dataclass(frozen=True, slots=True)
class SpanTargets:
    """Gold spans and the relations between them; bounds index the batch's words.

    ``pairs`` are ``(head, tail, label)``, head and tail being indices of ``bounds``. Span label 0
    is a span whose label is unknown. Attribute values are 0 for absent and -1 for unknown; None if
    the task has no attributes. ``label_mask`` tells which labels were annotated in the text of each
    word; None if all were. ``features`` are speakers and genres of words, if the task uses them.
    """

    bounds: Int[Tensor, "gold 2"]
    labels: Int[Tensor, " gold"]
    pairs: Int[Tensor, "relation 3"]
    attribute_values: Int[Tensor, "gold attribute"] | None = None
    pair_attribute_values: Int[Tensor, "relation pair_attribute"] | None = None
    label_mask: Bool[Tensor, "word label"] | None = None
    features: "CorefFeatures | None" = None

    def to(self, device: torch.device) -> "SpanTargets":
        """Return the same targets on another device."""
        tensors = {item.name: getattr(self, item.name) for item in fields(self)}
        moved = {name: x.to(device) for name, x in tensors.items() if x is not None}
        return replace(self, **moved)


@dataclass(frozen=True, slots=True)
class CorefFeatures:
    """Speaker id and genre id of each word; 0 is unknown.

    Speaker ids are distinct within a document only; genre ids are those of the model's vocabulary.
    """

    speaker_ids: Int[Tensor, " word"]
    genre_ids: Int[Tensor, " word"]

    def to(self, device: torch.device) -> "CorefFeatures":
        """Return the same features on another device."""
        return CorefFeatures(self.speaker_ids.to(device), self.genre_ids.to(device))


@dataclass(frozen=True, slots=True)
class PredictedSpans:
    """Decoded spans: bounds in the batch's words, labels, and the labels' probabilities.

    ``attribute_values`` are 0 for absent; ``value_probs`` are their probabilities.
    """

    bounds: Int[Tensor, "kept 2"]
    labels: Int[Tensor, " kept"]
    scores: Float[Tensor, " kept"]
    attribute_values: Int[Tensor, "kept attribute"] | None = None
    value_probs: Float[Tensor, "kept attribute"] | None = None

    def select(self, index: Int[Tensor, " row"] | Bool[Tensor, " kept"]) -> "PredictedSpans":
        """Return the spans at the indices, or those under a mask."""
        return PredictedSpans(
            self.bounds[index],
            self.labels[index],
            self.scores[index],
            None if self.attribute_values is None else self.attribute_values[index],
            None if self.value_probs is None else self.value_probs[index],
        )


@dataclass(frozen=True, slots=True)
class PredictedRelations:
    """Decoded relations: pairs ``(head, tail)`` of predicted spans, labels, and probabilities.

    ``attribute_values`` and ``value_probs`` are as those of ``PredictedSpans``.
    """

    pairs: Int[Tensor, "relation 2"] = field(
        default_factory=lambda: torch.zeros(0, 2, dtype=torch.long)
    )
    labels: Int[Tensor, " relation"] = field(
        default_factory=lambda: torch.zeros(0, dtype=torch.long)
    )
    scores: Float[Tensor, " relation"] = field(default_factory=lambda: torch.zeros(0))
    attribute_values: Int[Tensor, "relation attribute"] | None = None
    value_probs: Float[Tensor, "relation attribute"] | None = None

    def select(self, mask: Bool[Tensor, " relation"]) -> "PredictedRelations":
        """Return the relations under a mask."""
        return PredictedRelations(
            self.pairs[mask],
            self.labels[mask],
            self.scores[mask],
            None if self.attribute_values is None else self.attribute_values[mask],
            None if self.value_probs is None else self.value_probs[mask],
        )
