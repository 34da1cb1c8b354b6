"""Aspect-based sentiment (SemEval-2014 task 4): polarities of gold terms, and terms end to end.

With gold terms the measure is accuracy: a term of gold is right if the prediction has one of the
same bounds and polarity. End to end it is F1 of terms with their polarities. As is usual, terms of
polarity ``conflict``, and predictions of the same bounds, are left out (Xu et al. 2019). Files are
any with a layer ``aspects``.
"""

from collections.abc import Mapping
from pathlib import Path

from spanloom.document import Document, Span
from spanloom.errors import FormatError
from spanloom.forms.aspects import ASPECTS, CONFLICT
from spanloom.metrics.counts import Counts, compare, macro, total
from spanloom.metrics.percentages import percent
from spanloom.metrics.report import summed
from spanloom.metrics.spans import bounds, count_by_label
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._documents import annotated, measured, row, rows_of, sides

_Sides = tuple[list[Span], list[Span]]


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the accuracy of polarities, and F1 of terms and of terms with polarities, in percent.

    ``macro_f1`` is over the polarities of gold, of terms that the prediction has too. Documents
    whose gold has no layer ``aspects`` are not scored. Raises ``FormatError``.
    """
    couples = annotated(*sides(gold, predicted), ASPECTS)
    if not couples:
        raise FormatError(str(gold), None, f"expected documents with a layer {ASPECTS!r}")
    pairs = [_without_conflict(_terms(one), _terms(two)) for one, two in couples]
    terms = [_placed(one, two) for one, two in pairs]
    tables = [count_by_label(one, two) for one, two in pairs]
    return {
        "documents": len(couples),
        "with_gold_terms": _polarities(pairs),
        "terms": row(total(terms)),
        "terms_with_polarity": measured(summed(tables)),
    }


def table(scores: Scores) -> str:
    """Return the accuracy, then a row for each polarity and for terms without them."""
    given, both = scores["with_gold_terms"], scores["terms_with_polarity"]
    low, high = both["interval"]
    lines = [
        f"{scores['documents']} documents",
        f"gold terms: accuracy {given['accuracy']:.2f} ({given['right']} of {given['gold']}), "
        f"macro F1 {given['macro_f1']:.2f}",
        *rows_of({**both["labels"], "terms with polarity": both, "terms": scores["terms"]}),
        f"F1 end to end {both['f1']:.2f} (95 % interval {low:.2f} to {high:.2f})",
    ]
    return "\n".join(lines) + "\n"


def _terms(document: Document) -> list[Span]:
    return [*document[ASPECTS].spans] if document.has(ASPECTS) else []


def _without_conflict(gold: list[Span], predicted: list[Span]) -> _Sides:
    """Leave out the terms that are both positive and negative."""
    left = {bounds(each) for each in gold if each.label == CONFLICT}
    one, two = ([each for each in side if bounds(each) not in left] for side in (gold, predicted))
    return one, two


def _placed(gold: list[Span], predicted: list[Span]) -> Counts:
    """Count terms, whatever their polarity."""
    return compare(*({("", bounds(each)) for each in side} for side in (gold, predicted)))


def _polarities(pairs: list[_Sides]) -> Scores:
    """Score the polarity of each gold term; none is said of a term that was not found."""
    said: list[tuple[str, str | None]] = []
    for gold, predicted in pairs:
        labels = {bounds(each): each.label for each in predicted}
        said += [(each.label, labels.get(bounds(each))) for each in gold]
    right = sum(one == two for one, two in said)
    by_label = {
        label: Counts(
            sum(one == two == label for one, two in said),
            sum(two == label for _, two in said),
            sum(one == label for one, _ in said),
        )
        for label in sorted({one for one, _ in said})
    }
    return {
        "accuracy": percent(right, len(said)),
        "macro_f1": 100 * macro(by_label).f1,
        "right": right,
        "gold": len(said),
    }


KIND = Scorer("absa", score, table)
