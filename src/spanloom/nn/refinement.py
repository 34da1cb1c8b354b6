"""Higher-order coreference (Lee et al. 2018, section 3): mentions read their likely antecedents.

A mention's vector is mixed with the mean of its antecedents' vectors, each counted by how likely it
is, and pairs are scored again. So a pronoun that is linked to a name is compared with other
mentions as that name would be.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from spanloom.nn.gather import gather_rows
from spanloom.nn.pairs import PairSizes, ProjectedPairs, ScorePairs
from spanloom.nn.spans import SpanInputs


class MentionRefinement(nn.Module):
    """Mix the vectors of mentions with those of their antecedents, by a learnt gate.

    The vectors are of the size of the pair scorer's hidden layers, and add to what it reads of a
    mention as a head and as a tail. So pairs still cost a sum of rows.
    """

    def __init__(self, sizes: PairSizes, order: int) -> None:
        """``order`` is 2 for one refinement, as published; ``sizes`` are those of the scorer."""
        super().__init__()
        hidden_size = sizes.hidden_size
        self.mention = sizes.end_projection()
        self.gate = nn.Linear(2 * hidden_size, hidden_size)
        self.head = nn.Linear(hidden_size, hidden_size, bias=False)
        self.tail = nn.Linear(hidden_size, hidden_size, bias=False)
        self.order = order

    def forward(
        self,
        inputs: SpanInputs,
        spans: ProjectedPairs,
        complete: Callable[[ProjectedPairs], ScorePairs],
        chunks: Sequence[Int[Tensor, "_ 2"]],
    ) -> ProjectedPairs:
        """Return the spans as pairs read them after all refinements.

        ``complete`` makes the whole score of the pair scorer's; ``chunks`` are all pairs
        ``(antecedent, mention)``, no mention's divided.
        """
        vectors = self.mention.project(inputs, spans.bounds)
        refined = self._shift(spans, vectors)
        for _ in range(self.order - 1):
            vectors = self._refine(vectors, complete(refined), chunks)
            refined = self._shift(spans, vectors)
        return refined

    def _shift(
        self, spans: ProjectedPairs, vectors: Float[Tensor, "span hidden"]
    ) -> ProjectedPairs:
        return spans.shifted(self.head(vectors).float(), self.tail(vectors).float())

    def _refine(
        self,
        vectors: Float[Tensor, "span hidden"],
        score: ScorePairs,
        chunks: Iterable[Int[Tensor, "_ 2"]],
    ) -> Float[Tensor, "span hidden"]:
        """Mix each vector with the mean of the antecedents' (equations 4 to 6)."""
        antecedents = expected_antecedents(vectors, _scored(score, chunks))
        gate = self.gate(torch.cat([vectors, antecedents], dim=-1)).float().sigmoid()
        mixed: Tensor = gate * vectors + (1 - gate) * antecedents
        return mixed


def expected_antecedents(
    vectors: Float[Tensor, "span hidden"],
    scored: Iterable[tuple[Int[Tensor, "_ 2"], Float[Tensor, " _"]]],
) -> Float[Tensor, "span hidden"]:
    """Return the mean of the vectors of each mention's antecedents, by their probability.

    ``scored`` are chunks of pairs and their scores. "No antecedent" scores 0, and stands for the
    mention itself.
    """
    expected = vectors
    for pairs, scores in scored:
        heads, tails = pairs.unbind(1)
        largest = scores.new_zeros(len(vectors)).scatter_reduce(0, tails, scores.detach(), "amax")
        weights = (scores - largest[tails]).exp()
        none = (-largest).exp()
        total = none.index_add(0, tails, weights)
        shares = gather_rows(vectors, heads) * (weights / total[tails])[:, None]
        rest = (1 - none / total)[:, None]  # 0 for mentions without pairs in this chunk
        expected = expected - rest * vectors
        expected = expected.index_add(0, tails, shares)
    return expected


def _scored(
    score: ScorePairs, chunks: Iterable[Int[Tensor, "_ 2"]]
) -> Iterator[tuple[Int[Tensor, "_ 2"], Float[Tensor, " _"]]]:
    """Yield pairs with the log-odds that any label holds."""
    for pairs in chunks:
        if len(pairs):
            yield pairs, score(pairs)[:, 1:].logsumexp(-1)
