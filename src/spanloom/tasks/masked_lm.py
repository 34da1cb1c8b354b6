"""Pre-training: predict masked spans from their positions and from their boundaries (SpanBERT).

It learns from any text and annotates nothing. It reads the pieces of the trunk's transformer.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import torch
from pydantic import Field

from spanloom.config.options import Options
from spanloom.config.recipe import PIECES
from spanloom.data.collate import split_instances
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.data.masking import Masking, MaskTargets, mask_pieces, merge_batches
from spanloom.data.subwords import SubwordTokenizer
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
    no_vocabulary,
)
from spanloom.tensors import Batch, HeadInputs, Losses

_SAMPLE = Document("Add 5 ml of the cold buffer .\nMix well .", (), "sample")


class MaskingOptions(Options):
    """Options of masked language modelling; the defaults are SpanBERT's."""

    mlm_probability: float = Field(0.15, gt=0, lt=1, description="share of pieces that are masked")
    masking: Literal["span", "whole-word", "subword"] = Field(
        "span", description="span (of words) | whole-word | subword: what is masked at once"
    )
    geometric_p: float = Field(
        0.2, gt=0, lt=1, description="of the geometric distribution of span lengths"
    )
    max_span_length: int = Field(10, ge=1, le=100, description="words of a span at most")
    span_boundary_objective: bool = Field(True, description="guess spans from their boundaries too")


@dataclass(frozen=True, slots=True)
class MaskedLMTask(LayerTask):
    """Predict masked pieces."""

    masking: Masking
    boundary: bool

    @property
    def predicts(self) -> bool:
        """It predicts no annotations."""
        return False

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The geometric mean of the probabilities of the right pieces."""
        return ("inverse_perplexity",)

    @property
    def loss_names(self) -> tuple[str, ...]:
        """The masked language model's loss, and that of the boundary objective."""
        return ("masked", "boundary") if self.boundary else ("masked",)

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
        )

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> range:
        """Return the indices of all words."""
        return range(len(tokenized.words))

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, Any]
    ) -> MaskTargets:
        """Return no targets: nothing is masked yet."""
        none = torch.zeros(0, dtype=torch.long)
        return MaskTargets(none, none, none, none, none)

    def mask_inputs(
        self, batch: Batch, instances: Sequence[Instance], pieces: SubwordTokenizer, seed: int
    ) -> MaskedBatch:
        """Mask some pieces of each instance; these follow from the instance and the seed alone.

        Raises ``TrainingError`` where windows have no special pieces at their ends.
        """
        if not (pieces.prefix and pieces.suffix):
            raise TrainingError(
                f"task {self.name!r}: expected a tokenizer that puts special pieces around a text, "
                f"as the ends of masked spans; this one puts none"
            )
        size = pieces.tokenizer.get_vocab_size(with_added_tokens=True)
        masked = []
        with torch.random.fork_rng(devices=[]):
            for instance, part in zip(instances, split_instances(batch), strict=True):
                rng = Random(f"{seed}/{instance.document}/{instance.first_word}")
                torch.manual_seed(rng.getrandbits(63))
                masked.append(mask_pieces(part, self.masking, piece=pieces.mask, vocabulary=size))
        return merge_batches(batch, masked)

    def loss(
        self, head: MaskedLMHead, vectors: HeadInputs, batch: Batch, targets: MaskTargets
    ) -> Losses:
        """Return the losses of both objectives."""
        assert vectors.piece_embeddings is not None, "pieces come with the table of an encoder"
        rows = targets.rows, targets.labels, targets.left, targets.right, targets.span_position
        return head.loss(vectors.word_vectors, vectors.piece_embeddings, *rows)

    def count_items(self, batch: Batch, targets: MaskTargets) -> int:
        """Return the number of masked pieces."""
        return len(targets.labels)

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
        """Return the inverse perplexity of masked pieces."""
        return {"inverse_perplexity": math.exp(-predictor.losses(documents, self.name)["masked"])}


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
        InstanceReader(SentenceReader()),
        masking,
        options.span_boundary_objective,
    )


KIND = TaskType(MaskingOptions, no_vocabulary, _build, _SAMPLE, level=PIECES, needs_no_layer=True)
