"""Results of a study as CSV, as JSON, and as text for a terminal."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from spanloom.studies.results import Comparison, GainDifference, Result, names_of_scores
from spanloom.studies.spec import SINGLE_THEN_SINGLE


def to_csv(results: Sequence[Result]) -> str:
    """Return a table of one line per result; scores are fractions."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = (
        "design condition task sharing trunk examples metric seeds mean deviation low high minutes "
        "updates"
    )
    further = (
        "against baseline gain gain_low gain_high p direction updates_to_equal own_mean control "
        "control_gain control_p gain_difference gain_difference_p"
    )
    metrics = list(dict.fromkeys(name for r in results for name in r.metrics))
    writer.writerow([*head.split(), *further.split(), *metrics])
    for r in results:
        c, again, gains = r.comparison, r.control, r.gain_difference
        writer.writerow(
            [r.design, r.condition, r.task, r.sharing, r.trunk, r.examples, r.metric]
            + [" ".join(map(str, r.seeds)), f"{r.scores.mean:.6f}", f"{r.scores.deviation:.6f}"]
            + ([f"{r.interval.low:.6f}", f"{r.interval.high:.6f}"] if r.interval else [""] * 2)
            + [f"{r.cpu_minutes:.1f}", "" if r.best_updates is None else f"{r.best_updates:.1f}"]
            + ([c.against, f"{c.baseline.mean:.6f}", f"{c.gain:.6f}"] if c else [""] * 3)
            + (
                [f"{c.interval.low:.6f}", f"{c.interval.high:.6f}"]
                if c and c.interval
                else [""] * 2
            )
            + ([c.p, c.direction, c.updates_to_equal] if c else [""] * 3)
            + ["" if r.own_mean is None else f"{r.own_mean:.6f}"]
            + ([f"{again.baseline.mean:.6f}", f"{again.gain:.6f}", again.p] if again else [""] * 3)
            + ([f"{gains.difference:.6f}", gains.p] if gains else [""] * 2)
            + [f"{r.metrics[name]:.6f}" if name in r.metrics else "" for name in metrics]
        )
    return stream.getvalue()


def to_json(results: Sequence[Result]) -> str:
    """Return the results as JSON."""
    return json.dumps([asdict(result) for result in results], indent=1) + "\n"


def to_text(results: Sequence[Result]) -> str:
    """Return the results as lines for a terminal, in points of 100."""
    names = names_of_scores(results)
    lines = [
        (
            f"{names[r.task, r.metric]}{_group_name(r)}",
            r.condition,
            format_score(r),
            "; ".join(_gains(r)),
        )
        for r in results
    ]
    widths = [max((len(line[i]) for line in lines), default=0) for i in range(3)]
    return "".join(
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3]]
        ).rstrip()
        + "\n"
        for line in lines
    )


def _gains(result: Result) -> Iterator[str]:
    if result.comparison is not None:
        yield format_gain(result.comparison)
    if result.control is not None:
        yield f"against {format_against(result.control)} {format_gain(result.control)}"
    if result.gain_difference is not None:
        yield format_gain_difference(result.gain_difference)


def _group_name(result: Result) -> str:
    parts = [part for part in result.group if part]
    return f" ({', '.join(parts)})" if parts else ""


def format_score(result: Result) -> str:
    """Return mean, deviation and interval in points, as ``70.12 ± 0.31 (68.9–71.4)``."""
    scores, interval = result.scores, result.interval
    spread = f" ± {100 * scores.deviation:.2f}" if scores.count > 1 else ""
    bounds = "" if interval is None else f" ({100 * interval.low:.1f}–{100 * interval.high:.1f})"
    return f"{100 * scores.mean:.2f}{spread}{bounds}"


def _format_p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


def format_against(control: Comparison) -> str:
    """Return the name of what a control compares with."""
    return control.against.replace(SINGLE_THEN_SINGLE, "alone twice")


def format_gain(comparison: Comparison) -> str:
    """Return the gain in points, an arrow if significant, its interval and p-value."""
    direction = "seeds wait" if comparison.direction is None else comparison.direction
    direction = f", {direction}" if direction else ""
    bounds = _format_bounds(comparison)
    return f"{100 * comparison.gain:+.2f}{comparison.arrow}{bounds}{direction}"


def format_gain_difference(gains: GainDifference) -> str:
    """Return how much more is gained with a label than without, with both gains, in points."""
    both = f"gains {100 * gains.own:+.2f}, without the label {100 * gains.other:+.2f}"
    return f"{both}: {100 * gains.difference:+.2f}{_format_bounds(gains)}"


def _format_bounds(tested: Comparison | GainDifference) -> str:
    """Return interval and p-value in brackets, as far as they are known."""
    interval, known = tested.interval, []
    if interval is not None:
        known.append(f"{100 * interval.low:+.1f} to {100 * interval.high:+.1f}")
    if tested.p is not None:
        known.append(f"p {_format_p(tested.p)}")
    return f" ({', '.join(known)})" if known else ""
