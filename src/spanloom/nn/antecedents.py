"""Coarse-to-fine antecedents (Lee et al. 2018, section 4): a bilinear score chooses candidates.

Of all mentions before a mention, up to a horizon of thousands, a product of low rank and a term for
the distance keep a few, which the pair scorer then scores in full. The coarse score is a part of
the full one, so the same loss learns it. Time and memory grow linearly with the number of mentions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from spanloom.cancellation import checkpoint
from spanloom.nn.candidates import mention_scores
from spanloom.nn.gather import gather_rows
from spanloom.nn.span_layer import SharedSpanProjection
from spanloom.nn.spans import SpanInputs, SpanProjection

_BLOCK = 512  # mentions whose antecedents are chosen at a time
_SLOPE = 0.25  # what a mention twice as far loses before anything is learnt

EndProjection = SpanProjection | SharedSpanProjection


@dataclass(frozen=True, slots=True)
class CoarseScores:
    """Low-rank vectors of mentions as antecedents and as those that refer back.

    ``mention`` are the log-odds that a span is a mention, ``distance`` is the term of the mention
    1, 2, … before.
    """

    antecedents: Float[Tensor, "span rank"]
    anaphors: Float[Tensor, "span rank"]
    mention: Float[Tensor, " span"]
    distance: Float[Tensor, " horizon"]

    def __call__(self, pairs: Int[Tensor, "pair 2"]) -> Float[Tensor, " pair"]:
        """Return the score of pairs ``(antecedent, mention)``: product and distance."""
        left = gather_rows(self.antecedents, pairs[:, 0])
        product = (left * gather_rows(self.anaphors, pairs[:, 1])).sum(-1)
        return product + self.distance[pairs[:, 1] - pairs[:, 0] - 1]


@dataclass(frozen=True, slots=True)
class AntecedentSearch:
    """Keep ``num_kept`` of the nearest ``horizon`` mentions by a score of rank ``rank``."""

    num_kept: int
    horizon: int
    rank: int = 64

    def build(self, dim: int, num_width_embeddings: int) -> "CoarseAntecedents":
        """Build the scorer; ``dim`` is the size of word vectors."""
        antecedent = SpanProjection(dim, self.rank, num_width_embeddings)
        return CoarseAntecedents(
            antecedent, SpanProjection(dim, self.rank, num_width_embeddings), self
        )

    def build_shared(self, span_dim: int) -> "CoarseAntecedents":
        """Build the scorer of spans of a span layer; ``span_dim`` is the size of their vectors."""
        antecedent = SharedSpanProjection(span_dim, self.rank)
        return CoarseAntecedents(antecedent, SharedSpanProjection(span_dim, self.rank), self)


class CoarseAntecedents(nn.Module):
    """Choose the likeliest antecedents of each mention by a learnt bilinear score."""

    def __init__(
        self, antecedent: EndProjection, anaphor: EndProjection, search: AntecedentSearch
    ) -> None:
        """The projections give a span's vectors as an antecedent and as one that refers back."""
        super().__init__()
        self.antecedent, self.anaphor = antecedent, anaphor
        num_buckets = search.horizon.bit_length()  # one for each power of two (Joshi et al. 2019)
        self.distance = nn.Embedding(num_buckets, 1)
        with torch.no_grad():  # near mentions come first until something is learnt
            self.distance.weight[:, 0] = -_SLOPE * torch.arange(num_buckets)
        self.search = search

    def prepare(
        self,
        inputs: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        types: Float[Tensor, "span type"],
    ) -> CoarseScores:
        """Return the scores of spans; ``types`` are their label probabilities."""
        antecedents = self.antecedent.project(inputs, bounds)
        anaphors = self.anaphor.project(inputs, bounds) * self.search.rank**-0.5
        distances = torch.arange(1, self.search.horizon + 1, device=bounds.device)
        buckets = torch.frexp(distances.float()).exponent.long() - 1  # floor of the logarithm
        mentions = mention_scores(types)
        return CoarseScores(antecedents, anaphors, mentions, self.distance(buckets)[:, 0])

    def forward(
        self,
        inputs: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        types: Float[Tensor, "span type"],
        group: Int[Tensor, " span"],
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield the chosen pairs ``(antecedent, mention)``; both are of one group.

        Mentions are in text order and ``group`` is sorted. No mention's pairs are divided.
        """
        # with gradients, though none are needed: autocast may keep weights that it has converted
        # without them, and give these to the pair scorer, which learns them
        return self.iter_pairs(self.prepare(inputs, bounds, types), group)

    @torch.no_grad()
    def iter_pairs(
        self, scores: CoarseScores, group: Int[Tensor, " span"]
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield the pairs that scores choose, of block after block of mentions."""
        num_spans = len(group)
        index = torch.arange(num_spans, device=group.device)
        for start in range(0, num_spans, _BLOCK):
            checkpoint()
            tails = index[start : start + _BLOCK]
            first = max(0, start - self.search.horizon)
            heads = index[first : start + len(tails)]
            coarse = scores.anaphors[tails] @ scores.antecedents[heads].T + scores.mention[heads]
            distance = tails[:, None] - heads[None]
            is_before = (distance > 0) & (distance <= self.search.horizon)
            coarse = coarse + scores.distance[(distance - 1).clamp(0, self.search.horizon - 1)]
            is_allowed = is_before & (group[tails][:, None] == group[heads][None])
            coarse = coarse.masked_fill(~is_allowed, -torch.inf)
            values, columns = coarse.topk(min(self.search.num_kept, len(heads)), dim=1)
            tail_rows, ranks = values.isfinite().nonzero(as_tuple=True)
            pairs = torch.stack([heads[columns[tail_rows, ranks]], tails[tail_rows]], dim=1)
            yield pairs[(pairs[:, 1] * num_spans + pairs[:, 0]).argsort()]


def sort_pairs(chunks: Sequence[Int[Tensor, "_ 2"]], num_spans: int) -> Int[Tensor, "pair 2"]:
    """Return all pairs, ordered by antecedent, then by mention."""
    pairs = torch.cat([*chunks]) if chunks else torch.zeros(0, 2, dtype=torch.long)
    return pairs[(pairs[:, 0] * num_spans + pairs[:, 1]).argsort()]
