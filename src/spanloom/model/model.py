"""A trained model: text in, Document out."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.cancellation import checkpoint
from spanloom.config.recipe import Recipe
from spanloom.data.collate import bucket_by_length, collate
from spanloom.data.instance_readers import InstanceReader
from spanloom.data.instances import (
    MAX_WORD_CHARACTERS,
    MAX_WORD_PIECES,
    Instance,
    InstanceLimits,
    Prompt,
    TokenizedDocument,
    tokenize,
    tokenize_prompt,
)
from spanloom.data.subwords import SubwordTokenizer
from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Document, Layer, Span
from spanloom.errors import ModelError, NameNotFound
from spanloom.formats.brat.ids import FreshIds
from spanloom.long_sentences import LONGEST
from spanloom.model.network import Network
from spanloom.model.plan import Plan
from spanloom.model.precision import ComputeConfig
from spanloom.tasks._base import NewId, Task
from spanloom.tensors import HeadInputs
from spanloom.tokenization import WordTokenizer

BATCH_WORDS = 1024  # words through encoder and heads at once: about what a cache holds
_WORDS_PER_DOCUMENT = 16  # a document's overhead in words, so that empty ones do not pile up
_STRETCH = 32 * BATCH_WORDS  # words read ahead, so that batches hold instances of like length
_MAX_DOUBLINGS = 20  # after these any first stretch has grown past the bound
_MAX_WINDOWS = 64  # windows in an instance of tasks that look across windows: a bound on memory
_LOG = logging.getLogger("spanloom.model")  # writes to stderr unless a program configures it


@dataclass(slots=True)
class _OpenDocument:
    """A document being annotated: its words, and each task's predictions by instance."""

    document: Document
    tokens: TokenizedDocument
    predictions: dict[str, list[tuple[Instance, Any]]]


@dataclass(frozen=True, slots=True)
class Model:
    """Parts that belong together: plan, tokenizers, network, tasks, arithmetic."""

    plan: Plan
    word_tokenizer: WordTokenizer
    subword_tokenizer: SubwordTokenizer
    network: Network
    tasks: Mapping[str, Task]
    compute: ComputeConfig

    @property
    def recipe(self) -> Recipe:
        """The recipe that the plan was made from, with what training noted in it."""
        return self.plan.recipe

    def __call__(self, text: str) -> Document:
        """Annotate one text with every task that does not run on request only."""
        return next(self.annotate([Document(text)]))

    def tokenize(self, document: Document) -> TokenizedDocument:
        """Split a document into words and subwords."""
        return tokenize(document, self.word_tokenizer, self.subword_tokenizer)

    def tokenize_prompt(self, text: str) -> Prompt:
        """Split a prompt, a text that is part of no document, into words and subwords."""
        return tokenize_prompt(text, self.word_tokenizer, self.subword_tokenizer)

    @property
    def layers(self) -> dict[str, str]:
        """The output layer of each task that predicts (``output_layers``)."""
        return output_layers({name: task.layer for name, task in self._predicting.items()})

    @property
    def _predicting(self) -> dict[str, Task]:
        return {name: task for name, task in self.tasks.items() if task.predicts}

    def encoder_passes(self, names: Iterable[str] | None = None) -> list[tuple[str, ...]]:
        """Group tasks by their reader: one pass of the encoder serves a group."""
        groups: dict[Any, list[str]] = {}
        for name, task in self._check_tasks(names).items():
            groups.setdefault(task.reader.key, []).append(name)
        return [tuple(group) for group in groups.values()]

    def annotate(
        self,
        documents: Iterable[Document],
        names: Iterable[str] | None = None,
        *,
        words: int = BATCH_WORDS,
        with_tokens: bool = False,
    ) -> Iterator[Document]:
        """Yield each document, without its other layers, with those that the named tasks predict.

        Without names: all tasks but those ``on_request``. Output layers (``layers``) do not depend
        on the names. One encoder pass serves all tasks with the same reader (``encoder_passes``).
        Memory is bounded: documents are read one stretch ahead, and a long one is encoded in
        windows. Only the text, the queries and the layers that a task is given are read; these
        layers and the parts of a text pair stay in the result, because predictions may refer to
        them. ``with_tokens`` adds layers of words and sentences to texts that lack them. Raises
        ``LayerError`` for a missing given layer and ``NameNotFound`` for an unknown task. What is
        not read as it stands is logged: a span or relation never crosses a part of a long sentence.
        """
        for stretch in self.stretches(documents, names, words=words, with_tokens=with_tokens):
            yield from stretch

    def stretches(
        self,
        documents: Iterable[Document],
        names: Iterable[str] | None = None,
        *,
        words: int = BATCH_WORDS,
        with_tokens: bool = False,
        num_done: int = 0,
    ) -> Iterator[Iterator[Document]]:
        """Yield the documents of ``annotate`` by stretches: documents that are encoded together.

        Scores depend slightly on the rest of a batch. Where a stretch ends depends only on the
        documents before it: the first has about ``words`` words, each other one twice as many as
        the one before, up to a bound. So a run that stopped after ``num_done`` stretches resumes
        with the same batches, given the remaining documents. Each stretch must be consumed before
        the next. Raises as ``annotate`` does.
        """
        tasks = self._check_tasks(names)
        yield from self._stretches(
            documents, tasks, self.layers, words, with_tokens=with_tokens, num_done=num_done
        )

    def predict(self, documents: Iterable[Document], name: str) -> Iterator[Document]:
        """Yield documents with one task's predictions in the layer that it learnt, as gold has it.

        Raises ``NameNotFound`` for an unknown task.
        """
        tasks = self._check_tasks([name])
        layers = {name: task.layer for name, task in tasks.items()}
        for stretch in self._stretches(
            documents, tasks, layers, BATCH_WORDS, with_tokens=False, num_done=0
        ):
            yield from stretch

    def _stretches(
        self,
        documents: Iterable[Document],
        tasks: Mapping[str, Task],
        layers: Mapping[str, str],
        words: int,
        *,
        with_tokens: bool,
        num_done: int,
    ) -> Iterator[Iterator[Document]]:
        """Annotate with some tasks; ``layers`` names the output layer of each."""
        passes = self.encoder_passes(tasks)
        stream = iter(documents)
        while open_docs := self._open(
            stream, tasks, min(_STRETCH, words << min(num_done, _MAX_DOUBLINGS))
        ):
            for group in passes:
                self._run(open_docs, {name: tasks[name] for name in group}, words)
            yield self._finish(open_docs, tasks, layers, with_tokens=with_tokens)
            num_done += 1

    def _check_tasks(self, names: Iterable[str] | None) -> dict[str, Task]:
        """Return the named tasks, or all that do not run on request only."""
        predicting = self._predicting
        if names is None:
            names = [name for name in predicting if not self.recipe.tasks[name].on_request]
        names = list(names)
        for name in names:
            if name not in predicting:
                raise NameNotFound("task", name, predicting)
        return {name: predicting[name] for name in names}

    def _open(
        self, stream: Iterator[Document], names: Collection[str], min_words: int
    ) -> list[_OpenDocument]:
        """Read and tokenize documents until they have ``min_words`` words."""
        open_docs: list[_OpenDocument] = []
        num_words = 0
        while num_words < min_words and (document := next(stream, None)) is not None:
            tokens = self.tokenize(document)
            readers = (self.tasks[name].reader for name in names)
            _log_shortened(document, tokens, readers, self.recipe.window)
            num_words += len(tokens.words) * max(1, len(tokens.queries)) + _WORDS_PER_DOCUMENT
            open_docs.append(_OpenDocument(document, tokens, {name: [] for name in names}))
        return open_docs

    def _run(
        self, open_docs: Sequence[_OpenDocument], tasks: Mapping[str, Task], words: int
    ) -> None:
        """Encode the documents once and run the heads of all tasks that share a reader."""
        self.network.eval()
        window = self.recipe.window
        across_windows = any(task.reader.max_windows > 1 for task in tasks.values())
        limits = InstanceLimits(window, window * _MAX_WINDOWS if across_windows else window)
        reader = next(iter(tasks.values())).reader
        given = _given(tasks, open_docs)
        instances = [
            instance
            for row, opened in enumerate(open_docs)
            for instance in reader.instances(row, opened.tokens, limits, self.tokenize_prompt)
        ]
        for group in bucket_by_length(instances, words, window=window):
            checkpoint()
            batch = collate(group, self.subword_tokenizer, window).to(self.compute.device)
            with torch.inference_mode(), self.compute.autocast():
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
                        by_task = open_docs[instance.document].predictions
                        by_task[name].append((instance, prediction))

    def _finish(
        self,
        open_docs: Sequence[_OpenDocument],
        tasks: Mapping[str, Task],
        layers: Mapping[str, str],
        *,
        with_tokens: bool,
    ) -> Iterator[Document]:
        """Yield the documents with their predicted layers."""
        predicted = {task.layer for task in tasks.values()}
        given = {TEXT_PAIR, *(layer for task in tasks.values() for layer in task.inputs)}
        for opened in open_docs:
            document = opened.document.unannotated(given - predicted)
            new_id = FreshIds(document.annotations())
            written = []
            for name, task in tasks.items():
                predictions = sorted(opened.predictions.pop(name), key=_text_order)
                layer = task.to_layer(opened.document, predictions, new_id)
                written.append(replace(layer, name=layers[name]))
            # Last, so that annotations have the same ids whether or not tokens are wanted.
            tokens = _token_layers(opened, new_id) if with_tokens else ()
            yield replace(document, layers=(*document.layers, *tokens, *written))


def output_layers(layers: Mapping[str, str]) -> dict[str, str]:
    """Return the output layer of each task; ``layers`` names the layer that each learnt.

    A task writes the layer that it learnt. Where several tasks learnt layers of one name, each
    writes to a layer with the task's name. So names follow from the model alone, never from which
    of its tasks are run.
    """
    names = dict(layers)
    while True:
        writers = Counter(names.values())
        clashing = [task for task, layer in names.items() if writers[layer] > 1 and layer != task]
        if not clashing:
            return names
        names |= {task: task for task in clashing}


def _given(
    tasks: Mapping[str, Task], open_docs: Sequence[_OpenDocument]
) -> dict[str, dict[int, Any]]:
    """What each task is given of each document, by row; tasks that are given nothing are absent."""
    encoded = {
        name: {i: task.encode_given(doc.document, doc.tokens) for i, doc in enumerate(open_docs)}
        for name, task in tasks.items()
    }
    return {
        name: by_row
        for name, by_row in encoded.items()
        if any(value is not None for value in by_row.values())
    }


def _log_shortened(
    document: Document, tokens: TokenizedDocument, readers: Iterable[InstanceReader], window: int
) -> None:
    """Log one line about a document that is read in parts, or not to its end."""
    notes = []
    num_long = (
        sum(end - start > LONGEST for start, end in tokens.full_sentences)
        if tokens.sentence_splits
        else 0
    )
    if num_long:
        notes.append(f"sentences of over {LONGEST} words, read in parts: {num_long}")
    if tokens.num_clipped_words:
        what = f"words of over {MAX_WORD_CHARACTERS:,} characters or {MAX_WORD_PIECES} pieces"
        notes.append(f"{what}, of which the first are read: {tokens.num_clipped_words}")
    num_cropped = sum(
        shape.count_shortened(tokens, window) for shape in {reader.reader for reader in readers}
    )
    if num_cropped:
        notes.append(
            f"questions or first texts too long for a window, cut to half of it: {num_cropped}"
        )
    if notes:
        _LOG.warning("%s: %s", f"{document.name or 'text'!r:.80}", "; ".join(notes))


def _check_finite(inputs: Mapping[str, HeadInputs]) -> None:
    """Raise ``ModelError`` where the word vectors of a task are not finite."""
    for name, vectors in inputs.items():
        if not bool(vectors.word_vectors.isfinite().all()):
            raise ModelError(
                f"task {name!r}: the network's vectors are nan or inf; its weights are broken"
            )


def _token_layers(opened: _OpenDocument, new_id: NewId) -> Iterator[Layer]:
    """Yield layers of the words and sentences of a document that lacks them."""
    words, sentences = opened.tokens.words, opened.tokens.full_sentences
    bounds_by_layer = {
        WORDS: (WORD, words),
        SENTENCES: (SENTENCE, [(words[a][0], words[b - 1][1]) for a, b in sentences]),
    }
    for name, (label, bounds) in bounds_by_layer.items():
        if not opened.document.has_layer(name):
            yield Layer(name, tuple(Span(new_id("T"), label, (pair,)) for pair in bounds))


def _text_order(prediction: tuple[Instance, Any]) -> tuple[int, int]:
    return prediction[0].query, prediction[0].first_word
