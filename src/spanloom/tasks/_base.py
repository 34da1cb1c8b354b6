"""What every kind of task can do, so that training and annotation need not know which it is."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pydantic import BaseModel
from torch import nn

from spanloom.annotation_ids import IdGenerator
from spanloom.data.instance_readers import InstanceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.data.subwords import SubwordTokenizer
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.metrics.per_document import DocumentCounts
from spanloom.tensors import Batch, HeadInputs, Loss
from spanloom.tokenization import Bounds

NewId = IdGenerator  # ``fresh("T")`` is the next free id of spans
MetricValues = dict[str, float]
TrainDocuments = Sequence[
    tuple[Document, TokenizedDocument]
]  # documents that have the task's layer, cut into words


@dataclass(frozen=True, slots=True)
class HeadInputSpec:
    """What a head stands on: vectors of size ``dim``, and a table of ``pieces`` by ``width``.

    The table is that of an encoder's pieces; without an encoder it has no rows.
    """

    word_dim: int
    vocab_size: int = 0
    piece_dim: int = 0


class Report(Protocol):
    """How good some predictions are."""

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return what figures are made of, by name: those that sums over documents make."""

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""

    def to_table(self) -> str:
        """Return aligned text for people."""


class Targets(Protocol):
    """What a loss compares scores with, laid out as a batch."""

    def to(self, device: Any) -> "Targets":
        """Return the same targets on another device."""


MaskedBatch = tuple[Batch, Targets | None]  # a batch, and what is hidden in it


class Predictor(Protocol):
    """A model as a task may use it to find out how good it is."""

    def annotate(self, documents: Sequence[Document], task: str) -> list[Document]:
        """Return the bare documents with what the task predicts."""

    def losses(self, documents: Sequence[Document], task: str) -> MetricValues:
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
    def reader(self) -> InstanceReader:
        """What is read at once."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The layers that it is given, at training and at annotation."""

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of its ``figures``, in their order, known before anything is scored."""

    @property
    def loss_names(self) -> tuple[str, ...]:
        """The names of its losses."""

    @property
    def predicts(self) -> bool:
        """Whether it predicts anything at all."""

    @property
    def unwritten(self) -> frozenset[str]:
        """The labels that it learns and never writes."""

    def without_gold(self, document: Document) -> Document:
        """Return the document bare of all that the task is to find: what may be annotated."""

    def with_task_token(self, token: int) -> "Task":
        """Return the task with the token of its number before each sentence that it reads."""

    def has_gold(self, document: Document) -> bool:
        """Whether there is anything to learn from a document, or to score in it."""

    def build_head(self, ground: HeadInputSpec) -> nn.Module:
        """Make the head that learns it."""

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> Any:
        """Express a document's layer over words; its ``len`` is how much there is to learn."""

    def encode_given(self, document: Document, cut: TokenizedDocument) -> Any:
        """Express what the task is given of a document, for ``targets``; None where it is nothing.

        What it is to find is not in it.
        """

    def coverage_notes(
        self, train: TrainDocuments, whole: Sequence[Sequence[Bounds]], gold: Any
    ) -> list[str]:
        """Say what training will see, and what not; ``whole`` are sentences before any was cut."""

    def collate_targets(self, units: Sequence[Instance], gold: Mapping[int, Any]) -> Targets:
        """Lay the gold of some units flat as ``collate`` lays their words; keys are documents."""

    def mask_inputs(
        self, batch: Batch, units: Sequence[Instance], pieces: SubwordTokenizer, seed: int
    ) -> MaskedBatch:
        """Hide from the encoder what it is to guess, and return that: None where nothing is hidden.

        What is hidden of a unit follows from ``seed`` and the unit alone, so that it is the same on
        any number of processes.
        """

    def loss(self, head: Any, vectors: HeadInputs, batch: Batch, targets: Any) -> dict[str, Loss]:
        """Return the head's named losses."""

    def predict(
        self, head: Any, vectors: HeadInputs, batch: Batch, units: Sequence[Instance], given: Any
    ) -> Iterator[Any]:
        """Score and decode a batch; yield what was found in each unit.

        ``given`` are targets of what ``told`` returned for each document, else None.
        """

    def to_layer(
        self, document: Document, found: Sequence[tuple[Instance, Any]], fresh: NewId
    ) -> Layer:
        """Make a layer of what was found in the units of a document."""

    def score(self, use: Predictor, documents: Sequence[Document]) -> MetricValues:
        """Return the numbers a training run may watch; the first is the task's own."""

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer."""

    def metrics(self, report: Any) -> MetricValues:
        """Return the numbers of ``score`` from a report."""

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return the labels in some documents that the task has never seen: all are missed."""


@dataclass(frozen=True, slots=True)
class LayerTask:
    """What tasks that learn one layer of labelled things have in common.

    A plain base: what it says holds unless a task says otherwise.
    """

    name: str
    layer: str
    reader: InstanceReader

    @property
    def inputs(self) -> tuple[str, ...]:
        """Nothing but the text is given."""
        return ()

    @property
    def predicts(self) -> bool:
        """It predicts its layer."""
        return True

    @property
    def unwritten(self) -> frozenset[str]:
        """It writes what it learns."""
        return frozenset()

    def without_gold(self, document: Document) -> Document:
        """Return the bare document with the layers that the task is given, of its own the spans."""
        bare = document.unannotated(self.inputs)
        if self.layer not in self.inputs:
            return bare
        return bare.with_layer(Layer(self.layer, bare[self.layer].spans))

    def with_task_token(self, token: int) -> Any:
        """Return the task with the token of its number before each sentence that it reads."""
        return replace(self, reader=replace(self.reader, task_number=token))

    def has_gold(self, document: Document) -> bool:
        """Whether the document has the layer."""
        return document.has_layer(self.layer)

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> Any:
        """Express the document's layer over words."""
        raise NotImplementedError

    def encode_given(self, document: Document, cut: TokenizedDocument) -> Any:
        """Express what is given of its own layer, if anything is."""
        return (
            self.encode_gold(self.without_gold(document), cut)
            if self.layer in self.inputs
            else None
        )

    def coverage_notes(
        self, train: TrainDocuments, whole: Sequence[Sequence[Bounds]], gold: Mapping[int, Any]
    ) -> list[str]:
        """Say how much there is to learn from."""
        things = sum(map(len, gold.values()))
        return [f"{self.name}: {len(gold)} documents, {things} annotations to learn from"]

    def mask_inputs(
        self, batch: Batch, units: Sequence[Instance], pieces: SubwordTokenizer, seed: int
    ) -> MaskedBatch:
        """Hide nothing."""
        return batch, None

    def score(self, use: Predictor, documents: Sequence[Document]) -> MetricValues:
        """Annotate the bare documents and measure the outcome."""
        return self.metrics(self.compute_metrics(documents, use.annotate(documents, self.name)))

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Any:
        """Score the task's layer."""
        raise NotImplementedError

    def metrics(self, report: Any) -> MetricValues:
        """Return the numbers a training run may watch."""
        raise NotImplementedError

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """No label is told to be unknown."""
        return set()


def labels_of(task: str, collected: Iterable[str]) -> tuple[str, ...]:
    """Return the labels that a task chooses from; raises ``DataError`` where there is none."""
    labels = tuple(collected)
    if not labels:
        raise DataError(f"task {task!r}: expected a label to learn, its layer has none in train")
    return labels


@dataclass(frozen=True, slots=True)
class TaskType:
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
    infer_vocabulary: Callable[[Any, str, TrainDocuments], dict[str, Any]]
    build: Callable[[str, str, Any, Mapping[str, Any], Mapping[str, Any]], Task]
    example: Document
    family: str = ""
    merge_vocabularies: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]] | None = None
    level: str | None = None
    needs_no_layer: bool = False
    supports_partial_labels: bool = False
