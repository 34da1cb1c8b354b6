"""The parts that a span-relation head is made of."""

from dataclasses import dataclass

from spanloom.nn.antecedents import CoarseAntecedents
from spanloom.nn.candidates import Candidates, Pruner
from spanloom.nn.head_selection import PredicateSelector
from spanloom.nn.losses import PairLoss, SpanLoss, all_spans_loss, label_loss
from spanloom.nn.pair_generator import PairGenerator
from spanloom.nn.pairs import BasePairScorer
from spanloom.nn.refinement import MentionRefinement
from spanloom.nn.spans import CoarseSpanScorer, SpanAttention, SpanScorer


@dataclass(frozen=True, slots=True)
class SpanParts:
    """The parts that score candidate spans and learn their labels.

    With a ``coarse_scorer`` only the candidates that it keeps are scored in full. ``pruner`` tells
    how many spans form pairs. With ``reads_tokens`` contents of spans are made of the trunk's
    vectors, and with ``attends_tokens`` the attention reads these, too. ``attention`` is None where
    spans are those of a span layer.
    """

    candidates: Candidates
    attention: SpanAttention | None
    scorer: SpanScorer
    loss: SpanLoss = all_spans_loss
    coarse_scorer: CoarseSpanScorer | None = None
    pruner: Pruner = Pruner()
    reads_tokens: bool = False
    attends_tokens: bool = False


@dataclass(frozen=True, slots=True)
class PairParts:
    """The parts that make pairs of the kept spans, score them and learn their labels.

    With a ``predicate_selector`` only the spans that it selects are heads of pairs. With
    ``coarse_antecedents`` these choose the pairs instead of the generator. A ``refinement`` mixes
    the vectors of mentions with those of their antecedents before the last scores; the scorer is a
    ``PairScorer`` then.
    """

    scorer: BasePairScorer
    generator: PairGenerator = PairGenerator()
    loss: PairLoss = label_loss
    predicate_selector: PredicateSelector | None = None
    coarse_antecedents: CoarseAntecedents | None = None
    refinement: MentionRefinement | None = None
