"""Pre-training: guess masked spans from themselves and from their boundaries (SpanBERT, section 3).

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
from spanloom.data.batches import parts
from spanloom.data.pieces import Pieces
from spanloom.data.readings import Reading, Sentences
from spanloom.data.span_masking import Masking, MaskTargets, joined, mask
from spanloom.data.units import Cut, Unit
from spanloom.document import Document, Layer
from spanloom.errors import TrainingError
from spanloom.nn.masked_language import MaskedLanguage
from spanloom.tasks._base import Concealed, Figures, Fresh, Ground, Kind, LayerTask, Train, Use
from spanloom.tensors import Batch, Loss, Vectors

_SAMPLE = Document("Add 5 ml of the cold buffer .\nMix well .", (), "sample")


class MaskingOptions(Options):
    """Options of masked language modelling; the defaults are SpanBERT's."""

    rate: float = Field(0.15, gt=0, lt=1, description="share of pieces that are masked")
    scheme: Literal["spans", "words", "pieces"] = Field(
        "spans", description="what is masked at once: spans of words | words | pieces"
    )
    p: float = Field(0.2, gt=0, lt=1, description="of the geometric distribution of span lengths")
    longest: int = Field(10, ge=1, le=100, description="words of a span at most")
    boundary: bool = Field(True, description="guess spans from their boundaries too")


@dataclass(frozen=True, slots=True)
class MaskedLanguageTask(LayerTask):
    """Text in, masked pieces out."""

    masking: Masking
    boundary: bool

    @property
    def annotates(self) -> bool:
        """It makes no annotation."""
        return False

    @property
    def watched(self) -> tuple[str, ...]:
        """How likely the right pieces are, by the geometric mean."""
        return ("likelihood",)

    @property
    def learns(self) -> tuple[str, ...]:
        """The masked language model's loss, and that of the boundary objective."""
        return ("masked", "boundary") if self.boundary else ("masked",)

    def annotated(self, document: Document) -> bool:
        """Whether there is any text."""
        return bool(document.text.strip())

    def head(self, ground: Ground) -> MaskedLanguage:
        """Make the head, whose output is tied to the encoder's pieces."""
        return MaskedLanguage(
            ground.dim, width=ground.width, vocabulary=ground.pieces, boundary=self.boundary
        )

    def gold(self, document: Document, cut: Cut) -> range:
        """All words are there to learn from."""
        return range(len(cut.words))

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Any]) -> MaskTargets:
        """Nothing, before something is concealed."""
        none = torch.zeros(0, dtype=torch.long)
        return MaskTargets(none, none, none, none, none)

    def conceal(self, batch: Batch, units: Sequence[Unit], pieces: Pieces, seed: int) -> Concealed:
        """Mask some of each unit; what, follows from the unit and the seed.

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
            for unit, part in zip(units, parts(batch), strict=True):
                chance = Random(f"{seed}/{unit.document}/{unit.first}")
                torch.manual_seed(chance.getrandbits(63))
                masked.append(mask(part, self.masking, piece=pieces.mask, vocabulary=size))
        return joined(batch, masked)

    def loss(
        self, head: MaskedLanguage, vectors: Vectors, batch: Batch, targets: MaskTargets
    ) -> dict[str, Loss]:
        """Return the losses of both objectives."""
        assert vectors.table is not None, "pieces come with the table of an encoder"
        rows = targets.rows, targets.labels, targets.left, targets.right, targets.place
        return head.loss(vectors.words, vectors.table, *rows)

    def predict(
        self, head: Any, vectors: Vectors, batch: Batch, units: Sequence[Unit], given: None
    ) -> Iterator[None]:
        """Find nothing."""
        yield from [None] * len(units)

    def write(self, document: Document, found: Sequence[tuple[Unit, None]], fresh: Fresh) -> Layer:
        """Make an empty layer."""
        return Layer(self.layer)

    def score(self, use: Use, documents: Sequence[Document]) -> Figures:
        """Return the likelihood of masked pieces."""
        return {"likelihood": math.exp(-use.losses(documents, self.name)["masked"])}


def _collect(options: MaskingOptions, layer: str, train: Train) -> dict[str, Any]:
    return {}


def _make(
    name: str,
    layer: str,
    options: MaskingOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> MaskedLanguageTask:
    masking = Masking(options.rate, options.p, options.longest, scheme=options.scheme)
    return MaskedLanguageTask(name, layer, Reading(Sentences()), masking, options.boundary)


KIND = Kind(MaskingOptions, _collect, _make, _SAMPLE, level=PIECES, layerless=True)
