"""Trees of predicted documents against gold ones, as evalb scores them (SpanRel, table 3).

Punctuation is left out, as ``metrics.brackets.COLLINS`` says, where a gold document has parts of
speech in the layer ``xpos``; without that layer all words count. A root counts nowhere, whatever it
is called: it is always right.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spanloom.document import Document
from spanloom.metrics.brackets import COLLINS, Bracket, counted
from spanloom.metrics.counts import Counts
from spanloom.metrics.report import Score, annotated, heading, section, summed
from spanloom.metrics.tally import Tally
from spanloom.words import blank_words, given

_TAGS = "xpos"
_ROOTS = frozenset(["", "ROOT", "S1", "TOP"])


@dataclass(frozen=True, slots=True)
class Report:
    """The brackets of one layer; ``not_annotated`` are gold documents without it, not scored."""

    layer: str
    documents: int
    brackets: Score
    not_annotated: int = 0

    def tallies(self) -> dict[str, Tally]:
        """Return what F1 of brackets is made of."""
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
        head = heading(self.layer, self.documents, self.not_annotated)
        return "\n\n".join([head, section("brackets (as evalb)", self.brackets)]) + "\n"


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
    tables = [_table(one, two, layer) for one, two in pairs]
    return Report(layer, len(pairs), summed(tables, seed, resamples), len(gold) - len(pairs))


def _table(gold: Document, predicted: Document, layer: str) -> dict[str, Counts]:
    """Count the brackets of one text by label."""
    words = _words(gold)
    mine, theirs = (Counter(counted(_brackets(each, layer, words))) for each in (gold, predicted))
    labels = {label for _, _, label in mine | theirs}
    tables = [_by_label(each) for each in (mine & theirs, theirs, mine)]
    return {label: Counts(*(each[label] for each in tables)) for label in labels}


def _by_label(brackets: Counter[Bracket]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, _, label), times in brackets.items():
        found[label] += times
    return found


def _words(gold: Document) -> list[tuple[int, int]]:
    """The bounds of all words that count, in the order of the text."""
    if gold.has(_TAGS):
        tagged = (span for span in gold[_TAGS].spans if span.label not in COLLINS.deleted)
        return sorted((span.start, span.end) for span in tagged)
    there = given(gold)
    return list(there.words if there else blank_words(gold.text))


def _brackets(document: Document, layer: str, words: Sequence[tuple[int, int]]) -> list[Bracket]:
    """The spans of a layer over the words that count."""
    starts, ends = [start for start, _ in words], [end for _, end in words]
    spans = document[layer].spans if document.has(layer) else ()
    return [
        (bisect_left(starts, span.start), bisect_right(ends, span.end), span.label)
        for span in spans
        if span.label not in _ROOTS
        if bisect_left(starts, span.start) < bisect_right(ends, span.end)
    ]
