"""Pre-training: masked language modelling, SpanBERT's boundary objective, next sentences.

It learns from any text and annotates nothing. It reads the pieces of the trunk's transformer, in
full blocks of consecutive text.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from spanloom.config.options import Options
from spanloom.config.specs import PIECES
from spanloom.data.blocks import BlockReader
from spanloom.data.instance_readers import InstanceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.data.masking import (
    MaskableText,
    Masking,
    MaskTargets,
    PieceDistribution,
    mask_pieces,
)
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.text_cache import layer_spans
from spanloom.data.text_corpus import whole_words
from spanloom.document import Document, Layer
from spanloom.errors import TrainingError
from spanloom.nn.masked_language import MaskedLMHead
from spanloom.tasks._base import (
    HeadInputSpec,
    LayerTask,
    MaskedBatch,
    MetricValues,
    NewId,
    Predictor,
    TaskSetup,
    TaskType,
    TrainDocuments,
)
from spanloom.tensors import Batch, HeadInputs, Losses
from spanloom.tokenization import Bounds, bounds_array

_METRICS = {
    "masked": "inverse_perplexity",
    "boundary": "boundary_inverse_perplexity",
    "next_sentence": "next_sentence_inverse_perplexity",
}
_SAMPLE = Document("Add 5 ml of the cold buffer .\nMix well .", (), "sample")


class MaskingOptions(Options):
    """Options of pre-training; the defaults are SpanBERT's."""

    mlm_probability: float = Field(0.15, gt=0, lt=1, description="share of pieces that are masked")
    masking: Literal["span", "whole-word", "subword", "layer"] = Field(
        "span",
        description="span (of words) | whole-word | subword | layer (annotated spans half of the "
        "time, else words): what is masked at once",
    )
    geometric_p: float = Field(
        0.2, gt=0, lt=1, description="of the geometric distribution of span lengths"
    )
    max_span_length: int = Field(10, ge=1, le=100, description="words of a span at most")
    mask_layer: str = Field(
        "", description="with masking: layer, the layer of names or noun phrases, as annotate wrote"
    )
    mask_labels: tuple[str, ...] = Field(
        (), description="of mask_layer, the labels that count, as [NP]; empty: all"
    )
    span_boundary_objective: bool = Field(True, description="guess spans from their boundaries too")
    sequences: Literal["single", "pair", "next-sentence"] = Field(
        "single",
        description="single | pair (two segments) | next-sentence (half of the second ones are of "
        "other documents, and are to be told apart): what a block holds",
    )
    exclude: tuple[str, ...] = Field(
        (),
        description="of raw text, the files left out (name without endings), or documents of them "
        "(FILE:3, FILE:3-9)",
    )

    @model_validator(mode="after")
    def _check_layer(self) -> "MaskingOptions":
        if (self.masking == "layer") != bool(self.mask_layer):
            raise ValueError("mask_layer: expected with masking: layer, and only then")
        if self.mask_labels and not self.mask_layer:
            raise ValueError("mask_labels: expected with masking: layer, and only then")
        return self


@dataclass(frozen=True, slots=True)
class TextGold:
    """The number of words of a document, and its annotated spans, as bounds in words."""

    num_words: int
    spans: Sequence[Bounds] = ()

    def __len__(self) -> int:
        """Return the number of words."""
        return self.num_words


@dataclass(frozen=True, slots=True)
class PretrainingTargets:
    """The masked pieces, and what next sentence prediction learns.

    ``cls`` are indices of ``input_ids.flatten()``; ``num_masked`` counts the masked pieces of each
    instance.
    """

    masked: MaskTargets
    cls: Int[Tensor, " instance"]
    is_next: Int[Tensor, " instance"]
    num_masked: Float[Tensor, " instance"]

    def to(self, device: torch.device) -> "PretrainingTargets":
        """Return the targets on another device."""
        tensors = self.cls, self.is_next, self.num_masked
        return PretrainingTargets(
            self.masked.to(device), *(tensor.to(device) for tensor in tensors)
        )


@dataclass(frozen=True, slots=True)
class MaskedLMTask(LayerTask):
    """Predict masked pieces."""

    masking: Masking
    boundary: bool
    mask_layer: str = ""
    mask_labels: tuple[str, ...] = ()
    unigrams: Float[Tensor, " vocabulary"] | None = field(default=None, compare=False)

    @property
    def blocks(self) -> BlockReader:
        """The reader of its blocks."""
        assert isinstance(self.reader.reader, BlockReader), "it reads blocks"
        return self.reader.reader

    def with_unigrams(self, counts: Float[Tensor, " vocabulary"]) -> "MaskedLMTask":
        """Return the task that draws random pieces as often as they occur in a corpus."""
        return replace(self, unigrams=counts)

    @property
    def predicts(self) -> bool:
        """It predicts no annotations."""
        return False

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The geometric means of the probabilities of what is right; masked pieces come first."""
        return tuple(_METRICS[name] for name in self.loss_names)

    @property
    def loss_names(self) -> tuple[str, ...]:
        """The losses of its objectives, per masked piece."""
        boundary = ("boundary",) if self.boundary else ()
        return ("masked", *boundary, *(("next_sentence",) if self._has_next_sentence else ()))

    @property
    def _has_next_sentence(self) -> bool:
        return self.blocks.sequences == "next-sentence"

    def has_gold(self, document: Document) -> bool:
        """Return whether there is any text."""
        return bool(document.text.strip())

    def build_head(self, spec: HeadInputSpec) -> MaskedLMHead:
        """Build the head, whose output is tied to the encoder's piece embeddings."""
        return MaskedLMHead(
            spec.word_dim,
            piece_dim=spec.piece_dim,
            vocab_size=spec.vocab_size,
            use_boundary=self.boundary,
            use_next_sentence=self._has_next_sentence,
        )

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> TextGold:
        """Return the number of words, and the spans that are masked at once."""
        spans = layer_spans(document, self.mask_layer, self.mask_labels)
        words = bounds_array(tokenized.words)
        return TextGold(len(words), whole_words(spans, words) if spans else ())

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, Any]
    ) -> PretrainingTargets:
        """Return no targets: nothing is masked yet."""
        none = torch.zeros(0, dtype=torch.long)
        masked = MaskTargets(none, none, none, none, none)
        return PretrainingTargets(masked, none, none, none.float())

    def mask_inputs(
        self, batch: Batch, instances: Sequence[Instance], pieces: SubwordTokenizer, seed: int
    ) -> MaskedBatch:
        """Mask some pieces of each instance; these follow from the instance and the seed alone.

        Raises ``TrainingError`` where windows have no special pieces at their ends, and for a
        tokenizer without a piece that masks.
        """
        if pieces.mask in (pieces.unknown, pieces.padding):
            raise TrainingError(
                f"task {self.name!r}: expected a tokenizer with a mask piece, as [MASK], got none"
            )
        if not (pieces.prefix and pieces.suffix):
            raise TrainingError(
                f"task {self.name!r}: expected a tokenizer that puts special pieces around a text, "
                f"as the ends of masked spans; this one puts none"
            )
        texts = [
            MaskableText(
                len(instance.prompt.tokens) + len(instance.tokens),
                f"{seed}/{instance.document}/{instance.first_word}",
                instance.maskable,
            )
            for instance in instances
        ]
        masked, targets, num_masked = mask_pieces(
            batch,
            self.masking,
            texts,
            piece=pieces.mask,
            random_pieces=self._random_pieces(pieces),
        )
        is_next = torch.tensor([int(instance.is_next) for instance in instances])
        cls = _first_places(batch, texts)
        return masked, PretrainingTargets(targets, cls, is_next, num_masked.float())

    def _random_pieces(self, pieces: SubwordTokenizer) -> PieceDistribution:
        """Return the corpus' unigrams without special pieces; uniform where none are known."""
        size = pieces.tokenizer.get_vocab_size(with_added_tokens=True)
        weights = torch.ones(size) if self.unigrams is None else self.unigrams
        return PieceDistribution.of(weights, pieces.special_ids)

    def loss(
        self, head: MaskedLMHead, vectors: HeadInputs, batch: Batch, targets: PretrainingTargets
    ) -> Losses:
        """Return the losses of all objectives.

        Next sentence prediction counts each instance as often as it has masked pieces, so that its
        mean, too, is over these.
        """
        assert vectors.piece_embeddings is not None, "pieces come with the table of an encoder"
        masked, hidden = targets.masked, vectors.word_vectors
        rows = masked.rows, masked.labels, masked.left, masked.right, masked.span_position
        losses = head.loss(hidden, vectors.piece_embeddings, *rows)
        pairs = targets.cls, targets.is_next, targets.num_masked
        return losses | head.next_sentence_loss(hidden, *pairs)

    def count_items(self, batch: Batch, targets: PretrainingTargets) -> int:
        """Return the number of masked pieces."""
        return len(targets.masked.labels)

    def predict(
        self,
        head: Any,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: None,
    ) -> Iterator[None]:
        """Yield None for each instance."""
        yield from [None] * len(instances)

    def to_layer(
        self, document: Document, predictions: Sequence[tuple[Instance, None]], new_id: NewId
    ) -> Layer:
        """Return an empty layer."""
        return Layer(self.layer)

    def score(self, predictor: Predictor, documents: Sequence[Document]) -> MetricValues:
        """Return the inverse perplexity of each objective: ``exp`` of its negative mean loss."""
        losses = predictor.losses(documents, self.name)
        return {_METRICS[name]: math.exp(-losses[name]) for name in self.loss_names}


def loss_of(inverse_perplexity: float) -> float:
    """Return the mean loss in nats per masked piece that a metric of this kind is of."""
    return -math.log(inverse_perplexity) if inverse_perplexity else math.inf


def _first_places(batch: Batch, texts: Sequence[MaskableText]) -> Int[Tensor, " text"]:
    """Return the index in the flat ids of each text's first window, where ``[CLS]`` stands."""
    firsts = torch.tensor(list(accumulate((text.num_words for text in texts[:-1]), initial=0)))
    places = batch.piece_index[torch.searchsorted(batch.piece_to_word, firsts)]
    return places - places % batch.input_ids.shape[1]


def _no_vocabulary(options: MaskingOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    """Return an empty vocabulary: the task learns no labels."""
    return {}


def _build(setup: TaskSetup[MaskingOptions]) -> MaskedLMTask:
    options = setup.options
    masking = Masking(
        options.mlm_probability,
        options.geometric_p,
        options.max_span_length,
        scheme=options.masking,
    )
    return MaskedLMTask(
        setup.name,
        setup.layer,
        InstanceReader(BlockReader(options.sequences)),
        masking,
        options.span_boundary_objective,
        options.mask_layer,
        options.mask_labels,
    )


KIND = TaskType(MaskingOptions, _no_vocabulary, _build, _SAMPLE, level=PIECES, needs_no_layer=True)
