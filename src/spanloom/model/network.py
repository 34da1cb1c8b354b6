"""Trunk, levels and heads as one module: a batch in, vectors at the levels asked for out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanloom.config.recipe import PIECES, TRUNK, LevelSpec
from spanloom.embedders.transformer import Transformer
from spanloom.nn.dropout import Dropout
from spanloom.nn.gather import gather_rows
from spanloom.nn.recurrent import Recurrent
from spanloom.tasks._base import HeadInputSpec
from spanloom.tensors import Batch, HeadInputs

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]


@dataclass(frozen=True, slots=True)
class HeadRoute:
    """Where a task stands: the level it reads, its head's name, its row among task vectors."""

    level: str
    head: str
    row: int | None = None


@dataclass(frozen=True, slots=True)
class PieceInputs:
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
        places: Mapping[str, HeadRoute],
        grounds: Mapping[str, HeadInputSpec],
        apart: PieceInputs,
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
        self.routes = dict(places)
        self.head_input_specs = dict(grounds)
        self.dropout = Dropout(dropout)

    @property
    def transformer(self) -> Transformer | None:
        """The trunk's transformer, if it has one."""
        return next((part for part in self.trunk if isinstance(part, Transformer)), None)

    def head(self, task: str) -> nn.Module:
        """Return the head that a task uses."""
        return self.heads[self.routes[task].head]

    def head_inputs(self, batch: Batch, tasks: Iterable[str]) -> dict[str, HeadInputs]:
        """Return what the head of each task reads; tasks of one level read the same vectors."""
        names = list(tasks)
        done = self.encode(batch, {self.routes[name].level for name in names})
        return {name: self._beside(name, done[self.routes[name].level]) for name in names}

    def encode(self, batch: Batch, wanted: Iterable[str]) -> dict[str, HeadInputs]:
        """Return the vectors of each level wanted (and of those below it)."""
        wanted = set(wanted)
        if wanted == {PIECES}:
            return {PIECES: self._pieces(batch)}
        needed = self._below(wanted)
        aside = batch.prompt_layout
        runs = (batch.sentences, batch.windows) if aside is None else aside.level_runs
        words = torch.cat([self._words(row, batch) for row in range(len(self.trunk))], dim=-1)
        done = {TRUNK: self.dropout(words)}
        for name, level in self.levels.items():
            if name in needed:
                below = torch.cat([done[read] for read in self.specs[name].inputs], dim=-1)
                done[name] = level(below, runs[self.specs[name].scope == "window"])
        return {name: _of_text(vectors, batch) for name, vectors in done.items()}

    def _words(self, row: int, batch: Batch) -> Float[Tensor, "word dim"]:
        """The vectors that an embedder makes of words; those that stand for tasks have their own.

        An encoder reads them with the other words.
        """
        part = self.trunk[row]
        words: Tensor
        if batch.task_tokens is None:
            words = part(batch)
            return words
        assert self.task_tokens is not None, "a batch has tokens where tasks share by them"
        own = cast(nn.Embedding, self.task_tokens[row])
        if isinstance(part, Transformer):
            words = part(batch, own.weight)
            return words
        words = part(batch)
        mine = own(batch.task_tokens.clamp(min=0)).to(words.dtype)
        return torch.where(batch.task_tokens[:, None] < 0, words, mine)

    def _pieces(self, batch: Batch) -> HeadInputs:
        """The encoder's last states, row by row of the windows, and its table of pieces."""
        encoder = self.transformer
        assert encoder is not None, "a recipe without a transformer has no pieces"
        return HeadInputs(
            encoder.states(batch)[-1].flatten(0, 1), piece_embeddings=encoder.piece_embeddings
        )

    def _beside(self, name: str, vectors: HeadInputs) -> HeadInputs:
        """Put the task's own vector beside each word, where tasks have one."""
        row = self.routes[name].row
        if self.task_vectors is None or row is None:
            return vectors
        mine = self.task_vectors.weight[row]
        words = torch.cat(
            [vectors.word_vectors, mine.expand(len(vectors.word_vectors), -1)], dim=-1
        )
        openings = vectors.cls_vectors
        if openings is not None:
            openings = torch.cat([openings, mine.expand(len(openings), -1)], dim=-1)
        return replace(vectors, word_vectors=words, cls_vectors=openings)

    def _below(self, wanted: Iterable[str]) -> set[str]:
        needed = set(wanted)
        for name in reversed(list(self.levels)):
            if name in needed:
                needed.update(self.specs[name].inputs)
        return needed


def shapes_of(part: nn.Module) -> Shapes:
    """Return the shape of each weight of a part."""
    return {name: tuple(each.shape) for name, each in part.state_dict().items()}


def differing(one: Shapes, two: Shapes) -> Iterator[tuple[str, Shape | None, Shape | None]]:
    """Yield the weights whose shapes differ, by name; None where there is no such weight."""
    for name in sorted({*one, *two}):
        if one.get(name) != two.get(name):
            yield name, one.get(name), two.get(name)


def _of_text(words: Float[Tensor, "word dim"], batch: Batch) -> HeadInputs:
    """Leave out words that stand in no text, but for the openings."""
    aside = batch.prompt_layout
    if aside is None:
        return HeadInputs(words)
    openings = None if aside.cls_rows is None else gather_rows(words, aside.cls_rows)
    return HeadInputs(gather_rows(words, aside.text_rows), openings)
