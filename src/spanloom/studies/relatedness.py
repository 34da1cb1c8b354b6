"""What predicts the gain of training two tasks together: a study's pairs beside a similarity."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import ClassVar

from pydantic import ConfigDict, TypeAdapter

from spanloom.errors import DataError
from spanloom.studies import values_file
from spanloom.studies.correlation import Correlation, Pair, correlation_of
from spanloom.studies.results import Result, with_first_metrics
from spanloom.studies.similarity import ATTENTION, COSINE, OVERLAP, Similarity
from spanloom.studies.spec import PAIRS, PAIRS_THEN_SINGLE, SINGLE, SINGLE_THEN_SINGLE

GENERIC = "generic"
PREDICTOR_NAMES = {
    ATTENTION: "attention similarity",
    COSINE: "gradient cosine",
    OVERLAP: "span overlap",
    GENERIC: "median gain of the source elsewhere",
}
PREDICTORS = tuple(PREDICTOR_NAMES)
POOLED, CENTERED = "pooled", "pooled within targets"
_FEWEST = 3  # pairs of a correlation


@dataclass(frozen=True, slots=True)
class FirstChoice:
    """What following a predictor gives: the gain of each target's first source, in points.

    ``any_source`` is the mean gain over all sources, ``best_source`` that of the best ones.
    """

    predictor: str
    num_targets: int
    num_helped: int
    gain: float
    any_source: float
    best_source: float


@dataclass(frozen=True, slots=True)
class SourceGain:
    """A source and the gains of all its targets, in points."""

    source: str
    gains: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median gain: one target whose score depends on the seed does not move it far."""
        return median(self.gains)


@dataclass(frozen=True, slots=True)
class Relatedness:
    """All that a study of pairs and a similarity say of tasks; what ``study advise`` reads.

    ``design`` and ``baseline`` are the designs whose difference a gain is. ``ceilings`` are the
    values of predictors for two models of one task, by predictor and task.
    """

    study: str
    design: str
    baseline: str
    pairs: tuple[Pair, ...]
    correlations: tuple[Correlation, ...]
    first_choices: tuple[FirstChoice, ...]
    ceilings: dict[str, dict[str, float]]
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    def to_json(self) -> str:
        """Return the values as JSON."""
        return values_file.to_json(self)


_RELATEDNESS = TypeAdapter(Relatedness)


def read(path: Path) -> Relatedness:
    """Read what ``to_json`` wrote; raises ``FormatError``, and ``DataError`` for a missing file."""
    return values_file.read(path, _RELATEDNESS, "relatedness of tasks", "spanloom study correlate")


def correlate(study: str, results: Sequence[Result], similarity: Similarity) -> Relatedness:
    """Correlate predictors with the gains of a study's pairs.

    Gains are those after both tasks were learnt together and then the target alone, if the study
    has them, over the target alone twice, if it has that; else of pairs over the target alone.
    Raises ``DataError`` where fewer than three pairs have a gain and a similarity.
    """
    design, baseline, gains = gains_of(results)
    pairs = _with_predictors(gains, similarity)
    if len(pairs) < _FEWEST:
        raise DataError(
            f"{study}: expected {_FEWEST} pairs at least with a gain and a similarity, "
            f"got {len(pairs)} (gains of {len(gains)} pairs)"
        )
    choices = [first_choice(name, pairs) for name in PREDICTORS]
    return Relatedness(
        study,
        design,
        baseline,
        tuple(pairs),
        tuple(_correlations(pairs)),
        tuple(choice for choice in choices if choice is not None),
        _ceilings(similarity),
    )


def _correlations(pairs: Sequence[Pair]) -> Iterator[Correlation]:
    """Yield each predictor's correlation within each target, pooled, and pooled within targets."""
    for name in PREDICTORS:
        known = [pair for pair in pairs if name in pair.predictors]
        for target in dict.fromkeys(pair.target for pair in known):
            own = [pair for pair in known if pair.target == target]
            yield correlation_of(name, target, own, centered=False)
        if known:
            yield correlation_of(name, POOLED, known, centered=False)
            yield correlation_of(name, CENTERED, known, centered=True)


def gains_of(results: Sequence[Result]) -> tuple[str, str, dict[tuple[str, str], float]]:
    """Return the design and baseline of gains, and the gain in points by (source, target).

    Designs with a label and new heads do not count; of several metrics of a task the first does.
    Raises ``DataError`` without pairs, for several trunks or sharing modes, and where the study
    compares pairs with something else than a task alone.
    """
    results = [r for r in with_first_metrics(results) if not r.label and not r.new_head]
    tuned = [r for r in results if r.design == PAIRS_THEN_SINGLE]
    chosen = tuned or [r for r in results if r.design == PAIRS]
    if not chosen:
        raise DataError("no row of the designs pairs or pairs-then-single, so no gains of pairs")
    check_one_group(r.group for r in chosen)
    has_again = any(r.design == SINGLE_THEN_SINGLE for r in results if tuned)
    gains = {(r.partners[0], r.task): _gain(r, has_again) for r in chosen}
    finished = {pair: 100 * gain for pair, gain in gains.items() if gain is not None}
    return chosen[0].design, SINGLE_THEN_SINGLE if has_again else SINGLE, finished


def check_one_group(groups: Iterable[tuple[str, str]]) -> None:
    """Raise ``DataError`` for several trunks or sharing modes."""
    if len(different := set(groups)) > 1:
        names = "; ".join(" ".join(filter(None, group)) for group in sorted(different))
        raise DataError(f"expected one trunk and sharing mode, got {names}")


def _gain(result: Result, has_again: bool) -> float | None:
    """Return the gain over the task alone, or alone twice; None if that is not finished."""
    for comparison, wanted in ((result.comparison, SINGLE), (result.control, SINGLE_THEN_SINGLE)):
        if comparison is not None and comparison.against != wanted:
            name = "the task alone" if wanted == SINGLE else "the task alone twice"
            problem = f"expected pairs that are compared with {name}, got {comparison.against!r}"
            raise DataError(problem)
    chosen = result.control if has_again else result.comparison
    return None if chosen is None else chosen.gain


def _with_predictors(gains: Mapping[tuple[str, str], float], similarity: Similarity) -> list[Pair]:
    """Return the pairs with a gain and a similarity; several models of a source are averaged."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for pair in similarity.pairs:
        key = pair.source, pair.target
        if not pair.is_ceiling and key in gains:
            for name, value in pair.predictors.items():
                values.setdefault(key, {}).setdefault(name, []).append(value)
    pairs = []
    for (source, target), measured in values.items():
        predictors = {name: fmean(scores) for name, scores in measured.items()}
        others = [gain for (s, t), gain in gains.items() if s == source and t != target]
        generic = {GENERIC: median(others)} if others else {}
        pairs.append(Pair(source, target, gains[source, target], predictors | generic))
    return pairs


def _ceilings(similarity: Similarity) -> dict[str, dict[str, float]]:
    """Return the values for two models of one task, by predictor and task."""
    ceilings: dict[str, dict[str, float]] = {}
    for pair in similarity.pairs:
        if pair.is_ceiling:
            for name, value in pair.predictors.items():
                ceilings.setdefault(name, {}).setdefault(pair.target, value)
    return ceilings


def source_gains(pairs: Sequence[Pair]) -> list[SourceGain]:
    """Return the sources with the gains of their targets, the highest median first."""
    gains: dict[str, list[float]] = {}
    for pair in pairs:
        gains.setdefault(pair.source, []).append(pair.gain)
    sources = [SourceGain(name, tuple(values)) for name, values in gains.items()]
    return sorted(sources, key=lambda source: -source.median)


def first_choice(name: str, pairs: Iterable[Pair]) -> FirstChoice | None:
    """Return what following a predictor gives; None where no pair has it."""
    by_target: dict[str, list[Pair]] = {}
    for pair in pairs:
        if name in pair.predictors:
            by_target.setdefault(pair.target, []).append(pair)
    if not by_target:
        return None
    first = [max(own, key=lambda p: p.predictors[name]).gain for own in by_target.values()]
    return FirstChoice(
        name,
        len(first),
        sum(gain > 0 for gain in first),
        fmean(first),
        fmean(fmean(pair.gain for pair in own) for own in by_target.values()),
        fmean(max(pair.gain for pair in own) for own in by_target.values()),
    )
