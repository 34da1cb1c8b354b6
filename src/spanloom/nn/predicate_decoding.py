"""Decoder of predicates and their arguments: which spans are predicates, and what each selects."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from spanloom.decoding.span_selection import max_weight_disjoint
from spanloom.nn.candidates import Pruner, ScoredSpans, group_of, text_order
from spanloom.nn.head_selection import PredicateSelector
from spanloom.nn.pair_generator import MAX_PAIRS
from spanloom.nn.span_decoding import (
    Decoded,
    Types,
    add_bias,
    best_set,
    bounds_list,
    concatenate,
    label_scorer,
)
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.spans import SpanInputs
from spanloom.tensors import PredictedRelations, PredictedSpans, SpanTargets


@dataclass(frozen=True, slots=True)
class PredicateDecoder:
    """Select predicates, then for each the best set of arguments that do not overlap.

    The head has a ``predicate_selector``. Its labels may join those of a predicate and an argument
    on the same words, so written labels are others: ``predicate_labels`` has one for each of the
    selector's ``label_ids``, ``argument_labels`` one for each relation label, 0 for "none".
    ``predicate_bias`` and ``relation_bias`` are added to the scores of all but "none".
    """

    nested: bool
    predicate_labels: tuple[int, ...]
    argument_labels: tuple[int, ...]
    predicate_bias: float = 0.0
    relation_bias: float = 0.0

    def __call__(
        self, head: SpanRelation, inputs: SpanInputs, given: SpanTargets | None
    ) -> Decoded:
        """Return predicates, then arguments, once per label; ``given`` are gold predicates."""
        selector = head.predicate_selector
        assert selector is not None, "the head has no predicate selector"
        spans = head.scored_candidates(inputs) if given is None else _all_candidates(head, inputs)
        bounds = spans.bounds
        scores, attribute_scores = spans.scores.float().tensor_split([head.spans.labels], dim=-1)
        if given is None:
            spans = replace(spans, scores=scores)
            is_predicate = self._select_predicates(selector, spans)
        else:
            bounds, gold_labels = _add_given(head, bounds, inputs, given)
            missing = len(bounds) - len(scores)
            scores, attribute_scores = (
                F.pad(columns, (0, 0, 0, missing)) for columns in (scores, attribute_scores)
            )
            scores, is_predicate = selector.force_gold(scores, gold_labels), gold_labels > 0
        kept_mask = head.pruner.keep(ScoredSpans(scores, bounds, inputs.pair_groups))
        kept = text_order(bounds, kept_mask | is_predicate)
        bounds, types, is_predicate = bounds[kept], scores[kept].softmax(-1), is_predicate[kept]
        relations = _select_arguments(head, inputs, bounds, types, is_predicate, self.relation_bias)
        values = head.spans.attribute_sizes.best(attribute_scores[kept])
        predicted = PredictedSpans(bounds, torch.zeros_like(kept), types[:, 0], *values)
        return self._written(selector, predicted, types, is_predicate, relations)

    def _select_predicates(
        self, selector: PredicateSelector, spans: ScoredSpans
    ) -> Bool[Tensor, " span"]:
        """Return the mask of the best set of predicates, at most one per word."""
        scores = add_bias(selector.predicate_scores(spans.scores), self.predicate_bias)
        predicates = replace(spans, scores=scores)
        margin = predicates.margin
        is_likely = (margin > 0) & Pruner(1.0).keep(predicates)
        selected = best_set(spans.bounds, margin, is_likely, nested=self.nested)
        return torch.zeros_like(is_likely).index_fill(0, selected, True)

    def _written(
        self,
        selector: PredicateSelector,
        spans: PredictedSpans,
        types: Types,
        is_predicate: Bool[Tensor, " kept"],
        relations: PredictedRelations,
    ) -> Decoded:
        """Return predicates, then arguments, with written labels, and relations between these."""
        assert spans.attribute_values is not None, "set with all spans"
        label_ids = torch.tensor(selector.label_ids, device=types.device)
        predicates = is_predicate.nonzero()[:, 0]
        predicate_types = types[predicates][:, label_ids]
        written = label_ids.new_tensor(self.predicate_labels)[predicate_types.argmax(-1)]
        # an argument span is written once per label
        num_labels = 1 + max(self.argument_labels)
        tail_labels = label_ids.new_tensor(self.argument_labels)[relations.labels]
        codes, tail_index = (relations.pairs[:, 1] * num_labels + tail_labels).unique(
            return_inverse=True
        )
        arguments = codes // num_labels
        decoded = spans.select(torch.cat([predicates, arguments]))
        values = spans.attribute_values[torch.cat([predicates, arguments])]
        values[len(predicates) :] = 0  # only predicates have attributes
        decoded = replace(
            decoded,
            labels=torch.cat([written, codes % num_labels]),
            scores=torch.cat([predicate_types.sum(-1), 1 - types[arguments, 0]]),
            attribute_values=values,
        )
        predicate_index = is_predicate.cumsum(0) - 1
        heads, tails = predicate_index[relations.pairs[:, 0]], tail_index + len(predicates)
        return decoded, replace(relations, pairs=torch.stack([heads, tails], dim=1))


def _all_candidates(head: SpanRelation, inputs: SpanInputs) -> ScoredSpans:
    """Return all candidates with their scores, as given predicates may be any of them."""
    bounds = head.candidates.bounds(inputs.sentences)
    return ScoredSpans(head.score_spans(inputs), bounds, inputs.pair_groups)


def _add_given(
    head: SpanRelation,
    bounds: Int[Tensor, "span 2"],
    inputs: SpanInputs,
    given: SpanTargets,
) -> tuple[Int[Tensor, "more 2"], Int[Tensor, " more"]]:
    """Return the candidates and the given spans that are none, and the labels of given spans."""
    index = head.candidates.index(given.bounds, inputs.sentences)
    is_other = index < 0
    labels = torch.zeros(len(bounds), dtype=torch.long, device=bounds.device)
    labels[index[~is_other]] = given.labels[~is_other]
    return torch.cat([bounds, given.bounds[is_other]]), torch.cat([labels, given.labels[is_other]])


def _select_arguments(
    head: SpanRelation,
    inputs: SpanInputs,
    bounds: Int[Tensor, "kept 2"],
    types: Types,
    is_predicate: Bool[Tensor, " kept"],
    bias: float,
) -> PredictedRelations:
    """Return, for each predicate, the highest-scoring set of non-overlapping arguments."""
    # so that a batch without arguments has its relations on the device, too
    none = PredictedRelations(bounds.new_zeros(0, 2), bounds.new_zeros(0), types.new_zeros(0))
    relations = [none]
    score_pairs = label_scorer(head, inputs, bounds, types)
    groups = group_of(bounds, inputs.pair_groups)
    for pairs in head.pair_generator.iter_by_head(groups, MAX_PAIRS, is_predicate):
        scores = add_bias(score_pairs(pairs)[0], bias)
        max_score, labels = scores[:, 1:].max(-1)
        margin = max_score - scores[:, 0]
        positive = (margin > 0).nonzero()[:, 0]
        pairs, labels, margin = pairs[positive], labels[positive] + 1, margin[positive]
        # arguments of different predicates are moved apart, so that they never overlap
        moved = bounds[pairs[:, 1]] + pairs[:, :1] * (int(bounds.max()) + 1)
        best = max_weight_disjoint(bounds_list(moved), margin.tolist())
        selected = torch.tensor(best, dtype=torch.long, device=pairs.device)
        probs = scores[positive].softmax(-1).amax(-1)
        kept = pairs[selected], labels[selected], probs[selected]
        relations.append(PredictedRelations(*kept))
    return concatenate(relations)
