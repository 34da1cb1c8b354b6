"""What every embedder offers; each file in this folder is one kind of them and ends in ``KIND``."""

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
    """A module that makes vectors of words."""

    dim: int

    def forward(self, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return one vector for each of ``batch.words``."""
        ...

    def extra_files(self) -> dict[str, str]:
        """Return what weights cannot hold, as texts by file name; ``saved`` reads it again."""
        ...


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What an embedder may look at when it is made for training.

    ``near`` is the folder of the recipe, where relative paths start; ``words`` are all word forms
    of the training data.
    """

    recipe_dir: Path
    train_vocab: frozenset[str]


@dataclass(frozen=True, slots=True)
class EmbedderType:
    """How embedders of one kind are made; the name of its file is its name in a recipe.

    ``fresh`` makes one at the start of training, from the options, and tells what is wrong with
    them by ``where.error``. ``saved`` makes one of the same shapes from the options and what
    ``files`` returned, on any device, "meta" too, so that weights can be compared and loaded
    afterwards; it raises ``ModelError`` for texts that ``files`` cannot have written.
    """

    options: type[Options]
    build: Callable[[Any, BuildContext, SourceLocation], nn.Module]
    restore: Callable[[Any, Mapping[str, str]], nn.Module]
