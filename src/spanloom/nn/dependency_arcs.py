"""Dependency parsing with biaffine arc scores (Dozat and Manning 2017, equation 6).

An arc's score is a bilinear score of head and dependent plus a score of the head alone; the
diagonal holds each word's score as the root. A perceptron then labels the n arcs of a sentence,
while SpanRel (section 3) applies one to all n² pairs of words (``nn.dependency_pairs``).
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.dropout import Dropout
from spanloom.nn.feedforward import BuildFeedForward, OutputFeedForward
from spanloom.nn.gather import gather_rows
from spanloom.nn.losses import soft_loss
from spanloom.nn.padding import pad, padded_groups
from spanloom.tensors import Losses

_CHUNK = 1 << 20  # scores computed at a time
UNKNOWN = -1  # the head of a word whose gold head is not known


class ArcScorer(nn.Module):
    """Scores of all arcs between words of the same run (sentence)."""

    def __init__(self, dim: int, *, hidden_size: int, dropout: float) -> None:
        """``hidden_size`` is the size of a word's vectors as a head and as a dependent."""
        super().__init__()
        self.head, self.dependent = nn.Linear(dim, hidden_size), nn.Linear(dim, hidden_size)
        self.bilinear = nn.Linear(hidden_size, hidden_size, bias=False)
        self.prior = nn.Linear(hidden_size, 1)
        self.root = nn.Linear(hidden_size, 1)
        self.dropout = Dropout(dropout)

    def forward(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Iterator[tuple[Int[Tensor, "_ _"], Int[Tensor, " _"], Float[Tensor, "_ _ _"]]]:
        """Yield groups of runs: word indices (run, width), lengths, scores (run, head, dependent).

        Heads in the padding score -inf; scores of dependents in the padding have no meaning.
        """
        head_vectors = self.dropout(F.gelu(self.head(words)))
        heads, priors = self.bilinear(head_vectors), self.prior(head_vectors)
        dependents = self.dropout(F.gelu(self.dependent(words)))
        roots = self.root(dependents)
        longest = int((runs[:, 1] - runs[:, 0]).max()) if len(runs) else 1
        for indices, lengths in padded_groups(runs, _CHUNK // max(1, longest)):
            scores = (pad(heads, indices) @ pad(dependents, indices).transpose(1, 2)).float()
            scores = scores + pad(priors, indices).float()
            scores = scores.diagonal_scatter(pad(roots, indices)[..., 0].float(), dim1=1, dim2=2)
            is_word = torch.arange(indices.shape[1], device=lengths.device) < lengths[:, None]
            yield indices, lengths, scores.masked_fill(~is_word[:, :, None], -torch.inf)


class ArcLabeler(nn.Module):
    """Score an arc's labels by a perceptron over head, dependent and their product."""

    def __init__(
        self,
        dim: int,
        *,
        num_labels: int,
        hidden_size: int,
        dropout: float,
        feedforward: BuildFeedForward = OutputFeedForward,
    ) -> None:
        """``num_labels`` is the number of scores per arc."""
        super().__init__()
        self.head, self.dependent = nn.Linear(dim, hidden_size), nn.Linear(dim, hidden_size)
        self.product = nn.Linear(hidden_size, hidden_size, bias=False)
        self.output = feedforward(hidden_size, num_labels, dropout)

    def forward(
        self, words: Float[Tensor, "word dim"], arcs: Int[Tensor, "arc 2"]
    ) -> Float[Tensor, "arc label"]:
        """Return the scores of all labels of ``arcs``, which are ``(head, dependent)`` of words."""
        return self.pairs(self.ends(words), arcs)

    def ends(self, words: Float[Tensor, "word dim"]) -> tuple[Float[Tensor, "word _"], ...]:
        """Return each word's vector as a head and as a dependent."""
        return self.head(words), self.dependent(words)

    def pairs(
        self, ends: tuple[Float[Tensor, "word _"], ...], arcs: Int[Tensor, "arc 2"]
    ) -> Float[Tensor, "arc label"]:
        """Return the scores of all labels of ``arcs`` from the vectors that ``ends`` returns."""
        heads, dependents = ends
        head, dependent = gather_rows(heads, arcs[:, 0]), gather_rows(dependents, arcs[:, 1])
        scores: Tensor = self.output(head + dependent + self.product(head * dependent))
        return scores.float()


class DependencyHead(nn.Module):
    """Dependency head: scores of all arcs, and of the labels of selected arcs."""

    def __init__(self, arcs: ArcScorer, labels: nn.Module) -> None:
        """Both scorers read the same word vectors."""
        super().__init__()
        self.arcs, self.labels = arcs, labels

    def loss(
        self,
        words: Float[Tensor, "word dim"],
        runs: Int[Tensor, "run 2"],
        heads: Int[Tensor, " word"],
        labels: Int[Tensor, " word"],
    ) -> Losses:
        """Return the cross-entropies of heads and of gold arcs' labels, summed over all runs.

        ``heads`` are word indices, a root's its own, or ``UNKNOWN``; ``labels`` count from 1.
        """
        is_known = heads != UNKNOWN
        arc_loss = words.sum() * 0
        for indices, lengths, scores in self.arcs(words, runs):
            is_word = torch.arange(indices.shape[1], device=lengths.device) < lengths[:, None]
            gold = heads[indices] - indices[:, :1]
            is_learnt = is_word & is_known[indices] & (gold >= 0) & (gold < lengths[:, None])
            gold = gold.clamp(0, scores.shape[1] - 1)
            log_probs = scores.log_softmax(1).gather(1, gold[:, None])
            arc_loss = arc_loss - log_probs[:, 0][is_learnt].sum()
        dependents = is_known.nonzero()[:, 0]
        label_scores = self.labels(words, torch.stack([heads[dependents], dependents], dim=1))
        label_loss = F.cross_entropy(label_scores, labels[dependents] - 1, reduction="sum")
        return {"arcs": arc_loss, "labels": label_loss}

    def soft_loss(
        self,
        words: Float[Tensor, "word dim"],
        runs: Int[Tensor, "run 2"],
        teacher: "DependencyHead",
        teacher_words: Float[Tensor, "word other"],
    ) -> Losses:
        """Return the losses with a teacher's probabilities, summed over all runs.

        They are those of each word's head, and of the labels of the arcs from the likeliest heads.
        """
        arc_loss, best = words.sum() * 0, torch.arange(len(words), device=words.device)
        with torch.no_grad():
            taught = list(teacher.arcs(teacher_words, runs))
        for (indices, lengths, scores), (_, _, teacher_scores) in zip(
            self.arcs(words, runs), taught, strict=True
        ):
            is_word = torch.arange(indices.shape[1], device=lengths.device) < lengths[:, None]
            losses = soft_loss(scores.transpose(1, 2), teacher_scores.transpose(1, 2))
            arc_loss = arc_loss + losses[is_word].sum()
            best[indices[is_word]] = (teacher_scores.argmax(1) + indices[:, :1])[is_word]
        arcs = torch.stack([best, torch.arange(len(best), device=best.device)], dim=1)
        with torch.no_grad():
            label_scores = teacher.labels(teacher_words, arcs)
        label_loss = soft_loss(self.labels(words, arcs), label_scores).sum()
        return {"arcs": arc_loss, "labels": label_loss}
