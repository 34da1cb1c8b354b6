"""Score trees of predicted documents against gold ones as evalb does (SpanRel, table 3).

Punctuation is left out, as in ``metrics.brackets.COLLINS``, if a gold document has parts of speech
in the layer ``xpos``; without that layer all words count. Roots never count, whatever their label:
they are always right.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spanloom.document import Document
from spanloom.metrics.brackets import COLLINS, Bracket, counted
from spanloom.metrics.counts import Counts
from spanloom.metrics.per_document import DocumentCounts
from spanloom.metrics.report import Score, annotated, heading, section, sum_counts
from spanloom.tokenization import blank_words, given_words

_TAG_LAYER = "xpos"
_ROOTS = frozenset(["", "ROOT", "S1", "TOP"])


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of one layer; ``not_annotated`` is the number of gold documents without it."""

    layer: str
    documents: int
    brackets: Score
    not_annotated: int = 0

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return the counts behind F1 of brackets."""
        return {"evalb": self.brackets.tally}

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            "evalb": self.brackets.to_json(),
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        header = heading(self.layer, self.documents, self.not_annotated)
        return "\n\n".join([header, section("brackets (as evalb)", self.brackets)]) + "\n"


def score(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    layer: str,
    *,
    seed: int = 0,
    resamples: int = 1000,
) -> Report:
    """Score a layer of the predicted documents against the gold ones of the same name.

    Raises ``DataError`` where names do not match one to one or texts differ, and ``LayerError``
    where no gold document has the layer.
    """
    pairs = annotated(gold, predicted, layer)
    tables = [_counts_by_label(*pair, layer) for pair in pairs]
    return Report(layer, len(pairs), sum_counts(tables, seed, resamples), len(gold) - len(pairs))


def _counts_by_label(gold: Document, predicted: Document, layer: str) -> dict[str, Counts]:
    """Count the brackets of one text by label."""
    words = _counted_words(gold)
    gold_brackets = Counter(counted(_brackets(gold, layer, words)))
    predicted_brackets = Counter(counted(_brackets(predicted, layer, words)))
    hits = _label_counts(gold_brackets & predicted_brackets)
    num_predicted, num_gold = _label_counts(predicted_brackets), _label_counts(gold_brackets)
    labels = {label for _, _, label in gold_brackets | predicted_brackets}
    return {label: Counts(hits[label], num_predicted[label], num_gold[label]) for label in labels}


def _label_counts(brackets: Counter[Bracket]) -> Counter[str]:
    """Return the number of brackets of each label."""
    counts: Counter[str] = Counter()
    for (_, _, label), number in brackets.items():
        counts[label] += number
    return counts


def _counted_words(gold: Document) -> list[tuple[int, int]]:
    """Return the bounds of all words that count, in the order of the text."""
    if gold.has_layer(_TAG_LAYER):
        spans = (span for span in gold[_TAG_LAYER].spans if span.label not in COLLINS.deleted)
        return sorted((span.start, span.end) for span in spans)
    given = given_words(gold)
    return list(given.words if given else blank_words(gold.text))


def _brackets(document: Document, layer: str, words: Sequence[tuple[int, int]]) -> list[Bracket]:
    """Return the spans of a layer as brackets over the words that count, roots excluded."""
    starts, ends = [start for start, _ in words], [end for _, end in words]
    spans = document[layer].spans if document.has_layer(layer) else ()
    return [
        (bisect_left(starts, span.start), bisect_right(ends, span.end), span.label)
        for span in spans
        if span.label not in _ROOTS
        if bisect_left(starts, span.start) < bisect_right(ends, span.end)
    ]
