"""Decoders of the span-relation head: scores to spans and the relations between them.

A decoder gets the head, its inputs and what is given of the gold annotation, and returns predicted
spans and relations. ``SpanPairDecoder`` is made of two parts: one selects spans by their scores,
the other relates them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from spanloom.decoding.relation_ends import fits_into_set, greedy_relations
from spanloom.decoding.span_selection import max_weight_disjoint, max_weight_nested
from spanloom.nn.candidates import Pruner, ScoredSpans, group_of, text_order
from spanloom.nn.head_selection import BestPair, select_heads
from spanloom.nn.pair_generator import MAX_PAIRS
from spanloom.nn.span_relation import SpanRelation
from spanloom.nn.spans import SpanInputs
from spanloom.tensors import PredictedRelations, PredictedSpans, SpanTargets

Decoded = tuple[PredictedSpans, PredictedRelations]
Decoder = Callable[[SpanRelation, SpanInputs, SpanTargets | None], Decoded]
Types = Float[Tensor, "kept type"]  # label probabilities of the selected spans, "none" first
SpanSelector = Callable[[ScoredSpans], Int[Tensor, " kept"]]  # indices in text order
ScoredPairs = tuple[Int[Tensor, "some 2"], Float[Tensor, "some label"], Float[Tensor, "some value"]]
PairFilter = Callable[[Int[Tensor, "pair 2"], PredictedSpans], Int[Tensor, "some 2"]]


@dataclass(frozen=True, slots=True)
class KeptSpans:
    """Spans among which relations are scored, in text order, and their label probabilities.

    ``is_selected`` tells which are written in any case: others are only if a relation needs them.
    None if all are.
    """

    spans: PredictedSpans
    types: Types
    is_selected: Bool[Tensor, " kept"] | None = None

    @property
    def starts(self) -> Int[Tensor, " kept"]:
        """The first word of each span."""
        return self.spans.bounds[:, 0].contiguous()


PairDecoder = Callable[[SpanRelation, SpanInputs, KeptSpans], Decoded]


@dataclass(frozen=True, slots=True)
class RelationEnds:
    """Relate other spans than the selected ones, too: those that ``keep`` selects (SpanRel's K).

    Those that overlap a selected span or, if ``nested``, cross one are left out. A span that is not
    selected is written if a relation needs it: the likeliest relations are added first, those that
    need a span that does not fit are dropped.
    """

    keep: SpanSelector
    nested: bool

    def add_candidates(
        self, spans: ScoredSpans, selected: Int[Tensor, " selected"]
    ) -> tuple[Int[Tensor, " kept"], Bool[Tensor, " kept"]]:
        """Return the indices of selected and kept spans in text order, and which are selected."""
        kept = self.keep(spans)
        fits = fits_into_set(spans.bounds[kept], spans.bounds[selected], nested=self.nested)
        none = torch.zeros(len(spans.bounds), dtype=torch.bool, device=spans.bounds.device)
        is_selected = none.index_fill(0, selected, True)
        kept = text_order(spans.bounds, is_selected.index_fill(0, kept[fits], True))
        return kept, is_selected[kept]

    def write(
        self,
        spans: PredictedSpans,
        relations: PredictedRelations,
        is_selected: Bool[Tensor, " kept"],
    ) -> Decoded:
        """Return the selected spans, the ends that relations add, and the relations that fit."""
        if not len(relations.pairs):
            return spans.select(is_selected), relations
        is_accepted = is_selected[relations.pairs].all(1)
        new = (~is_accepted).nonzero()[:, 0]
        new = new[relations.scores[new].argsort(descending=True, stable=True)]
        accepted = greedy_relations(
            bounds_list(spans.bounds),
            is_selected.tolist(),
            relations.pairs[new].tolist(),
            nested=self.nested,
        )
        is_accepted[new[accepted]] = True
        relations = relations.select(is_accepted)
        is_written = is_selected.index_fill(0, relations.pairs.flatten(), True)
        index = is_written.cumsum(0) - 1
        return spans.select(is_written), replace(relations, pairs=index[relations.pairs])


@dataclass(frozen=True, slots=True)
class SpanPairDecoder:
    """Select spans, then relate them; ``relate`` is None for a head without pairs.

    With ``gold_spans`` the spans are those given, with their labels; pairs then read these labels
    as certain or, with ``scores_given``, as likely as the head finds them. ``bias`` is added to the
    scores of all labels but "none" when spans are selected; pairs read the scores without it. With
    ``ends`` relations may add spans; None if they hold among the selected spans alone.
    """

    select: SpanSelector
    relate: PairDecoder | None = None
    gold_spans: bool = False
    bias: float = 0.0
    ends: RelationEnds | None = None
    scores_given: bool = False

    def __call__(
        self, head: SpanRelation, inputs: SpanInputs, given: SpanTargets | None
    ) -> Decoded:
        """Return the selected spans, or those that relations keep or add, and the relations."""
        if given is not None and self.gold_spans:
            types = self._types_of_given(head, inputs, given)
            probs = torch.ones(len(given.labels), device=types.device)
            kept = KeptSpans(PredictedSpans(given.bounds, given.labels, probs), types)
        else:
            kept = self.predict_spans(head, inputs)
        if self.relate is None:
            return kept.spans, PredictedRelations()
        spans, relations = self.relate(head, inputs, kept)
        if self.ends is None or kept.is_selected is None:
            return spans, relations
        return self.ends.write(spans, relations, kept.is_selected)

    def _types_of_given(self, head: SpanRelation, inputs: SpanInputs, given: SpanTargets) -> Types:
        """Return the label probabilities that pairs read of given spans."""
        if not self.scores_given:
            return F.one_hot(given.labels, head.spans.labels).float()
        scores = head.score_bounds(inputs, given.bounds)
        return scores[:, : head.spans.labels].softmax(-1)

    def predict_spans(self, head: SpanRelation, inputs: SpanInputs) -> KeptSpans:
        """Return the selected spans, and those that ``ends`` adds for relations."""
        spans = head.scored_candidates(inputs)
        bounds = spans.bounds
        scores, attribute_scores = spans.scores.float().tensor_split([head.spans.labels], dim=-1)
        biased = add_bias(scores, self.bias)
        candidates, is_selected = ScoredSpans(biased, bounds, inputs.pair_groups), None
        kept = self.select(candidates)
        if self.ends is not None:
            kept, is_selected = self.ends.add_candidates(candidates, kept)
        types = scores[kept].softmax(-1)
        probs, labels = biased[kept].softmax(-1)[:, 1:].max(-1)
        values = head.spans.attribute_sizes.best(attribute_scores[kept])
        return KeptSpans(
            PredictedSpans(bounds[kept], labels + 1, probs, *values), types, is_selected
        )


@dataclass(frozen=True, slots=True)
class BestSpans:
    """Select the set of spans with the largest sum of margins over "none".

    The spans of a set do not overlap or, if ``nested``, do not cross.
    """

    nested: bool

    def __call__(self, spans: ScoredSpans) -> Int[Tensor, " kept"]:
        """Return the indices of the set, in text order."""
        margin = spans.margin
        return best_set(spans.bounds, margin, margin > 0, nested=self.nested)


@dataclass(frozen=True, slots=True)
class TopSpans:
    """Select the K spans per run with the lowest probability of "none", overlapping or not."""

    pruner: Pruner

    def __call__(self, spans: ScoredSpans) -> Int[Tensor, " kept"]:
        """Return the indices of the K spans per run, in text order."""
        return text_order(spans.bounds, self.pruner.keep(spans))


@dataclass(frozen=True, slots=True)
class SpansAbove:
    """Of the spans that another part selects, those whose label has at least a probability."""

    select: SpanSelector
    threshold: float

    def __call__(self, spans: ScoredSpans) -> Int[Tensor, " kept"]:
        """Return the indices of the selected spans that reach the threshold."""
        kept = self.select(spans)
        return kept[spans.scores[kept].softmax(-1)[:, 1:].amax(-1) >= self.threshold]


def add_bias(scores: Float[Tensor, "item label"], bias: float) -> Float[Tensor, "item label"]:
    """Return scores with ``bias`` added to all labels but the first, which is "none"."""
    return scores if bias == 0 else torch.cat([scores[:, :1], scores[:, 1:] + bias], dim=1)


def best_set(
    bounds: Int[Tensor, "span 2"],
    weights: Float[Tensor, " span"],
    is_allowed: Bool[Tensor, " span"],
    *,
    nested: bool,
) -> Int[Tensor, " kept"]:
    """Return the max-weight set of allowed spans without overlap, or without crossing."""
    allowed = text_order(bounds, is_allowed)
    decode = max_weight_nested if nested else max_weight_disjoint
    selected = decode(bounds_list(bounds[allowed]), weights[allowed].tolist())
    return allowed[torch.tensor(selected, dtype=torch.long, device=allowed.device)]


@dataclass(frozen=True, slots=True)
class RelationBias:
    """Add ``label`` to the scores of all labels but "none", and ``end`` with a span not selected.

    A pair gets ``end`` once, whether one or both of its spans are not selected.
    """

    label: float = 0.0
    end: float = 0.0

    def add(
        self,
        scores: Float[Tensor, "pair label"],
        pairs: Int[Tensor, "pair 2"],
        is_selected: Bool[Tensor, " kept"] | None,
    ) -> Float[Tensor, "pair label"]:
        """Return the scores with the biases."""
        scores = add_bias(scores, self.label)
        if is_selected is None or self.end == 0:
            return scores
        is_biased = ~is_selected[pairs].all(1, keepdim=True)
        return torch.cat([scores[:, :1], scores[:, 1:] + self.end * is_biased], dim=1)


@dataclass(frozen=True, slots=True)
class EachPair:
    """Label each pair of spans by itself; ``allow`` leaves out pairs that may not be related."""

    allow: PairFilter | None = None
    bias: RelationBias = RelationBias()

    def __call__(self, head: SpanRelation, inputs: SpanInputs, kept: KeptSpans) -> Decoded:
        """Return the spans, and a relation for each pair whose best label is not "none"."""
        relations = [PredictedRelations()]
        groups = group_of(kept.spans.bounds, inputs.pair_groups)
        chunks = head.pair_generator.iter_by_head(groups, MAX_PAIRS, starts=kept.starts)
        scored_chunks = _score_chunks(head, inputs, kept, chunks, self.allow)
        for pairs, scores, attribute_scores in scored_chunks:
            scores = self.bias.add(scores, pairs, kept.is_selected)
            probs, labels = scores.softmax(-1).max(-1)
            is_relation = labels > 0
            assert head.pairs is not None, "checked by the scorer of labels"
            values = head.pairs.attribute_sizes.best(attribute_scores[is_relation])
            related = pairs[is_relation], labels[is_relation], probs[is_relation]
            relations.append(PredictedRelations(*related, *values))
        return kept.spans, concatenate(relations)


@dataclass(frozen=True, slots=True)
class SelectedHeads:
    """Let each span select one head, where one scores above none (SpanRel's head-selection loss).

    ``allow`` leaves out pairs that may not be related.
    """

    allow: PairFilter | None = None
    bias: RelationBias = RelationBias()

    def __call__(self, head: SpanRelation, inputs: SpanInputs, kept: KeptSpans) -> Decoded:
        """Return the spans, and a relation from each selected head."""
        relations = [PredictedRelations()]
        groups = group_of(kept.spans.bounds, inputs.pair_groups)
        chunks = head.pairs_by_tail(inputs, kept.spans.bounds, kept.types, groups)
        for pairs, scores, _ in _score_chunks(head, inputs, kept, chunks, self.allow):
            scores = self.bias.add(scores, pairs, kept.is_selected)
            best, probs = select_heads(scores, pairs[:, 1], len(groups), dummy=True)
            selected = best[best >= 0]
            labels = scores[selected, 1:].argmax(-1) + 1
            relations.append(PredictedRelations(pairs[selected], labels, probs[best >= 0]))
        return kept.spans, concatenate(relations)


@dataclass(frozen=True, slots=True)
class OneRelation:
    """Select the best relation per group of pairs (a sentence), whatever its score.

    With ``ends_only`` the spans that are no end of a relation are dropped.
    """

    ends_only: bool
    allow: PairFilter | None = None

    def __call__(self, head: SpanRelation, inputs: SpanInputs, kept: KeptSpans) -> Decoded:
        """Return the spans, and one relation per group that has pairs."""
        groups = group_of(kept.spans.bounds, inputs.pair_groups)
        best = BestPair.empty(len(inputs.pair_groups), groups.device)
        chunks = head.pair_generator.iter_by_head(groups, MAX_PAIRS, starts=kept.starts)
        for pairs, scores, _ in _score_chunks(head, inputs, kept, chunks, self.allow):
            softmax_group = head.pair_generator.softmax_group(pairs, groups)
            best = best.update(pairs, scores, softmax_group)
        relations = PredictedRelations(*best.selected())
        return ends_of(kept.spans, relations) if self.ends_only else (kept.spans, relations)


@dataclass(frozen=True, slots=True)
class WithoutLabel:
    """What another part relates, without the relations of one label.

    With ``ends_only`` the spans that are no end of the other relations are dropped.
    """

    relate: PairDecoder
    label: int
    ends_only: bool

    def __call__(self, head: SpanRelation, inputs: SpanInputs, kept: KeptSpans) -> Decoded:
        """Return the spans and the relations of other labels."""
        spans, relations = self.relate(head, inputs, kept)
        relations = relations.select(relations.labels != self.label)
        return ends_of(spans, relations) if self.ends_only else (spans, relations)


def ends_of(spans: PredictedSpans, relations: PredictedRelations) -> Decoded:
    """Return only the spans that are ends of relations, and the relations between these."""
    ends, index = relations.pairs.unique(return_inverse=True)
    return spans.select(ends), replace(relations, pairs=index)


def _score_chunks(
    head: SpanRelation,
    inputs: SpanInputs,
    kept: KeptSpans,
    chunks: Iterable[Int[Tensor, "pair 2"]],
    allow: PairFilter | None,
) -> Iterator[ScoredPairs]:
    """Yield the allowed pairs of each chunk, label scores, attribute scores; no empty chunks."""
    score_pairs = label_scorer(head, inputs, kept.spans.bounds, kept.types)
    for chunk in chunks:
        pairs = chunk if allow is None else allow(chunk, kept.spans)
        if len(pairs):
            scores, attribute_scores = score_pairs(pairs)
            yield pairs, scores, attribute_scores


def label_scorer(
    head: SpanRelation, inputs: SpanInputs, bounds: Int[Tensor, "kept 2"], types: Types
) -> Callable[[Int[Tensor, "pair 2"]], Sequence[Float[Tensor, "pair column"]]]:
    """Return a function from pairs to their label scores and their attribute scores."""
    assert head.pairs is not None, "the head has no pair scorer"
    num_labels, score_pairs = head.pairs.labels, head.pair_scorer(inputs, bounds, types)
    return lambda pairs: score_pairs(pairs).float().tensor_split([num_labels], dim=-1)


def bounds_list(bounds: Int[Tensor, "span 2"]) -> list[tuple[int, int]]:
    """Return bounds as pairs of numbers."""
    return [(start, end) for start, end in bounds.tolist()]


def concatenate(chunks: Sequence[PredictedRelations]) -> PredictedRelations:
    """Return the relations of all chunks; an empty first chunk may be on another device."""
    parts = [chunk for chunk in chunks if len(chunk.pairs)] or chunks[:1]
    values = [part.attribute_values for part in parts if part.attribute_values is not None]
    probs = [part.value_probs for part in parts if part.value_probs is not None]
    return PredictedRelations(
        torch.cat([part.pairs for part in parts]),
        torch.cat([part.labels for part in parts]),
        torch.cat([part.scores for part in parts]),
        torch.cat(values) if values else None,
        torch.cat(probs) if probs else None,
    )
