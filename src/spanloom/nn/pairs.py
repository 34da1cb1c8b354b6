"""Pair scores (SpanRel, section 3): a perceptron over ``[zj; zk; zj * zk]`` and more."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from spanloom.cancellation import checkpoint
from spanloom.nn.attributes import AttributeSizes
from spanloom.nn.feedforward import BuildFeedForward, OutputFeedForward
from spanloom.nn.gather import gather_rows
from spanloom.nn.span_features import WordMeans
from spanloom.nn.span_layer import SharedSpanProjection
from spanloom.nn.spans import SpanInputs, SpanProjection
from spanloom.tensors import CorefFeatures

_SPEAKER_CASES = 3  # unknown, the same speaker, two speakers
_PROB_EPS = 1e-4  # probabilities are kept that far from 0 and 1 where odds are taken
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


def mention_scores(types: Float[Tensor, "span type"]) -> Float[Tensor, " span"]:
    """Return the log-odds that each span has any label (Lee et al. 2017, equation 1)."""
    return torch.logit(1 - types[:, 0], eps=_PROB_EPS)


ScorePairs = Callable[[Int[Tensor, "pair 2"]], Float[Tensor, "pair label"]]


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
    ) -> ScorePairs:
        """Return a function that scores pairs; spans are projected once, not once per pair."""
        heads = self.head.project(inputs, bounds) + self.head_type(types).float()
        tails = self.tail.project(inputs, bounds) + self.tail_type(types).float()
        context = None if self.context is None else WordMeans(self.context(inputs.words).float())
        mentions = mention_scores(types) if self.add_mention_scores else None

        def score(pairs: Int[Tensor, "pair 2"]) -> Float[Tensor, "pair label"]:
            head, tail = gather_rows(heads, pairs[:, 0]), gather_rows(tails, pairs[:, 1])
            gap, distance = self._bucket_gap(bounds, pairs)
            first = head + tail
            first += self.product(head * tail).float()  # in place: memory takes most of the time
            first += self.distance_embedding(distance)
            if context is not None:
                first += context(gap)
            if inputs.features is not None:
                first_words = bounds[pairs[:, 0], 0], bounds[pairs[:, 1], 0]
                first += self._embed_features(inputs.features, *first_words)
            scores: Tensor = self.output(first).float()
            if mentions is None:
                return scores
            return scores + (mentions[pairs[:, 0]] + mentions[pairs[:, 1]])[:, None]

        return score

    def _embed_features(
        self, features: CorefFeatures, head: Int[Tensor, " pair"], tail: Int[Tensor, " pair"]
    ) -> Float[Tensor, "pair hidden"] | float:
        """Return the speaker and genre embeddings of pairs; head and tail are their first words."""
        hidden: Float[Tensor, "pair hidden"] | float = 0.0
        if self.speaker_embedding is not None:
            head_speaker, tail_speaker = features.speaker_ids[head], features.speaker_ids[tail]
            is_unknown = (head_speaker == 0) | (tail_speaker == 0)
            case = torch.where(head_speaker == tail_speaker, 1, 2).masked_fill(is_unknown, 0)
            hidden = hidden + self.speaker_embedding(case)
        return (
            hidden
            if self.genre_embedding is None
            else hidden + self.genre_embedding(features.genre_ids[head])
        )

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
class PairGenerator:
    """Generate the ordered pairs ``(head, tail)`` of the spans of a group that are scored.

    ``antecedents_only``: only heads before the tail, the nearest ``max_antecedents`` of them
    (None: all). ``horizon``: only spans that start at most so many words apart (None: all).
    ``self_pairs``: each span is paired with itself too, as a root is its own head.
    ``single_relation``: a group (a sentence) has exactly one relation, so the softmax is over all
    its pairs, not over those of one tail.
    """

    antecedents_only: bool = False
    max_antecedents: int | None = None
    self_pairs: bool = False
    single_relation: bool = False
    horizon: int | None = None

    def softmax_group(
        self, pairs: Int[Tensor, "pair 2"], group: Int[Tensor, " span"]
    ) -> Int[Tensor, " pair"]:
        """Return the softmax group of each pair: its tail, or its group if ``single_relation``."""
        return group[pairs[:, 0]] if self.single_relation else pairs[:, 1]

    def all_pairs(
        self,
        group: Int[Tensor, " span"],
        head_mask: Bool[Tensor, " span"] | None = None,
        starts: Int[Tensor, " span"] | None = None,
    ) -> Int[Tensor, "pair 2"]:
        """Return all pairs, ordered by head.

        ``group`` is sorted; ``head_mask`` tells which spans may be heads (None: all). A horizon
        needs ``starts``: the first word of each span, sorted.
        """
        chunks = list(self.iter_by_head(group, len(group) ** 2, head_mask, starts))
        return torch.cat(chunks) if chunks else group.new_zeros(0, 2)

    def iter_by_head(
        self,
        group: Int[Tensor, " span"],
        chunk_size: int,
        head_mask: Bool[Tensor, " span"] | None = None,
        starts: Int[Tensor, " span"] | None = None,
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield ``all_pairs`` in chunks of about ``chunk_size``, no head's pairs divided."""
        head = torch.arange(len(group), device=group.device)
        start, end = self._near(starts, *_group_bounds(group))
        if self.antecedents_only:
            start = head + 1
            if self.max_antecedents is not None:
                end = torch.minimum(end, start + self.max_antecedents)
        if head_mask is not None:
            end = torch.where(head_mask, end, start)
        for pairs in _iter_pairs(start, end - start, chunk_size):
            yield (
                pairs
                if self.antecedents_only or self.self_pairs
                else pairs[pairs[:, 0] != pairs[:, 1]]
            )

    def _near(
        self,
        starts: Int[Tensor, " span"] | None,
        first: Int[Tensor, " span"],
        end: Int[Tensor, " span"],
    ) -> tuple[Int[Tensor, " span"], Int[Tensor, " span"]]:
        """Return the bounds of the spans of a group that are within the horizon of each span."""
        if self.horizon is None:
            return first, end
        assert starts is not None, "a horizon needs to know where spans start"
        nearest = torch.searchsorted(starts, starts - self.horizon)
        farthest = torch.searchsorted(starts, starts + self.horizon, right=True)
        return torch.maximum(first, nearest), torch.minimum(end, farthest)

    def iter_by_tail(
        self,
        group: Int[Tensor, " span"],
        chunk_size: int,
        starts: Int[Tensor, " span"] | None = None,
    ) -> Iterator[Int[Tensor, "_ 2"]]:
        """Yield all pairs by tail, in chunks of about ``chunk_size``, no tail's pairs divided."""
        tail = torch.arange(len(group), device=group.device)
        start, end = self._near(starts, *_group_bounds(group))
        if self.antecedents_only:
            if self.max_antecedents is not None:
                start = torch.maximum(start, tail - self.max_antecedents)
            end = tail
        for pairs in _iter_pairs(start, end - start, chunk_size):
            kept = (
                pairs
                if self.antecedents_only or self.self_pairs
                else pairs[pairs[:, 0] != pairs[:, 1]]
            )
            yield kept.flip(1)


def match_pairs(
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


def without_lost_tails(
    pairs: Int[Tensor, "pair 2"],
    relations: Int[Tensor, "relation 3"],
    gold_to_kept: Int[Tensor, " gold"],
    num_spans: int,
) -> Int[Tensor, "some 2"]:
    """Return the pairs without those of tails whose gold heads form none of the pairs.

    Such a tail would be taught to have no head. ``pairs`` ascend, as for ``match_pairs``.
    """
    if not len(pairs) or not len(relations):
        return pairs
    tails = gold_to_kept[relations[:, 1]]
    is_lost = torch.zeros(num_spans, dtype=torch.bool, device=pairs.device)
    is_lost[tails[tails >= 0]] = True
    pair_index, _ = match_pairs(pairs, relations, gold_to_kept, num_spans)
    is_lost[pairs[pair_index, 1]] = False
    return pairs[~is_lost[pairs[:, 1]]]


def _group_bounds(group: Int[Tensor, " span"]) -> tuple[Int[Tensor, " span"], Int[Tensor, " span"]]:
    """Return the first span of each span's group, and one past its last."""
    _, counts = torch.unique_consecutive(group, return_counts=True)
    ends = counts.cumsum(0)
    return (ends - counts).repeat_interleave(counts), ends.repeat_interleave(counts)


def _iter_pairs(
    start: Int[Tensor, " span"], count: Int[Tensor, " span"], chunk_size: int
) -> Iterator[Int[Tensor, "_ 2"]]:
    """Yield each span with the ``count`` spans from ``start``, about ``chunk_size`` at a time."""
    ends = count.cumsum(0)
    first = 0
    while first < len(count):
        checkpoint()
        limit = int(ends[first] - count[first]) + chunk_size
        stop = max(first + 1, int(torch.searchsorted(ends, limit, right=True)))
        counts = count[first:stop]
        span = torch.arange(first, stop, device=count.device).repeat_interleave(counts)
        begin = (counts.cumsum(0) - counts).repeat_interleave(counts)
        step = torch.arange(len(span), device=count.device) - begin
        yield torch.stack([span, start[first:stop].repeat_interleave(counts) + step], dim=1)
        first = stop
