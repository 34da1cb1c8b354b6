"""Trunk, levels and heads as one module: computes the inputs of heads from a batch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanloom.config.specs import PIECES, TRUNK, LevelSpec
from spanloom.embedders.transformer import Transformer
from spanloom.model.plan import HeadRoute
from spanloom.nn.corpus_vectors import CorpusVectors
from spanloom.nn.dropout import Dropout
from spanloom.nn.gather import gather_rows
from spanloom.nn.recurrent import Recurrent
from spanloom.nn.span_features import SpanFeatures
from spanloom.nn.span_layer import SpanLayer
from spanloom.tasks._base import HeadInputSpec
from spanloom.tensors import Batch, HeadInputs

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]


@dataclass(frozen=True, slots=True)
class TaskInputs:
    """Parameters that distinguish tasks with a shared head, or the corpora of one task.

    ``embeddings`` (task, dim) are concatenated to the word vectors that a head reads (TE⊕Dec).
    ``tokens`` holds each embedder's vectors (task, dim) of the task tokens (TE⊕Enc). ``corpora``
    are the corpus vectors of tasks that have them, by head.
    """

    embeddings: nn.Embedding | None = None
    tokens: Sequence[nn.Embedding] | None = None
    corpora: Mapping[str, CorpusVectors] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads that tasks own or share.

    ``routes`` tell which head each task uses, and what this reads. ``input_specs`` are the sizes
    that each head was built with.
    """

    modules: Mapping[str, nn.Module]
    routes: Mapping[str, HeadRoute]
    input_specs: Mapping[str, HeadInputSpec]


class Network(nn.Module):
    """Concatenated embedders, the levels above them, and heads that tasks own or share.

    A level runs at most once per batch, and only if a requested level depends on it.
    """

    def __init__(
        self,
        trunk: Sequence[nn.Module],
        levels: Mapping[str, Recurrent],
        level_specs: Sequence[LevelSpec],
        span_layers: Mapping[str, SpanLayer],
        heads: Heads,
        task_inputs: TaskInputs,
        dropout: float,
    ) -> None:
        """``levels`` go bottom to top; ``dropout`` is that of the trunk's word vectors."""
        super().__init__()
        self.trunk = nn.ModuleList(trunk)
        self.levels = nn.ModuleDict(levels)
        self.span_layers = nn.ModuleDict(span_layers)
        self.heads = nn.ModuleDict(heads.modules)
        self.task_embeddings = task_inputs.embeddings
        tokens = task_inputs.tokens
        self.task_tokens = None if tokens is None else nn.ModuleList(tokens)
        self.corpus_vectors = nn.ModuleDict(task_inputs.corpora)
        self.specs = {spec.name: spec for spec in level_specs}
        self.routes = dict(heads.routes)
        self.head_input_specs = dict(heads.input_specs)
        self.dropout = Dropout(dropout)

    @property
    def transformer(self) -> Transformer | None:
        """The trunk's transformer, if it has one."""
        return next((part for part in self.trunk if isinstance(part, Transformer)), None)

    def head(self, task: str) -> nn.Module:
        """Return the head that a task uses."""
        return self.heads[self.routes[task].head]

    def head_inputs(self, batch: Batch, tasks: Iterable[str]) -> dict[str, HeadInputs]:
        """Return the inputs of each task's head; tasks of one level share their word vectors.

        A span layer projects these once for all tasks that read it.
        """
        (inputs,) = self.head_inputs_of_parts(batch, [(batch, list(tasks))])
        return inputs

    def head_inputs_of_parts(
        self, batch: Batch, parts: Sequence[tuple[Batch, Sequence[str]]]
    ) -> list[dict[str, HeadInputs]]:
        """Return the inputs of heads where parts of a batch are of different tasks.

        ``parts`` are batches by themselves, each with its tasks; ``batch``, which is encoded, has
        the instances of all of them, one part after the other. Several parts have no `[CLS]`.
        """
        names = list(dict.fromkeys(name for _, tasks in parts for name in tasks))
        encoded = self.encode(batch, {self.routes[name].level for name in names})
        by_level = {
            name: inputs if name == PIECES else _in_product_format(inputs)
            for name, inputs in encoded.items()
        }
        levels_of_parts = [by_level] if len(parts) == 1 else _split(by_level, [b for b, _ in parts])
        return [
            self._head_inputs(part, names, levels)
            for (part, names), levels in zip(parts, levels_of_parts, strict=True)
        ]

    def _head_inputs(
        self, batch: Batch, names: Iterable[str], by_level: Mapping[str, HeadInputs]
    ) -> dict[str, HeadInputs]:
        """Return the inputs of each task's head from the vectors of its level."""
        spans: dict[str, SpanFeatures] = {}
        for route in map(self.routes.__getitem__, names):
            if route.span_layer is not None and route.span_layer not in spans:
                words = by_level[route.level].word_vectors
                spans[route.span_layer] = self.span_layers[route.span_layer](words, batch.sentences)
        inputs = {}
        for name in names:
            route = self.routes[name]
            level = self._with_task_embedding(name, by_level[route.level])
            if route.span_layer is not None:
                level = replace(level, span_vectors=spans[route.span_layer])
            inputs[name] = self._with_corpus_vectors(name, level, batch)
        return inputs

    def encode(self, batch: Batch, levels: Iterable[str]) -> dict[str, HeadInputs]:
        """Return the vectors of the wanted levels, and of those below them."""
        levels = set(levels)
        if levels == {PIECES}:
            return {PIECES: self._encode_pieces(batch)}
        words = torch.cat([self.embed(row, batch) for row in range(len(self.trunk))], dim=-1)
        return self.encode_above(self.dropout(words), batch, levels)

    def encode_above(
        self, words: Float[Tensor, "word dim"], batch: Batch, levels: Iterable[str]
    ) -> dict[str, HeadInputs]:
        """Return the vectors of the wanted levels over those of the trunk, as ``encode`` does."""
        needed = self._with_levels_below(levels)
        layout = batch.prompt_layout
        runs = (batch.sentences, batch.windows) if layout is None else layout.level_runs
        vectors = {TRUNK: words}
        for name, level in self.levels.items():
            if name in needed:
                spec = self.specs[name]
                inputs = torch.cat([vectors[source] for source in spec.inputs], dim=-1)
                vectors[name] = level(inputs, runs[spec.scope == "window"])
        by_level = {name: _text_vectors(words, batch) for name, words in vectors.items()}
        tokens = by_level[TRUNK].word_vectors
        return {name: replace(level, token_vectors=tokens) for name, level in by_level.items()}

    def embed(self, row: int, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return the word vectors of one embedder, with its own vectors for task tokens.

        An encoder reads the task tokens together with the other words.
        """
        part = self.trunk[row]
        words: Tensor
        if batch.task_tokens is None:
            words = part(batch)
            return words
        assert self.task_tokens is not None, "a batch has task tokens only if the model has"
        tokens = cast(nn.Embedding, self.task_tokens[row])
        if isinstance(part, Transformer):
            words = part(batch, tokens.weight)
            return words
        words = part(batch)
        vectors = tokens(batch.task_tokens.clamp(min=0)).to(words.dtype)
        return torch.where(batch.task_tokens[:, None] < 0, words, vectors)

    def _encode_pieces(self, batch: Batch) -> HeadInputs:
        """Return the encoder's last states (window * piece, dim), and its piece embeddings."""
        encoder = self.transformer
        assert encoder is not None, "a recipe without a transformer has no pieces"
        return HeadInputs(
            encoder.states(batch)[-1].flatten(0, 1), piece_embeddings=encoder.piece_embeddings
        )

    def _with_task_embedding(self, task: str, inputs: HeadInputs) -> HeadInputs:
        """Concatenate the task embedding, if there is one, to each word and `[CLS]` vector."""
        row = self.routes[task].row
        if self.task_embeddings is None or row is None:
            return inputs
        embedding = self.task_embeddings.weight[row]

        def extend(vectors: Tensor) -> Tensor:
            return torch.cat([vectors, embedding.expand(len(vectors), -1)], dim=-1)

        cls = inputs.cls_vectors
        return replace(
            inputs,
            word_vectors=extend(inputs.word_vectors),
            cls_vectors=None if cls is None else extend(cls),
        )

    def _with_corpus_vectors(self, task: str, inputs: HeadInputs, batch: Batch) -> HeadInputs:
        """Add the vectors of the instances' corpora to words and spans, if the task has such."""
        if task not in self.corpus_vectors:  # such a task has a head of its own, with its name
            return inputs
        table = cast(CorpusVectors, self.corpus_vectors[task])
        inputs, layer = table(inputs, batch), self.routes[task].span_layer
        if layer is None:
            return inputs
        shift = cast(SpanLayer, self.span_layers[layer]).shift(table.of_instances(batch))
        lengths = batch.instances[:, 1] - batch.instances[:, 0]
        spans = cast(SpanFeatures, inputs.span_vectors)
        shifted = spans.shifted(shift.repeat_interleave(lengths, dim=0))
        return replace(inputs, span_vectors=shifted)

    def _with_levels_below(self, levels: Iterable[str]) -> set[str]:
        needed = set(levels)
        for name in reversed(list(self.levels)):
            if name in needed:
                needed.update(self.specs[name].inputs)
        return needed


def shapes_of(part: nn.Module) -> Shapes:
    """Return the shape of each weight of a module, by name."""
    return {name: tuple(weight.shape) for name, weight in part.state_dict().items()}


def differing(a: Shapes, b: Shapes) -> Iterator[tuple[str, Shape | None, Shape | None]]:
    """Yield the weights whose shapes differ, by name; None where one side lacks the weight."""
    for name in sorted({*a, *b}):
        if a.get(name) != b.get(name):
            yield name, a.get(name), b.get(name)


def _in_product_format(inputs: HeadInputs) -> HeadInputs:
    """Return word vectors in the number format of matrix products where no gradient is kept.

    Else each product of each head would convert them.
    """
    words = inputs.word_vectors
    if torch.is_grad_enabled() or not torch.is_autocast_enabled(words.device.type):
        return inputs
    return replace(inputs, word_vectors=words.to(torch.get_autocast_dtype(words.device.type)))


def _split(
    by_level: Mapping[str, HeadInputs], parts: Sequence[Batch]
) -> list[dict[str, HeadInputs]]:
    """Split the vectors of each level by the words of some batches, which have them in order."""
    sizes = [int(part.instances[-1, 1]) for part in parts]
    split: list[dict[str, HeadInputs]] = [{} for _ in parts]
    for name, inputs in by_level.items():
        tokens = inputs.word_vectors if inputs.token_vectors is None else inputs.token_vectors
        of_parts = zip(inputs.word_vectors.split(sizes), tokens.split(sizes), strict=True)
        for part, (words, own_tokens) in zip(split, of_parts, strict=True):
            part[name] = HeadInputs(words, token_vectors=own_tokens)
    return split


def _text_vectors(words: Float[Tensor, "word dim"], batch: Batch) -> HeadInputs:
    """Select the vectors of text words and of `[CLS]`; prompts are left out."""
    layout = batch.prompt_layout
    if layout is None:
        return HeadInputs(words)
    cls = None if layout.cls_rows is None else gather_rows(words, layout.cls_rows)
    return HeadInputs(gather_rows(words, layout.text_rows), cls)
