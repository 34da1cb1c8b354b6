"""Trunk, levels and heads as one module: a batch in, vectors at the levels asked for out."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanloom.config.recipe import TRUNK, LevelSpec
from spanloom.encoders.transformer import Transformer
from spanloom.nn.dropout import Dropout
from spanloom.nn.recurrent import Recurrent
from spanloom.tensors import Batch


class Network(nn.Module):
    """The trunk's vectors side by side, the levels above them, one head a task.

    A level runs at most once a batch, and only where a level asked for needs it.
    """

    def __init__(
        self,
        trunk: Sequence[nn.Module],
        levels: Mapping[str, Recurrent],
        specs: Sequence[LevelSpec],
        heads: Mapping[str, nn.Module],
        dropout: float,
    ) -> None:
        """``levels`` stand bottom to top; ``specs`` say what each of them reads, and how far."""
        super().__init__()
        self.trunk = nn.ModuleList(trunk)
        self.levels = nn.ModuleDict(levels)
        self.heads = nn.ModuleDict(heads)
        self.specs = {spec.name: spec for spec in specs}
        self.dropout = Dropout(dropout)

    @property
    def transformer(self) -> Transformer:
        """The trunk's transformer; a recipe has exactly one."""
        return next(part for part in self.trunk if isinstance(part, Transformer))

    def encode(self, batch: Batch, wanted: Iterable[str]) -> dict[str, Float[Tensor, "word dim"]]:
        """Return one vector a word for each level wanted (and for those below it)."""
        needed = self._below(wanted)
        done = {TRUNK: self.dropout(torch.cat([part(batch) for part in self.trunk], dim=-1))}
        for name, level in self.levels.items():
            if name in needed:
                below = torch.cat([done[read] for read in self.specs[name].reads], dim=-1)
                sentence = self.specs[name].scope == "sentence"
                done[name] = level(below, batch.sentences if sentence else batch.units)
        return done

    def _below(self, wanted: Iterable[str]) -> set[str]:
        needed = set(wanted)
        for name in reversed(list(self.levels)):
            if name in needed:
                needed.update(self.specs[name].reads)
        return needed
