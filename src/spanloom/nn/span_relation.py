"""The span-relation head (SpanRel, section 3): label spans, prune them, label pairs of the rest."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.candidates import candidates, neighbors, rows, starts
from spanloom.nn.dropout import Dropout
from spanloom.nn.pairs import PairGenerator, PairScorer
from spanloom.nn.spans import CoarseSpanScorer, SpanAttention, SpanScorer
from spanloom.tensors import CorefFeatures, Loss, SpanTargets

_CHUNK = 2_048  # pairs scored at a time where no gradient is kept
_UNKNOWN = -1  # the target of a span that has a label which nobody knows: it is not learnt
_PRUNED_SCORE = -1e4  # the labels' score of a span that the coarse scorer pruned: it has none
_PROB_EPS = 1e-4  # probabilities are kept that far from 0 and 1 where odds are taken


@dataclass(frozen=True, slots=True)
class Pruner:
    """Number of spans kept per sentence for pair scoring, as a rate per word or a fixed K.

    ``spans_per_sentence``, if set, takes precedence over ``spans_per_word``.
    """

    spans_per_word: float = 0.5
    spans_per_sentence: int | None = None

    def budget(self, runs: Int[Tensor, "run 2"]) -> Int[Tensor, " run"]:
        """Return K for each run of words, at least 1."""
        lengths = runs[:, 1] - runs[:, 0]
        if self.spans_per_sentence is not None:
            return torch.full_like(lengths, self.spans_per_sentence)
        return (lengths * self.spans_per_word).ceil().long().clamp(min=1)

    def keep(
        self,
        scores: Float[Tensor, "span label"],
        bounds: Int[Tensor, "span 2"],
        runs: Int[Tensor, "run 2"],
    ) -> Bool[Tensor, " span"]:
        """Return the mask of the K spans per run with the lowest probability of "none"."""
        return top_k_non_null(scores, group_of(bounds, runs), self.budget(runs))


@dataclass(frozen=True, slots=True)
class PredicateSelector:
    """Select predicate spans, the only allowed relation heads of some tasks.

    A span is a predicate if its label is one of ``label_ids``. A span may be a predicate and an
    argument at once, with one label for both: ``bare_label_ids`` maps each label to that of the
    predicate alone, 0 for other labels. This is the label of a gold predicate given as input.
    ``pruner`` limits the predicted predicates that are heads in training.
    """

    label_ids: tuple[int, ...]
    bare_label_ids: tuple[int, ...]
    pruner: Pruner = Pruner(0.4)

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

    def head_mask(
        self,
        scores: Float[Tensor, "span label"],
        target: Int[Tensor, " span"],
        bounds: Int[Tensor, "span 2"],
        runs: Int[Tensor, "run 2"],
        *,
        gold_only: bool,
    ) -> Bool[Tensor, " span"]:
        """Return the mask of spans used as relation heads in training.

        These are the gold predicates and, unless ``gold_only``, the top K predicted ones.
        """
        is_gold = torch.isin(target, target.new_tensor(self.label_ids))
        if gold_only:
            return is_gold
        return is_gold | self.pruner.keep(self.predicate_scores(scores), bounds, runs)


@dataclass(frozen=True, slots=True)
class SpanInputs:
    """Inputs of the head for one batch, shared by span and pair scores.

    ``weights`` are attention weights of words. Spans lie inside ``sentences``; spans in the same
    run of ``pair_groups`` form pairs. ``neighbors`` are the words before and after each word in its
    sentence, -1 for none. ``features`` are the speakers and genres, if the task uses them.
    """

    words: Float[Tensor, "word dim"]
    weights: Float[Tensor, "word 1"]
    sentences: Int[Tensor, "sentence 2"]
    pair_groups: Int[Tensor, "run 2"]
    neighbors: Int[Tensor, "word 2"]
    features: CorefFeatures | None = None


class SpanRelation(nn.Module):
    """Span scores, pruning, pair scores, and the losses over all of them."""

    def __init__(
        self,
        attention: SpanAttention,
        spans: SpanScorer,
        pairs: PairScorer | None,
        *,
        max_span_width: int,
        pruner: Pruner,
        hard_negatives_per_word: float | None,
        dropout: float,
        pair_generator: PairGenerator = PairGenerator(),
    ) -> None:
        """Assemble the head; ``pairs`` is None where the task has no relations.

        The span loss is over gold spans and the hardest negatives, ``hard_negatives_per_word`` of
        them; None takes all candidates. With 0, "none" is not learnt: each candidate has a label,
        and one without a label in the gold is unknown. Any span may be the head of a pair unless
        ``predicate_selector`` is set; all spans are scored in full unless ``gate`` is.
        """
        super().__init__()
        self.predicate_selector: PredicateSelector | None = None
        self.gate: CoarseSpanScorer | None = None
        self.attention, self.spans, self.pairs = attention, spans, pairs
        self.max_span_width, self.pruner = max_span_width, pruner
        self.hard_negatives_per_word = hard_negatives_per_word
        self.pair_generator = pair_generator
        self.dropout = Dropout(dropout)

    def span_inputs(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        pair_groups: Int[Tensor, "run 2"] | None = None,
    ) -> SpanInputs:
        """Compute what span and pair scores share; by default pairs stay inside sentences."""
        words = self.dropout(words)
        runs = sentences if pair_groups is None else pair_groups
        return SpanInputs(words, self.attention(words), sentences, runs, neighbors(sentences))

    def candidates(self, sentences: Int[Tensor, "sentence 2"]) -> Int[Tensor, "span 2"]:
        """Return the bounds of all spans up to ``max_span_width`` words."""
        return candidates(sentences, self.max_span_width)

    def score_spans(
        self,
        inputs: SpanInputs,
        coarse_scores: Float[Tensor, " span"] | None = None,
        gold: Int[Tensor, " gold"] | None = None,
    ) -> Float[Tensor, "span label"]:
        """Return the scores of all ``candidates`` of the inputs' sentences, in their order.

        With a coarse scorer, only its best spans are scored in full, with the candidates at the
        indices ``gold``, and with whole sentences if it keeps those; all others get "none".
        ``coarse_scores`` are computed here unless they are handed in.
        """
        if self.gate is not None:
            coarse_scores = self.score_coarse(inputs) if coarse_scores is None else coarse_scores
            return self._score_survivors(self.gate, inputs, coarse_scores, gold)
        span_starts = starts(inputs.sentences, self.max_span_width)
        scores: Tensor = self.spans(inputs.words, inputs.weights, span_starts, inputs.neighbors)
        if self.hard_negatives_per_word != 0:
            return scores
        return scores.index_fill(
            1, torch.zeros(1, dtype=torch.long, device=scores.device), -torch.inf
        )

    def score_coarse(self, inputs: SpanInputs) -> Float[Tensor, " span"]:
        """Return the coarse scorer's log-odds of all ``candidates``."""
        assert self.gate is not None, "a head without a gate was asked for its looks"
        coarse_scores: Tensor = self.gate(
            inputs.words, inputs.weights, starts(inputs.sentences, self.max_span_width)
        )
        return coarse_scores

    def _score_survivors(
        self,
        coarse_scorer: CoarseSpanScorer,
        inputs: SpanInputs,
        coarse_scores: Float[Tensor, " span"],
        gold: Int[Tensor, " gold"] | None,
    ) -> Float[Tensor, "span label"]:
        """Score in full the spans that coarse pruning keeps; the others get "none"."""
        bounds = self.candidates(inputs.sentences)
        budget = Pruner(coarse_scorer.spans_per_word).budget(inputs.sentences)
        keep_mask = top_k_mask(coarse_scores.detach(), group_of(bounds, inputs.sentences), budget)
        if gold is not None:
            keep_mask[gold] = True
        if coarse_scorer.keep_sentences:
            sentence_spans = rows(inputs.sentences, inputs.sentences, self.max_span_width)
            keep_mask[sentence_spans[sentence_spans >= 0]] = True
        kept = keep_mask.nonzero()[:, 0]
        kept_scores = self.spans.score_bounds(
            inputs.words, inputs.weights, bounds[kept], inputs.neighbors
        )
        pruned_scores = kept_scores.new_full((kept_scores.shape[1],), _PRUNED_SCORE)
        pruned_scores[0] = 0.0
        return pruned_scores.expand(len(bounds), -1).index_copy(0, kept, kept_scores)

    def pair_scorer(
        self, inputs: SpanInputs, bounds: Int[Tensor, "kept 2"], types: Float[Tensor, "kept type"]
    ) -> Callable[[Int[Tensor, "pair 2"]], Float[Tensor, "pair label"]]:
        """Return a function that scores ordered pairs (pair, 2) of the spans ``bounds``.

        ``types`` are the spans' label probabilities. What all pairs share is computed once, in this
        call. The function scores pairs in chunks where no gradient is kept.
        """
        assert self.pairs is not None, "a head without pairs was asked for pairs"
        scorer = self.pairs
        heads, tails = scorer.project_ends(inputs.words, inputs.weights, bounds, types)
        context_sums = scorer.context_sums(inputs.words)
        mention_scores = (
            torch.logit(1 - types[:, 0], eps=_PROB_EPS)
            if self.pair_generator.add_mention_scores
            else None
        )

        def score(pairs: Int[Tensor, "pair 2"]) -> Float[Tensor, "pair label"]:
            chunks = (pairs,) if torch.is_grad_enabled() else pairs.split(_CHUNK)
            scores = torch.cat(
                [
                    scorer(heads, tails, context_sums, bounds, chunk, inputs.features)
                    for chunk in chunks
                ]
            )
            if mention_scores is None:
                return scores
            return scores + (mention_scores[pairs[:, 0]] + mention_scores[pairs[:, 1]])[:, None]

        return score

    def loss(
        self, inputs: SpanInputs, gold: SpanTargets, *, use_gold_spans: bool
    ) -> dict[str, Loss]:
        """Return the summed cross-entropies of spans and of pairs, over all sentences.

        With ``use_gold_spans`` the gold spans are input: they are not learnt, and only they form
        pairs. In a task with predicates these alone are input, and their arguments are learnt.
        """
        if use_gold_spans and self.predicate_selector is None:
            assert self.pairs is not None, "a head without pairs and spans learns nothing"
            types = F.one_hot(gold.labels, self.pairs.head_type.in_features).float()
            gold_to_kept = torch.arange(len(gold.bounds), device=gold.bounds.device)
            return self._pair_losses(inputs, gold, gold.bounds, types, gold_to_kept)
        bounds = self.candidates(inputs.sentences)
        gold_index = rows(gold.bounds, inputs.sentences, self.max_span_width)
        is_candidate = gold_index >= 0
        coarse_scores = None if self.gate is None else self.score_coarse(inputs)
        scores = self.score_spans(inputs, coarse_scores, gold_index[is_candidate])
        scores, attribute_scores = scores.tensor_split([self.spans.labels], dim=-1)
        target = torch.zeros(len(bounds), dtype=torch.long, device=bounds.device)
        target[gold_index[is_candidate]] = torch.where(gold.labels > 0, gold.labels, _UNKNOWN)[
            is_candidate
        ]
        annotated_scores = scores
        if gold.label_mask is not None:
            annotated_scores = scores.masked_fill(~gold.label_mask[bounds[:, 0]], -torch.inf)
        losses = {"span": self._span_loss(annotated_scores, target, inputs.sentences, bounds)}
        if coarse_scores is not None:
            has_label, weight = (target > 0).float(), (target != _UNKNOWN).float()
            if gold.label_mask is not None:
                # a candidate without gold label may have one that was not annotated there
                weight = weight * (gold.label_mask.all(1)[bounds[:, 0]] | (target > 0))
            total = F.binary_cross_entropy_with_logits(
                coarse_scores, has_label, weight, reduction="sum"
            )
            losses["coarse"] = Loss(total, len(inputs.sentences))
        if gold.attribute_values is not None:
            total = self.spans.attribute_sizes.loss(
                attribute_scores[gold_index[is_candidate]], gold.attribute_values[is_candidate]
            )
            losses["span_attribute"] = Loss(total, len(inputs.sentences))
        if self.pairs is not None:
            kept = text_order(bounds, self.keep(scores, bounds, inputs.pair_groups) | (target > 0))
            candidate_to_kept = torch.full_like(target, -1)
            candidate_to_kept[kept] = torch.arange(len(kept), device=kept.device)
            gold_to_kept = torch.where(is_candidate, candidate_to_kept[gold_index], -1)
            scores, head_mask = scores[kept], None
            if self.predicate_selector is not None and use_gold_spans:
                scores = self.predicate_selector.force_gold(scores, target[kept])
            if self.predicate_selector is not None:
                head_mask = self.predicate_selector.head_mask(
                    scores,
                    target[kept],
                    bounds[kept],
                    inputs.pair_groups,
                    gold_only=use_gold_spans,
                )
            types = scores.softmax(-1)
            losses |= self._pair_losses(inputs, gold, bounds[kept], types, gold_to_kept, head_mask)
        return losses

    def keep(
        self,
        scores: Float[Tensor, "span label"],
        bounds: Int[Tensor, "span 2"],
        runs: Int[Tensor, "run 2"],
        spans_per_word: float | None = None,
    ) -> Bool[Tensor, " span"]:
        """Return the mask of the K spans per run with the lowest probability of "none".

        K is the head's own, or ``spans_per_word`` times the words of the run.
        """
        pruner = self.pruner if spans_per_word is None else Pruner(spans_per_word)
        return pruner.keep(scores, bounds, runs)

    def _span_loss(
        self,
        scores: Float[Tensor, "span label"],
        target: Int[Tensor, " span"],
        sentences: Int[Tensor, "sentence 2"],
        bounds: Int[Tensor, "span 2"],
    ) -> Loss:
        is_known = target != _UNKNOWN
        if self.hard_negatives_per_word is not None and not bool(is_known.all()):
            scores, target, bounds = scores[is_known], target[is_known], bounds[is_known]
        if self.hard_negatives_per_word == 0:
            scores, target = scores[target > 0], target[target > 0]
        elif self.hard_negatives_per_word is not None:
            hard = self.keep(scores, bounds, sentences, self.hard_negatives_per_word) | (target > 0)
            scores, target = scores[hard], target[hard]
        total = F.cross_entropy(scores, target, reduction="sum", ignore_index=_UNKNOWN)
        return Loss(total, len(sentences))

    def _pair_losses(
        self,
        inputs: SpanInputs,
        gold: SpanTargets,
        bounds: Int[Tensor, "kept 2"],
        types: Float[Tensor, "kept type"],
        gold_to_kept: Int[Tensor, " gold"],
        head_mask: Bool[Tensor, " kept"] | None = None,
    ) -> dict[str, Loss]:
        """Return the summed losses of pairs and of their attributes.

        ``gold_to_kept`` is the index in ``bounds`` of each gold span, -1 for one that was pruned.
        """
        assert self.pairs is not None, "a head without pairs was asked to learn them"
        group = group_of(bounds, inputs.pair_groups)
        pairs = self.pair_generator.all_pairs(group, head_mask)
        total = attribute_total = inputs.words.sum() * 0
        if len(pairs):
            scores = self.pair_scorer(inputs, bounds, types)(pairs)
            scores, attribute_scores = scores.tensor_split([self.pairs.labels], dim=-1)
            pair_index, relation_index = _match_pairs(pairs, gold.pairs, gold_to_kept, len(bounds))
            target = torch.zeros(len(pairs), dtype=torch.long, device=pairs.device)
            target[pair_index] = gold.pairs[:, 2][relation_index]
            total = self.pair_generator.loss(
                scores, target, self.pair_generator.softmax_group(pairs, group)
            )
            if gold.pair_attribute_values is not None:
                attribute_total = self.pairs.attribute_sizes.loss(
                    attribute_scores[pair_index], gold.pair_attribute_values[relation_index]
                )
        losses = {"relation": Loss(total, len(inputs.sentences))}
        if gold.pair_attribute_values is not None:
            losses["relation_attribute"] = Loss(attribute_total, len(inputs.sentences))
        return losses


def group_of(bounds: Int[Tensor, "span 2"], runs: Int[Tensor, "run 2"]) -> Int[Tensor, " span"]:
    """Return the index of the run (a sentence, an instance) that each span starts in."""
    return torch.searchsorted(runs[:, 1].contiguous(), bounds[:, 0].contiguous(), right=True)


def text_order(
    bounds: Int[Tensor, "span 2"], keep_mask: Bool[Tensor, " span"]
) -> Int[Tensor, " kept"]:
    """Return the indices of the kept spans by start, then end, as pair generation needs them."""
    kept = keep_mask.nonzero()[:, 0]
    start, end = bounds[kept].unbind(-1)
    return kept[(start * (int(end.max()) + 1 if len(kept) else 1) + end).argsort()]


def top_k_non_null(
    scores: Float[Tensor, "span label"],
    group: Int[Tensor, " span"],
    budget: Int[Tensor, " sentence"],
) -> Bool[Tensor, " span"]:
    """Return the mask of the ``budget`` spans per group with the lowest probability of label 0."""
    return top_k_mask(-scores.detach().float().log_softmax(-1)[:, 0], group, budget)


def top_k_mask(
    values: Float[Tensor, " span"], group: Int[Tensor, " span"], budget: Int[Tensor, " sentence"]
) -> Bool[Tensor, " span"]:
    """Return the mask of the ``budget`` highest values per group; of equal ones the first."""
    order = values.argsort(stable=True, descending=True)
    order = order[group[order].argsort(stable=True)]
    sizes = torch.bincount(group, minlength=len(budget))
    group_start = (sizes.cumsum(0) - sizes)[group[order]]
    rank = torch.arange(len(order), device=order.device) - group_start
    mask = torch.zeros(len(group), dtype=torch.bool, device=group.device)
    mask[order] = rank < budget[group[order]]
    return mask


def _match_pairs(
    pairs: Int[Tensor, "pair 2"],
    relations: Int[Tensor, "relation 3"],
    gold_to_kept: Int[Tensor, " gold"],
    num_spans: int,
) -> tuple[Int[Tensor, " match"], Int[Tensor, " match"]]:
    """Return indices of the pairs that are gold relations, and of those relations.

    ``pairs`` ascend, so each relation is found by binary search. ``num_spans`` is the number of
    kept spans, including those that form no pair.
    """
    head, tail = gold_to_kept[relations[:, 0]], gold_to_kept[relations[:, 1]]
    pair_codes = pairs[:, 0] * num_spans + pairs[:, 1]
    relation_codes = head * num_spans + tail
    pair_index = torch.searchsorted(pair_codes, relation_codes).clamp(max=len(pair_codes) - 1)
    is_match = (head >= 0) & (tail >= 0) & (pair_codes[pair_index] == relation_codes)
    relation_index = is_match.nonzero()[:, 0]
    return pair_index[relation_index], relation_index
