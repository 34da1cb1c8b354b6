"""Extractive QA: scores of an answer's first and last word (SpEx-BERT, section 3.1)."""

import torch
from jaxtyping import Float, Int
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
        gold: Int[Tensor, "answer 3"],
        *,
        has_no_answer: bool = True,
    ) -> Losses:
        """Return the summed negative log-likelihoods of start and end together (equation 6).

        ``instances`` are contiguous bounds in the words; ``gold`` has the rows of ``forward`` of
        each answer's first and last word, and its instance. The probabilities of several answers of
        an instance are added, not those of their starts and ends: the start of one and the end of
        another are no answer. An instance without any is not learnt from. Unless it
        ``has_no_answer``, the softmax is over words alone, as in equation 5, and gold rows of "no
        answer" are ignored.
        """
        scores = self(words, cls_vectors)
        instance = torch.arange(len(instances), device=scores.device)
        lengths = instances[:, 1] - instances[:, 0]
        instance_of = instance.repeat_interleave(lengths)
        if has_no_answer:
            instance_of = torch.cat([instance_of, instance])
        scores = scores[: len(instance_of)]
        first, last, answered = gold[(gold[:, :2] < len(scores)).all(1)].unbind(1)
        log_partition = sum(
            _group_logsumexp(column, instance_of, len(instances)) for column in scores.unbind(1)
        )
        answer_scores = scores[first, 0] + scores[last, 1]
        gold_score = _group_logsumexp(answer_scores, answered, len(instances))
        return {"span": (log_partition - gold_score)[answered.unique()].sum()}


def _group_logsumexp(
    scores: Float[Tensor, " row"], group: Int[Tensor, " row"], num_groups: int
) -> Float[Tensor, " group"]:
    """Return the logsumexp of the scores of each group; 0 for a group without any."""
    constant = scores.detach()
    max_score = constant.new_zeros(num_groups)
    max_score = max_score.scatter_reduce(0, group, constant, "amax", include_self=False)
    sums = scores.new_zeros(num_groups).index_add(0, group, (scores - max_score[group]).exp())
    return max_score + torch.where(sums > 0, sums, 1).log()
