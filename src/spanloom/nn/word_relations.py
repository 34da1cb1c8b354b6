"""Multi-label classification of word pairs (HMTL, Sanh et al. 2019: relations, equation 1).

``t(i, j) = V relu(U word_j + W word_i + b)``, then one sigmoid per label: a pair may have several
labels, or none. Word ``i`` is the head (ARG1), ``j`` the tail (ARG2). Both are in the same
sentence, and a word forms a pair with itself too (nested arguments may end in the same word).
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout
from spanloom.nn.gather import gather_rows
from spanloom.nn.pair_generator import PairGenerator
from spanloom.tensors import PredictedRelations

_CHUNK = 1 << 19  # hidden units computed at a time
_PRIOR = 0.01  # a label's probability before training, so that sums over all pairs begin small


class WordPairs(nn.Module):
    """Label scores of all ordered pairs of words; each word is projected once, not per pair."""

    def __init__(self, dim: int, *, num_labels: int, hidden_size: int, dropout: float) -> None:
        """``num_labels`` counts no "none"; dropout is applied to the words."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.head = nn.Linear(dim, hidden_size)
        self.tail = nn.Linear(dim, hidden_size, bias=False)
        self.labels = nn.Linear(hidden_size, num_labels)
        self.pair_generator = PairGenerator(self_pairs=True)
        nn.init.constant_(self.labels.bias, math.log(_PRIOR / (1 - _PRIOR)))

    def ends(
        self, words: Float[Tensor, "word dim"]
    ) -> tuple[Float[Tensor, "word hidden"], Float[Tensor, "word hidden"]]:
        """Return each word's vector as a head and as a tail."""
        words = self.dropout(words)
        return self.head(words), self.tail(words)

    def forward(
        self,
        heads: Float[Tensor, "word hidden"],
        tails: Float[Tensor, "word hidden"],
        pairs: Int[Tensor, "pair 2"],
    ) -> Float[Tensor, "pair label"]:
        """Return unnormalised scores; ``pairs`` are indices of ``heads`` and of ``tails``."""
        hidden = F.relu(gather_rows(heads, pairs[:, 0]) + gather_rows(tails, pairs[:, 1]))
        scores: Tensor = self.labels(hidden)
        return scores.float()

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        candidates: Int[Tensor, " candidate"],
        gold: Int[Tensor, "relation 3"],
    ) -> Float[Tensor, ""]:
        """Return the binary cross-entropy summed over all labels, pairs and sentences.

        ``candidates`` are the words that form pairs, ascending; ``gold`` are ``(head, tail,
        label)``, all distinct, of such words. Sentences cover the words.
        """
        heads, tails = self.ends(gather_rows(words, candidates))
        gold_pairs = torch.searchsorted(candidates, gold[:, :2].contiguous())
        gold_scores = self(heads, tails, gold_pairs)
        # -log s(x) = softplus(x) - x, -log(1 - s(x)) = softplus(x)
        total: Tensor = -gold_scores.gather(1, gold[:, 2:]).sum()
        sentence = _sentence_of(candidates, sentences)
        for pairs in self.pair_generator.iter_by_head(sentence, self._pairs_per_chunk):
            total = total + F.softplus(self(heads, tails, pairs)).sum()
        return total

    @torch.no_grad()
    def best(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        candidates: Int[Tensor, " candidate"],
        threshold: float,
        bias: float = 0.0,
    ) -> Iterator[PredictedRelations]:
        """Yield the relations between ``candidates`` more probable than ``threshold``, in chunks.

        ``bias`` is added to all scores before they become probabilities. Pairs are word indices;
        labels count from 0, as there is no column for "none". Chunks are yielded, not collected,
        because small tensors kept between large ones hold on to the memory of those.
        """
        heads, tails = self.ends(gather_rows(words, candidates))
        sentence = _sentence_of(candidates, sentences)
        for pairs in self.pair_generator.iter_by_head(sentence, self._pairs_per_chunk):
            probs = (self(heads, tails, pairs) + bias).sigmoid()
            pair, label = (probs > threshold).nonzero(as_tuple=True)
            if len(pair):
                yield PredictedRelations(candidates[pairs[pair]], label, probs[pair, label])

    @property
    def _pairs_per_chunk(self) -> int:
        """Return the number of pairs that fit in a chunk."""
        return max(1, _CHUNK // self.head.out_features)


def _sentence_of(
    words: Int[Tensor, " candidate"], sentences: Int[Tensor, "sentence 2"]
) -> Int[Tensor, " candidate"]:
    """Return the index of the sentence that each word is in."""
    return torch.searchsorted(sentences[:, 1].contiguous(), words, right=True)
