"""Pair scores (SpanRel, section 3): a perceptron over ``[zj; zk; zj * zk]`` and more."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from spanloom.nn.antecedents import CoarseScores
from spanloom.nn.attributes import AttributeSizes
from spanloom.nn.candidates import mention_scores
from spanloom.nn.feedforward import BuildFeedForward, OutputFeedForward
from spanloom.nn.gather import gather_rows
from spanloom.nn.span_features import WordMeans
from spanloom.nn.span_layer import SharedSpanProjection
from spanloom.nn.spans import SpanInputs, SpanProjection
from spanloom.tensors import CorefFeatures

_SPEAKER_CASES = 3  # unknown, the same speaker, two speakers
_CHUNK = 2_048  # pairs scored at a time where no gradient is kept
_EDGES = (1, 2, 3, 4, 5, 8, 16, 32, 64)  # first distance (words between spans) of each bucket


@dataclass(frozen=True, slots=True)
class PairFeatures:
    """Features of pairs beyond their two spans.

    ``context_between``: the mean of the words between the spans, of little use where spans are far
    apart. ``same_speaker``: whether one speaker says both. ``num_genres``: number of genres, the
    unknown one included; 0 for no genre feature. ``add_mention_scores``: the log-odds that both
    ends are spans at all are added to the scores of a pair (Lee et al. 2017, equation 1).
    """

    context_between: bool = True
    same_speaker: bool = False
    num_genres: int = 0
    add_mention_scores: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSizes:
    """Sizes that every pair scorer is built with.

    ``word_dim`` is the size of word vectors, ``token_dim`` that of the token vectors that contents
    are made of (None: they are made of words). ``num_types`` counts span labels, ``num_labels``
    pair labels, both with "none". ``attribute_sizes`` are attributes of pairs, whose scores follow
    those of labels. ``feedforward`` builds the perceptron above its first layer. ``span_dim`` is
    the size of the vectors of the span layer that the head reads (None: it reads none).
    """

    word_dim: int
    num_types: int
    num_labels: int
    num_width_embeddings: int
    hidden_size: int
    dropout: float
    attribute_sizes: AttributeSizes = AttributeSizes()
    token_dim: int | None = None
    feedforward: BuildFeedForward = OutputFeedForward
    span_dim: int | None = None

    @property
    def num_columns(self) -> int:
        """The number of scores of a pair: those of labels, then those of attributes."""
        return self.num_labels + self.attribute_sizes.columns

    def projection(self, *, boundary_context: bool = False) -> SpanProjection:
        """Return a new first layer over span vectors."""
        return SpanProjection(
            self.word_dim,
            self.hidden_size,
            self.num_width_embeddings,
            boundary_context=boundary_context,
            token_dim=self.token_dim,
        )

    def end_projection(self) -> SpanProjection | SharedSpanProjection:
        """Return a new first layer over span vectors, or over the spans of the span layer."""
        if self.span_dim is None:
            return self.projection()
        return SharedSpanProjection(self.span_dim, self.hidden_size)


ScorePairs = Callable[[Int[Tensor, "pair 2"]], Float[Tensor, "pair label"]]


def complete_scores(score: ScorePairs, coarse: CoarseScores | None) -> ScorePairs:
    """Return the whole score of pairs: a pair scorer's and the coarse one, if there is one.

    Without gradients pairs are scored in chunks that fit in a cache.
    """

    def score_all(pairs: Int[Tensor, "pair 2"]) -> Float[Tensor, "pair label"]:
        chunks = (pairs,) if torch.is_grad_enabled() else pairs.split(_CHUNK)
        scores = torch.cat([score(chunk) for chunk in chunks])
        return scores if coarse is None else scores + coarse(pairs)[:, None]

    return score_all


class BasePairScorer(nn.Module):
    """Interface of pair scorers; column 0 of their scores is "none"."""

    def __init__(self, sizes: PairSizes) -> None:
        """Keep the sizes that decoding and losses need."""
        super().__init__()
        self.types, self.labels = sizes.num_types, sizes.num_labels
        self.attribute_sizes = sizes.attribute_sizes

    def prepare(
        self,
        inputs: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        types: Float[Tensor, "span type"],
    ) -> ScorePairs:
        """Return a function that scores pairs (pair, 2), which are ``(head, tail)`` of ``bounds``.

        ``types`` are the spans' label probabilities. What all pairs share is computed here, once.
        """
        raise NotImplementedError

    def output_biases(self) -> list[nn.Parameter]:
        """Return the biases that start at the log-odds of labels in the data; none by default."""
        return []


class PairScorer(BasePairScorer):
    """SpanRel's pair scorer.

    A pair reads both spans, their label probabilities (``types``), the mean of the words between
    them, and a signed distance: the number of words between them, negative where the head is right
    of the tail.
    """

    def __init__(self, sizes: PairSizes, features: PairFeatures = PairFeatures()) -> None:
        """``features`` are what pairs read beyond their spans."""
        super().__init__(sizes)
        dim, hidden_size = sizes.word_dim, sizes.hidden_size
        self.head, self.tail = sizes.end_projection(), sizes.end_projection()
        self.head_type = nn.Linear(sizes.num_types, hidden_size, bias=False)
        self.tail_type = nn.Linear(sizes.num_types, hidden_size, bias=False)
        self.product = nn.Linear(hidden_size, hidden_size, bias=False)
        self.context = nn.Linear(dim, hidden_size, bias=False) if features.context_between else None
        self.speaker_embedding = (
            nn.Embedding(_SPEAKER_CASES, hidden_size) if features.same_speaker else None
        )
        self.genre_embedding = (
            nn.Embedding(features.num_genres, hidden_size) if features.num_genres else None
        )
        self.distance_embedding = nn.Embedding(2 * len(_EDGES) + 3, hidden_size)
        nn.init.normal_(self.distance_embedding.weight, std=0.02)
        self.output = sizes.feedforward(hidden_size, sizes.num_columns, sizes.dropout)
        self.add_mention_scores = features.add_mention_scores

    def output_biases(self) -> list[nn.Parameter]:
        """Return the bias of the label scores."""
        return [self.output.labels.bias]

    def prepare(
        self,
        inputs: SpanInputs,
        bounds: Int[Tensor, "span 2"],
        types: Float[Tensor, "span type"],
    ) -> "ProjectedPairs":
        """Return a function that scores pairs; spans are projected once, not once per pair."""
        return ProjectedPairs(
            self,
            inputs,
            bounds,
            self.head.project(inputs, bounds) + self.head_type(types).float(),
            self.tail.project(inputs, bounds) + self.tail_type(types).float(),
            None if self.context is None else WordMeans(self.context(inputs.words).float()),
            mention_scores(types) if self.add_mention_scores else None,
        )

    def score(
        self, spans: "ProjectedPairs", pairs: Int[Tensor, "pair 2"]
    ) -> Float[Tensor, "pair label"]:
        """Return the scores of pairs of projected spans."""
        head, tail = gather_rows(spans.heads, pairs[:, 0]), gather_rows(spans.tails, pairs[:, 1])
        gap, distance = self._bucket_gap(spans.bounds, pairs)
        first = head + tail
        first += self.product(head * tail).float()  # in place: memory takes most of the time
        if spans.context is not None:
            first += spans.context(gap)
        first_words = spans.bounds[pairs[:, 0], 0], spans.bounds[pairs[:, 1], 0]
        self._add_features(first, spans.inputs.features, distance, *first_words)
        scores: Tensor = self.output(first).float()
        if spans.mentions is None:
            return scores
        return scores + (spans.mentions[pairs[:, 0]] + spans.mentions[pairs[:, 1]])[:, None]

    def _add_features(
        self,
        hidden: Float[Tensor, "pair hidden"],
        features: CorefFeatures | None,
        distance: Int[Tensor, " pair"],
        head: Int[Tensor, " pair"],
        tail: Int[Tensor, " pair"],
    ) -> None:
        """Add the embeddings of distance, speakers and genre; head and tail are first words."""
        table, row = self.distance_embedding.weight, distance
        if features is not None and self.speaker_embedding is not None:
            head_speaker, tail_speaker = features.speaker_ids[head], features.speaker_ids[tail]
            is_unknown = (head_speaker == 0) | (tail_speaker == 0)
            case = torch.where(head_speaker == tail_speaker, 1, 2).masked_fill(is_unknown, 0)
            # one row for each distance with each case, so that a pair reads one instead of two
            table = (table[:, None] + self.speaker_embedding.weight).flatten(0, 1)
            row = row * _SPEAKER_CASES + case
        hidden += gather_rows(table, row)
        if features is not None and self.genre_embedding is not None:
            hidden += self.genre_embedding(features.genre_ids[head])

    def _bucket_gap(
        self, bounds: Int[Tensor, "span 2"], pairs: Int[Tensor, "pair 2"]
    ) -> tuple[Int[Tensor, "pair 2"], Int[Tensor, " pair"]]:
        """Return the bounds of the words between the two spans and a bucket of their number.

        The bounds are empty where the spans touch or overlap. Buckets are signed by the direction
        and shifted to indices of the distance embedding.
        """
        head_start, head_end = bounds[pairs[:, 0]].unbind(-1)
        tail_start, tail_end = bounds[pairs[:, 1]].unbind(-1)
        head_first = tail_start >= head_end
        tail_first = head_start >= tail_end
        start = torch.where(head_first, head_end, torch.where(tail_first, tail_end, head_start))
        end = torch.where(head_first, tail_start, head_start)
        edges = torch.tensor(_EDGES, device=bounds.device)
        bucket = 1 + torch.bucketize(end - start, edges, right=True)
        signed = torch.where(head_first, bucket, torch.where(tail_first, -bucket, 0))
        return torch.stack([start, end], dim=1), signed + len(_EDGES) + 1


@dataclass(frozen=True, slots=True)
class ProjectedPairs:
    """Spans as a pair scorer reads them, each projected once as a head and as a tail.

    ``context`` gives means of the words between spans, ``mentions`` are the log-odds of spans; None
    where the scorer does not read them.
    """

    scorer: PairScorer
    inputs: SpanInputs
    bounds: Int[Tensor, "span 2"]
    heads: Float[Tensor, "span hidden"]
    tails: Float[Tensor, "span hidden"]
    context: WordMeans | None
    mentions: Float[Tensor, " span"] | None

    def __call__(self, pairs: Int[Tensor, "pair 2"]) -> Float[Tensor, "pair label"]:
        """Return the scores of pairs ``(head, tail)``."""
        return self.scorer.score(self, pairs)

    def shifted(
        self, heads: Float[Tensor, "span hidden"], tails: Float[Tensor, "span hidden"]
    ) -> "ProjectedPairs":
        """Return the same spans, with vectors added to each as a head and as a tail."""
        return replace(self, heads=self.heads + heads, tails=self.tails + tails)
