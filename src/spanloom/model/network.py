"""Trunk, levels and heads as one module: a batch in, vectors at the levels asked for out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanloom.config.recipe import PIECES, TRUNK, LevelSpec
from spanloom.encoders.transformer import Transformer
from spanloom.nn.dropout import Dropout
from spanloom.nn.recurrent import Recurrent
from spanloom.nn.rows import take
from spanloom.tasks._base import Ground
from spanloom.tensors import Batch, Vectors

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task stands: the level it reads, its head's name, its row among task vectors."""

    level: str
    head: str
    row: int | None = None


@dataclass(frozen=True, slots=True)
class Apart:
    """What tells apart tasks that share heads.

    ``vectors`` are put beside the words that a task's head reads (TE⊕Dec); ``tokens`` are each
    embedder's vectors of the words that stand for tasks (TE⊕Enc).
    """

    vectors: nn.Embedding | None = None
    tokens: Sequence[nn.Embedding] | None = None


class Network(nn.Module):
    """The trunk's vectors side by side, the levels above them, heads that tasks own or share.

    A level runs at most once a batch, and only where a level asked for needs it.
    """

    def __init__(
        self,
        trunk: Sequence[nn.Module],
        levels: Mapping[str, Recurrent],
        specs: Sequence[LevelSpec],
        heads: Mapping[str, nn.Module],
        places: Mapping[str, Place],
        grounds: Mapping[str, Ground],
        apart: Apart,
        dropout: float,
    ) -> None:
        """``levels`` stand bottom to top; ``specs`` say what each of them reads, and how far.

        ``places`` are tasks', ``grounds`` heads'.
        """
        super().__init__()
        self.trunk = nn.ModuleList(trunk)
        self.levels = nn.ModuleDict(levels)
        self.heads = nn.ModuleDict(heads)
        self.task_vectors = apart.vectors
        self.task_tokens = None if apart.tokens is None else nn.ModuleList(apart.tokens)
        self.specs = {spec.name: spec for spec in specs}
        self.places = dict(places)
        self.grounds = dict(grounds)
        self.dropout = Dropout(dropout)

    @property
    def transformer(self) -> Transformer | None:
        """The trunk's transformer, if it has one."""
        return next((part for part in self.trunk if isinstance(part, Transformer)), None)

    def head(self, task: str) -> nn.Module:
        """Return the head that a task uses."""
        return self.heads[self.places[task].head]

    def read(self, batch: Batch, tasks: Iterable[str]) -> dict[str, Vectors]:
        """Return what the head of each task reads; tasks of one level read the same vectors."""
        names = list(tasks)
        done = self.encode(batch, {self.places[name].level for name in names})
        return {name: self._beside(name, done[self.places[name].level]) for name in names}

    def encode(self, batch: Batch, wanted: Iterable[str]) -> dict[str, Vectors]:
        """Return the vectors of each level wanted (and of those below it)."""
        wanted = set(wanted)
        if wanted == {PIECES}:
            return {PIECES: self._pieces(batch)}
        needed = self._below(wanted)
        aside = batch.aside
        runs = (batch.sentences, batch.contexts) if aside is None else aside.runs
        words = torch.cat([self._words(row, batch) for row in range(len(self.trunk))], dim=-1)
        done = {TRUNK: self.dropout(words)}
        for name, level in self.levels.items():
            if name in needed:
                below = torch.cat([done[read] for read in self.specs[name].reads], dim=-1)
                done[name] = level(below, runs[self.specs[name].scope == "window"])
        return {name: _of_text(vectors, batch) for name, vectors in done.items()}

    def _words(self, row: int, batch: Batch) -> Float[Tensor, "word dim"]:
        """The vectors that an embedder makes of words; those that stand for tasks have their own.

        An encoder reads them with the other words.
        """
        part = self.trunk[row]
        words: Tensor
        if batch.tokens is None:
            words = part(batch)
            return words
        assert self.task_tokens is not None, "a batch has tokens where tasks share by them"
        own = cast(nn.Embedding, self.task_tokens[row])
        if isinstance(part, Transformer):
            words = part(batch, own.weight)
            return words
        words = part(batch)
        mine = own(batch.tokens.clamp(min=0)).to(words.dtype)
        return torch.where(batch.tokens[:, None] < 0, words, mine)

    def _pieces(self, batch: Batch) -> Vectors:
        """The encoder's last states, row by row of the windows, and its table of pieces."""
        encoder = self.transformer
        assert encoder is not None, "a recipe without a transformer has no pieces"
        return Vectors(encoder.states(batch)[-1].flatten(0, 1), table=encoder.table)

    def _beside(self, name: str, vectors: Vectors) -> Vectors:
        """Put the task's own vector beside each word, where tasks have one."""
        row = self.places[name].row
        if self.task_vectors is None or row is None:
            return vectors
        mine = self.task_vectors.weight[row]
        words = torch.cat([vectors.words, mine.expand(len(vectors.words), -1)], dim=-1)
        openings = vectors.openings
        if openings is not None:
            openings = torch.cat([openings, mine.expand(len(openings), -1)], dim=-1)
        return replace(vectors, words=words, openings=openings)

    def _below(self, wanted: Iterable[str]) -> set[str]:
        needed = set(wanted)
        for name in reversed(list(self.levels)):
            if name in needed:
                needed.update(self.specs[name].reads)
        return needed


def shapes_of(part: nn.Module) -> Shapes:
    """Return the shape of each weight of a part."""
    return {name: tuple(each.shape) for name, each in part.state_dict().items()}


def differing(one: Shapes, two: Shapes) -> Iterator[tuple[str, Shape | None, Shape | None]]:
    """Yield the weights whose shapes differ, by name; None where there is no such weight."""
    for name in sorted({*one, *two}):
        if one.get(name) != two.get(name):
            yield name, one.get(name), two.get(name)


def _of_text(words: Float[Tensor, "word dim"], batch: Batch) -> Vectors:
    """Leave out words that stand in no text, but for the openings."""
    aside = batch.aside
    if aside is None:
        return Vectors(words)
    openings = None if aside.openings is None else take(words, aside.openings)
    return Vectors(take(words, aside.text), openings)
