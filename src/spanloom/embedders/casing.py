"""Casing embeddings for uncased encoders: capitals, digits and other characters of a word."""

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
_INDEX = {shape: index for index, shape in enumerate(_SHAPES)}
_ABBREVIATION = len(_SHAPES)  # several capitals and nothing else
_MIXED = len(_SHAPES) + 1  # all others
SHAPES = len(_SHAPES) + 2


class Options(_Options):
    """``casing: 16``: the size of the vectors."""

    casing: int = Field(16, ge=1, le=1024, description="size of a word's casing vector")


class Casing(nn.Module):
    """One learnt vector per casing class."""

    def __init__(self, dim: int) -> None:
        """``dim`` is the size of the vectors."""
        super().__init__()
        self.dim = dim
        self.embedding = nn.Embedding(SHAPES, dim)

    def extra_files(self) -> dict[str, str]:
        """Return nothing: weights suffice."""
        return {}

    def forward(self, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return one vector per word."""
        classes = torch.tensor([shape(word) for word in batch.words], device=batch.input_ids.device)
        vectors: Tensor = self.embedding(classes)
        return vectors


@lru_cache(maxsize=100_000)
def shape(word: str) -> int:
    """Return the casing class of a word, below ``SHAPES``: ``50 ml Ca DNA`` all differ."""
    types = "".join(_character_type(character) for character in word)
    runs = re.sub(r"(.)\1+", r"\1", types)
    if runs == "X" and len(word) > 1:
        return _ABBREVIATION
    return _INDEX.get(runs, _MIXED)


def _character_type(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isupper():
        return "X"
    return "x" if character.isalpha() else "o"


def _build(options: Options, context: BuildContext, location: SourceLocation) -> Casing:
    return Casing(options.casing)


def _restore(options: Options, files: Mapping[str, str]) -> Casing:
    return Casing(options.casing)


KIND = EmbedderType(Options, _build, _restore)
