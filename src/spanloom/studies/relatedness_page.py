"""The page of what predicts gain: correlations, first choices, sources ranked, all pairs."""

import html
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

from spanloom.atomic_io import write_file
from spanloom.errors import PackageMissing
from spanloom.studies.correlation import Correlation, Estimate, Pair
from spanloom.studies.drawing import new_figure, to_svg
from spanloom.studies.page import figure, page, table
from spanloom.studies.relatedness import (
    CENTERED,
    POOLED,
    PREDICTOR_NAMES,
    PREDICTORS,
    FirstChoice,
    Relatedness,
    SourceGain,
    source_gains,
)


def write_page(related: Relatedness, path: Path) -> list[Path]:
    """Write the page to ``path`` and the values as JSON beside it; return both paths.

    Raises ``StorageError``, and ``PackageMissing`` without matplotlib.
    """
    PackageMissing.check("study correlate", "studies", "matplotlib")
    values = path.with_suffix(".json")
    write_file(values, related.to_json().encode())
    write_file(path, _page(related).encode())
    return [path, values]


def _page(related: Relatedness) -> str:
    design, baseline = html.escape(related.design), html.escape(related.baseline)
    tasks = {name for pair in related.pairs for name in (pair.source, pair.target)}
    parts = [
        f"<p>{len(related.pairs)} pairs of {len(tasks)} tasks, of the study "
        f"<code>{html.escape(related.study)}</code>. A gain is the score of the design {design} "
        f"minus that of {baseline}, in points.</p>",
        figure(draw_pairs(related.pairs), "Gain by each predictor; one colour per target."),
        "<h2>Correlation with gain</h2>",
        table(_CORRELATION_HEAD, map(_correlation_row, sorted(related.correlations, key=_scope))),
        "<h2>What its first choice gives</h2>",
        table(_CHOICE_HEAD, map(_choice_row, related.first_choices)),
        "<h2>Sources by their median gain</h2>",
        table(_SOURCE_HEAD, map(_source_row, source_gains(related.pairs))),
    ]
    if related.ceilings:
        parts += ["<h2>Two models of one task</h2>", _ceilings(related)]
    parts += ["<h2>All pairs</h2>", _pairs(related), _NOTES]
    return page("What predicts gain", parts)


def draw_pairs(pairs: Sequence[Pair]) -> str:
    """Draw gain against each predictor that some pair has."""
    names = [name for name in PREDICTORS if any(name in pair.predictors for pair in pairs)]
    drawing, axes = new_figure((3.4 * len(names), 3.2), len(names))
    panels = [axes] if len(names) == 1 else list(axes)
    for panel, name in zip(panels, names, strict=True):
        for target in dict.fromkeys(pair.target for pair in pairs):
            own = [pair for pair in pairs if pair.target == target and name in pair.predictors]
            x = [pair.predictors[name] for pair in own]
            panel.plot(x, [pair.gain for pair in own], "o", markersize=4, label=target)
        panel.axhline(0, color="#888", linewidth=0.8)
        panel.set_xlabel(PREDICTOR_NAMES[name])
    panels[0].set_ylabel("gain in points")
    panels[-1].legend(frameon=False, fontsize=7)
    return to_svg(drawing)


_CORRELATION_HEAD = ("predictor", "pairs", "n", "Pearson", "Spearman")


def _scope(correlation: Correlation) -> tuple[bool, bool]:
    """Order scopes: pooled within targets, pooled, each target."""
    return correlation.scope != CENTERED, correlation.scope != POOLED


def _correlation_row(c: Correlation) -> str:
    return (
        f"<td>{PREDICTOR_NAMES[c.predictor]}</td><td>{html.escape(c.scope)}</td>"
        f'<td class="number">{c.num_pairs}</td><td>{format_estimate(c.pearson)}</td>'
        f"<td>{format_estimate(c.spearman)}</td>"
    )


def format_estimate(estimate: Estimate) -> str:
    """Return a correlation and its interval, as ``0.41 (0.10 to 0.63)``."""
    if estimate.value is None:
        return "undefined"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


_CHOICE_HEAD = ("predictor", "helped", "mean gain", "any source", "best source")


def _choice_row(choice: FirstChoice) -> str:
    gains = (choice.gain, choice.any_source, choice.best_source)
    cells = "".join(f'<td class="number">{gain:+.2f}</td>' for gain in gains)
    helped = f"{choice.num_helped} of {choice.num_targets} targets"
    return f"<td>{PREDICTOR_NAMES[choice.predictor]}</td><td>{helped}</td>{cells}"


_SOURCE_HEAD = ("source", "targets", "helped", "median gain", "mean", "deviation")


def _source_row(source: SourceGain) -> str:
    deviation = f"{stdev(source.gains):.2f}" if len(source.gains) > 1 else ""
    return (
        f'<td>{html.escape(source.source)}</td><td class="number">{len(source.gains)}</td>'
        f'<td class="number">{sum(gain > 0 for gain in source.gains)}</td>'
        f'<td class="number">{source.median:+.2f}</td>'
        f'<td class="number">{fmean(source.gains):+.2f}</td><td class="number">{deviation}</td>'
    )


def _ceilings(related: Relatedness) -> str:
    tasks = list(dict.fromkeys(task for values in related.ceilings.values() for task in values))
    rows = []
    for task in tasks:
        values = [related.ceilings[name].get(task) for name in related.ceilings]
        cells = "".join(f'<td class="number">{_number(value)}</td>' for value in values)
        rows.append(f"<td>{html.escape(task)}</td>{cells}")
    return table(("task", *(PREDICTOR_NAMES[name] for name in related.ceilings)), rows)


def _pairs(related: Relatedness) -> str:
    rows = []
    for pair in sorted(related.pairs, key=lambda pair: (pair.target, -pair.gain)):
        cells = "".join(
            f'<td class="number">{_number(pair.predictors.get(name))}</td>' for name in PREDICTORS
        )
        rows.append(
            f"<td>{html.escape(pair.target)}</td><td>{html.escape(pair.source)}</td>"
            f'<td class="number">{pair.gain:+.2f}</td>{cells}'
        )
    return table(
        ("target", "source", "gain", *(PREDICTOR_NAMES[name] for name in PREDICTORS)), rows
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


_NOTES = """\
<h2>How to read this</h2><p>Intervals are 95 % percentiles over 1,000 resamples of the tasks, since
pairs that share a task are not independent; within one target its sources are resampled. <i>Pooled
within targets</i>: the mean of each target is taken off gain and predictor, so that only the order
of sources counts; attention similarities of different targets cannot be compared. <i>Any source</i>
is the mean gain over all sources, <i>best source</i> the mean of each target's best. The median
gain of a source elsewhere leaves out the target that it predicts, which makes its correlation a
little too low. <i>Two models of one task</i> differ in their seed: no two tasks can be
more alike.</p>"""
