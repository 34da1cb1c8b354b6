"""Opinion role labelling: whose opinion it is, and of what (Marasović and Frank 2018).

Sources and targets of an expression are scored exactly, by binary and by proportional overlap, in
words. An expression must be the same on both sides, all its bounds; with gold expressions this is
the measure of the paper, else what follows from wrong expressions is wrong too (and the expressions
are scored themselves). Polarities are not compared. Files are any with a layer ``opinions``.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from spanloom.document import Document, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.opinions import LAYER, SOURCE, TARGET
from spanloom.metrics import overlap
from spanloom.metrics.overlap import Item, Places, Shares
from spanloom.metrics.spans import bounds
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._documents import annotated, percents, sides
from spanloom.words import blank_words, given

_ROLES = (SOURCE, TARGET)
_EXPRESSIONS, _BOTH = "expressions", "roles"
_MEASURES: dict[str, Callable[[Iterable[Item], Iterable[Item]], Shares]] = {
    "exact": overlap.exact,
    "binary": overlap.binary,
    "proportional": overlap.proportional,
}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the ratios in percent of both roles, of each, and of expressions.

    Documents whose gold has no layer ``opinions`` are not scored. Raises ``FormatError``.
    """
    couples = annotated(*sides(gold, predicted), LAYER)
    if not couples:
        raise FormatError(str(gold), None, f"expected documents with a layer {LAYER!r}")
    items = [(_items(one), _items(two)) for one, two in couples]
    found: Scores = {"documents": len(couples)}
    for name in (_BOTH, *_ROLES, _EXPRESSIONS):
        found[name] = {
            measure: _row(overlap.added(count(one[name], two[name]) for one, two in items))
            for measure, count in _MEASURES.items()
        }
    return found


def table(scores: Scores) -> str:
    """Return a line for each measure of each role."""
    lines = [f"{scores['documents']} documents", f"{'':26}precision  recall      F1   pred.  gold"]
    for name in (_BOTH, *_ROLES, _EXPRESSIONS):
        for measure, each in scores[name].items():
            ratios = f"{each['precision']:9.2f}  {each['recall']:6.2f}  {each['f1']:6.2f}"
            lines.append(f"{name:12}{measure:14}{ratios}  {each['predicted']:6}{each['gold']:6}")
    return "\n".join(lines) + "\n"


def _row(shares: Shares) -> Scores:
    counts = {"predicted": shares.predicted, "gold": shares.gold}
    return {**percents(shares.prf), **counts, "right": shares.right, "found": shares.found}


def _items(document: Document) -> dict[str, list[Item]]:
    """Return expressions, and for each role what it is of and its words."""
    found: dict[str, list[Item]] = {name: [] for name in (_EXPRESSIONS, _BOTH, *_ROLES)}
    if not document.has(LAYER):
        return found
    layer = document[LAYER]
    words = given(document)
    cut = words.words if words else blank_words(document.text)
    spans = {span.id: span for span in layer.spans}
    for each in layer.spans:
        if each.label not in _ROLES:
            found[_EXPRESSIONS].append((None, _places(each, cut)))
    for relation in layer.relations:
        ends = _ends(relation, spans)
        if ends:
            key = (relation.label, bounds(ends[0]))
            item = (key, _places(ends[1], cut))
            found[relation.label].append(item)
            found[_BOTH].append(item)
    return found


def _ends(relation: Relation, spans: Mapping[str, Span]) -> tuple[Span, Span] | None:
    """Return expression and holder or target; None for any other relation."""
    head, tail = spans.get(relation.head), spans.get(relation.tail)
    return (head, tail) if head and tail and relation.label in _ROLES else None


def _places(span: Span, words: Iterable[tuple[int, int]]) -> Places:
    """Return the words that a span touches."""
    return frozenset(
        number
        for number, (start, end) in enumerate(words)
        if any(start < right and left < end for left, right in span.fragments)
    )


KIND = Scorer("orl", score, table)
