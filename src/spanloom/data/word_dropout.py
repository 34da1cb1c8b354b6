"""Hiding words from the encoder while it learns."""

from dataclasses import replace

import torch

from spanloom.tensors import Batch


def word_dropout(batch: Batch, rate: float, unknown: int) -> Batch:
    """Return the batch with all pieces of some words replaced by ``unknown``.

    Each word of the text is hidden with probability ``rate``, by torch's generator. What is to be
    predicted stays as it is, so a model learns to read an entity from its context too. Embedders
    that read the words themselves still see them.
    """
    if not rate:
        return batch
    hidden = torch.rand(len(batch.words)) < rate
    if batch.prompt_layout is not None:
        hidden &= torch.zeros(len(hidden), dtype=torch.bool).index_fill(
            0, batch.prompt_layout.text_rows, True
        )
    rows = batch.piece_index[hidden[batch.piece_to_word]]
    ids = batch.input_ids.flatten().index_fill(0, rows, unknown)
    return replace(batch, input_ids=ids.view_as(batch.input_ids))
