"""Score opinion role labelling: whose opinion it is, and about what (Marasović and Frank 2018).

Sources and targets of an expression are scored exactly, by binary and by proportional overlap, in
words (Johansson and Moschitti 2013). Precision and recall have different hits: the share of the
predictions that is gold, and the share of gold that was predicted. All bounds of the expression
must agree; with gold expressions this is the measure of the paper, otherwise roles of
wrong expressions are wrong too (and expressions are also scored themselves). Polarities are not
compared. Files may have any format with a layer ``opinions``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from spanloom.document import Document, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.opinions import LAYER, SOURCE, TARGET
from spanloom.metrics.counts import PartialCounts
from spanloom.metrics.spans import bounds
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._documents import annotated_pairs, sides, to_percent
from spanloom.tokenization import blank_words, given_words

WordIndices = frozenset[int]  # indices of the words of a span
Item = tuple[object, WordIndices]  # what must be equal, and the words that must overlap


def exact(gold: Iterable[Item], predicted: Iterable[Item]) -> PartialCounts:
    """Count items that the other side has too; duplicates are merged."""
    gold_items, predicted_items = {*gold}, {*predicted}
    num_shared = len(gold_items & predicted_items)
    return PartialCounts(num_shared, len(gold_items), num_shared, len(predicted_items))


def binary(gold: Iterable[Item], predicted: Iterable[Item]) -> PartialCounts:
    """Count items that share a word with an item of the other side; duplicates are merged."""
    gold_items, predicted_items = {*gold}, {*predicted}
    return PartialCounts(
        sum(share > 0 for share in _shares(gold_items, predicted_items)),
        len(gold_items),
        sum(share > 0 for share in _shares(predicted_items, gold_items)),
        len(predicted_items),
    )


def proportional(gold: Iterable[Item], predicted: Iterable[Item]) -> PartialCounts:
    """Add up the share of each item's words that the other side covers; duplicates are merged.

    A word that several items cover counts once, so no share is above 1. An item without words is
    right if the other side has it too.
    """
    gold_items, predicted_items = {*gold}, {*predicted}
    return PartialCounts(
        sum(_shares(gold_items, predicted_items)),
        len(gold_items),
        sum(_shares(predicted_items, gold_items)),
        len(predicted_items),
    )


def _shares(items: Iterable[Item], other_items: Iterable[Item]) -> list[float]:
    """Return the share of each item's words that items of the other side cover."""
    covered: dict[object, set[int]] = {}
    for key, words in other_items:
        covered.setdefault(key, set()).update(words)
    return [_share(key, words, covered) for key, words in items]


def _share(key: object, words: WordIndices, covered: Mapping[object, set[int]]) -> float:
    """Return the covered share of an item's words."""
    if key not in covered:
        return 0.0
    return len(words & covered[key]) / len(words) if words else float(not covered[key])


_ROLES = (SOURCE, TARGET)
_EXPRESSIONS, _BOTH = "expressions", "roles"
_MEASURES: dict[str, Callable[[Iterable[Item], Iterable[Item]], PartialCounts]] = {
    "exact": exact,
    "binary": binary,
    "proportional": proportional,
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the ratios in percent of both roles together, of each role, and of expressions.

    Documents whose gold has no layer ``opinions`` are not scored. Raises ``FormatError``.
    """
    document_pairs = annotated_pairs(*sides(gold, predicted), LAYER)
    if not document_pairs:
        raise FormatError(str(gold), None, f"expected documents with a layer {LAYER!r}")
    items = [(_items(gold_doc), _items(other)) for gold_doc, other in document_pairs]
    scores: Scores = {"documents": len(document_pairs)}
    for name in (_BOTH, *_ROLES, _EXPRESSIONS):
        scores[name] = {}
        for measure, count in _MEASURES.items():
            counts = (count(gold_items[name], others[name]) for gold_items, others in items)
            scores[name][measure] = _to_row(sum(counts, PartialCounts()))
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
    sizes = {"predicted": counts.precision_den, "gold": counts.recall_den}
    hits = {"right": counts.precision_num, "found": counts.recall_num}
    return {**to_percent(counts.prf), **sizes, **hits}


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


def _word_indices(span: Span, words: Sequence[tuple[int, int]]) -> WordIndices:
    """Return the indices of the words that a span touches; words ascend and do not overlap."""
    return frozenset(
        index
        for fragment_start, fragment_end in span.fragments
        for index in range(
            bisect_right(words, fragment_start, key=itemgetter(1)),
            bisect_left(words, fragment_end, key=itemgetter(0)),
        )
    )


KIND = Scorer("orl", score, table)
