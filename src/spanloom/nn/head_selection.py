"""Heads of relations: which spans may be heads, and which head each tail selects.

Head selection means that each tail has one head, as mentions have antecedents (SpanRel, appendix
B). Predicates are the only heads of semantic roles (SpanRel, table 2).
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from spanloom.nn.candidates import Pruner, ScoredSpans


@dataclass(frozen=True, slots=True)
class PredicateSelector:
    """Select predicate spans, the only allowed relation heads of some tasks.

    A span is a predicate if its label is one of ``label_ids``. A span may be a predicate and an
    argument at once, with one label for both: ``bare_label_ids`` maps each label to that of the
    predicate alone, 0 for other labels. ``pruner`` limits the predicted predicates that are heads
    in training. With ``gold_predicates`` the gold predicates are input and the only heads.
    """

    label_ids: tuple[int, ...]
    bare_label_ids: tuple[int, ...]
    pruner: Pruner = Pruner(0.4)
    gold_predicates: bool = False

    def training_heads(
        self, spans: ScoredSpans, target: Int[Tensor, " span"]
    ) -> tuple[Float[Tensor, "span label"], Bool[Tensor, " span"]]:
        """Return the span scores that pairs read, and the mask of spans used as relation heads.

        These are the gold predicates and, unless they are input, the top K predicted ones.
        """
        is_gold = torch.isin(target, target.new_tensor(self.label_ids))
        if self.gold_predicates:
            return self.force_gold(spans.scores, target), is_gold
        predicates = replace(spans, scores=self.predicate_scores(spans.scores))
        return spans.scores, is_gold | self.pruner.keep(predicates)

    def force_gold(
        self,
        scores: Float[Tensor, "span label"],
        gold_labels: Int[Tensor, " span"],
    ) -> Float[Tensor, "span label"]:
        """Force the label of gold predicates and mask predicate labels of all other spans.

        A gold predicate's bare label scores 0 and its other labels -inf.
        """
        bare_labels = torch.tensor(self.bare_label_ids, device=scores.device)
        predicate_labels = bare_labels.new_tensor(self.label_ids)
        forced_labels = bare_labels[gold_labels] * torch.isin(gold_labels, predicate_labels)
        not_predicates = scores.index_fill(1, predicate_labels, -torch.inf)
        forced = torch.full_like(scores, -torch.inf).scatter(1, forced_labels[:, None], 0.0)
        return torch.where((forced_labels > 0)[:, None], forced, not_predicates)

    def predicate_scores(self, scores: Float[Tensor, "span label"]) -> Float[Tensor, "span 2"]:
        """Return log-scores (span, 2): not a predicate, predicate (logsumexp over labels)."""
        is_predicate = torch.zeros(scores.shape[1], dtype=torch.bool, device=scores.device)
        is_predicate[list(self.label_ids)] = True
        columns = scores[:, ~is_predicate].logsumexp(-1), scores[:, is_predicate].logsumexp(-1)
        return torch.stack(columns, dim=1)


def select_heads(
    scores: Float[Tensor, "pair label"], tails: Int[Tensor, " pair"], num_spans: int, *, dummy: bool
) -> tuple[Int[Tensor, " span"], Float[Tensor, " span"]]:
    """Return each span's best pair (an index of ``scores``, -1 for none) and its probability.

    The probability is that of the pair's best label. With ``dummy`` a pair is selected only if that
    label scores above 0. Of equal pairs the first is selected.
    """
    pair_scores = scores[:, 1:].amax(-1).float()
    max_score = pair_scores.new_full((num_spans,), 0.0 if dummy else -torch.inf)
    max_score = max_score.scatter_reduce(0, tails, pair_scores, "amax")
    exp_scores = (scores[:, 1:].float() - max_score[tails][:, None]).exp().sum(-1)
    partition = pair_scores.new_zeros(num_spans).index_add(0, tails, exp_scores)
    if dummy:
        partition = partition + (-max_score).exp()
    is_best = (pair_scores == max_score[tails]) & ((pair_scores > 0) | (not dummy))
    best_pairs = is_best.nonzero()[:, 0]
    first = torch.full((num_spans,), len(tails), device=tails.device)
    first = first.scatter_reduce(0, tails[best_pairs], best_pairs, "amin")
    selected = torch.where(first < len(tails), first, -1)
    return selected, 1 / partition.clamp(min=torch.finfo(partition.dtype).tiny)


@dataclass(frozen=True, slots=True)
class BestPair:
    """The best pair of each group over the chunks of pairs so far: ends (-1: none), label, score.

    ``log_partition`` is the logsumexp of the scores of all labels of all pairs of a group.
    """

    ends: Int[Tensor, "group 2"]
    labels: Int[Tensor, " group"]
    score: Float[Tensor, " group"]
    log_partition: Float[Tensor, " group"]

    @classmethod
    def empty(cls, num_groups: int, device: torch.device) -> "BestPair":
        """Return the state before any pair."""
        ends = torch.full((num_groups, 2), -1, device=device)
        no_score = torch.full((num_groups,), -torch.inf, device=device)
        return cls(ends, ends[:, 0], no_score, no_score)

    def update(
        self,
        pairs: Int[Tensor, "pair 2"],
        scores: Float[Tensor, "pair label"],
        group: Int[Tensor, " pair"],
    ) -> "BestPair":
        """Return the state after more pairs; column 0 of ``scores`` ("none") is not read."""
        best, prob = select_heads(scores, group, len(self.ends), dummy=False)
        max_score, label = scores[best, 1:].max(-1)
        max_score = torch.where(best >= 0, max_score, -torch.inf)
        is_better = max_score > self.score
        log_partition = torch.where(best >= 0, max_score - prob.log(), -torch.inf)
        return BestPair(
            torch.where(is_better[:, None], pairs[best], self.ends),
            torch.where(is_better, label + 1, self.labels),
            torch.maximum(max_score, self.score),
            torch.logaddexp(log_partition, self.log_partition),
        )

    def selected(
        self,
    ) -> tuple[Int[Tensor, "selected 2"], Int[Tensor, " selected"], Float[Tensor, " selected"]]:
        """Return the best pair, its label and its probability, of each group that has pairs."""
        has_pair = self.ends[:, 0] >= 0
        probs = (self.score - self.log_partition).exp()
        return self.ends[has_pair], self.labels[has_pair], probs[has_pair]
