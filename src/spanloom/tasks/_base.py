"""What every kind of task can do, so that training and annotation need not know which it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel
from torch import Tensor, nn

from spanloom.data.units import Unit
from spanloom.document import Document, Layer
from spanloom.metrics.report import Report
from spanloom.tensors import Batch, Chosen, Linked, Loss, SpanTargets
from spanloom.words import Bounds


@dataclass(slots=True)
class Found:
    """What was predicted in one document so far: spans in characters, links between their rows."""

    spans: list[tuple[int, int, str, float]] = field(default_factory=list)
    links: list[tuple[int, int, str, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Gold:
    """A document's gold annotation over its words: ``(start, end, label)`` and ``(i, j, label)``.

    Sorted by start; labels are rows of the inventory plus one. What words or inventory cannot
    express is not in it, and so is missed.
    """

    spans: tuple[tuple[int, int, int], ...] = ()
    pairs: tuple[tuple[int, int, int], ...] = ()


class Task(Protocol):
    """One task of a recipe, its labels known.

    It owns no parameters: the head that its own ``head`` made is handed in.
    """

    @property
    def name(self) -> str:
        """The task's name in its recipe."""

    @property
    def layer(self) -> str:
        """The document layer it reads as gold and writes."""

    @property
    def given(self) -> bool:
        """Whether gold spans are its input, at training and at annotation."""

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of its ``figures``, in their order, known before anything is scored."""

    @property
    def learns(self) -> tuple[str, ...]:
        """The names of its losses."""

    def head(self, dim: int) -> nn.Module:
        """Make the head that learns it, over word vectors of size ``dim``."""

    def gold(self, layer: Layer, words: Sequence[Bounds]) -> Gold:
        """Express a layer over words."""

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Gold]) -> SpanTargets:
        """Lay the gold of some units flat as ``collate`` lays their words; keys are documents."""

    def loss(
        self, head: Any, vectors: Tensor, batch: Batch, targets: SpanTargets
    ) -> dict[str, Loss]:
        """Return the head's named losses."""

    def predict(
        self, head: Any, vectors: Tensor, batch: Batch, given: SpanTargets | None
    ) -> tuple[Chosen, Linked]:
        """Score and decode a batch."""

    def label(self, chosen: Chosen, linked: Linked) -> tuple[list[str], list[str]]:
        """Return the labels of what was predicted, as strings."""

    def write(self, found: Found, fresh: Callable[[str], str]) -> Layer:
        """Make a layer of what was predicted in a document; ``fresh("T")`` is the next free id."""

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer."""

    def figures(self, report: Report) -> dict[str, float]:
        """Return the numbers a training run may watch; the first is the task's own."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of task: its options, how labels are collected from train, how a task is made.

    ``sample`` is a small gold document: the page in the docs, and the input of the contract test.
    """

    options: type[BaseModel]
    collect: Callable[[Any, Sequence[tuple[Layer, Sequence[Bounds]]]], dict[str, Any]]
    make: Callable[[str, str, Any, Mapping[str, Any]], Task]
    sample: Document
