"""A trained model: text in, Document out."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.cancellation import checkpoint
from spanloom.config.recipe import Recipe
from spanloom.data.collate import bucket_by_length, collate
from spanloom.data.instances import (
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
from spanloom.model.network import Network
from spanloom.model.notes import log_notes
from spanloom.model.output_layers import output_layers
from spanloom.model.precision import ComputeConfig
from spanloom.tasks._base import NewId, Task
from spanloom.tensors import HeadInputs
from spanloom.tokenization import WordTokenizer

BATCH_WORDS = 1024  # words through encoder and heads at once: about what a cache holds
_EMPTY = 16  # what a document counts beside its words, so that empty ones do not pile up
_STRETCH = 32 * BATCH_WORDS  # words read ahead, so that batches hold units of like length
_DOUBLED = 20  # times; then any first stretch has grown past the bound
_PAGES = 64  # windows in a unit of tasks that look across windows: what memory allows


@dataclass(slots=True)
class _Open:
    """A document under way: its words, and what was found by each task."""

    document: Document
    cut: TokenizedDocument
    found: dict[str, list[tuple[Instance, Any]]]


@dataclass(frozen=True, slots=True)
class Model:
    """Parts that belong together: recipe, word splitter, tokenizer, network, tasks, arithmetic."""

    recipe: Recipe
    word_tokenizer: WordTokenizer
    subword_tokenizer: SubwordTokenizer
    network: Network
    tasks: Mapping[str, Task]
    compute: ComputeConfig

    def __call__(self, text: str) -> Document:
        """Annotate one text with every task that does not wait to be asked for."""
        return next(self.annotate([Document(text)]))

    def tokenize(self, document: Document) -> TokenizedDocument:
        """Split a document into words and pieces."""
        return tokenize(document, self.word_tokenizer, self.subword_tokenizer)

    def tokenize_prompt(self, text: str) -> Prompt:
        """Split a text that stands in no document."""
        return tokenize_prompt(text, self.word_tokenizer, self.subword_tokenizer)

    @property
    def layers(self) -> dict[str, str]:
        """The layer that each task that annotates writes: a task's is called so in all answers."""
        able = {name: task.layer for name, task in self.tasks.items() if task.predicts}
        return output_layers(able)

    def encoder_passes(self, names: Iterable[str] | None = None) -> list[tuple[str, ...]]:
        """Group tasks by what they read: one pass of the encoder serves a group."""
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
        """Yield each document, bare of all else, with the layers that the named tasks predict.

        Without names: all tasks but those ``on_request``. What a task's layer is called does not
        depend on which others are named (``layers``). One encoder pass serves all tasks that read
        alike (``passes``). Memory is bounded: documents are read a stretch ahead, and a long one is
        encoded in windows. A task that is given a layer
        reads it from the document (``LayerError`` where it has none); nothing else of a document
        but its text and queries is looked at. Layers that were given and the parts of a text stay:
        what is written may refer to them. With ``cuts`` layers of words and sentences say how a
        text was cut that gave none. Raises ``NameNotFound`` for an unknown task. What is not read
        as it stands is logged (``model.notes``): of a sentence too long to be read at once, a span
        or relation stays within a part.
        """
        for stretch in self.stretches(documents, names, words=words, cuts=with_tokens):
            yield from stretch

    def stretches(
        self,
        documents: Iterable[Document],
        names: Iterable[str] | None = None,
        *,
        words: int = BATCH_WORDS,
        cuts: bool = False,
        done: int = 0,
    ) -> Iterator[Iterator[Document]]:
        """Yield what ``annotate`` does by stretches: documents that go through together.

        Scores depend a little on what else is in a batch, and where a stretch ends on the documents
        before it alone: the first has about ``words`` words, so that it comes soon, each other one
        twice as many as the one before, up to a bound. So who was stopped behind some stretch goes
        on with the very same batches, given the documents that are left and how many stretches are
        ``done``. Each is to be read whole before the next. Raises as ``annotate`` does.
        """
        tasks = self._check_tasks(names)
        yield from self._stretches(documents, tasks, self.layers, words, cuts=cuts, done=done)

    def predict(self, documents: Iterable[Document], name: str) -> Iterator[Document]:
        """Yield what ``annotate`` does for one task, in the layer that it learnt, as gold has it.

        So it can be compared with gold. Raises ``NameNotFound`` for an unknown task.
        """
        tasks = self._check_tasks([name])
        learnt = {name: task.layer for name, task in tasks.items()}
        for stretch in self._stretches(documents, tasks, learnt, BATCH_WORDS, cuts=False, done=0):
            yield from stretch

    def _stretches(
        self,
        documents: Iterable[Document],
        tasks: Mapping[str, Task],
        layers: Mapping[str, str],
        words: int,
        *,
        cuts: bool,
        done: int,
    ) -> Iterator[Iterator[Document]]:
        """Annotate with some tasks; ``layers`` names the layer of each."""
        passes = self.encoder_passes(tasks)
        stream = iter(documents)
        while under_way := self._open(stream, tasks, min(_STRETCH, words << min(done, _DOUBLED))):
            for group in passes:
                self._run(under_way, {name: tasks[name] for name in group}, words)
            yield self._finish(under_way, tasks, layers, cuts=cuts)
            done += 1

    def _check_tasks(self, names: Iterable[str] | None) -> dict[str, Task]:
        able = {name: task for name, task in self.tasks.items() if task.predicts}
        if names is None:
            names = [name for name in able if not self.recipe.tasks[name].on_request]
        names = list(names)
        for name in names:
            if name not in able:
                raise NameNotFound("task", name, able)
        return {name: able[name] for name in names}

    def _open(self, stream: Iterator[Document], names: Collection[str], enough: int) -> list[_Open]:
        """Read documents until they have ``enough`` words."""
        under_way: list[_Open] = []
        ahead = 0
        while ahead < enough and (document := next(stream, None)) is not None:
            whole = self.tokenize(document)
            log_notes(
                document, whole, (self.tasks[name].reader for name in names), self.recipe.window
            )
            ahead += len(whole.words) * max(1, len(whole.queries)) + _EMPTY
            under_way.append(_Open(document, whole, {name: [] for name in names}))
        return under_way

    def _run(self, under_way: Sequence[_Open], tasks: Mapping[str, Task], words: int) -> None:
        """Encode what some tasks read alike, and let each of them find what it looks for."""
        self.network.eval()
        window = self.recipe.window
        paged = any(task.reader.max_windows > 1 for task in tasks.values())
        sizes = InstanceLimits(window, window * _PAGES if paged else window)
        reading = next(iter(tasks.values())).reader
        every = {
            name: {
                row: task.encode_given(each.document, each.cut)
                for row, each in enumerate(under_way)
            }
            for name, task in tasks.items()
        }
        told = {
            name: rows
            for name, rows in every.items()
            if any(each is not None for each in rows.values())
        }
        held = [
            unit
            for row, each in enumerate(under_way)
            for unit in reading.instances(row, each.cut, sizes, self.tokenize_prompt)
        ]
        for group in bucket_by_length(held, words, window=window):
            checkpoint()
            batch = collate(group, self.subword_tokenizer, window).to(self.compute.device)
            with torch.inference_mode(), self.compute.autocast():
                vectors = self.network.head_inputs(batch, tasks)
                _check(vectors)
                for name, task in tasks.items():
                    checkpoint()
                    given = None
                    if name in told:
                        given = task.collate_targets(group, told[name]).to(self.compute.device)
                    head = self.network.head(name)
                    found = task.predict(head, vectors[name], batch, group, given)
                    for unit, each in zip(group, found, strict=True):
                        under_way[unit.document].found[name].append((unit, each))

    def _finish(
        self,
        under_way: Sequence[_Open],
        tasks: Mapping[str, Task],
        layers: Mapping[str, str],
        *,
        cuts: bool,
    ) -> Iterator[Document]:
        learnt = {task.layer for task in tasks.values()}
        given = {TEXT_PAIR, *(layer for task in tasks.values() for layer in task.inputs)}
        for each in under_way:
            document = each.document.unannotated(given - learnt)
            fresh = FreshIds(document.annotations())
            written = []
            for name, task in tasks.items():
                found = sorted(each.found.pop(name), key=_place)
                layer = task.to_layer(each.document, found, fresh)
                written.append(replace(layer, name=layers[name]))
            # Last, so that annotations have the same ids whether or not cuts are wanted.
            bounds = _cut_layers(each, fresh) if cuts else ()
            yield replace(document, layers=(*document.layers, *bounds, *written))


def _check(vectors: Mapping[str, HeadInputs]) -> None:
    """Raise ``ModelError`` where what heads read are no numbers."""
    for name, each in vectors.items():
        if not bool(each.word_vectors.isfinite().all()):
            raise ModelError(
                f"task {name!r}: the network's vectors are nan or inf; its weights are broken"
            )


def _cut_layers(opened: _Open, fresh: NewId) -> Iterator[Layer]:
    """The words and sentences that a document was cut into, where it gives none."""
    bounds, sentences = opened.cut.words, opened.cut.full_sentences
    at = {
        WORDS: (WORD, bounds),
        SENTENCES: (SENTENCE, [(bounds[a][0], bounds[b - 1][1]) for a, b in sentences]),
    }
    for name, (label, stretches) in at.items():
        if not opened.document.has_layer(name):
            spans = tuple(Span(fresh("T"), label, (stretch,)) for stretch in stretches)
            yield Layer(name, spans)


def _place(found: tuple[Instance, Any]) -> tuple[int, int]:
    return found[0].query, found[0].first_word
