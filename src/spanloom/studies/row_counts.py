"""What the counts of documents that rows keep tell of a task's scores: intervals, differences."""

from collections.abc import Sequence

from spanloom.metrics.bootstrap import FEW_DOCUMENTS, DocumentCounts, Interval, loads
from spanloom.metrics.bootstrap_over_seeds import (
    Difference,
    gains_over_seeds,
    interval_over_seeds,
    on_same_documents,
    paired_by_seed,
    paired_over_seeds,
)
from spanloom.studies.row import Row, Split

Rows = Sequence[Row]  # of a condition, one for each seed


def known_counts(rows: Rows, task: str, split: Split, metric: str) -> list[DocumentCounts] | None:
    """Return the counts of each run, None where one has none or all are of too few documents."""
    texts = [row.scores[task][split].per_document_counts.get(metric) for row in rows]
    counts = [loads(text) for text in texts if text]
    if len(counts) < len(rows) or len(counts[0].rows) < FEW_DOCUMENTS:
        return None
    return counts


def are_of_same_documents(rows: Rows, task: str, split: Split, metric: str) -> bool:
    """Return whether all runs were scored on the same documents.

    Rows of earlier versions say nothing of them; gold's numbers tell it, too.
    """
    documents = {row.scores[task][split].documents for row in rows}
    runs = known_counts(rows, task, split, metric)
    return len(documents) == 1 and (runs is None or on_same_documents(runs))


def interval_of_mean(rows: Rows, task: str, split: Split, metric: str) -> Interval | None:
    """Return the interval of the mean, None where counts are missing or of too few documents."""
    runs = known_counts(rows, task, split, metric)
    if runs is None:
        return None
    same = are_of_same_documents(rows, task, split, metric)
    return interval_over_seeds(runs, same_documents=same)


def difference_of(
    rows: Rows, baseline: Rows, task: str, split: Split, metric: str, *, same_documents: bool
) -> Difference | None:
    """Return what is known of a difference; None where counts are missing or documents too few.

    Unless all runs were scored on the same documents, both sides have the same seeds in the same
    order, and nothing is known where the two runs of a seed were scored on different ones.
    """
    a = known_counts(rows, task, split, metric)
    b = known_counts(baseline, task, split, metric)
    if a is None or b is None:
        return None
    if same_documents:
        return paired_over_seeds(a, b)
    pairs = zip(rows, baseline, strict=True)
    if not all(are_of_same_documents(pair, task, split, metric) for pair in pairs):
        return None
    return paired_by_seed(a, b)


def difference_of_gains(
    first: tuple[Rows, Rows], second: tuple[Rows, Rows], task: str, split: Split, metric: str
) -> Difference | None:
    """Return what is known of the difference of two gains, each of rows over those of a baseline.

    None where counts are missing, documents too few or not the same.
    """
    sides = (*first, *second)
    if not are_of_same_documents([row for rows in sides for row in rows], task, split, metric):
        return None
    counts = [known_counts(rows, task, split, metric) for rows in sides]
    if any(known is None for known in counts):
        return None
    a, b, c, d = (known for known in counts if known is not None)
    return gains_over_seeds((a, b), (c, d))
