"""Which known task to train one's own corpus with: the sources ranked by the best predictor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.model.model import Model
from spanloom.studies import relatedness
from spanloom.studies.attention import head_similarities
from spanloom.studies.correlation import Correlation
from spanloom.studies.relatedness import (
    CENTERED,
    GENERIC,
    PREDICTOR_NAMES,
    FirstChoice,
    Relatedness,
    source_gains,
)
from spanloom.studies.similarity import ATTENTION, OVERLAP
from spanloom.studies.span_overlap import span_overlap

KNOWN = Path(__file__).with_name("known_sources.json")  # a copy of what study correlate writes
SourceValues = Mapping[str, Mapping[str, float]]  # by predictor, then by source


@dataclass(frozen=True, slots=True)
class RankedSource:
    """A source, the value of the predictor for one's corpus, its gains elsewhere in points."""

    source: str
    value: float
    gains: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """The sources, the best first, by one predictor; what is known of it over pairs of tasks.

    Of ``num_predictors`` it is the one that orders these pairs best.
    """

    predictor: str
    num_predictors: int
    correlation: Correlation
    first_choice: FirstChoice
    sources: tuple[RankedSource, ...]
    study: str

    @property
    def is_certain(self) -> bool:
        """Whether the predictor is known to order sources: its interval is above 0."""
        low = self.correlation.spearman.low
        return low is not None and low > 0

    @property
    def _reservation(self) -> str:
        if self.num_predictors == 1:
            return ""
        return (
            f"; but it is the best of {self.num_predictors} predictors, so its figures flatter it"
        )

    def to_text(self) -> str:
        """Return the advice for a terminal."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        choice, estimate = self.first_choice, self.correlation.spearman
        value = "undefined" if estimate.value is None else f"{estimate.value:.2f}"
        ends = (
            "no interval"
            if estimate.low is None or estimate.high is None
            else f"95 % interval {estimate.low:.2f} to {estimate.high:.2f}"
        )
        yield (
            f"by {PREDICTOR_NAMES[self.predictor]}: rank correlation with gain {value} ({ends}), "
            f"{self.correlation.num_pairs} pairs of {self.study}"
        )
        yield (
            f"its first choice helped {choice.num_helped} of {choice.num_targets} tasks, "
            f"{choice.gain:+.2f} points on average (any source {choice.any_source:+.2f}, "
            f"the best {choice.best_source:+.2f})"
        )
        yield (
            f"certain as far as these tasks go: the interval is above 0{self._reservation}"
            if self.is_certain
            else "not certain: the order below may be chance; train alone as well, and compare"
        )
        width = max(len(source.source) for source in self.sources)
        for rank, source in enumerate(self.sources, 1):
            helped = sum(gain > 0 for gain in source.gains)
            yield (
                f"{rank:>2}  {source.source:<{width}}  {source.value:9.3f}  "
                f"elsewhere {median(source.gains):+.2f} points (median), "
                f"helped {helped} of {len(source.gains)}"
            )


def read_known(path: Path | None) -> Relatedness:
    """Read what is known of sources; ``DataError`` where nothing is known yet."""
    if path is None and not KNOWN.is_file():
        raise DataError(
            "which task helps which is not known yet: this copy of spanloom has no results of a "
            "study of pairs; spanloom study correlate makes them, --known FILE reads them"
        )
    return relatedness.read(path or KNOWN)


def advise(known: Relatedness, values: SourceValues) -> Advice:
    """Rank the sources by the predictor that orders known pairs best, of those with values.

    The median gain of a source over the known targets is a predictor that needs no value. Raises
    ``DataError`` where none has a known correlation.
    """
    gains = {source.source: source.gains for source in source_gains(known.pairs)}
    candidates = {**values, GENERIC: {name: median(own) for name, own in gains.items()}}
    correlations = {c.predictor: c for c in known.correlations if c.scope == CENTERED}
    choices = {choice.predictor: choice for choice in known.first_choices}
    usable = [
        name
        for name, by_source in candidates.items()
        if by_source and name in choices and correlations[name].spearman.value is not None
    ]
    if not usable:
        raise DataError(f"{known.study}: no predictor has a known correlation with gain")
    best = max(usable, key=lambda name: round(correlations[name].spearman.value or 0.0, 6))
    ranked = sorted(candidates[best].items(), key=lambda item: -item[1])
    sources = [RankedSource(name, value, gains[name]) for name, value in ranked if name in gains]
    return Advice(best, len(usable), correlations[best], choices[best], tuple(sources), known.study)


def measure_sources(
    known: Relatedness,
    documents: Sequence[Document],
    layer: str,
    models: Sequence[Model],
    own: Model | None,
    num_sentences: int,
) -> SourceValues:
    """Return the predictors that need no training of pairs, for the layer of some documents.

    ``models`` hold the known sources under their names, several in one model or one each. Span
    overlap needs nothing else. Attention needs ``own``, a model that learnt the layer alone, and
    models of one task.
    """
    sources = {pair.source for pair in known.pairs}
    overlaps, attention = {}, {}
    single: dict[str, Model] = {}
    for model in models:
        for name in [task for task in model.tasks if task in sources]:
            overlap = span_overlap(model, name, documents, layer)
            if overlap is not None:
                overlaps[name] = overlap
            if len(model.tasks) == 1:
                single[name] = model
    if own is not None and single:
        by_model, _ = head_similarities(own, [*single.values()], documents, num_sentences)
        attention = {name: float(h.mean()) for name, h in zip(single, by_model, strict=True)}
    return {OVERLAP: overlaps, ATTENTION: attention}
