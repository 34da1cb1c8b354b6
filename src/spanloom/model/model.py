"""A trained model: text in, Document out."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.annotation_columns import SpanColumns, settle
from spanloom.annotation_ids import IdGenerator
from spanloom.cancellation import checkpoint
from spanloom.config.recipe import Recipe
from spanloom.corpora import folder as corpora
from spanloom.data.collate import bucket_by_length, collate
from spanloom.data.foreign_text import KnownLanguage
from spanloom.data.instances import (
    Instance,
    InstanceLimits,
    Prompt,
    TokenizedDocument,
    look_up_prompt,
    tokenize,
)
from spanloom.data.subwords import SubwordTokenizer
from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Document, Layer
from spanloom.errors import ModelError, NameNotFound
from spanloom.freed_memory import returned_between
from spanloom.model import asking
from spanloom.model.asking import Answer, Choice
from spanloom.model.evaluation import (
    LOG,
    evaluate_tasks,
    is_test_set,
    log_test_evaluation,
    read_split,
    usual_split,
)
from spanloom.model.inputs import to_document, to_documents
from spanloom.model.network import Network
from spanloom.model.plan import Plan, output_layers
from spanloom.model.precision import ComputeConfig
from spanloom.model.shortened import log_shortened
from spanloom.model.stretches import FIRST_WORDS, cut_stretches
from spanloom.tasks._base import Report, Task
from spanloom.tensors import HeadInputs
from spanloom.tokenization import WordBounds, WordTokenizer

BATCH_WORDS = 4096  # words through encoder and heads at once
_INSTANCE_WINDOWS = 64  # of tasks that look across windows: what memory allows
_LOG = logging.getLogger("spanloom.model")  # writes to stderr unless a program configures it


@dataclass(slots=True)
class _OpenDocument:
    """A document that is being annotated: its words, and each task's predictions."""

    document: Document
    tokens: TokenizedDocument
    predictions: dict[str, list[tuple[Instance, Any]]]

    def pop_predictions(self, task: str) -> list[tuple[Instance, Any]]:
        """Return a task's predictions in text order, and forget them."""
        predictions = self.predictions.pop(task)
        predictions.sort(key=lambda pair: (pair[0].query, pair[0].first_word))
        return predictions


@dataclass(frozen=True, slots=True)
class Model:
    """Plan, tokenizers, network, tasks and arithmetic that belong together, and split prompts."""

    plan: Plan
    word_tokenizer: WordTokenizer
    subword_tokenizer: SubwordTokenizer
    network: Network
    tasks: Mapping[str, Task]
    compute: ComputeConfig
    prompts: dict[str, Prompt] = field(default_factory=dict, repr=False, compare=False)

    @property
    def recipe(self) -> Recipe:
        """The recipe that the plan was made from, with what training noted in it."""
        return self.plan.recipe

    def __call__(self, text: str | Document) -> Document:
        """Annotate one text with all tasks but those ``on_request``."""
        return next(self.annotate([to_document(text)]))

    def ask(self, text: str, question: str) -> Answer:
        """Return the answer to a question about a text: its text, its place and its score."""
        return asking.ask(self, text, question)

    def classify(self, text: str, labels: Iterable[str], pair: str | None = None) -> Choice | None:
        """Return which of some labels fits a text, or a text pair, and its score."""
        return asking.choose(self, text, pair, labels=labels)

    def rate(self, text: str, low: float, high: float, pair: str | None = None) -> Choice | None:
        """Return which number of a range fits a text, or a text pair, and its score."""
        return asking.choose(self, text, pair, bounds=(low, high))

    def tokenize(self, document: Document) -> TokenizedDocument:
        """Split a document into words and pieces."""
        return tokenize(document, self.word_tokenizer, self.subword_tokenizer)

    def known_language(self) -> KnownLanguage | None:
        """Read off the encoder's vocabulary which languages it knows; None without an encoder."""
        return KnownLanguage.of(self.subword_tokenizer) if self.recipe.has_encoder else None

    def tokenize_prompt(self, text: str) -> Prompt:
        """Split a text that is not part of a document."""
        return look_up_prompt(text, self.word_tokenizer, self.subword_tokenizer, self.prompts)

    def with_biases(self, biases: Mapping[str, Mapping[str, float]]) -> "Model":
        """Return the model with these biases of its tasks' decisions; the network is shared.

        Raises ``DataError`` for a decision that a task does not have.
        """
        plan = self.plan.with_biases(biases)
        return replace(self, plan=plan, tasks=plan.build_tasks())

    def with_network(self, network: Network) -> "Model":
        """Return the model with another network in place of its own, of the same heads."""
        return replace(self, network=network)

    def with_tasks(self, tasks: Mapping[str, Task]) -> "Model":
        """Return the model with other tasks in place of its own; the network is shared."""
        return replace(self, tasks=tasks)

    def with_gold_inputs(self) -> "Model":
        """Return the model whose tasks are given their gold mentions or spans, where they can be.

        The network is shared. For scoring: each such layer is then an input of its task alone.
        Such tasks have no biases: they were tuned for the mentions that the model finds by itself.
        """
        given = {name: task.with_gold_inputs() for name, task in self.tasks.items()}
        biases = {
            name: biases
            for name, biases in self.recipe.biases.items()
            if given[name].inputs == self.tasks[name].inputs
        }
        model = self.with_biases(biases)
        tasks = {name: task.with_gold_inputs() for name, task in model.tasks.items()}
        return replace(model, tasks=tasks)

    @property
    def layers(self) -> dict[str, str]:
        """The name of the layer that each predicting task writes, the same in all results."""
        predicted = {name: task.layer for name, task in self.tasks.items() if task.predicts}
        return output_layers(predicted)

    def encoder_passes(self, names: Iterable[str] | None = None) -> list[tuple[str, ...]]:
        """Return tasks grouped by their readers; one pass of the encoder serves a group."""
        groups: dict[Any, list[str]] = {}
        for name, task in self._check_tasks(names).items():
            groups.setdefault(task.reader.key, []).append(name)
        return [tuple(group) for group in groups.values()]

    def annotate(
        self,
        documents: Iterable[Document | str],
        names: Iterable[str] | None = None,
        *,
        words: int = BATCH_WORDS,
        with_tokens: bool = False,
    ) -> Iterator[Document]:
        """Yield each document or text with the layers that named tasks predict, without its others.

        Without names: all tasks but those ``on_request``. The name of a task's layer does not
        depend on the other tasks named (``layers``). One encoder pass serves all tasks with equal
        readers (``encoder_passes``). Memory is bounded: documents are read a stretch ahead, a long
        one is encoded in windows, and its spans are columns. A task with inputs reads these layers
        from the document (``LayerError`` if it has none); of everything else only text and queries
        are read. Input layers and text pairs are kept, since predictions may refer to them. With
        ``with_tokens``, documents that give no words or sentences get layers of those found. Raises
        ``NameNotFound`` for an unknown task, ``TypeError`` for a bare text. Text that is not read
        as it is gets logged: a span or relation in a sentence too long to be read at once stays
        within one part of it.
        """
        tasks, layers = self._check_tasks(names), self.layers
        return (
            document
            for stretch in cut_stretches(to_documents(documents), words=min(words, FIRST_WORDS))
            for document in self._annotate(stretch, tasks, layers, words, with_tokens=with_tokens)
        )

    def annotate_stretch(
        self,
        documents: Sequence[Document],
        names: Iterable[str] | None = None,
        *,
        with_tokens: bool = False,
    ) -> Iterator[Document]:
        """Yield the documents of one stretch (``cut_stretches``) as ``annotate`` would.

        Whoever annotates the stretch, in whatever process, has the same batches. Raises as
        ``annotate`` does.
        """
        tasks = self._check_tasks(names)
        return self._annotate(documents, tasks, self.layers, BATCH_WORDS, with_tokens=with_tokens)

    def predict(self, documents: Iterable[Document], *names: str) -> Iterator[Document]:
        """Yield documents with the predictions of tasks, each in the layer in which gold has them.

        No two tasks have one layer. Raises ``NameNotFound`` for an unknown task.
        """
        tasks = self._check_tasks(names)
        layers = {name: task.layer for name, task in tasks.items()}
        for stretch in cut_stretches(documents):
            yield from self._annotate(stretch, tasks, layers, BATCH_WORDS, with_tokens=False)

    def evaluate(
        self,
        data: str | Path | Sequence[Document],
        split: str | None = None,
        *,
        encoding: str = "utf-8",
    ) -> dict[str, Report]:
        """Score each task whose layer the documents have; return the reports by task.

        ``data`` are annotated documents, or a folder or file of them, of which ``split`` is read
        (default: dev, or all where there are none; a dev that is not there is what training holds
        out); ``encoding`` is that of text files. A look at a test set is noted in
        ``test-evaluations.jsonl``. Predictions never see gold. Raises ``DataError`` where no task
        can be scored, and what reading raises.
        """
        if not isinstance(data, str | Path):
            return evaluate_tasks(self, [*corpora.with_names(data)], None, _LOG.info)
        path = Path(data)
        split = split or usual_split(path, encoding)
        documents = read_split(path, split, recipe=self.recipe, encoding=encoding, log=_LOG.info)
        reports = evaluate_tasks(self, documents, path, _LOG.info)
        if is_test_set(path, split):
            metrics = {name: self.tasks[name].metrics(report) for name, report in reports.items()}
            seed, command = self.recipe.seed, "Model.evaluate"
            log_test_evaluation(
                LOG, command, "a model in memory", path.name, split, documents, seed, metrics
            )
        return reports

    def _annotate(
        self,
        stretch: Sequence[Document],
        tasks: Mapping[str, Task],
        layers: Mapping[str, str],
        words: int,
        *,
        with_tokens: bool,
    ) -> Iterator[Document]:
        """Annotate a stretch with some tasks; ``layers`` names the layer of each."""
        open_documents = self._open(stretch, tasks)
        for group in self.encoder_passes(tasks):
            self._run(open_documents, {name: tasks[name] for name in group}, words)
        return _finish(open_documents, tasks, layers, with_tokens=with_tokens)

    def _check_tasks(self, names: Iterable[str] | None) -> dict[str, Task]:
        predicting = {name: task for name, task in self.tasks.items() if task.predicts}
        if names is None:
            names = [name for name in predicting if not self.recipe.tasks[name].on_request]
        if isinstance(names, str):
            raise TypeError(f"expected a list of names of tasks, as [{names!r}], got a text")
        names = list(names)
        for name in names:
            if name not in predicting:
                raise NameNotFound("task", name, predicting)
        return {name: predicting[name] for name in names}

    def _open(self, stretch: Sequence[Document], names: Collection[str]) -> list[_OpenDocument]:
        """Split the documents into words, and log text that is not read as it is."""
        open_documents: list[_OpenDocument] = []
        for document in stretch:
            tokens = self.tokenize(document)
            readers = (self.tasks[name].reader for name in names)
            log_shortened(document, tokens, readers, self.recipe.window, self.tokenize_prompt)
            open_documents.append(_OpenDocument(document, tokens, {name: [] for name in names}))
        return open_documents

    def _run(
        self, open_documents: Sequence[_OpenDocument], tasks: Mapping[str, Task], words: int
    ) -> None:
        """Encode the documents once and run the heads of all tasks that share this input."""
        self.network.eval()
        window = self.recipe.window
        across_windows = any(task.reader.max_windows > 1 for task in tasks.values())
        limits = InstanceLimits(window, window * _INSTANCE_WINDOWS if across_windows else window)
        reader = next(iter(tasks.values())).reader
        given = _encode_given(open_documents, tasks)
        instances = [
            instance
            for index, item in enumerate(open_documents)
            for instance in reader.instances(index, item.tokens, limits, self.tokenize_prompt)
        ]
        # one context for all batches: without inference mode it keeps the weights it converts
        with torch.no_grad(), self.compute.autocast():
            for group in returned_between(bucket_by_length(instances, words, window=window)):
                checkpoint()
                batch = collate(group, self.subword_tokenizer, window).to(self.compute.device)
                inputs = self.network.head_inputs(batch, tasks)
                _check_finite(inputs)
                for name, task in tasks.items():
                    checkpoint()
                    targets = None
                    if name in given:
                        targets = task.collate_targets(group, given[name]).to(self.compute.device)
                    head = self.network.head(name)
                    predictions = task.predict(head, inputs[name], batch, group, targets)
                    for instance, prediction in zip(group, predictions, strict=True):
                        opened = open_documents[instance.document]
                        opened.predictions[name].append((instance, prediction))


def _encode_given(
    open_documents: Sequence[_OpenDocument], tasks: Mapping[str, Task]
) -> dict[str, dict[int, Any]]:
    """Return what is given to each task, by document; tasks that are given nothing are left out."""
    given = {}
    for name, task in tasks.items():
        by_document = {
            index: task.encode_given(item.document, item.tokens)
            for index, item in enumerate(open_documents)
        }
        if any(encoded is not None for encoded in by_document.values()):
            given[name] = by_document
    return given


def _finish(
    open_documents: Sequence[_OpenDocument],
    tasks: Mapping[str, Task],
    layers: Mapping[str, str],
    *,
    with_tokens: bool,
) -> Iterator[Document]:
    """Yield the annotated documents; predictions are freed as their layers are made."""
    predicted = {task.layer for task in tasks.values()}
    given = {TEXT_PAIR, *(layer for task in tasks.values() for layer in task.inputs)}
    for item in open_documents:
        document = item.document.unannotated(given - predicted)
        new_id = document.id_generator()
        predictions = [
            settle(task.to_layer(item.document, item.pop_predictions(name), new_id), layers[name])
            for name, task in tasks.items()
        ]
        # Last, so that annotations have the same ids with and without tokens.
        tokens = _token_layers(item, new_id) if with_tokens else ()
        yield replace(document, layers=(*document.layers, *tokens, *predictions))


def _check_finite(inputs: Mapping[str, HeadInputs]) -> None:
    """Raise ``ModelError`` for inputs of heads that are not finite; tasks may share them."""
    checked: set[int] = set()
    for name, head_inputs in inputs.items():
        words = head_inputs.word_vectors
        if id(words) in checked:
            continue
        checked.add(id(words))
        if not bool(words.isfinite().all()):
            problem = "the network's vectors are nan or inf; its weights are broken"
            raise ModelError(f"task {name!r}: {problem}")


def _token_layers(item: _OpenDocument, new_id: IdGenerator) -> Iterator[Layer]:
    """Yield the layers of words and sentences that the document does not give."""
    bounds = item.tokens.words
    sentences = [(bounds[a][0], bounds[b - 1][1]) for a, b in item.tokens.full_sentences]
    for name, label, part in (
        (WORDS, WORD, bounds),
        (SENTENCES, SENTENCE, WordBounds.of(sentences)),
    ):
        if not item.document.has_layer(name):
            label_ids = np.zeros(len(part), np.uint8)
            starts, ends = part.array.T
            spans = SpanColumns(new_id.take("T", len(part)), (label,), label_ids, starts, ends)
            yield settle(Layer(name, spans), name)
