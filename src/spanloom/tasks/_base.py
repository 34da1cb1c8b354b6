"""What every kind of task can do, so that training and annotation need not know which it is."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pydantic import BaseModel
from torch import nn

from spanloom.data.pieces import Pieces
from spanloom.data.readings import Reading
from spanloom.data.units import Cut, Unit
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.metrics.tally import Tally
from spanloom.tensors import Batch, Loss, Vectors
from spanloom.words import Bounds

Fresh = Callable[[str], str]  # ``fresh("T")`` is the next free id of spans
Figures = dict[str, float]
Train = Sequence[tuple[Document, Cut]]  # documents that have the task's layer, cut into words


@dataclass(frozen=True, slots=True)
class Ground:
    """What a head stands on: vectors of size ``dim``, and a table of ``pieces`` by ``width``.

    The table is that of an encoder's pieces; without an encoder it has no rows.
    """

    dim: int
    pieces: int = 0
    width: int = 0


class Report(Protocol):
    """How good some predictions are."""

    def tallies(self) -> dict[str, Tally]:
        """Return what figures are made of, by name: those that sums over documents make."""

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""

    def to_table(self) -> str:
        """Return aligned text for people."""


class Targets(Protocol):
    """What a loss compares scores with, laid out as a batch."""

    def to(self, device: Any) -> "Targets":
        """Return the same targets on another device."""


Concealed = tuple[Batch, Targets | None]  # a batch, and what is hidden in it


class Use(Protocol):
    """A model as a task may use it to find out how good it is."""

    def annotate(self, documents: Sequence[Document], task: str) -> list[Document]:
        """Return the bare documents with what the task predicts."""

    def losses(self, documents: Sequence[Document], task: str) -> Figures:
        """Return the task's losses a thing learnt, over all documents."""


class Task(Protocol):
    """One task of a recipe, its labels known.

    It owns no parameters: the head that its own ``head`` made is handed in. What ``gold`` returns
    goes to ``targets``, what that returns to ``loss``, and what ``predict`` returns to ``write``:
    no one else looks into it.
    """

    @property
    def name(self) -> str:
        """The task's name in its recipe."""

    @property
    def layer(self) -> str:
        """The document layer it reads as gold and writes."""

    @property
    def reading(self) -> Reading:
        """What is read at once."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The layers that it is given, at training and at annotation."""

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of its ``figures``, in their order, known before anything is scored."""

    @property
    def learns(self) -> tuple[str, ...]:
        """The names of its losses."""

    @property
    def annotates(self) -> bool:
        """Whether it predicts anything at all."""

    @property
    def unwritten(self) -> frozenset[str]:
        """The labels that it learns and never writes."""

    def bared(self, document: Document) -> Document:
        """Return the document bare of all that the task is to find: what may be annotated."""

    def led_by(self, token: int) -> "Task":
        """Return the task with the token of its number before each sentence that it reads."""

    def annotated(self, document: Document) -> bool:
        """Whether there is anything to learn from a document, or to score in it."""

    def head(self, ground: Ground) -> nn.Module:
        """Make the head that learns it."""

    def gold(self, document: Document, cut: Cut) -> Any:
        """Express a document's layer over words; its ``len`` is how much there is to learn."""

    def told(self, document: Document, cut: Cut) -> Any:
        """Express what the task is given of a document, for ``targets``; None where it is nothing.

        What it is to find is not in it.
        """

    def remarks(self, train: Train, whole: Sequence[Sequence[Bounds]], gold: Any) -> list[str]:
        """Say what training will see, and what not; ``whole`` are sentences before any was cut."""

    def targets(self, units: Sequence[Unit], gold: Mapping[int, Any]) -> Targets:
        """Lay the gold of some units flat as ``collate`` lays their words; keys are documents."""

    def conceal(self, batch: Batch, units: Sequence[Unit], pieces: Pieces, seed: int) -> Concealed:
        """Hide from the encoder what it is to guess, and return that: None where nothing is hidden.

        What is hidden of a unit follows from ``seed`` and the unit alone, so that it is the same on
        any number of processes.
        """

    def loss(self, head: Any, vectors: Vectors, batch: Batch, targets: Any) -> dict[str, Loss]:
        """Return the head's named losses."""

    def predict(
        self, head: Any, vectors: Vectors, batch: Batch, units: Sequence[Unit], given: Any
    ) -> Iterator[Any]:
        """Score and decode a batch; yield what was found in each unit.

        ``given`` are targets of what ``told`` returned for each document, else None.
        """

    def write(self, document: Document, found: Sequence[tuple[Unit, Any]], fresh: Fresh) -> Layer:
        """Make a layer of what was found in the units of a document."""

    def score(self, use: Use, documents: Sequence[Document]) -> Figures:
        """Return the numbers a training run may watch; the first is the task's own."""

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer."""

    def figures(self, report: Any) -> Figures:
        """Return the numbers of ``score`` from a report."""

    def unknown(self, documents: Sequence[Document]) -> set[str]:
        """Return the labels in some documents that the task has never seen: all are missed."""


@dataclass(frozen=True, slots=True)
class LayerTask:
    """What tasks that learn one layer of labelled things have in common.

    A plain base: what it says holds unless a task says otherwise.
    """

    name: str
    layer: str
    reading: Reading

    @property
    def inputs(self) -> tuple[str, ...]:
        """Nothing but the text is given."""
        return ()

    @property
    def annotates(self) -> bool:
        """It predicts its layer."""
        return True

    @property
    def unwritten(self) -> frozenset[str]:
        """It writes what it learns."""
        return frozenset()

    def bared(self, document: Document) -> Document:
        """Return the bare document with the layers that the task is given, of its own the spans."""
        bare = document.bare(self.inputs)
        if self.layer not in self.inputs:
            return bare
        return bare.with_layer(Layer(self.layer, bare[self.layer].spans))

    def led_by(self, token: int) -> Any:
        """Return the task with the token of its number before each sentence that it reads."""
        return replace(self, reading=replace(self.reading, token=token))

    def annotated(self, document: Document) -> bool:
        """Whether the document has the layer."""
        return document.has(self.layer)

    def gold(self, document: Document, cut: Cut) -> Any:
        """Express the document's layer over words."""
        raise NotImplementedError

    def told(self, document: Document, cut: Cut) -> Any:
        """Express what is given of its own layer, if anything is."""
        return self.gold(self.bared(document), cut) if self.layer in self.inputs else None

    def remarks(
        self, train: Train, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, Any]
    ) -> list[str]:
        """Say how much there is to learn from."""
        things = sum(map(len, gold.values()))
        return [f"{self.name}: {len(gold)} documents, {things} annotations to learn from"]

    def conceal(self, batch: Batch, units: Sequence[Unit], pieces: Pieces, seed: int) -> Concealed:
        """Hide nothing."""
        return batch, None

    def score(self, use: Use, documents: Sequence[Document]) -> Figures:
        """Annotate the bare documents and measure the outcome."""
        return self.figures(self.measure(documents, use.annotate(documents, self.name)))

    def measure(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Any:
        """Score the task's layer."""
        raise NotImplementedError

    def figures(self, report: Any) -> Figures:
        """Return the numbers a training run may watch."""
        raise NotImplementedError

    def unknown(self, documents: Sequence[Document]) -> set[str]:
        """No label is told to be unknown."""
        return set()


def labels_of(task: str, collected: Iterable[str]) -> tuple[str, ...]:
    """Return the labels that a task chooses from; raises ``DataError`` where there is none."""
    labels = tuple(collected)
    if not labels:
        raise DataError(f"task {task!r}: expected a label to learn, its layer has none in train")
    return labels


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of task: its options, how labels are collected from train, how a task is made.

    ``collect`` takes options, layer and documents. ``make`` takes the task's name, layer, options,
    what was collected, and the collected of all tasks that share its head, united (its own where
    none does). Tasks of one ``family`` can share a head; ``unite`` joins what was collected for
    each, and is None where they cannot. ``level`` is where its heads read, if that is not the
    recipe's to say. A ``layerless`` kind learns from any text. A ``partial`` kind learns from
    corpora in which not all labels were looked for (``forms.looked_for``). ``sample`` is a small
    gold document: the page in the docs, and the input of the contract test.
    """

    options: type[BaseModel]
    collect: Callable[[Any, str, Train], dict[str, Any]]
    make: Callable[[str, str, Any, Mapping[str, Any], Mapping[str, Any]], Task]
    sample: Document
    family: str = ""
    unite: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]] | None = None
    level: str | None = None
    layerless: bool = False
    partial: bool = False
