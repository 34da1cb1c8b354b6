"""What ``question``, ``choice`` and ``number`` share: one head that extracts a span (SpEx-BERT).

An answer is a span of the text. A class or a number is one of the choices that are written behind
the text, or in its place, in natural language.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from spanloom.config.options import Options
from spanloom.data.units import Cut, Unit
from spanloom.document import Document, Layer
from spanloom.forms.parts import Judgement, judge, judged
from spanloom.nn.extract import Extract
from spanloom.tasks._base import Fresh, Ground, LayerTask
from spanloom.tasks._judged import Gold, Judging
from spanloom.tensors import Batch, Loss, Vectors
from spanloom.words import Bounds

FAMILY = "extract"
Ends = Float[np.ndarray, "row 2"]  # scores as first and as last word
Chances = tuple[float, ...]  # of each choice, adding up to 1


class ExtractOptions(Options):
    """Options of every task that extracts."""

    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of the head")


@dataclass(frozen=True, slots=True)
class Right:
    """What is right, as ``nn.extract`` lays it out: all words, then "no answer" of each unit."""

    rows: Bool[Tensor, "row 2"]

    def to(self, device: torch.device) -> "Right":
        """Return the same targets on another device."""
        return Right(self.rows.to(device))


@dataclass(frozen=True, slots=True)
class ExtractTask(LayerTask):
    """Something that is a span of what is read."""

    dropout: float

    @property
    def learns(self) -> tuple[str, ...]:
        """The first word and the last."""
        return ("start", "end")

    def head(self, ground: Ground) -> Extract:
        """Make the head; it knows nothing of the task."""
        return Extract(ground.dim, self.dropout)

    def loss(
        self, head: Extract, vectors: Vectors, batch: Batch, targets: Right
    ) -> dict[str, Loss]:
        """Return the losses of starts and of ends."""
        return head.loss(vectors.words, openings(vectors), batch.units, targets.rows)


@dataclass(frozen=True, slots=True)
class ChoosingTask(Judging, ExtractTask):
    """One of several choices, said of a text or of two."""

    parts: bool

    def row(self, said: Judgement) -> int | None:
        """Return the choice that says this, None where none does."""
        raise NotImplementedError

    def judgement(self, row: int) -> Judgement:
        """Return what a choice says."""
        raise NotImplementedError

    def gold(self, document: Document, cut: Cut) -> Gold:
        """Find the choice that says what the layer does."""
        said = judged(document, self.layer)
        return Gold(None if said is None else self.row(said))

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Gold]) -> Right:
        """Mark the words of the right choice."""
        rows = [gold[unit.document].row for unit in units]
        return lay(
            units,
            [
                None if row is None else [unit.choices[row]]
                for unit, row in zip(units, rows, strict=True)
            ],
        )

    def predict(
        self, head: Extract, vectors: Vectors, batch: Batch, units: Sequence[Unit], given: Any
    ) -> Iterator[Chances]:
        """Score each choice by its first and its last word; yield how likely each is."""
        for unit, (words, _) in zip(units, scored(head, vectors, units), strict=True):
            scores = [words[a, 0] + words[b - 1, 1] for a, b in unit.choices]
            weights = np.exp(np.array(scores, dtype=np.float64) - max(scores))
            yield tuple((weights / weights.sum()).tolist())

    def write(
        self, document: Document, found: Sequence[tuple[Unit, Chances]], fresh: Fresh
    ) -> Layer:
        """Say the choice that is likeliest over all stretches of the text; of no text nothing."""
        if not document.text.strip():
            return Layer(self.layer)
        chances = np.mean([each for _, each in found], axis=0)
        row = int(chances.argmax())
        said = self.judgement(row)
        return judge(document, self.layer, said.label, said.value, fresh, float(chances[row]))


def unite(collected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return nothing: what is extracted stands in the text, so any tasks can share the head."""
    return {}


def openings(vectors: Vectors) -> Float[Tensor, "unit dim"]:
    """Return the vectors of what opens the units, which every reading of these tasks asks for."""
    assert vectors.openings is not None, "units without openings: a reading that does not ask"
    return vectors.openings


def lay(units: Sequence[Unit], right: Iterable[Sequence[Bounds] | None]) -> Right:
    """Mark right answers as ``collate`` lays the units' words.

    ``right`` are, a unit, the bounds in its words of answers that are all right; none of them for
    "no answer"; None where nothing is known.
    """
    bases = list(accumulate((len(unit.forms) for unit in units), initial=0))
    starts: list[int] = []
    ends: list[int] = []
    for none, (base, bounds) in enumerate(zip(bases, right, strict=False), bases[-1]):
        if bounds is None:
            continue
        starts += [base + start for start, _ in bounds] or [none]
        ends += [base + end - 1 for _, end in bounds] or [none]
    rows = torch.zeros(bases[-1] + len(units), 2, dtype=torch.bool)
    rows[starts, 0] = True
    rows[ends, 1] = True
    return Right(rows)


def scored(head: Extract, vectors: Vectors, units: Sequence[Unit]) -> Iterator[tuple[Ends, Ends]]:
    """Yield the scores of each unit's words, and those of its "no answer" as one row."""
    scores = head(vectors.words, openings(vectors)).detach().cpu().numpy()
    bases = list(accumulate((len(unit.forms) for unit in units), initial=0))
    for none, (a, b) in enumerate(zip(bases, bases[1:], strict=False), bases[-1]):
        yield scores[a:b], scores[none : none + 1]
