"""Extractive QA: scores of an answer's first and last word (SpEx-BERT, section 3.1)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from spanloom.nn.dropout import Dropout
from spanloom.tensors import Losses


class StartEndScorer(nn.Module):
    """Score words as start and end by the vectors ``d_start`` and ``d_end`` (equation 5).

    "No answer" competes with the words of its instance: its scores are those of the "[CLS]" vector
    (Devlin et al. 2019, section 4.3).
    """

    def __init__(self, dim: int, dropout: float) -> None:
        """``dim`` is the size of word and "[CLS]" vectors."""
        super().__init__()
        self.dropout = Dropout(dropout)
        self.score = nn.Linear(dim, 2, bias=False)  # a bias would be the same for every word

    def forward(
        self, words: Float[Tensor, "word dim"], cls_vectors: Float[Tensor, "instance dim"]
    ) -> Float[Tensor, "row 2"]:
        """Return start and end scores: one row per word, then one per instance for "no answer"."""
        rows = self.dropout(torch.cat([words, cls_vectors]))
        # scores of 8 bits would have ties among the words of a text
        with torch.autocast(rows.device.type, enabled=False):
            scores: Tensor = self.score(rows.float())
        return scores

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        cls_vectors: Float[Tensor, "instance dim"],
        instances: Int[Tensor, "instance 2"],
        is_gold: Bool[Tensor, "row 2"],
        *,
        has_no_answer: bool = True,
    ) -> Losses:
        """Return the summed negative log-likelihoods of starts and of ends (equation 6).

        ``instances`` are contiguous bounds in the words; ``is_gold`` marks rows of ``forward``. The
        probabilities of several gold rows of an instance are added; an instance without any is
        not learnt from. Unless it ``has_no_answer``, the softmax is over words alone, as in
        equation 5, and gold rows of "no answer" are ignored.
        """
        scores = self(words, cls_vectors)
        instance = torch.arange(len(instances), device=scores.device)
        lengths = instances[:, 1] - instances[:, 0]
        instance_of = instance.repeat_interleave(lengths)
        if has_no_answer:
            instance_of = torch.cat([instance_of, instance])
        scores, is_gold = scores[: len(instance_of)], is_gold[: len(instance_of)]
        losses = {}
        for column, name in enumerate(("start", "end")):
            gold_rows = is_gold[:, column].nonzero()[:, 0]
            log_partition = _group_logsumexp(scores[:, column], instance_of, len(instances))
            gold_score = _group_logsumexp(
                scores[gold_rows, column], instance_of[gold_rows], len(instances)
            )
            learnt = instance_of[gold_rows].unique()
            losses[name] = (log_partition - gold_score)[learnt].sum()
        return losses


def _group_logsumexp(
    scores: Float[Tensor, " row"], group: Int[Tensor, " row"], num_groups: int
) -> Float[Tensor, " group"]:
    """Return the logsumexp of the scores of each group; 0 for a group without any."""
    constant = scores.detach()
    max_score = constant.new_zeros(num_groups)
    max_score = max_score.scatter_reduce(0, group, constant, "amax", include_self=False)
    sums = scores.new_zeros(num_groups).index_add(0, group, (scores - max_score[group]).exp())
    return max_score + torch.where(sums > 0, sums, 1).log()
