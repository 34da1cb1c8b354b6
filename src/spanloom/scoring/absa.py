"""Score aspect-based sentiment (SemEval-2014 task 4): polarities of gold terms, and end to end.

With gold terms the measure is accuracy: a gold term is right if the prediction has a term of the
same bounds and polarity. End to end it is F1 of terms with their polarities. As is usual, terms
of polarity ``conflict``, and predictions of the same bounds, are left out (Xu et al. 2019). Files
may have any format with a layer ``aspects``.
"""

from collections.abc import Mapping
from pathlib import Path

from spanloom.annotation.aspects import ASPECTS, CONFLICT
from spanloom.document import Document, Span
from spanloom.errors import FormatError
from spanloom.metrics.bootstrap import Interval, interval_text
from spanloom.metrics.classification import ClassificationReport
from spanloom.metrics.counts import Counts, compare, macro, percent, total
from spanloom.metrics.report import sum_counts
from spanloom.metrics.spans import bounds, count_by_label
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._documents import annotated_pairs, format_rows, sides, summarize, to_row

_SpanPair = tuple[list[Span], list[Span]]


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the accuracy of polarities, and F1 of terms and of terms with polarities, in percent.

    ``macro_f1`` is over the gold polarities; terms that were not predicted are missed. Documents
    whose gold has no layer ``aspects`` are not scored. Raises ``FormatError``.
    """
    document_pairs = annotated_pairs(*sides(gold, predicted), ASPECTS)
    if not document_pairs:
        raise FormatError(str(gold), None, f"expected documents with a layer {ASPECTS!r}")
    span_pairs = [
        _without_conflict(_terms(gold_document), _terms(predicted_document))
        for gold_document, predicted_document in document_pairs
    ]
    terms = [
        _count_terms(gold_spans, predicted_spans) for gold_spans, predicted_spans in span_pairs
    ]
    counts_by_label = [
        count_by_label(gold_spans, predicted_spans) for gold_spans, predicted_spans in span_pairs
    ]
    return {
        "documents": len(document_pairs),
        "with_gold_terms": _score_polarities(span_pairs),
        "terms": to_row(total(terms)),
        "terms_with_polarity": summarize(sum_counts(counts_by_label)),
    }


def table(scores: Scores) -> str:
    """Format the accuracy, then a row for each polarity and for terms without them."""
    gold_terms, end_to_end = scores["with_gold_terms"], scores["terms_with_polarity"]
    interval = Interval(*(bound / 100 for bound in end_to_end["interval"]))
    lines = [
        f"{scores['documents']} documents",
        f"gold terms: accuracy {gold_terms['accuracy']:.2f} "
        f"({gold_terms['right']} of {gold_terms['gold']}), macro F1 {gold_terms['macro_f1']:.2f}",
        *format_rows(
            {**end_to_end["labels"], "terms with polarity": end_to_end, "terms": scores["terms"]}
        ),
        f"F1 end to end {end_to_end['f1']:.2f} ({interval_text(interval, scores['documents'])})",
    ]
    return "\n".join(lines) + "\n"


def _terms(document: Document) -> list[Span]:
    """Return the aspect terms of a document."""
    return [*document.layer_or_empty(ASPECTS).spans]


def _without_conflict(gold: list[Span], predicted: list[Span]) -> _SpanPair:
    """Remove the terms that are both positive and negative."""
    conflicts = {bounds(span) for span in gold if span.label == CONFLICT}
    kept_gold, kept_predicted = (
        [span for span in side if bounds(span) not in conflicts] for side in (gold, predicted)
    )
    return kept_gold, kept_predicted


def _count_terms(gold: list[Span], predicted: list[Span]) -> Counts:
    """Count terms, regardless of their polarity."""
    return compare(*({("", bounds(span)) for span in side} for side in (gold, predicted)))


def _score_polarities(span_pairs: list[_SpanPair]) -> Scores:
    """Score the polarity of each gold term; terms that were not predicted have none."""
    label_pairs: list[tuple[str, str | None]] = []
    for gold, predicted in span_pairs:
        labels: dict[object, set[str]] = {}
        for span in predicted:
            labels.setdefault(bounds(span), set()).add(span.label)
        for span in gold:
            choices = labels.get(bounds(span), set())
            label = span.label if span.label in choices else min(choices, default=None)
            label_pairs.append((span.label, label))
    by_label = ClassificationReport(ASPECTS, tuple(label_pairs)).by_label
    in_gold = {label: counts for label, counts in by_label.items() if counts.gold}
    num_right = total(in_gold.values()).hits
    return {
        "accuracy": percent(num_right, len(label_pairs)),
        "macro_f1": 100 * macro(in_gold).f1,
        "right": num_right,
        "gold": len(label_pairs),
    }


KIND = Scorer("absa", score, table)
