"""The span-relation head (SpanRel, section 3): label spans, prune them, label pairs of the rest."""

from collections.abc import Iterator
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.antecedents import sort_pairs
from spanloom.nn.candidates import ScoredSpans, group_of, neighbors, text_order
from spanloom.nn.dropout import Dropout
from spanloom.nn.losses import UNKNOWN, HeadSelectionLoss, coarse_loss, label_loss, soft_loss
from spanloom.nn.pair_generator import MAX_PAIRS, PairGenerator, match_pairs, without_lost_tails
from spanloom.nn.pairs import ProjectedPairs, ScorePairs, complete_scores
from spanloom.nn.span_relation_parts import PairParts, SpanParts
from spanloom.nn.spans import CoarseSpanScorer, SpanInputs
from spanloom.tensors import CorefFeatures, Losses, SpanTargets, SpanVectors

_PRUNED_SCORE = -1e4  # the labels' score of a span that the coarse scorer pruned: it has none


class SpanRelation(nn.Module):
    """Span scores, pruning, pair scores, and the losses over all of them."""

    def __init__(self, spans: SpanParts, pairs: PairParts | None, *, dropout: float) -> None:
        """``pairs`` is None where the task has no relations; ``dropout`` is that of the words."""
        super().__init__()
        self.candidates, self.pruner, self.span_loss = spans.candidates, spans.pruner, spans.loss
        self.attention, self.spans = spans.attention, spans.scorer
        self.pairs = None if pairs is None else pairs.scorer
        self.pair_generator = PairGenerator() if pairs is None else pairs.generator
        self.pair_loss = label_loss if pairs is None else pairs.loss
        self.predicate_selector = None if pairs is None else pairs.predicate_selector
        self.coarse_antecedents = None if pairs is None else pairs.coarse_antecedents
        self.refinement = None if pairs is None else pairs.refinement
        self.dropout = Dropout(dropout)
        self.coarse_scorer = spans.coarse_scorer
        self.reads_tokens, self.attends_tokens = spans.reads_tokens, spans.attends_tokens

    def output_biases(self, *, given_spans: bool = False) -> list[nn.Parameter]:
        """Return the biases of the last layers, without those of spans that are given."""
        pairs = [] if self.pairs is None else self.pairs.output_biases()
        if given_spans:
            return pairs
        coarse = [] if self.coarse_scorer is None else [self.coarse_scorer.linear.words.bias]
        return [self.spans.output.labels.bias, *coarse, *pairs]

    def span_inputs(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        pair_groups: Int[Tensor, "run 2"] | None = None,
        features: CorefFeatures | None = None,
        tokens: Float[Tensor, "word token"] | None = None,
        shared: SpanVectors | None = None,
    ) -> SpanInputs:
        """Compute what span and pair scores share; by default pairs stay inside sentences.

        ``tokens`` are the trunk's vectors, for heads that read them; they get no more dropout.
        ``shared`` are the spans of a span layer, for heads without an attention of their own.
        """
        assert tokens is not None or not (self.reads_tokens or self.attends_tokens), "no tokens"
        words = self.dropout(words)
        groups = sentences if pair_groups is None else pair_groups
        if self.attention is None:
            assert shared is not None, "a head that reads a span layer was not given its spans"
            weights = shared.weights
        else:
            weights = self.attention(tokens if self.attends_tokens else words)
        contents = tokens if self.reads_tokens else None
        return SpanInputs(
            words, weights, sentences, groups, neighbors(sentences), features, contents, shared
        )

    def score_spans(
        self,
        inputs: SpanInputs,
        coarse_scores: Float[Tensor, " span"] | None = None,
        gold: Int[Tensor, " gold"] | None = None,
    ) -> Float[Tensor, "span label"]:
        """Return the scores of all candidates of the inputs' sentences, in their order.

        With a coarse scorer, only its best spans are scored in full, with the candidates at the
        indices ``gold``, and with whole sentences if it keeps those; all others get "none".
        ``coarse_scores`` are computed here unless they are handed in.
        """
        if self.coarse_scorer is not None:
            bounds = self.candidates.bounds(inputs.sentences)
            if coarse_scores is None:
                coarse_scores = self.score_coarse(inputs, bounds)
            return self._score_survivors(self.coarse_scorer, inputs, bounds, coarse_scores, gold)
        starts = self.candidates.starts(inputs.sentences)
        scores: Tensor = self.spans(self.spans.spans_of(inputs), starts)
        return scores

    def score_coarse(
        self, inputs: SpanInputs, bounds: Int[Tensor, "span 2"]
    ) -> Float[Tensor, " span"]:
        """Return the coarse scorer's log-odds of all candidates, which have these bounds."""
        assert self.coarse_scorer is not None, "the head has no coarse scorer"
        coarse_scores: Tensor = self.coarse_scorer(
            inputs.words, inputs.weights, bounds, inputs.tokens
        )
        return coarse_scores

    def _score_survivors(
        self,
        coarse_scorer: CoarseSpanScorer,
        inputs: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        coarse_scores: Float[Tensor, " span"],
        gold: Int[Tensor, " gold"] | None,
    ) -> Float[Tensor, "span label"]:
        """Score in full the spans that coarse pruning keeps; the others get "none"."""
        kept = coarse_scorer.select(coarse_scores, self.candidates, bounds, inputs.sentences, gold)
        kept_scores = self.score_bounds(inputs, bounds[kept])
        pruned_scores = kept_scores.new_full((kept_scores.shape[1],), _PRUNED_SCORE)
        pruned_scores[0] = 0.0
        return pruned_scores.expand(len(bounds), -1).index_copy(0, kept, kept_scores)

    def scored_candidates(self, inputs: SpanInputs) -> ScoredSpans:
        """Return the candidates with their scores; with a coarse scorer, those that it keeps."""
        bounds = self.candidates.bounds(inputs.sentences)
        if self.coarse_scorer is None:
            return ScoredSpans(self.score_spans(inputs), bounds, inputs.pair_groups)
        scores, sentences = self.score_coarse(inputs, bounds), inputs.sentences
        bounds = bounds[self.coarse_scorer.select(scores, self.candidates, bounds, sentences)]
        return ScoredSpans(self.score_bounds(inputs, bounds), bounds, inputs.pair_groups)

    def score_bounds(
        self, inputs: SpanInputs, bounds: Int[Tensor, "span 2"]
    ) -> Float[Tensor, "span label"]:
        """Return the scores of some spans, which need not be candidates."""
        return self.spans.score_bounds(self.spans.spans_of(inputs), bounds)

    def pair_scorer(
        self, inputs: SpanInputs, bounds: Int[Tensor, "kept 2"], types: Float[Tensor, "kept type"]
    ) -> ScorePairs:
        """Return a function that scores ordered pairs (pair, 2) of the spans ``bounds``.

        ``types`` are the spans' label probabilities. Without gradients pairs are scored in chunks.
        """
        assert self.pairs is not None, "the head has no pair scorer"
        coarse = None
        if self.coarse_antecedents is not None:
            coarse = self.coarse_antecedents.prepare(inputs, bounds, types)
        spans = self.pairs.prepare(inputs, bounds, types)
        complete = partial(complete_scores, coarse=coarse)
        if self.refinement is not None:
            assert isinstance(spans, ProjectedPairs), "only a PairScorer's vectors can be refined"
            group = group_of(bounds, inputs.pair_groups)
            chunks = [*self.pairs_by_tail(inputs, bounds, types, group)]
            spans = self.refinement(inputs, spans, complete, chunks)
        return complete(spans)

    def pairs_by_tail(
        self,
        inputs: SpanInputs,
        bounds: Int[Tensor, "kept 2"],
        types: Float[Tensor, "kept type"],
        group: Int[Tensor, " kept"],
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield the pairs that are scored, in chunks that divide no tail's pairs."""
        if self.coarse_antecedents is not None:
            chosen: Iterator[Tensor] = self.coarse_antecedents(inputs, bounds, types, group)
            return chosen
        return self.pair_generator.iter_by_tail(group, MAX_PAIRS, bounds[:, 0].contiguous())

    def loss(self, inputs: SpanInputs, gold: SpanTargets) -> Losses:
        """Return the summed losses of spans and of pairs, over all sentences.

        Pairs are learnt among the gold spans and those that the pruner keeps.
        """
        bounds = self.candidates.bounds(inputs.sentences)
        gold_index = self.candidates.index(gold.bounds, inputs.sentences)
        is_candidate = gold_index >= 0
        target = torch.zeros(len(bounds), dtype=torch.long, device=bounds.device)
        gold_labels = torch.where(gold.labels > 0, gold.labels, UNKNOWN)
        target[gold_index[is_candidate]] = gold_labels[is_candidate]
        coarse_scores = None if self.coarse_scorer is None else self.score_coarse(inputs, bounds)
        scores = self.score_spans(inputs, coarse_scores, gold_index[is_candidate])
        scores, attribute_scores = scores.tensor_split([self.spans.labels], dim=-1)
        label_mask = None if gold.label_mask is None else gold.label_mask[bounds[:, 0]]
        annotated = scores if label_mask is None else scores.masked_fill(~label_mask, -torch.inf)
        spans = ScoredSpans(annotated, bounds, inputs.sentences)
        losses = {"span": self.span_loss(spans, target)}
        if coarse_scores is not None:
            is_annotated = None if label_mask is None else label_mask.all(1)
            losses["coarse"] = coarse_loss(coarse_scores, target, is_annotated)
        if gold.attribute_values is not None:
            losses["span_attribute"] = self.spans.attribute_sizes.loss(
                attribute_scores[gold_index[is_candidate]], gold.attribute_values[is_candidate]
            )
        if self.pairs is not None:
            spans = ScoredSpans(scores, bounds, inputs.pair_groups)
            losses |= self._kept_pair_losses(inputs, gold, gold_index, spans, target)
        return losses

    def soft_loss(
        self, inputs: SpanInputs, teacher: "SpanRelation", teacher_inputs: SpanInputs
    ) -> Float[Tensor, ""]:
        """Return the summed loss of the labels of spans, with a teacher's probabilities.

        The spans are the candidates that this head scores in full, as far as they are of widths
        that the teacher knows.
        """
        spans = self.scored_candidates(inputs)
        widths = spans.bounds[:, 1] - spans.bounds[:, 0]
        spans = spans.select(widths <= teacher.candidates.max_width)
        with torch.no_grad():
            teacher_scores = teacher.score_bounds(teacher_inputs, spans.bounds)
        labels = slice(self.spans.labels)  # and no attributes
        return soft_loss(spans.scores[:, labels], teacher_scores[:, labels]).sum()

    def given_spans_loss(self, inputs: SpanInputs, gold: SpanTargets) -> Losses:
        """Return the summed losses of pairs of the gold spans, which are input and not learnt."""
        assert self.pairs is not None, "a head without pairs and spans learns nothing"
        types = F.one_hot(gold.labels, self.pairs.types).float()
        gold_to_kept = torch.arange(len(gold.bounds), device=gold.bounds.device)
        return self._pair_losses(inputs, gold, gold.bounds, types, gold_to_kept)

    def _kept_pair_losses(
        self,
        inputs: SpanInputs,
        gold: SpanTargets,
        gold_index: Int[Tensor, " gold"],
        spans: ScoredSpans,
        target: Int[Tensor, " span"],
    ) -> Losses:
        """Return the losses of pairs of gold spans and kept candidates.

        ``gold_index`` is the index of each gold span among the candidates, -1 for none.
        """
        kept = text_order(spans.bounds, self.pruner.keep(spans) | (target > 0))
        candidate_to_kept = torch.full_like(target, -1)
        candidate_to_kept[kept] = torch.arange(len(kept), device=kept.device)
        gold_to_kept = torch.where(gold_index >= 0, candidate_to_kept[gold_index], -1)
        spans, head_mask = spans.select(kept), None
        scores = spans.scores
        if self.predicate_selector is not None:
            scores, head_mask = self.predicate_selector.training_heads(spans, target[kept])
        types = scores.softmax(-1)
        return self._pair_losses(inputs, gold, spans.bounds, types, gold_to_kept, head_mask)

    def _pair_losses(
        self,
        inputs: SpanInputs,
        gold: SpanTargets,
        bounds: Int[Tensor, "kept 2"],
        types: Float[Tensor, "kept type"],
        gold_to_kept: Int[Tensor, " gold"],
        head_mask: Bool[Tensor, " kept"] | None = None,
    ) -> Losses:
        """Return the summed losses of pairs and of their attributes.

        ``gold_to_kept`` is the index in ``bounds`` of each gold span, -1 for one that was pruned.
        """
        assert self.pairs is not None, "the head has no pair scorer"
        group, starts = group_of(bounds, inputs.pair_groups), bounds[:, 0].contiguous()
        if self.coarse_antecedents is None:
            pairs = self.pair_generator.all_pairs(group, head_mask, starts)
        else:
            pairs = sort_pairs([*self.pairs_by_tail(inputs, bounds, types, group)], len(group))
        if isinstance(self.pair_loss, HeadSelectionLoss) and self.pair_loss.dummy:
            pairs = without_lost_tails(pairs, gold.pairs, gold_to_kept, len(bounds))
        total = attribute_total = inputs.words.sum() * 0
        if len(pairs):
            scores = self.pair_scorer(inputs, bounds, types)(pairs)
            scores, attribute_scores = scores.tensor_split([self.pairs.labels], dim=-1)
            pair_index, relation_index = match_pairs(pairs, gold.pairs, gold_to_kept, len(bounds))
            target = torch.zeros(len(pairs), dtype=torch.long, device=pairs.device)
            target[pair_index] = gold.pairs[:, 2][relation_index]
            total = self.pair_loss(scores, target, self.pair_generator.softmax_group(pairs, group))
            if gold.pair_attribute_values is not None:
                attribute_total = self.pairs.attribute_sizes.loss(
                    attribute_scores[pair_index], gold.pair_attribute_values[relation_index]
                )
        losses = {"relation": total}
        if gold.pair_attribute_values is not None:
            losses["relation_attribute"] = attribute_total
        return losses
