"""Losses of constituency trees: a max-margin loss, and the negative log-likelihood of a tree CRF.

As in decoding (``decoding.span_selection``), the score of a tree is the sum of the margins of its
labelled spans: the score of a span's label minus that of "none". A node may have any number of
children; the brackets of its binarization have no label and the score 0. The whole sentence always
has a label. Both losses fill a chart width by width, all spans of one width at a time, over all
sentences of a batch: O(n³) sums in n steps.

A span whose label is unknown counts as unlabelled, and a sentence without a gold label of its whole
has no label to learn there.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from spanloom.nn.candidates import ScoredSpans, group_of
from spanloom.nn.losses import UNKNOWN

Reduce = Callable[[Float[Tensor, "split span"]], Float[Tensor, " span"]]  # over all splits


def tree_margin_loss(spans: ScoredSpans, target: Int[Tensor, " span"]) -> Float[Tensor, ""]:
    """Return by how much the best wrong tree scores above gold (Stern et al. 2017, section 3).

    It is the sum over sentences of max(0, max over trees of (score + Hamming loss) - gold score).
    The Hamming loss of a binary tree is the number of its spans whose label, or "none", is not
    gold's. ``spans`` are all spans of each sentence, narrow ones first.
    """
    margins = _margins(spans)
    is_gold, is_whole, skipped = _roles(spans, target)
    wrong = torch.ones_like(margins)
    wrong[is_gold] = wrong[is_gold].scatter(1, target[is_gold, None] - 1, 0.0)
    best_label = (margins + wrong).amax(-1)
    none = is_gold.to(margins.dtype).masked_fill(is_whole, -torch.inf)
    node = torch.maximum(best_label, none).masked_fill(skipped, 0.0)
    inside = _fill_chart(node, node, spans.bounds, lambda sums: sums.amax(0))
    return _excess_over_gold(spans, target, margins, (node + inside)[is_whole])


def tree_crf_loss(spans: ScoredSpans, target: Int[Tensor, " span"]) -> Float[Tensor, ""]:
    """Return the negative log-likelihood of the gold trees (Zhang et al. 2020, sections 3 and 4).

    A tree's probability is proportional to the exponential of its score. Each tree counts once, in
    its left binarization: a part without label is always the first part of its parent. ``spans``
    are all spans of each sentence, narrow ones first.
    """
    margins = _margins(spans)
    _, is_whole, skipped = _roles(spans, target)
    labeled = margins.logsumexp(-1)
    labeled = torch.where(skipped, torch.where(is_whole, 0.0, -torch.inf), labeled)
    any_node = torch.logaddexp(labeled, torch.zeros_like(labeled))
    is_word = spans.bounds[:, 1] - spans.bounds[:, 0] == 1
    later = torch.where(is_word, any_node, labeled)
    inside = _fill_chart(any_node, later, spans.bounds, lambda sums: sums.logsumexp(0))
    return _excess_over_gold(spans, target, margins, (labeled + inside)[is_whole])


def _margins(spans: ScoredSpans) -> Float[Tensor, "span label"]:
    """Return the scores of all labels minus that of "none"."""
    scores = spans.scores.float()
    return scores[:, 1:] - scores[:, :1]


def _roles(
    spans: ScoredSpans, target: Int[Tensor, " span"]
) -> tuple[Bool[Tensor, " span"], Bool[Tensor, " span"], Bool[Tensor, " span"]]:
    """Return masks of gold spans, of whole sentences, and of spans whose labels are not learnt."""
    runs = spans.runs[group_of(spans.bounds, spans.runs)]
    is_whole = (spans.bounds == runs).all(1)
    return target > 0, is_whole, (target == UNKNOWN) | (is_whole & (target <= 0))


def _fill_chart(
    first: Float[Tensor, " span"],
    later: Float[Tensor, " span"],
    bounds: Int[Tensor, "span 2"],
    reduce: Reduce,
) -> Float[Tensor, " span"]:
    """Return the score of what is inside each span: ``reduce`` over its splits in two, 0 for words.

    ``first`` and ``later`` are the scores of a span as the first and as the second part of another.
    """
    num_words = int(bounds[:, 1].max())
    widths = bounds[:, 1] - bounds[:, 0]
    sizes = torch.bincount(widths)[1:].tolist()
    first_parts: list[Tensor] = []  # by width, by start
    later_parts: list[Tensor] = []  # by width, by end
    insides = []
    columns = (tensor.split(sizes) for tensor in (first, later, *bounds.unbind(-1)))
    for node_first, node_later, start, end in zip(*columns, strict=True):
        inside = torch.zeros_like(node_first)
        if first_parts:
            heads = torch.stack(first_parts)[:, start]
            tails = torch.stack(later_parts[::-1])[:, end]
            inside = reduce(heads + tails)
        insides.append(inside)
        empty = inside.new_zeros(num_words + 1)
        first_parts.append(empty.index_copy(0, start, node_first + inside))
        later_parts.append(empty.index_copy(0, end, node_later + inside))
    return torch.cat(insides)


def _excess_over_gold(
    spans: ScoredSpans,
    target: Int[Tensor, " span"],
    margins: Float[Tensor, "span label"],
    total: Float[Tensor, " whole"],
) -> Float[Tensor, ""]:
    """Return the sum over sentences of ``total`` minus the gold score, at least 0.

    ``total`` has the order of whole sentences among the spans. A difference is below 0 only where
    gold spans cross and so are no tree; they are not learnt.
    """
    is_gold, is_whole, _ = _roles(spans, target)
    sentence = group_of(spans.bounds, spans.runs)
    label_scores = margins[is_gold].gather(1, target[is_gold, None] - 1)[:, 0]
    gold_scores = margins.new_zeros(len(spans.runs)).index_add(0, sentence[is_gold], label_scores)
    return (total - gold_scores[sentence[is_whole]]).clamp(min=0).sum()
