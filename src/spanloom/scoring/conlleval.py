"""conlleval (Tjong Kim Sang, version of 2004-01-26): chunks in columns of tags."""

from collections.abc import Mapping
from pathlib import Path

from spanloom.metrics.chunks import count_chunks, count_right
from spanloom.metrics.counts import Counts, total
from spanloom.metrics.percentages import percent, percentages, printed, rounded
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._columns import tag_pairs

_OUTSIDE = "O"


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return what the program prints; with ``-l`` the rows of its LaTeX table.

    ``-r`` takes each tag for a type, a word for a chunk, and ``-o`` for the tag that is none.
    Of no words it prints counts alone. Raises as ``tag_pairs`` does.
    """
    pairs = tag_pairs(gold, predicted, options)
    if "-r" in options:
        outside = {_OUTSIDE, options.get("-o", _OUTSIDE)}
        pairs = [pair and (_raw(pair[0], outside), _raw(pair[1], outside)) for pair in pairs]
    by_type = count_chunks(pairs)
    if "-l" in options:
        rows = [*by_type.items(), ("Overall", total(by_type.values()))]
        return {
            "latex_rows": [
                {"label": label, **printed(percentages(counts))} for label, counts in rows
            ]
        }
    return _printed(count_right(pairs), by_type)


def phrases(words: int, counts: Counts) -> dict[str, int]:
    """Return how many words and phrases there are."""
    return {
        "tokens": words,
        "gold_phrases": counts.gold,
        "found_phrases": counts.predicted,
        "correct_phrases": counts.hits,
    }


def by_type_rows(by_type: Mapping[str, Counts]) -> dict[str, dict[str, float]]:
    """Return the ratios of each type, and how many phrases of it were found."""
    return {
        label: {**printed(percentages(each)), "found": each.predicted}
        for label, each in by_type.items()
    }


def table(scores: Scores) -> str:
    """Return the lines that the program prints."""
    if "latex_rows" in scores:
        rows = [(row["label"], row) for row in scores["latex_rows"]]
        return "\n".join(f"{label:17}  {_line(row)}" for label, row in rows) + "\n"
    found = "{tokens} tokens with {gold_phrases} phrases; found: {found_phrases} phrases; "
    lines = [(found + "correct: {correct_phrases}.").format(**scores)]
    if "precision" in scores:
        accuracy = f"accuracy: {scores['accuracy']:6.2f}%; " if "accuracy" in scores else ""
        lines.append(accuracy + _line(scores))
    types = scores["per_type"].items()
    lines += [f"{label:>17}: {_line(row)}  {row['found']}" for label, row in types]
    return "\n".join(lines) + "\n"


def _line(row: Mapping[str, float]) -> str:
    ratios = (f"{name}: {row[name]:6.2f}%; " for name in ("precision", "recall"))
    return f"{''.join(ratios)}FB1: {row['f1']:6.2f}"


def _printed(right: Counts, by_type: Mapping[str, Counts]) -> Scores:
    overall = total(by_type.values())
    scores: Scores = dict(phrases(right.gold, overall))
    if right.gold:
        scores["accuracy"] = rounded(percent(right.hits, right.gold))
        scores |= printed(percentages(overall))
    return scores | {"per_type": by_type_rows(by_type)}


def _raw(tag: str, outside: set[str]) -> str:
    return _OUTSIDE if tag in outside else f"B-{tag}"


KIND = Scorer(
    name="conlleval",
    score=score,
    table=table,
    options={"-r": False, "-l": False, "-d": True, "-o": True},
)
