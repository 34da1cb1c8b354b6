"""Span representations and scores (SpanRel, section 3, equations 3 and 4), factorised.

A span is ``z = [content; u_start; u_end; width]``, content being a self-attention average over its
words; with ``boundary_context`` the words before and after the span are added, as in parsers that
score spans between fenceposts (Stern et al. 2017, section 3). The first layer of every perceptron
over ``z`` is linear, so it is applied to words once, and a span only adds four vectors, for its
start, its end, its content (a difference of prefix sums) and its width.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from spanloom.cancellation import checkpoint
from spanloom.nn.attributes import AttributeSizes
from spanloom.nn.candidates import Candidates, Pruner, group_of, top_k_mask
from spanloom.nn.feedforward import FeedForward
from spanloom.nn.gather import gather_rows
from spanloom.nn.span_bags import SpanBags
from spanloom.tensors import CorefFeatures

_CHUNK = 2_048  # candidates scored at a time where no gradient is kept: what a cache holds
_SPARSE = 8  # a width whose spans start at fewer than one word in so many is cheaper to gather
_CLAMP = 10.0  # of attention scores; e^-20 is still exact in the prefix sums' double precision


@dataclass(frozen=True, slots=True)
class SpanInputs:
    """Inputs of a span-relation head for one batch, shared by span and pair scores.

    ``weights`` are attention weights of words. Spans lie inside ``sentences``; spans in the same
    run of ``pair_groups`` form pairs. ``neighbors`` are the words before and after each word in its
    sentence, -1 for none. ``features`` are the speakers and genres, if the task uses them.
    ``tokens`` are the vectors that contents of spans are made of; None if these are ``words``.
    """

    words: Float[Tensor, "word dim"]
    weights: Float[Tensor, "word 1"]
    sentences: Int[Tensor, "sentence 2"]
    pair_groups: Int[Tensor, "run 2"]
    neighbors: Int[Tensor, "word 2"]
    features: CorefFeatures | None = None
    tokens: Float[Tensor, "word token"] | None = None


class SpanAttention(nn.Module):
    """One unnormalised attention weight per word, shared by span and pair scores."""

    def __init__(self, dim: int) -> None:
        """``dim`` is the words' vector size."""
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, words: Float[Tensor, "word dim"]) -> Float[Tensor, "word 1"]:
        """Return positive weights, one per word."""
        weights: Tensor = self.score(words).float().clamp(-_CLAMP, _CLAMP).exp()
        return weights


@dataclass(frozen=True, slots=True)
class SpanFeatures:
    """Hidden vectors of each word as the first, the last and any word of a span, and its weight.

    Computed once per batch, whatever the number of spans.
    """

    first: Float[Tensor, "word hidden"]
    last: Float[Tensor, "word hidden"]
    contents: Float[Tensor, "word hidden"]
    weights: Float[Tensor, "word 1"]


class SpanProjection(nn.Module):
    """A linear layer over ``z``, computed without ever building ``z``."""

    def __init__(
        self,
        dim: int,
        hidden_size: int,
        num_width_embeddings: int,
        *,
        boundary_context: bool = False,
        token_dim: int | None = None,
    ) -> None:
        """Spans of ``num_width_embeddings`` words and more share the last width embedding.

        With 0 of them widths are not read. With ``boundary_context`` the words before and after a
        span are read; at the edge of a sentence a learnt vector takes their place. ``token_dim`` is
        the size of the token vectors that contents are made of; None if they are made of words.
        """
        super().__init__()
        self.words = nn.Linear(dim, (3 if token_dim is None else 2) * hidden_size)
        self.tokens = None if token_dim is None else nn.Linear(token_dim, hidden_size, bias=False)
        self.width_embedding = (
            nn.Embedding(num_width_embeddings, hidden_size) if num_width_embeddings else None
        )
        if self.width_embedding is not None:
            nn.init.normal_(self.width_embedding.weight, std=0.02)
        self.boundary_context = (
            nn.Linear(dim, 2 * hidden_size, bias=False) if boundary_context else None
        )
        self.edge_vectors = nn.Parameter(torch.zeros(2, hidden_size)) if boundary_context else None

    def forward(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        bounds: Int[Tensor, "span 2"],
        neighbors: Int[Tensor, "word 2"] | None = None,
        tokens: Float[Tensor, "word token"] | None = None,
    ) -> Float[Tensor, "span hidden"]:
        """Return the layer's output for each span.

        ``bounds`` are ``[start, end)`` in ``words``, never empty. ``neighbors``, which only
        ``boundary_context`` needs, are the words before and after each word, -1 for none.
        ``tokens`` are needed where contents are made of them.
        """
        return self.gatherer(self.features(words, weights, neighbors, tokens))(bounds)

    def features(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        neighbors: Int[Tensor, "word 2"] | None = None,
        tokens: Float[Tensor, "word token"] | None = None,
    ) -> SpanFeatures:
        """Project each word to what it adds to spans; the inputs are those of ``forward``."""
        if self.tokens is None:
            first, last, contents = self.words(words).float().chunk(3, dim=-1)
        else:
            assert tokens is not None, "a layer that reads tokens was not given any"
            first, last = self.words(words).float().chunk(2, dim=-1)
            contents = self.tokens(tokens).float()
        if self.boundary_context is not None and self.edge_vectors is not None:
            assert neighbors is not None, "a layer that reads outside was not told what is there"
            before, after = self.boundary_context(words).float().chunk(2, dim=-1)
            edge_before, edge_after = self.edge_vectors[:, None]
            first = first + gather_rows(torch.cat([edge_before, before]), neighbors[:, 0] + 1)
            last = last + gather_rows(torch.cat([edge_after, after]), neighbors[:, 1] + 1)
        return SpanFeatures(first, last, contents, weights)

    def gatherer(
        self, features: SpanFeatures
    ) -> Callable[[Int[Tensor, "span 2"]], Float[Tensor, "span hidden"]]:
        """Return a function from bounds to what ``forward`` returns.

        Without gradients one sum per span adds its vectors and its words' shares of its content,
        where spans are narrow; other contents are differences of prefix sums.
        """
        width_vectors = None if self.width_embedding is None else self.width_embedding.weight
        bags = None if torch.is_grad_enabled() else _bags(features, width_vectors)

        @cache
        def content_sums() -> Float[Tensor, "offset column"]:
            return prefix_sums(features.contents, features.weights)

        def gather(bounds: Int[Tensor, "span 2"]) -> Float[Tensor, "span hidden"]:
            if bags is not None and bags.suit(bounds):
                return bags(bounds)
            start, end = bounds.unbind(-1)
            ends = gather_rows(features.first, start) + gather_rows(features.last, end - 1)
            hidden: Tensor = ends + segment_means(content_sums(), bounds)
            if self.width_embedding is not None:
                width = (end - start - 1).clamp(max=self.width_embedding.num_embeddings - 1)
                hidden = hidden + self.width_embedding(width)
            return hidden

        return gather

    def iter_by_width(
        self, features: SpanFeatures, starts: Sequence[Int[Tensor, " _"]]
    ) -> Iterator[Float[Tensor, "_ hidden"]]:
        """Yield the output of ``forward`` for all spans of one width, for widths 1, 2, … in turn.

        ``starts`` holds, for each width, the first words of its spans. Sums of contents grow by one
        word per width, so only the spans that are yielded are gathered.
        """
        first, last = features.first, features.last
        weighted = content_sums = features.contents * features.weights
        weight_sums = features.weights
        for extra_words, start in enumerate(starts):
            if extra_words:
                content_sums = content_sums[:-1] + weighted[extra_words:]
                weight_sums = weight_sums[:-1] + features.weights[extra_words:]
            ends = first[: len(first) - extra_words] + last[extra_words:]
            hidden = ends + content_sums / weight_sums
            if self.width_embedding is not None:
                widths = self.width_embedding.weight
                hidden = hidden + widths[min(extra_words, len(widths) - 1)]
            yield gather_rows(hidden, start)

    def blocks(
        self, features: SpanFeatures, starts: Sequence[Int[Tensor, " _"]]
    ) -> Iterator[Float[Tensor, "_ hidden"]]:
        """Yield the output for all spans, width after width; spans of rare widths are gathered."""
        num_dense = next(
            (
                extra_words
                for extra_words, start in enumerate(starts)
                if _SPARSE * len(start) < len(features.first)
            ),
            len(starts),
        )
        yield from self.iter_by_width(features, starts[:num_dense])
        if num_dense < len(starts):
            start = torch.cat(list(starts[num_dense:]))
            counts = torch.tensor([len(start) for start in starts[num_dense:]], device=start.device)
            widths = torch.arange(num_dense + 1, len(starts) + 1, device=start.device)
            bounds = torch.stack([start, start + widths.repeat_interleave(counts)], dim=1)
            yield from map(self.gatherer(features), _chunks(bounds))


def _bags(features: SpanFeatures, widths: Float[Tensor, "width hidden"] | None) -> SpanBags:
    return SpanBags(features.first, features.last, features.contents, features.weights, widths)


def _chunks(bounds: Int[Tensor, "span 2"]) -> Sequence[Int[Tensor, "_ 2"]]:
    """Return all bounds at once where gradients are kept, else in chunks that fit in a cache."""
    return (bounds,) if torch.is_grad_enabled() else bounds.split(_CHUNK)


def prefix_sums(
    values: Float[Tensor, "word dim"], weights: Float[Tensor, "word 1"]
) -> Float[Tensor, "offset column"]:
    """Return prefix sums (word + 1, dim + 1) of weighted values and, last column, of weights.

    They are in double precision, because a difference of prefix sums cancels.
    """
    columns = torch.cat([values * weights, weights], dim=-1).double()
    return torch.cat([columns.new_zeros(1, columns.shape[1]), columns.cumsum(0)])


def segment_means(
    sums: Float[Tensor, "offset column"], bounds: Int[Tensor, "n 2"]
) -> Float[Tensor, "n dim"]:
    """Return the weighted mean over each ``[start, end)`` from prefix sums; 0 if it is empty."""
    segment_sums = gather_rows(sums, bounds[:, 1]) - gather_rows(sums, bounds[:, 0])
    weight = segment_sums[:, -1:]
    return (segment_sums[:, :-1] / weight.masked_fill(weight == 0, 1.0)).float()


def span_vectors(inputs: SpanInputs, bounds: Int[Tensor, "span 2"]) -> Float[Tensor, "span vector"]:
    """Return ``z = [content; u_start; u_end]`` of each span (SpanRel, equation 4)."""
    tokens = inputs.words if inputs.tokens is None else inputs.tokens
    contents = segment_means(prefix_sums(tokens.float(), inputs.weights), bounds)
    start, end = (gather_rows(inputs.words.float(), i) for i in (bounds[:, 0], bounds[:, 1] - 1))
    return torch.cat([contents, start, end], dim=-1)


class SpanScorer(nn.Module):
    """Label scores of candidate spans; column 0 is "none", columns of attributes follow labels."""

    def __init__(
        self,
        projection: SpanProjection,
        output: FeedForward,
        *,
        num_labels: int,
        attribute_sizes: AttributeSizes = AttributeSizes(),
        predicts_none: bool = True,
    ) -> None:
        """``output`` is what follows the first layer, ``projection``.

        ``num_labels`` includes "none"; scores of ``attribute_sizes`` follow those of labels.
        Without ``predicts_none`` the score of "none" is -inf, so each candidate has a label.
        """
        super().__init__()
        self.predicts_none = predicts_none
        self.labels, self.attribute_sizes = num_labels, attribute_sizes
        self.projection, self.output = projection, output

    def forward(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        starts: Sequence[Int[Tensor, " _"]],
        neighbors: Int[Tensor, "word 2"] | None = None,
        tokens: Float[Tensor, "word token"] | None = None,
    ) -> Float[Tensor, "span label"]:
        """Return unnormalised scores of the spans of width 1, then 2, … (``starts`` per width).

        Where no gradient is kept a few widths are scored at a time, so that memory stays bounded.
        """
        scores, pending, num_pending = [], [], 0
        for block in self.projection.blocks(
            self.projection.features(words, weights, neighbors, tokens), starts
        ):
            checkpoint()
            pending.append(block)
            num_pending += len(block)
            if num_pending >= _CHUNK and not torch.is_grad_enabled():
                scores.append(self.output(torch.cat(pending)))
                pending, num_pending = [], 0
        if pending:
            scores.append(self.output(torch.cat(pending)))
        return self._mask_none(torch.cat(scores).float())

    def _mask_none(self, scores: Float[Tensor, "span label"]) -> Float[Tensor, "span label"]:
        if self.predicts_none:
            return scores
        return scores.index_fill(
            1, torch.zeros(1, dtype=torch.long, device=scores.device), -torch.inf
        )

    def score_bounds(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        bounds: Int[Tensor, "span 2"],
        neighbors: Int[Tensor, "word 2"] | None = None,
        tokens: Float[Tensor, "word token"] | None = None,
    ) -> Float[Tensor, "span label"]:
        """Return scores of the spans ``bounds``; in chunks where no gradient is kept."""
        features = self.projection.features(words, weights, neighbors, tokens)
        gather = self.projection.gatherer(features)
        scores = [self.output(gather(chunk)) for chunk in _chunks(bounds)]
        return self._mask_none(torch.cat(scores).float())


class CoarseSpanScorer(nn.Module):
    """Coarse span scorer: log-odds that a candidate has any label, from one linear layer.

    The ``spans_per_word`` times n best spans of a sentence of n words are scored in full, as Lee et
    al. (2018) prune mentions coarse-to-fine and Kirstain et al. (2021, section 3) by their ends
    alone; with ``keep_sentences`` the span of the whole sentence always is.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_width_embeddings: int,
        spans_per_word: float,
        keep_sentences: bool = False,
        token_dim: int | None = None,
    ) -> None:
        """The sizes are those of ``SpanProjection``."""
        super().__init__()
        self.linear = SpanProjection(dim, 1, num_width_embeddings, token_dim=token_dim)
        self.spans_per_word, self.keep_sentences = spans_per_word, keep_sentences

    def select(
        self,
        scores: Float[Tensor, " span"],
        candidates: Candidates,
        bounds: Int[Tensor, "span 2"],
        sentences: Int[Tensor, "sentence 2"],
        gold: Int[Tensor, " gold"] | None = None,
    ) -> Int[Tensor, " kept"]:
        """Return the indices of the candidates to score in full: the best, and those of ``gold``.

        ``scores`` are the log-odds of all candidates, ``bounds`` their bounds.
        """
        group = group_of(bounds, sentences)
        budget = Pruner(self.spans_per_word).budget(sentences)
        keep_mask = top_k_mask(scores.detach(), group, budget)
        if gold is not None:
            keep_mask[gold] = True
        if self.keep_sentences:
            sentence_spans = candidates.index(sentences, sentences)
            keep_mask[sentence_spans[sentence_spans >= 0]] = True
        return keep_mask.nonzero()[:, 0]

    def forward(
        self,
        words: Float[Tensor, "word dim"],
        weights: Float[Tensor, "word 1"],
        starts: Sequence[Int[Tensor, " _"]],
        tokens: Float[Tensor, "word token"] | None = None,
    ) -> Float[Tensor, " span"]:
        """Return the log-odds of the spans of width 1, then 2, … (``starts`` per width)."""
        blocks = self.linear.blocks(self.linear.features(words, weights, tokens=tokens), starts)
        return torch.cat(list(blocks))[:, 0]
