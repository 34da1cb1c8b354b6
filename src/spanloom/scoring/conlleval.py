"""conlleval (Tjong Kim Sang, version of 2004-01-26): score chunks in columns of tags."""

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

    With ``-r`` each tag is a type and each word a chunk, except for the outside tag, which ``-o``
    names. Without words only counts are returned. Raises the errors of ``tag_pairs``.
    """
    pairs = tag_pairs(gold, predicted, options)
    if "-r" in options:
        outside = {_OUTSIDE, options.get("-o", _OUTSIDE)}
        pairs = [
            pair and (_to_chunk_tag(pair[0], outside), _to_chunk_tag(pair[1], outside))
            for pair in pairs
        ]
    by_type = count_chunks(pairs)
    if "-l" in options:
        rows = [*by_type.items(), ("Overall", total(by_type.values()))]
        return {
            "latex_rows": [
                {"label": label, **printed(percentages(counts))} for label, counts in rows
            ]
        }
    return _to_json(count_right(pairs), by_type)


def phrase_counts(num_words: int, counts: Counts) -> dict[str, int]:
    """Return the number of words and phrases."""
    return {
        "tokens": num_words,
        "gold_phrases": counts.gold,
        "found_phrases": counts.predicted,
        "correct_phrases": counts.hits,
    }


def by_type_rows(by_type: Mapping[str, Counts]) -> dict[str, dict[str, float]]:
    """Return the ratios of each type, and its number of predicted phrases."""
    return {
        label: {**printed(percentages(counts)), "found": counts.predicted}
        for label, counts in by_type.items()
    }


def table(scores: Scores) -> str:
    """Return the lines that the program prints."""
    if "latex_rows" in scores:
        rows = [(row["label"], row) for row in scores["latex_rows"]]
        return "\n".join(f"{label:17}  {_format_ratios(row)}" for label, row in rows) + "\n"
    template = "{tokens} tokens with {gold_phrases} phrases; found: {found_phrases} phrases; "
    lines = [(template + "correct: {correct_phrases}.").format(**scores)]
    if "precision" in scores:
        accuracy = f"accuracy: {scores['accuracy']:6.2f}%; " if "accuracy" in scores else ""
        lines.append(accuracy + _format_ratios(scores))
    types = scores["per_type"].items()
    lines += [f"{label:>17}: {_format_ratios(row)}  {row['found']}" for label, row in types]
    return "\n".join(lines) + "\n"


def _format_ratios(row: Mapping[str, float]) -> str:
    """Return precision, recall and F1 on one line."""
    ratios = (f"{name}: {row[name]:6.2f}%; " for name in ("precision", "recall"))
    return f"{''.join(ratios)}FB1: {row['f1']:6.2f}"


def _to_json(tag_counts: Counts, by_type: Mapping[str, Counts]) -> Scores:
    """Return accuracy, ratios and counts, with the program's rounding."""
    overall = total(by_type.values())
    scores: Scores = dict(phrase_counts(tag_counts.gold, overall))
    if tag_counts.gold:
        scores["accuracy"] = rounded(percent(tag_counts.hits, tag_counts.gold))
        scores |= printed(percentages(overall))
    return scores | {"per_type": by_type_rows(by_type)}


def _to_chunk_tag(tag: str, outside: set[str]) -> str:
    """Return a tag of ``-r`` as a chunk of one word."""
    return _OUTSIDE if tag in outside else f"B-{tag}"


KIND = Scorer(
    name="conlleval",
    score=score,
    table=table,
    options={"-r": False, "-l": False, "-d": True, "-o": True},
)
