"""A learnt vector per corpus, where corpora of different guidelines share one task."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from spanloom.tensors import Batch, HeadInputs


class CorpusVectors(nn.Module):
    """Vectors (corpus, dim) that are added to all word and "[CLS]" vectors that a head reads.

    They are the treebank embeddings of Stymne et al. (2018), but added, not concatenated, and zero
    at first. A text of no known corpus is read as one of ``guidelines``.
    """

    def __init__(self, corpora: Sequence[str], guidelines: str, dim: int) -> None:
        """``guidelines`` is one of ``corpora``; ``dim`` is the size of a word vector."""
        super().__init__()
        self.rows = {name: row for row, name in enumerate(corpora)}
        self.default = self.rows[guidelines]
        self.vectors = nn.Embedding(len(corpora), dim)
        self.reset()

    def reset(self) -> None:
        """Set all vectors to zero."""
        nn.init.zeros_(self.vectors.weight)

    def forward(self, inputs: HeadInputs, batch: Batch) -> HeadInputs:
        """Return the inputs with the vector of each instance's corpus added."""
        vectors = self.of_instances(batch).to(inputs.word_vectors.dtype)
        lengths = batch.instances[:, 1] - batch.instances[:, 0]
        cls = inputs.cls_vectors
        return replace(
            inputs,
            word_vectors=inputs.word_vectors + vectors.repeat_interleave(lengths, dim=0),
            cls_vectors=None if cls is None else cls + vectors,
        )

    def of_instances(self, batch: Batch) -> Float[Tensor, "instance dim"]:
        """Return the vector of each instance's corpus."""
        vectors: Tensor = self.vectors(self._rows(batch))
        return vectors

    def _rows(self, batch: Batch) -> Int[Tensor, " instance"]:
        """Return the row of each instance's corpus."""
        corpora = batch.corpora or ("",) * len(batch.instances)
        rows = [self.rows.get(name, self.default) for name in corpora]
        return torch.tensor(rows, dtype=torch.long, device=batch.instances.device)
