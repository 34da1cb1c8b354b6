"""Span representations and scores (SpanRel, section 3, equations 3 and 4), factorised.

A span is ``z = [content; u_start; u_end; width]``, content being a self-attention average over its
words; with ``boundary_context`` the words before and after the span are added, as in parsers that
score spans between fenceposts (Stern et al. 2017, section 3). The first layer of every perceptron
over ``z`` is linear, so it is applied to words once, and a span only adds four vectors, for its
start, its end, its content (a difference of prefix sums) and its width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.cancellation import checkpoint
from spanloom.nn.attributes import AttributeSizes
from spanloom.nn.candidates import Candidates, Pruner, group_of, top_k_mask
from spanloom.nn.feedforward import FeedForward
from spanloom.nn.gather import gather_rows
from spanloom.nn.segment_means import prefix_sums, segment_means
from spanloom.nn.span_features import CHUNK, SpanFeatures, chunks_of
from spanloom.tensors import CorefFeatures, SpanVectors

_COARSE_CHUNK = 65_536  # spans to which the coarse scorer gives a number at a time
_CLAMP = 10.0  # of attention scores; e^-20 is still exact in the prefix sums' double precision


@dataclass(frozen=True, slots=True)
class SpanInputs:
    """Inputs of a span-relation head for one batch, shared by span and pair scores.

    ``weights`` are attention weights of words. Spans lie inside ``sentences``; spans in the same
    run of ``pair_groups`` form pairs. ``neighbors`` are the words before and after each word in its
    sentence, -1 for none. ``features`` are the speakers and genres, if the task uses them.
    ``tokens`` are the vectors that contents of spans are made of; None if these are ``words``.
    ``shared`` are the spans of the span layer that the head reads, if it reads one.
    """

    words: Float[Tensor, "word dim"]
    weights: Float[Tensor, "word 1"]
    sentences: Int[Tensor, "sentence 2"]
    pair_groups: Int[Tensor, "run 2"]
    neighbors: Int[Tensor, "word 2"]
    features: CorefFeatures | None = None
    tokens: Float[Tensor, "word token"] | None = None
    shared: SpanVectors | None = None

    @property
    def shared_spans(self) -> SpanVectors:
        """The spans of the span layer; only heads that read one ask for them."""
        assert self.shared is not None, "a head that reads a span layer was not given its spans"
        return self.shared


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
        return self.features(words, weights, neighbors, tokens).gather(bounds)

    def project(
        self, inputs: SpanInputs, bounds: Int[Tensor, "span 2"]
    ) -> Float[Tensor, "span hidden"]:
        """Return the layer's output for each span of some inputs.

        Without gradients only the words of spans are projected, if these are less than half.
        """
        if torch.is_grad_enabled() or self.boundary_context is not None:
            return self.features_of(inputs).gather(bounds)
        is_inside = _are_inside(bounds, len(inputs.words))
        kept = is_inside.nonzero()[:, 0]
        if 2 * len(kept) >= len(is_inside):
            return self.features_of(inputs).gather(bounds)
        tokens = None if inputs.tokens is None else inputs.tokens[kept]
        features = self.features(inputs.words[kept], inputs.weights[kept], tokens=tokens)
        num_before = F.pad(is_inside.cumsum(0), (1, 0))  # kept words before each word
        return features.gather(num_before[bounds])

    def features_of(self, inputs: SpanInputs) -> SpanFeatures:
        """Project each word of some inputs to what it adds to spans."""
        return self.features(inputs.words, inputs.weights, inputs.neighbors, inputs.tokens)

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
        widths = None if self.width_embedding is None else self.width_embedding.weight
        return SpanFeatures(first, last, contents, weights, widths)


def _are_inside(bounds: Int[Tensor, "span 2"], num_words: int) -> Bool[Tensor, " word"]:
    """Return which words any of the spans has."""
    steps = bounds.new_zeros(num_words + 1)
    ones = torch.ones_like(bounds[:, 0])
    steps.index_add_(0, bounds[:, 0], ones).index_add_(0, bounds[:, 1], ones, alpha=-1)
    return steps[:-1].cumsum(0) > 0


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
        projection: SpanProjection | None,
        output: FeedForward,
        *,
        num_labels: int,
        attribute_sizes: AttributeSizes = AttributeSizes(),
        predicts_none: bool = True,
    ) -> None:
        """``output`` is what follows the first layer, ``projection`` (None: that of a span layer).

        ``num_labels`` includes "none"; scores of ``attribute_sizes`` follow those of labels.
        Without ``predicts_none`` the score of "none" is -inf, so each candidate has a label.
        """
        super().__init__()
        self.predicts_none = predicts_none
        self.labels, self.attribute_sizes = num_labels, attribute_sizes
        self.projection, self.output = projection, output

    def spans_of(self, inputs: SpanInputs) -> SpanVectors:
        """Return the spans that it scores: of its own projection, or of the span layer."""
        if self.projection is None:
            return inputs.shared_spans
        return self.projection.features_of(inputs)

    def forward(
        self, spans: SpanVectors, starts: Sequence[Int[Tensor, " _"]]
    ) -> Float[Tensor, "span label"]:
        """Return unnormalised scores of the spans of width 1, then 2, … (``starts`` per width).

        Where no gradient is kept a few widths are scored at a time, so that memory stays bounded.
        """
        scores, pending, num_pending = [], [], 0
        for block in spans.blocks(starts):
            checkpoint()
            pending.append(block)
            num_pending += len(block)
            if num_pending >= CHUNK and not torch.is_grad_enabled():
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
        self, spans: SpanVectors, bounds: Int[Tensor, "span 2"]
    ) -> Float[Tensor, "span label"]:
        """Return scores of the spans ``bounds``; in chunks where no gradient is kept."""
        scores = [self.output(spans.gather(chunk)) for chunk in chunks_of(bounds)]
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
        bounds: Int[Tensor, "span 2"],
        tokens: Float[Tensor, "word token"] | None = None,
    ) -> Float[Tensor, " span"]:
        """Return the log-odds of the spans ``bounds``."""
        features = self.linear.features(words, weights, tokens=tokens)
        return torch.cat([features.gather(some)[:, 0] for some in bounds.split(_COARSE_CHUNK)])
