"""Similarity of the attention of models on the same sentences (Jiang et al. 2020, section 4.3)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spanloom.data.collate import collate
from spanloom.data.instance_readers import SentenceReader
from spanloom.data.instances import Instance, InstanceLimits
from spanloom.document import Document
from spanloom.errors import ModelError
from spanloom.model.model import Model
from spanloom.tensors import Batch

HeadValues = NDArray[np.float64]  # (layer, head)
_BATCH_SENTENCES = 16  # a map has as many numbers as pairs of pieces


def head_similarities(
    reference: Model, others: Sequence[Model], documents: Sequence[Document], num_sentences: int
) -> tuple[list[HeadValues], int]:
    """Compare the attention of models with that of ``reference`` on the first sentences.

    Returns, for each other model, sim(k) of each head k (layer, head), and the number of sentences:
    minus the Frobenius norm of the difference of the two attention maps of a sentence, averaged
    over sentences (Jiang et al. 2020, section 4.3, the equation of sim_k). A map has the special
    pieces, too. The norm grows with the length of a sentence, so values may be compared on the same
    sentences only. Each sentence is read alone; one that is longer than a window is left out.
    Raises ``ModelError`` for models without maps, and for encoders of other pieces or shapes.
    """
    for other in others:
        _check_comparable(reference, other)
    sums: list[HeadValues] = [np.zeros(())] * len(others)
    sentences = list(islice(_sentences(reference, documents), num_sentences))
    if not sentences:
        raise ModelError("attention: no sentence fits into a window of the model")
    for batch in _batches(reference, sentences):
        maps = _maps(reference, batch)
        for row, other in enumerate(others):
            sums[row] = sums[row] - _distances(maps, _maps(other, batch), batch.attention_mask)
    return [total / len(sentences) for total in sums], len(sentences)


def _check_comparable(a: Model, b: Model) -> None:
    """Raise ``ModelError`` where two models have other pieces: then their encoders differ."""
    if a.subword_tokenizer.tokenizer.to_str() != b.subword_tokenizer.tokenizer.to_str():
        raise ModelError("attention: expected models of one encoder, got other word pieces")


def _sentences(model: Model, documents: Iterable[Document]) -> Iterator[Instance]:
    """Yield each sentence that fits into a window as an instance."""
    window = model.recipe.window
    limits = InstanceLimits(window, window, isolate_sentences=True)
    for row, document in enumerate(documents):
        tokens = model.tokenize(document)
        for instance in SentenceReader().instances(row, tokens, limits, model.tokenize_prompt):
            if 0 < instance.num_pieces <= window and not instance.window_context:
                yield instance


def _batches(model: Model, sentences: Sequence[Instance]) -> Iterator[Batch]:
    """Yield batches of sentences of similar length."""
    ordered = sorted(sentences, key=lambda sentence: sentence.num_pieces)
    for first in range(0, len(ordered), _BATCH_SENTENCES):
        group = ordered[first : first + _BATCH_SENTENCES]
        yield collate(group, model.subword_tokenizer, model.recipe.window)


def _maps(model: Model, batch: Batch) -> Tensor:
    """Return a model's attention maps, (layer, window, head, piece, piece)."""
    encoder = model.network.transformer
    if encoder is None:
        raise ModelError("attention: a model without a transformer has none")
    with torch.inference_mode():
        return torch.stack([weights.float() for weights in encoder.attentions(batch)])


def _distances(a: Tensor, b: Tensor, mask: Tensor) -> HeadValues:
    """Return the Frobenius norms of differences, summed over windows, (layer, head)."""
    if a.shape != b.shape:
        raise ModelError(
            f"attention: expected models of one encoder, got (layer, window, head, piece, piece) "
            f"{tuple(a.shape)} and {tuple(b.shape)}"
        )
    pairs = (mask[:, None, :, None] & mask[:, None, None, :]).float()
    norms = ((a - b) * pairs).square().sum((-1, -2)).sqrt()
    return norms.sum(1).double().numpy()
