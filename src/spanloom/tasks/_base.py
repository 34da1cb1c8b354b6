"""Interface of tasks; training and annotation use it for every kind of task."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel
from torch import nn

from spanloom.annotation_ids import IdGenerator
from spanloom.corpora.card import LabelPrompt
from spanloom.data.instance_readers import InstanceReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.data.subwords import SubwordTokenizer
from spanloom.document import Document, Layer
from spanloom.metrics.bootstrap import DocumentCounts
from spanloom.quantity import quantity
from spanloom.tensors import Batch, HeadInputs, Losses, Targets
from spanloom.tokenization import Bounds

NewId = IdGenerator  # ``new_id("T")`` is the next free id of spans
MetricValues = dict[str, float]
# documents that have the task's layer, cut into words
TrainDocuments = Sequence[tuple[Document, TokenizedDocument]]
OptionsT = TypeVar("OptionsT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class HeadInputSpec:
    """Input sizes for building a head: word vectors, and the encoder's subword embeddings.

    Without an encoder ``vocab_size`` and ``piece_dim`` are 0. ``token_dim`` is the size of the
    trunk's vectors, ``span_dim`` that of the span layer that the head reads (None: it reads none).
    """

    word_dim: int
    vocab_size: int = 0
    piece_dim: int = 0
    token_dim: int = 0
    span_dim: int | None = None


class Report(Protocol):
    """Scores of predictions against gold."""

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return counts per document, by metric, for metrics that are made of sums."""

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""

    def to_table(self) -> str:
        """Return aligned text for people."""


class Measure(Protocol):
    """What is measured of a task: a report, and the metrics of a report."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the metrics; the first is the one to choose a model by."""

    def compute(self, gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Any:
        """Score a layer; return a ``Report``."""

    def values(self, report: Any) -> MetricValues:
        """Return the metrics of a report; they may be more than those named."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """A measure made of two functions: documents to report, report to metrics."""

    names: tuple[str, ...]
    compute: Callable[[Sequence[Document], Sequence[Document], str], Any]
    values: Callable[[Any], MetricValues]


MaskedBatch = tuple[Batch, Targets | None]  # a batch, and what is hidden in it


class Predictor(Protocol):
    """Interface of a model used for evaluation: predict documents, compute dev losses."""

    def annotate(self, documents: Sequence[Document], task: str) -> list[Document]:
        """Return the unannotated documents with the predictions of a task."""

    def losses(self, documents: Sequence[Document], task: str) -> MetricValues:
        """Return the task's mean losses per item, over all documents."""


class Task(Protocol):
    """One task of a recipe with its labels.

    It owns no parameters: the head that its ``build_head`` built is handed in. ``collate_targets``
    gets what ``encode_gold`` returns, ``loss`` what that returns, and ``to_layer`` what ``predict``
    returns; nothing else reads these values.
    """

    @property
    def name(self) -> str:
        """The task's name in its recipe."""

    @property
    def layer(self) -> str:
        """The document layer that it reads as gold and writes."""

    @property
    def reader(self) -> InstanceReader:
        """The reader that builds its instances."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The layers that are input, in training and in annotation."""

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of its ``metrics``, in their order, known before anything is scored."""

    @property
    def loss_names(self) -> tuple[str, ...]:
        """The names of its losses."""

    @property
    def predicts(self) -> bool:
        """Whether it predicts annotations."""

    @property
    def unwritten(self) -> frozenset[str]:
        """The labels that it learns but never writes."""

    def written_vocabulary(self, vocabulary: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return its stored vocabulary with the labels of annotation, as they are written."""

    @property
    def decisions(self) -> Mapping[str, str]:
        """The decisions that have a bias, in the order of tuning, and the metric of each."""

    def without_gold(self, document: Document) -> Document:
        """Return the document without the annotations that the task predicts."""

    def with_task_token(self, token: int) -> "Task":
        """Return the task with its task token before each sentence that it reads."""

    def with_gold_inputs(self) -> "Task":
        """Return the task that is given its gold mentions or spans, and predicts the rest.

        The weights are the same ones. A task that cannot be given any is returned as it is.
        """

    def has_gold(self, document: Document) -> bool:
        """Return whether the document has gold for training or scoring."""

    def build_head(self, spec: HeadInputSpec) -> nn.Module:
        """Build the task's head."""

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> Any:
        """Express a document's layer over words; ``len`` is the number of items to learn."""

    def encode_given(self, document: Document, tokenized: TokenizedDocument) -> Any:
        """Express the annotations that are input, for ``collate_targets``; None if there are none.

        The annotations to predict are not part of it.
        """

    def coverage_notes(
        self, train: TrainDocuments, full_sentences: Sequence[Sequence[Bounds]], gold: Any
    ) -> list[str]:
        """Report what can be learnt; ``full_sentences`` has long sentences undivided."""

    def collate_targets(self, instances: Sequence[Instance], gold: Mapping[int, Any]) -> Targets:
        """Collate the gold of instances, by document; indices refer to the batch's word list."""

    def mask_inputs(
        self, batch: Batch, instances: Sequence[Instance], pieces: SubwordTokenizer, seed: int
    ) -> MaskedBatch:
        """Mask some of the encoder's input; return the masked batch and the targets, if any.

        What is masked follows from ``seed`` and the instance alone, so it is the same on any number
        of processes.
        """

    def loss(self, head: Any, vectors: HeadInputs, batch: Batch, targets: Any) -> Losses:
        """Return the head's named losses, each summed over the items that it learns."""

    def count_items(self, batch: Batch, targets: Any) -> int:
        """Return the number of items of a batch that a loss in training is a mean over."""

    def output_biases(self, head: Any) -> Sequence[nn.Parameter]:
        """Return the biases of its head that start at the log-odds of labels in the data."""

    def predict(
        self,
        head: Any,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: Any,
    ) -> Iterator[Any]:
        """Score and decode a batch; yield the prediction of each instance.

        ``given`` are the targets collated from what ``encode_given`` returned, None if that is
        None.
        """

    def to_layer(
        self, document: Document, predictions: Sequence[tuple[Instance, Any]], new_id: NewId
    ) -> Layer:
        """Return a layer of the predictions of a document's instances."""

    def score(self, predictor: Predictor, documents: Sequence[Document]) -> MetricValues:
        """Return the metrics that a training run may watch; the first is the main one."""

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the task's layer."""

    def metrics(self, report: Any) -> MetricValues:
        """Return the metrics of a report."""

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return labels in the documents that train did not have; they count as missed."""


@dataclass(frozen=True, slots=True)
class LayerTask:
    """Base of tasks that learn one layer; it has what is the same for most of them.

    A subclass has a ``measure``, as a field or an attribute of the class.
    """

    name: str
    layer: str
    reader: InstanceReader

    @property
    def measure(self) -> Measure:
        """The metrics of its layer."""
        raise NotImplementedError

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``metrics``."""
        return self.measure.names

    @property
    def inputs(self) -> tuple[str, ...]:
        """No layers: only the text is input."""
        return ()

    @property
    def predicts(self) -> bool:
        """It predicts its layer."""
        return True

    @property
    def unwritten(self) -> frozenset[str]:
        """No labels: it writes all that it learns."""
        return frozenset()

    def written_vocabulary(self, vocabulary: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the vocabulary: labels are written as they are learnt."""
        return vocabulary

    @property
    def decisions(self) -> Mapping[str, str]:
        """No decisions: nothing is biased."""
        return {}

    def without_gold(self, document: Document) -> Document:
        """Return the unannotated document with its input layers; only spans of its own."""
        bare = document.unannotated(self.inputs)
        if self.layer not in self.inputs:
            return bare
        return bare.with_layer(Layer(self.layer, bare[self.layer].spans))

    def with_task_token(self, token: int) -> Any:
        """Return the task with its task token before each sentence that it reads."""
        return replace(self, reader=replace(self.reader, task_number=token))

    def with_gold_inputs(self) -> Any:
        """Return the task as it is: no part of its gold is an input."""
        return self

    def has_gold(self, document: Document) -> bool:
        """Return whether the document has the layer."""
        return document.has_layer(self.layer)

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> Any:
        """Express the document's layer over words."""
        raise NotImplementedError

    def encode_given(self, document: Document, tokenized: TokenizedDocument) -> Any:
        """Express the spans of its own layer over words if they are input."""
        return (
            self.encode_gold(self.without_gold(document), tokenized)
            if self.layer in self.inputs
            else None
        )

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, Any],
    ) -> list[str]:
        """Report the number of documents and of annotations to learn from."""
        things = sum(map(len, gold.values()))
        documents, annotations = quantity(len(gold), "document"), quantity(things, "annotation")
        return [f"{self.name}: {documents}, {annotations} to learn from"]

    def mask_inputs(
        self, batch: Batch, instances: Sequence[Instance], pieces: SubwordTokenizer, seed: int
    ) -> MaskedBatch:
        """Return the batch unchanged."""
        return batch, None

    def output_biases(self, head: Any) -> Sequence[nn.Parameter]:
        """Return none: its labels are not rare."""
        return ()

    def count_items(self, batch: Batch, targets: Any) -> int:
        """Return the number of words of the text."""
        return int((batch.sentences[:, 1] - batch.sentences[:, 0]).sum())

    def score(self, predictor: Predictor, documents: Sequence[Document]) -> MetricValues:
        """Annotate the unannotated documents and return the metrics."""
        return self.metrics(
            self.compute_metrics(documents, predictor.annotate(documents, self.name))
        )

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Any:
        """Score the task's layer."""
        return self.measure.compute(gold, predicted, self.layer)

    def metrics(self, report: Any) -> MetricValues:
        """Return the named metrics."""
        values = self.measure.values(report)
        return {name: values[name] for name in self.metric_names}

    def unseen_labels(self, documents: Sequence[Document]) -> set[str]:
        """Return no labels."""
        return set()


@dataclass(frozen=True, slots=True)
class TaskSetup(Generic[OptionsT]):
    """All that a task is built from.

    ``vocabulary`` is what was inferred from train; ``shared_vocabulary`` is that of all tasks that
    share its head, merged (its own if none does). ``biases`` are those of its decisions.
    """

    name: str
    layer: str
    options: OptionsT
    vocabulary: Mapping[str, Any]
    shared_vocabulary: Mapping[str, Any]
    biases: Mapping[str, float] = field(default_factory=dict)

    def bias(self, decision: str) -> float:
        """Return the bias of a decision, that of ``untuned_bias`` if it has none."""
        return self.biases.get(decision, untuned_bias(decision))


def untuned_bias(decision: str) -> float:
    """Return the bias of a decision before tuning: 0, but no relation adds a span as its end."""
    return -math.inf if decision == "relation_end" else 0.0


@dataclass(frozen=True, slots=True)
class TaskType:
    """A kind of task: its options, how labels are inferred from train, how a task is built.

    ``infer_vocabulary`` takes options, layer and documents. Tasks of one ``family`` can share a
    head if ``merge_vocabularies`` merges what was inferred for each. ``level`` is the level that
    its heads read, if the recipe does not choose it. A kind that ``needs_no_layer`` learns from any
    text. One that ``supports_partial_labels`` learns from corpora in which not all labels were
    annotated (``annotation.partial_labels``). ``example`` is a small gold document: the page in the
    docs, and the input of the contract test. ``example_unit`` is what counts as one example where a
    recipe limits them. ``complete`` adds to the options what the dataset's card says of how labels
    are read. The head of a kind that ``scores_spans`` may read a span layer.
    """

    options: type[BaseModel]
    infer_vocabulary: Callable[[Any, str, TrainDocuments], dict[str, Any]]
    build: Callable[[TaskSetup[Any]], Task]
    example: Document
    family: str = ""
    merge_vocabularies: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]] | None = None
    level: str | None = None
    needs_no_layer: bool = False
    supports_partial_labels: bool = False
    example_unit: Literal["sentence", "text", "query"] = "sentence"
    complete: Callable[[Any, LabelPrompt], Any] | None = None
    scores_spans: bool = False
