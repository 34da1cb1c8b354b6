"""Labels of word pairs, several at once (HMTL, Sanh et al. 2019: relation extraction, equation 1).

``t(i, j) = V relu(U word_j + W word_i + b)``, and a sigmoid a label: a pair may have any number of
labels, none among them. Word ``i`` is the head (ARG1), ``j`` the tail (ARG2); pairs stay in their
sentence, and a word makes a pair with itself too (nested arguments may end in one word).
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout
from spanloom.nn.pairs import Pairing
from spanloom.nn.rows import take
from spanloom.tensors import Linked, Loss

_CHUNK = 1 << 19  # hidden units that are worked on together
_RARE = 0.01  # how likely a label is before training: sums over all pairs begin small


class WordPairs(nn.Module):
    """Scores of every label for every ordered pair of words; words are multiplied once each."""

    def __init__(self, dim: int, *, labels: int, size: int, dropout: float) -> None:
        """``size`` units in the hidden layer; dropout is of the words."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.head = nn.Linear(dim, size)
        self.tail = nn.Linear(dim, size, bias=False)
        self.labels = nn.Linear(size, labels)
        self.every = Pairing(itself=True)
        nn.init.constant_(self.labels.bias, math.log(_RARE / (1 - _RARE)))

    def ends(
        self, words: Float[Tensor, "word dim"]
    ) -> tuple[Float[Tensor, "word size"], Float[Tensor, "word size"]]:
        """Return each word as a head and as a tail."""
        words = self.dropout(words)
        return self.head(words), self.tail(words)

    def forward(
        self,
        heads: Float[Tensor, "word size"],
        tails: Float[Tensor, "word size"],
        pairs: Int[Tensor, "pair 2"],
    ) -> Float[Tensor, "pair label"]:
        """Return unnormalised scores; ``pairs`` are rows of ``heads`` and of ``tails``."""
        hidden = F.relu(take(heads, pairs[:, 0]) + take(tails, pairs[:, 1]))
        scores: Tensor = self.labels(hidden)
        return scores.float()

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        able: Int[Tensor, " able"],
        gold: Int[Tensor, "relation 3"],
    ) -> Loss:
        """Return the summed binary cross-entropy of all labels of all pairs, over all sentences.

        ``able`` are the words that make pairs, ascending; ``gold`` rows ``(head, tail, label)``,
        all different, of such words. Sentences cover the words.
        """
        heads, tails = self.ends(take(words, able))
        right = self(heads, tails, torch.searchsorted(able, gold[:, :2].contiguous()))
        # -log s(x) = softplus(x) - x, -log(1 - s(x)) = softplus(x)
        total = -right.gather(1, gold[:, 2:]).sum()
        for pairs in self.every.squares(_sentence(able, sentences), self._most):
            total = total + F.softplus(self(heads, tails, pairs)).sum()
        return Loss(total, len(sentences))

    @torch.no_grad()
    def best(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        able: Int[Tensor, " able"],
        threshold: float,
    ) -> Iterator[Linked]:
        """Yield all labels of pairs of ``able`` words that are likelier than ``threshold``.

        Ends are rows of words; labels count from 0, as there is no column for "none". Parts come
        one by one: small tensors that are kept between large ones hold on to the memory of those.
        """
        heads, tails = self.ends(take(words, able))
        for pairs in self.every.squares(_sentence(able, sentences), self._most):
            chances = self(heads, tails, pairs).sigmoid()
            row, label = (chances > threshold).nonzero(as_tuple=True)
            if len(row):
                yield Linked(able[pairs[row]], label, chances[row, label])

    @property
    def _most(self) -> int:
        """How many pairs fit in a chunk."""
        return max(1, _CHUNK // self.head.out_features)


def _sentence(
    able: Int[Tensor, " able"], sentences: Int[Tensor, "sentence 2"]
) -> Int[Tensor, " able"]:
    """The sentence that each word is in."""
    return torch.searchsorted(sentences[:, 1].contiguous(), able, right=True)
