"""Score opinion role labelling: whose opinion it is, and about what (Marasović and Frank 2018).

Sources and targets of an expression are scored exactly, by binary and by proportional overlap, in
words. All bounds of the expression must agree; with gold expressions this is the measure of the
paper, otherwise roles of wrong expressions are wrong too (and expressions are also scored
themselves). Polarities are not compared. Files may have any format with a layer ``opinions``.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from spanloom.document import Document, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.opinions import LAYER, SOURCE, TARGET
from spanloom.metrics import overlap
from spanloom.metrics.overlap import Item, PartialCounts, Places
from spanloom.metrics.spans import bounds
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._documents import annotated_pairs, sides, to_percent
from spanloom.tokenization import blank_words, given_words

_ROLES = (SOURCE, TARGET)
_EXPRESSIONS, _BOTH = "expressions", "roles"
_MEASURES: dict[str, Callable[[Iterable[Item], Iterable[Item]], PartialCounts]] = {
    "exact": overlap.exact,
    "binary": overlap.binary,
    "proportional": overlap.proportional,
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the ratios in percent of both roles together, of each role, and of expressions.

    Documents whose gold has no layer ``opinions`` are not scored. Raises ``FormatError``.
    """
    document_pairs = annotated_pairs(*sides(gold, predicted), LAYER)
    if not document_pairs:
        raise FormatError(str(gold), None, f"expected documents with a layer {LAYER!r}")
    items = [
        (_items(gold_doc), _items(predicted_doc)) for gold_doc, predicted_doc in document_pairs
    ]
    scores: Scores = {"documents": len(document_pairs)}
    for name in (_BOTH, *_ROLES, _EXPRESSIONS):
        scores[name] = {
            measure: _to_row(
                overlap.added(
                    count(gold_items[name], predicted_items[name])
                    for gold_items, predicted_items in items
                )
            )
            for measure, count in _MEASURES.items()
        }
    return scores


def table(scores: Scores) -> str:
    """Format one line for each measure of each role."""
    lines = [f"{scores['documents']} documents", f"{'':26}precision  recall      F1   pred.  gold"]
    for name in (_BOTH, *_ROLES, _EXPRESSIONS):
        for measure, row in scores[name].items():
            ratios = f"{row['precision']:9.2f}  {row['recall']:6.2f}  {row['f1']:6.2f}"
            lines.append(f"{name:12}{measure:14}{ratios}  {row['predicted']:6}{row['gold']:6}")
    return "\n".join(lines) + "\n"


def _to_row(counts: PartialCounts) -> Scores:
    """Return ratios in percent, and the counts they are computed from."""
    numbers = {"predicted": counts.predicted, "gold": counts.gold}
    return {**to_percent(counts.prf), **numbers, "right": counts.right, "found": counts.found}


def _items(document: Document) -> dict[str, list[Item]]:
    """Return expressions, and for each role its expression and its words."""
    items: dict[str, list[Item]] = {name: [] for name in (_EXPRESSIONS, _BOTH, *_ROLES)}
    if not document.has_layer(LAYER):
        return items
    layer = document[LAYER]
    words = given_words(document)
    word_bounds = words.words if words else blank_words(document.text)
    spans = {span.id: span for span in layer.spans}
    for span in layer.spans:
        if span.label not in _ROLES:
            items[_EXPRESSIONS].append((None, _word_indices(span, word_bounds)))
    for relation in layer.relations:
        expression_and_role = _expression_and_role(relation, spans)
        if expression_and_role:
            key = (relation.label, bounds(expression_and_role[0]))
            item = (key, _word_indices(expression_and_role[1], word_bounds))
            items[relation.label].append(item)
            items[_BOTH].append(item)
    return items


def _expression_and_role(relation: Relation, spans: Mapping[str, Span]) -> tuple[Span, Span] | None:
    """Return an expression and its holder or target; None for any other relation."""
    head, tail = spans.get(relation.head), spans.get(relation.tail)
    return (head, tail) if head and tail and relation.label in _ROLES else None


def _word_indices(span: Span, words: Iterable[tuple[int, int]]) -> Places:
    """Return the indices of the words that a span touches."""
    return frozenset(
        index
        for index, (start, end) in enumerate(words)
        if any(
            start < fragment_end and fragment_start < end
            for fragment_start, fragment_end in span.fragments
        )
    )


KIND = Scorer("orl", score, table)
