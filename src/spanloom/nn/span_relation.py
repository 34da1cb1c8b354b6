"""The span-relation head (SpanRel, section 3): label spans, keep some, label pairs of the kept."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.nn.candidates import candidates, neighbours, rows, starts
from spanloom.nn.dropout import Dropout
from spanloom.nn.pairs import Pairing, PairScorer
from spanloom.nn.spans import Gate, SpanAttention, SpanScorer
from spanloom.tensors import Loss, SpanTargets, Told

_CHUNK = 2_048  # pairs scored at a time where no gradient is kept
_UNSURE = -1  # the target of a span that is something, nobody knows what: it is not learnt
_NEVER = -1e4  # the score of labels of a span that was not worth scoring: none is certain
_SURE = 1e-4  # probabilities are kept that far from 0 and 1 where odds are taken


@dataclass(frozen=True, slots=True)
class Prune:
    """How many spans of a sentence take part in pairs: ``ratio`` times its words, or ``fixed``."""

    ratio: float = 0.5
    fixed: int | None = None

    def budget(self, runs: Int[Tensor, "run 2"]) -> Int[Tensor, " run"]:
        """Return K for each run of words, at least 1."""
        lengths = runs[:, 1] - runs[:, 0]
        if self.fixed is not None:
            return torch.full_like(lengths, self.fixed)
        return (lengths * self.ratio).ceil().long().clamp(min=1)

    def keep(
        self,
        scores: Float[Tensor, "span label"],
        bounds: Int[Tensor, "span 2"],
        runs: Int[Tensor, "run 2"],
    ) -> Bool[Tensor, " span"]:
        """Keep the K spans of each run that are least probably "none"."""
        return least_none(scores, run_of(bounds, runs), self.budget(runs))


@dataclass(frozen=True, slots=True)
class Leads:
    """Which spans lead relations, of tasks where few do: those labelled with one of ``columns``.

    In training as many lead as ``prune`` says, the likeliest, and those of the gold. ``alone`` has
    for each label the one that says no more than that a span leads: what is known of it if given.
    """

    columns: tuple[int, ...]
    alone: tuple[int, ...]
    prune: Prune = Prune(0.4)

    def told(
        self,
        scores: Float[Tensor, "span label"],
        given: Int[Tensor, " span"],
    ) -> Float[Tensor, "span label"]:
        """Return scores by which spans lead where ``given`` is a label that does, and no others."""
        alone = torch.tensor(self.alone, device=scores.device)
        known = alone[given] * torch.isin(given, alone.new_tensor(self.columns))
        others = scores.index_fill(1, alone.new_tensor(self.columns), -torch.inf)
        sure = torch.full_like(scores, -torch.inf).scatter(1, known[:, None], 0.0)
        return torch.where((known > 0)[:, None], sure, others)

    def odds(self, scores: Float[Tensor, "span label"]) -> Float[Tensor, "span 2"]:
        """Return how likely each span leads nothing, and that it leads something."""
        leads = torch.zeros(scores.shape[1], dtype=torch.bool, device=scores.device)
        leads[list(self.columns)] = True
        both = scores[:, ~leads].logsumexp(-1), scores[:, leads].logsumexp(-1)
        return torch.stack(both, dim=1)

    def able(
        self,
        scores: Float[Tensor, "span label"],
        target: Int[Tensor, " span"],
        bounds: Int[Tensor, "span 2"],
        runs: Int[Tensor, "run 2"],
        *,
        given: bool,
    ) -> Bool[Tensor, " span"]:
        """Say which spans learn what they lead to: with ``given`` those of the gold alone."""
        gold = torch.isin(target, target.new_tensor(self.columns))
        if given:
            return gold
        return gold | self.prune.keep(self.odds(scores), bounds, runs)


@dataclass(frozen=True, slots=True)
class View:
    """What the head reads of a batch: word vectors, attention weights, sentences.

    Spans stand inside ``sentences``; those of one run of ``reach`` form pairs. ``beside`` has the
    rows of the words before and after each in its sentence, -1 for none. ``told`` is what is known
    beside words, if anything is.
    """

    words: Float[Tensor, "word dim"]
    weights: Float[Tensor, "word 1"]
    sentences: Int[Tensor, "sentence 2"]
    reach: Int[Tensor, "run 2"]
    beside: Int[Tensor, "word 2"]
    told: Told | None = None


class SpanRelation(nn.Module):
    """Span scores, pruning, pair scores, and the losses over all of them."""

    def __init__(
        self,
        attention: SpanAttention,
        spans: SpanScorer,
        pairs: PairScorer | None,
        *,
        width: int,
        prune: Prune,
        confusing: float | None,
        dropout: float,
        pairing: Pairing = Pairing(),
    ) -> None:
        """``confusing`` keeps that many times n of the hardest negatives in the span loss.

        With 0 each candidate has a label: "none" is not learnt, and a candidate without a label in
        the gold is unknown. Any span may be a head of pairs, unless ``leads`` is set; all spans are
        scored in full, unless there is a ``gate``.
        """
        super().__init__()
        self.leads: Leads | None = None
        self.gate: Gate | None = None
        self.attention, self.spans, self.pairs = attention, spans, pairs
        self.width, self.prune, self.confusing = width, prune, confusing
        self.pairing = pairing
        self.dropout = Dropout(dropout)

    def view(
        self,
        words: Float[Tensor, "word dim"],
        sentences: Int[Tensor, "sentence 2"],
        reach: Int[Tensor, "run 2"] | None = None,
    ) -> View:
        """Compute what span and pair scores share; pairs reach as far as sentences by default."""
        words = self.dropout(words)
        runs = sentences if reach is None else reach
        return View(words, self.attention(words), sentences, runs, neighbours(sentences))

    def candidates(self, sentences: Int[Tensor, "sentence 2"]) -> Int[Tensor, "span 2"]:
        """List the spans that can be predicted."""
        return candidates(sentences, self.width)

    def score_spans(
        self,
        view: View,
        looks: Float[Tensor, " span"] | None = None,
        gold: Int[Tensor, " gold"] | None = None,
    ) -> Float[Tensor, "span label"]:
        """Score all ``candidates`` of the view's sentences, in their order.

        Behind a gate those are scored that its ``looks`` (made here, if not handed in) find
        likeliest, the rows of ``gold``, and whole sentences if it says so; the others surely have
        no label.
        """
        if self.gate is not None:
            looks = self.look(view) if looks is None else looks
            return self._behind(self.gate, view, looks, gold)
        every = starts(view.sentences, self.width)
        scores: Tensor = self.spans(view.words, view.weights, every, view.beside)
        if self.confusing != 0:
            return scores
        return scores.index_fill(
            1, torch.zeros(1, dtype=torch.long, device=scores.device), -torch.inf
        )

    def look(self, view: View) -> Float[Tensor, " span"]:
        """Return the gate's log odds of all ``candidates``."""
        assert self.gate is not None, "a head without a gate was asked for its looks"
        looks: Tensor = self.gate(view.words, view.weights, starts(view.sentences, self.width))
        return looks

    def _behind(
        self,
        gate: Gate,
        view: View,
        looks: Float[Tensor, " span"],
        gold: Int[Tensor, " gold"] | None,
    ) -> Float[Tensor, "span label"]:
        bounds = self.candidates(view.sentences)
        budget = Prune(gate.ratio).budget(view.sentences)
        worth = highest(looks.detach(), run_of(bounds, view.sentences), budget)
        if gold is not None:
            worth[gold] = True
        if gate.whole:
            whole = rows(view.sentences, view.sentences, self.width)
            worth[whole[whole >= 0]] = True
        kept = worth.nonzero()[:, 0]
        found = self.spans.some(view.words, view.weights, bounds[kept], view.beside)
        never = found.new_full((found.shape[1],), _NEVER)
        never[0] = 0.0
        return never.expand(len(bounds), -1).index_copy(0, kept, found)

    def pair_scorer(
        self, view: View, bounds: Int[Tensor, "kept 2"], types: Float[Tensor, "kept type"]
    ) -> Callable[[Int[Tensor, "pair 2"]], Float[Tensor, "pair label"]]:
        """Return what scores ordered pairs of ``bounds``; what all pairs share is computed now.

        Pairs are scored in chunks where no gradient is kept.
        """
        assert self.pairs is not None, "a head without pairs was asked for pairs"
        scorer = self.pairs
        heads, tails = scorer.ends(view.words, view.weights, bounds, types)
        between = scorer.context(view.words)
        odds = torch.logit(1 - types[:, 0], eps=_SURE) if self.pairing.mentions else None

        def score(pairs: Int[Tensor, "pair 2"]) -> Float[Tensor, "pair label"]:
            parts = (pairs,) if torch.is_grad_enabled() else pairs.split(_CHUNK)
            told = view.told
            scores = torch.cat(
                [scorer(heads, tails, between, bounds, each, told) for each in parts]
            )
            if odds is None:
                return scores
            return scores + (odds[pairs[:, 0]] + odds[pairs[:, 1]])[:, None]

        return score

    def loss(self, view: View, gold: SpanTargets, *, given: bool) -> dict[str, Loss]:
        """Return the summed cross-entropies of spans and of pairs, over all sentences.

        With ``given`` the spans are gold input: they are not learnt, and only they form pairs.
        Where some lead, these are the gold input, and what they lead to is learnt.
        """
        if given and self.leads is None:
            assert self.pairs is not None, "a head without pairs and spans learns nothing"
            types = F.one_hot(gold.labels, self.pairs.head_type.in_features).float()
            ends = torch.arange(len(gold.bounds), device=gold.bounds.device)
            return self._pair_losses(view, gold, gold.bounds, types, ends)
        bounds = self.candidates(view.sentences)
        row = rows(gold.bounds, view.sentences, self.width)
        looks = None if self.gate is None else self.look(view)
        scores = self.score_spans(view, looks, row[row >= 0])
        scores, marks = scores.tensor_split([self.spans.labels], dim=-1)
        target = torch.zeros(len(bounds), dtype=torch.long, device=bounds.device)
        target[row[row >= 0]] = torch.where(gold.labels > 0, gold.labels, _UNSURE)[row >= 0]
        learnt = scores
        if gold.looked is not None:
            learnt = scores.masked_fill(~gold.looked[bounds[:, 0]], -torch.inf)
        losses = {"spans": self._span_loss(learnt, target, view.sentences, bounds)}
        if looks is not None:
            there, known = (target > 0).float(), (target != _UNSURE).float()
            if gold.looked is not None:  # where some label was not looked for, something may stand
                known = known * (gold.looked.all(1)[bounds[:, 0]] | (target > 0))
            total = F.binary_cross_entropy_with_logits(looks, there, known, reduction="sum")
            losses["gate"] = Loss(total, len(view.sentences))
        if gold.values is not None:
            there = row >= 0
            total = self.spans.slots.loss(marks[row[there]], gold.values[there])
            losses["attributes"] = Loss(total, len(view.sentences))
        if self.pairs is not None:
            kept = in_order(bounds, self.keep(scores, bounds, view.reach) | (target > 0))
            place = torch.full_like(target, -1)
            place[kept] = torch.arange(len(kept), device=kept.device)
            ends = torch.where(row >= 0, place[row], -1)
            scores, able = scores[kept], None
            if self.leads is not None and given:
                scores = self.leads.told(scores, target[kept])
            if self.leads is not None:
                able = self.leads.able(scores, target[kept], bounds[kept], view.reach, given=given)
            types = scores.softmax(-1)
            losses |= self._pair_losses(view, gold, bounds[kept], types, ends, able)
        return losses

    def keep(
        self,
        scores: Float[Tensor, "span label"],
        bounds: Int[Tensor, "span 2"],
        runs: Int[Tensor, "run 2"],
        ratio: float | None = None,
    ) -> Bool[Tensor, " span"]:
        """Keep the K spans of each run that are least probably "none"."""
        prune = self.prune if ratio is None else Prune(ratio)
        return prune.keep(scores, bounds, runs)

    def _span_loss(
        self,
        scores: Float[Tensor, "span label"],
        target: Int[Tensor, " span"],
        sentences: Int[Tensor, "sentence 2"],
        bounds: Int[Tensor, "span 2"],
    ) -> Loss:
        known = target != _UNSURE
        if self.confusing is not None and not bool(known.all()):
            scores, target, bounds = scores[known], target[known], bounds[known]
        if self.confusing == 0:
            scores, target = scores[target > 0], target[target > 0]
        elif self.confusing is not None:
            hard = self.keep(scores, bounds, sentences, self.confusing) | (target > 0)
            scores, target = scores[hard], target[hard]
        total = F.cross_entropy(scores, target, reduction="sum", ignore_index=_UNSURE)
        return Loss(total, len(sentences))

    def _pair_losses(
        self,
        view: View,
        gold: SpanTargets,
        bounds: Int[Tensor, "kept 2"],
        types: Float[Tensor, "kept type"],
        ends: Int[Tensor, " gold"],
        able: Bool[Tensor, " kept"] | None = None,
    ) -> dict[str, Loss]:
        """``ends`` says which kept span each gold span is, -1 for one that was not kept."""
        assert self.pairs is not None, "a head without pairs was asked to learn them"
        run = run_of(bounds, view.reach)
        pairs = self.pairing.square(run, able)
        total = marked = view.words.sum() * 0
        if len(pairs):
            scores = self.pair_scorer(view, bounds, types)(pairs)
            scores, marks = scores.tensor_split([self.pairs.labels], dim=-1)
            place, hit = _places(pairs, gold.pairs, ends, len(bounds))
            target = torch.zeros(len(pairs), dtype=torch.long, device=pairs.device)
            target[place] = gold.pairs[:, 2][hit]
            total = self.pairing.loss(scores, target, self.pairing.owner(pairs, run))
            if gold.pair_values is not None:
                marked = self.pairs.slots.loss(marks[place], gold.pair_values[hit])
        losses = {"pairs": Loss(total, len(view.sentences))}
        if gold.pair_values is not None:
            losses["pair_attributes"] = Loss(marked, len(view.sentences))
        return losses


def run_of(bounds: Int[Tensor, "span 2"], runs: Int[Tensor, "run 2"]) -> Int[Tensor, " span"]:
    """Return the row of the run (a sentence, a unit) each span starts in."""
    return torch.searchsorted(runs[:, 1].contiguous(), bounds[:, 0].contiguous(), right=True)


def in_order(bounds: Int[Tensor, "span 2"], kept: Bool[Tensor, " span"]) -> Int[Tensor, " kept"]:
    """Return the rows that are kept, in the order of the text: pairs need a sentence's together."""
    rows = kept.nonzero()[:, 0]
    start, end = bounds[rows].unbind(-1)
    return rows[(start * (int(end.max()) + 1 if len(rows) else 1) + end).argsort()]


def least_none(
    scores: Float[Tensor, "span label"],
    group: Int[Tensor, " span"],
    budget: Int[Tensor, " sentence"],
) -> Bool[Tensor, " span"]:
    """Keep, in each group, the ``budget`` rows of the lowest probability of label 0."""
    return highest(-scores.detach().float().log_softmax(-1)[:, 0], group, budget)


def highest(
    values: Float[Tensor, " span"], group: Int[Tensor, " span"], budget: Int[Tensor, " sentence"]
) -> Bool[Tensor, " span"]:
    """Keep, in each group, the ``budget`` rows of the highest values, of equal ones the first."""
    order = values.argsort(stable=True, descending=True)
    order = order[group[order].argsort(stable=True)]
    sizes = torch.bincount(group, minlength=len(budget))
    first = (sizes.cumsum(0) - sizes)[group[order]]
    rank = torch.arange(len(order), device=order.device) - first
    kept = torch.zeros(len(group), dtype=torch.bool, device=group.device)
    kept[order] = rank < budget[group[order]]
    return kept


def _places(
    pairs: Int[Tensor, "pair 2"],
    gold: Int[Tensor, "relation 3"],
    ends: Int[Tensor, " gold"],
    size: int,
) -> tuple[Int[Tensor, " hit"], Int[Tensor, " hit"]]:
    """Rows of the pairs that are relations, and rows of those relations.

    ``pairs`` are in ascending order, so each relation is found by search. ``size`` is the number of
    kept spans, those that form no pair counted.
    """
    head, tail = ends[gold[:, 0]], ends[gold[:, 1]]
    known = pairs[:, 0] * size + pairs[:, 1]
    code = head * size + tail
    place = torch.searchsorted(known, code).clamp(max=len(known) - 1)
    hit = ((head >= 0) & (tail >= 0) & (known[place] == code)).nonzero()[:, 0]
    return place[hit], hit
