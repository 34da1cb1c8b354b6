"""The interface of embedders; each public module of this folder ends in its ``KIND``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from spanloom.config.options import Options
from spanloom.config.yaml import SourceLocation
from spanloom.tensors import Batch


@runtime_checkable
class Embedder(Protocol):
    """A module that computes word vectors."""

    dim: int

    def forward(self, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return one vector per word of ``batch.words``."""
        ...

    def extra_files(self) -> dict[str, str]:
        """Return texts by file name that are saved beside the weights, for ``restore``."""
        ...


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What an embedder is built from: the recipe's folder, the word forms of the training data."""

    recipe_dir: Path
    train_vocab: frozenset[str]


@dataclass(frozen=True, slots=True)
class EmbedderType:
    """How embedders of one kind are built; the name of its module is its name in recipes.

    ``build`` creates one for training and reports wrong options by ``SourceLocation.error``.
    ``restore`` creates one of equal shapes from the options and the saved ``extra_files``, on any
    device, also "meta"; it raises ``ModelError`` for invalid files. ``file_options`` are the
    options that name files or folders, found as corpora are.
    """

    options: type[Options]
    build: Callable[[Any, BuildContext, SourceLocation], nn.Module]
    restore: Callable[[Any, Mapping[str, str]], nn.Module]
    file_options: tuple[str, ...] = ()
