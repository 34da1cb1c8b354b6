"""What an uncased encoder loses: how a word is spelled in capitals, digits and other characters."""

import re
from collections.abc import Mapping
from functools import lru_cache

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from spanloom.config.options import Options as _Options
from spanloom.config.yaml import SourceLocation
from spanloom.embedders._base import BuildContext, EmbedderType
from spanloom.tensors import Batch

_SHAPES = ("", "d", "x", "X", "Xx", "xX", "XxX", "o")
_ROW = {shape: row for row, shape in enumerate(_SHAPES)}
_LONG = len(_SHAPES)  # capitals only and more than one of them: an abbreviation
_MIXED = len(_SHAPES) + 1  # any other change of case
SHAPES = len(_SHAPES) + 2


class Options(_Options):
    """``casing: 16`` is the vector's size."""

    casing: int = Field(16, ge=1, le=1024, description="size of a word's casing vector")


class Casing(nn.Module):
    """One learnt vector for each kind of spelling."""

    def __init__(self, dim: int) -> None:
        """``dim`` is the vector's size."""
        super().__init__()
        self.dim = dim
        self.table = nn.Embedding(SHAPES, dim)

    def extra_files(self) -> dict[str, str]:
        """Nothing beside its weights."""
        return {}

    def forward(self, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return one vector a word."""
        rows = torch.tensor([shape(word) for word in batch.words], device=batch.input_ids.device)
        vectors: Tensor = self.table(rows)
        return vectors


@lru_cache(maxsize=100_000)
def shape(word: str) -> int:
    """Return the kind of spelling, of ``SHAPES``: ``50``, ``ml``, ``Ca`` and ``DNA`` all differ."""
    kinds = "".join(_kind(character) for character in word)
    runs = re.sub(r"(.)\1+", r"\1", kinds)
    if runs == "X" and len(word) > 1:
        return _LONG
    return _ROW.get(runs, _MIXED)


def _kind(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isupper():
        return "X"
    return "x" if character.isalpha() else "o"


def _build(options: Options, sources: BuildContext, where: SourceLocation) -> Casing:
    return Casing(options.casing)


def _restore(options: Options, files: Mapping[str, str]) -> Casing:
    return Casing(options.casing)


KIND = EmbedderType(Options, _build, _restore)
