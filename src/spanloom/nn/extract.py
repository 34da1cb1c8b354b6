"""Extracting a span of a text: scores of its first and its last word (SpEx-BERT, section 3.1)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from spanloom.nn.dropout import Dropout
from spanloom.tensors import Loss


class Extract(nn.Module):
    """Two vectors, ``d_start`` and ``d_end``, multiplied with each word (equation 5).

    "No answer" competes with the words of its unit: it is what opens the unit, scored as a word is
    (Devlin et al. 2019, section 4.3).
    """

    def __init__(self, dim: int, dropout: float) -> None:
        """``dim`` is the size of words and openings."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.score = nn.Linear(dim, 2, bias=False)  # a bias would be the same for every word

    def forward(
        self, words: Float[Tensor, "word dim"], openings: Float[Tensor, "unit dim"]
    ) -> Float[Tensor, "row 2"]:
        """Return scores as start and as end: a row a word, then a row a unit for "no answer"."""
        scores: Tensor = self.score(self.dropout(torch.cat([words, openings])))
        return scores.float()

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        openings: Float[Tensor, "unit dim"],
        units: Int[Tensor, "unit 2"],
        right: Bool[Tensor, "row 2"],
    ) -> dict[str, Loss]:
        """Return the summed negative log-likelihoods of starts and of ends (equation 6).

        ``units`` are bounds in the words, one after another; ``right`` marks rows of ``forward``.
        The probabilities of several right rows of a unit are added up; a unit without any is not
        learnt from, nor counted.
        """
        scores = self(words, openings)
        unit = torch.arange(len(units), device=scores.device)
        owner = torch.cat([unit.repeat_interleave(units[:, 1] - units[:, 0]), unit])
        found = {}
        for column, name in enumerate(("start", "end")):
            rows = right[:, column].nonzero()[:, 0]
            every = _log_sums(scores[:, column], owner, len(units))
            gold = _log_sums(scores[rows, column], owner[rows], len(units))
            learnt = owner[rows].unique()
            found[name] = Loss((every - gold)[learnt].sum(), len(learnt))
        return found


def _log_sums(
    scores: Float[Tensor, " row"], owner: Int[Tensor, " row"], size: int
) -> Float[Tensor, " unit"]:
    """Return ``ln Σ exp(score)`` over the rows of each of ``size`` units; 0 without any row."""
    fixed = scores.detach()
    top = fixed.new_zeros(size).scatter_reduce(0, owner, fixed, "amax", include_self=False)
    sums = scores.new_zeros(size).index_add(0, owner, (scores - top[owner]).exp())
    return top + torch.where(sums > 0, sums, 1).log()
