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
class Aside:
    """Where a batch reads more than its text: which words are text, and what levels run over.

    ``text`` are the rows of the text's words among all words read. ``openings`` are the rows of the
    words that stand for what opens each unit ("[CLS]"), where a task asked for them. ``sentences``
    and ``contexts`` are runs of words read: those before a text run with its first.
    """

    text: Int[Tensor, " text"]
    openings: Int[Tensor, " unit"] | None
    sentences: Int[Tensor, "sentence 2"]
    contexts: Int[Tensor, "context 2"]

    @property
    def runs(self) -> tuple[Int[Tensor, "sentence 2"], Int[Tensor, "context 2"]]:
        """What levels run over: sentences, contexts."""
        return self.sentences, self.contexts

    def to(self, device: torch.device) -> "Aside":
        """Return the same rows on another device."""
        openings = None if self.openings is None else self.openings.to(device)
        runs = self.sentences.to(device), self.contexts.to(device)
        return Aside(self.text.to(device), openings, *runs)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some stretches of text: their words, sentences, and the pieces an encoder reads.

    ``words`` are all words that are read. ``sentences``, ``contexts`` (what an encoder reads at
    once) and ``units`` (what a task reads at once) are bounds in the words of the text: all words,
    unless ``aside`` says which. ``piece_row`` names, for each piece in reading order, its place in
    ``ids.flatten()``: the window in which it has most context. ``piece_word`` names the word it
    belongs to, in ascending order. ``segments`` is 0 in prompts and 1 in texts that follow one.
    ``place_word`` names the word whose piece stands at each place, -1 where none does: where
    windows overlap, a word's pieces stand in several. ``tokens`` says which words stand for a task,
    by its number, -1 for all others; None where there is no such word.
    """

    words: tuple[str, ...]
    sentences: Int[Tensor, "sentence 2"]
    contexts: Int[Tensor, "context 2"]
    units: Int[Tensor, "unit 2"]
    ids: Int[Tensor, "window seq"]
    mask: Bool[Tensor, "window seq"]
    piece_row: Int[Tensor, " piece"]
    piece_word: Int[Tensor, " piece"]
    place_word: Int[Tensor, "window seq"]
    segments: Int[Tensor, "window seq"] | None = None
    aside: Aside | None = None
    tokens: Int[Tensor, " word"] | None = None

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch on another device."""
        return Batch(
            self.words,
            self.sentences.to(device),
            self.contexts.to(device),
            self.units.to(device),
            self.ids.to(device),
            self.mask.to(device),
            self.piece_row.to(device),
            self.piece_word.to(device),
            self.place_word.to(device),
            None if self.segments is None else self.segments.to(device),
            None if self.aside is None else self.aside.to(device),
            None if self.tokens is None else self.tokens.to(device),
        )


@dataclass(frozen=True, slots=True)
class Vectors:
    """What a head reads: a vector a word of the text, and a vector an opening where there are any.

    Where a task reads pieces, ``words`` are an encoder's last states, row by row of
    ``ids.flatten()``, and ``table`` its piece vectors.
    """

    words: Float[Tensor, "word dim"]
    openings: Float[Tensor, "unit dim"] | None = None
    table: Float[Tensor, "vocabulary width"] | None = None


@dataclass(frozen=True, slots=True)
class SpanTargets:
    """Gold spans and the relations between them, in rows of the batch's words.

    ``pairs`` holds rows ``(head, tail, label)`` where head and tail are rows of ``bounds``. Values
    are those of attributes: 0 for absent, -1 for unknown; None where nothing has attributes. Label
    0 is a span of which nobody knows what it is. ``looked`` says which labels were looked for where
    each word stands; None where all were.
    """

    bounds: Int[Tensor, "gold 2"]
    labels: Int[Tensor, " gold"]
    pairs: Int[Tensor, "relation 3"]
    values: Int[Tensor, "gold attribute"] | None = None
    pair_values: Int[Tensor, "relation pair_attribute"] | None = None
    looked: Bool[Tensor, "word label"] | None = None

    def to(self, device: torch.device) -> "SpanTargets":
        """Return the same targets on another device."""
        more = (self.values, self.pair_values, self.looked)
        rest = (None if each is None else each.to(device) for each in more)
        bounds, labels, pairs = (x.to(device) for x in (self.bounds, self.labels, self.pairs))
        return SpanTargets(bounds, labels, pairs, *rest)


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a text beside its words: who says each word, and its document's genre.

    0 is unknown; voices are told apart within a document, genres are a model's.
    """

    voices: Int[Tensor, " word"]
    genres: Int[Tensor, " word"]

    def to(self, device: torch.device) -> "Told":
        """Return the same on another device."""
        return Told(self.voices.to(device), self.genres.to(device))


@dataclass(frozen=True, slots=True)
class Loss:
    """A summed loss and the number of units it is summed over (a sum can be split over ranks)."""

    total: Float[Tensor, ""]
    count: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """Spans a decoder kept: bounds in rows of the batch's words, labels, probabilities.

    ``values`` are those of attributes, 0 for absent, and ``sure`` their probabilities.
    """

    bounds: Int[Tensor, "kept 2"]
    labels: Int[Tensor, " kept"]
    scores: Float[Tensor, " kept"]
    values: Int[Tensor, "kept attribute"] | None = None
    sure: Float[Tensor, "kept attribute"] | None = None

    def rows(self, some: Int[Tensor, " row"] | Bool[Tensor, " kept"]) -> "Chosen":
        """Return some of the spans."""
        values, sure = (None if each is None else each[some] for each in (self.values, self.sure))
        return Chosen(self.bounds[some], self.labels[some], self.scores[some], values, sure)


@dataclass(frozen=True, slots=True)
class Linked:
    """Relations a decoder kept: rows ``(head, tail)`` of chosen spans, labels, probabilities.

    ``values`` and ``sure`` are of attributes, as those of ``Chosen``.
    """

    ends: Int[Tensor, "link 2"] = field(default_factory=lambda: torch.zeros(0, 2, dtype=torch.long))
    labels: Int[Tensor, " link"] = field(default_factory=lambda: torch.zeros(0, dtype=torch.long))
    scores: Float[Tensor, " link"] = field(default_factory=lambda: torch.zeros(0))
    values: Int[Tensor, "link attribute"] | None = None
    sure: Float[Tensor, "link attribute"] | None = None
