"""Compare constituents as evalb does (Black et al., 1991), in trees and in documents.

What counts follows Collins' settings. Words of some tags (punctuation, traces) are removed first,
so brackets are over the others; brackets over no words or of some labels do not count. In documents
(SpanRel, table 3) tags are in the gold layer ``xpos``; without that layer all words count. Roots of
documents never count, whatever their label: they are always right.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from spanloom.document import Document
from spanloom.metrics.counts import Counts, counts_by_label
from spanloom.metrics.report import LayerReport, Score, annotated_documents, sum_counts
from spanloom.tokenization import Bounds, blank_words, given_words

Bracket = tuple[int, int, str]
"""A label over the words ``[start, end)``."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Tags and labels that do not count, and labels that count as another one.

    ``no_length``: tags whose words do not count in a sentence's length either.
    """

    deleted: frozenset[str] = frozenset()
    no_length: frozenset[str] = frozenset()
    same: Mapping[str, str] = field(default_factory=dict)


COLLINS = Rules(
    frozenset(["TOP", "-NONE-", ",", ":", "``", "''", "."]),
    frozenset(["-NONE-"]),
    {"PRT": "ADVP"},
)


class Sentence(NamedTuple):
    """The words that count, their tags, and all brackets with bounds in these words."""

    words: Sequence[str]
    tags: Sequence[str]
    brackets: Sequence[Bracket]


class Compared(NamedTuple):
    """Brackets, predicted ones that cross a gold one, and tags (as many gold as predicted)."""

    brackets: Counts
    crossing: int
    tags: Counts


def compare(gold: Sentence, predicted: Sentence, rules: Rules = COLLINS) -> Compared:
    """Compare two trees over the same words; each of several equal brackets is matched once."""
    gold_brackets = countable_brackets(gold.brackets, rules)
    predicted_brackets = countable_brackets(predicted.brackets, rules)
    hits = (Counter(gold_brackets) & Counter(predicted_brackets)).total()
    bounds = {(start, end) for start, end, _ in gold_brackets}
    unmatched = [(start, end) for start, end, _ in predicted_brackets if (start, end) not in bounds]
    crossing_index = _CrossingIndex(bounds if unmatched else ())
    crossing = sum(1 for start, end in unmatched if crossing_index.crosses(start, end))
    same = rules.same
    pairs = zip(gold.tags, predicted.tags, strict=True)
    num_right = sum(1 for a, b in pairs if a == b or same.get(a, a) == same.get(b, b))
    words = len(gold.tags)
    brackets = Counts(hits, len(predicted_brackets), len(gold_brackets))
    return Compared(brackets, crossing, Counts(num_right, words, words))


def countable_brackets(brackets: Iterable[Bracket], rules: Rules = COLLINS) -> list[Bracket]:
    """Return the brackets that count, without functions, each label as the one it counts as."""
    counting = []
    for start, end, label in brackets:
        if start != end:
            plain = label.partition("-")[0].partition("=")[0]
            if plain not in rules.deleted:
                counting.append((start, end, rules.same.get(plain, plain)))
    return counting


class _CrossingIndex:
    """Index of a tree's brackets that tells whether another bracket crosses one of them."""

    def __init__(self, bounds: Iterable[tuple[int, int]]) -> None:
        """Store the innermost bracket around each position between two words, in linear time."""
        self.innermost_at: dict[int, tuple[int, int]] = {}
        stack: list[tuple[int, int]] = []
        spans = [(start, end) for start, end in bounds if start < end]
        position = 0
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            position = self._fill_to(position, start, stack)
            stack.append((start, end))
        self._fill_to(position, stack[0][1] if stack else position, stack)

    def crosses(self, start: int, end: int) -> bool:
        """Return whether a bracket of the tree has one of these bounds inside and one outside."""
        left, right = self.innermost_at.get(start), self.innermost_at.get(end)
        return bool(left and left[1] < end) or bool(right and start < right[0])

    def _fill_to(self, position: int, end: int, stack: list[tuple[int, int]]) -> int:
        """Store the innermost brackets after ``position``, up to ``end``; pop finished ones."""
        for current in range(position + 1, end + 1):
            while stack and stack[-1][1] <= current:
                stack.pop()
            if stack:
                self.innermost_at[current] = stack[-1]
        return max(position, end)


_TAG_LAYER = "xpos"
_ROOTS = frozenset(["", "ROOT", "S1", "TOP"])


@dataclass(frozen=True, slots=True)
class Report(LayerReport):
    """The scores of one layer of constituents."""

    MEASURES: ClassVar[Mapping[str, tuple[str, str]]] = {"evalb": ("evalb", "brackets (as evalb)")}
    UNSCORED: ClassVar[str] = ""

    evalb: Score


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
    pairs = annotated_documents(gold, predicted, layer)
    tables = [_counts_by_label(*pair, layer) for pair in pairs]
    brackets = sum_counts(tables, seed, resamples)
    return Report(layer, len(pairs), len(gold) - len(pairs), 0, brackets)


def _counts_by_label(gold: Document, predicted: Document, layer: str) -> dict[str, Counts]:
    """Count the brackets of one text by label."""
    gold_brackets, predicted_brackets = (
        Counter(countable_brackets(word_brackets(document, layer, *_words(gold))))
        for document in (gold, predicted)
    )
    hits = _label_counts(gold_brackets & predicted_brackets)
    return counts_by_label(hits, _label_counts(predicted_brackets), _label_counts(gold_brackets))


def _label_counts(brackets: Counter[Bracket]) -> Counter[str]:
    """Return the number of brackets of each label."""
    counts: Counter[str] = Counter()
    for (_, _, label), number in brackets.items():
        counts[label] += number
    return counts


def _words(gold: Document) -> tuple[list[Bounds], list[Bounds]]:
    """Return the bounds of all words, and of those that count, in the order of the text."""
    if gold.has_layer(_TAG_LAYER):
        tags = sorted((tag.start, tag.end, tag.label) for tag in gold[_TAG_LAYER].spans)
        words = [(start, end) for start, end, _ in tags]
        return words, [(start, end) for start, end, tag in tags if tag not in COLLINS.deleted]
    given = given_words(gold)
    words = list(given.words if given else blank_words(gold.text))
    return words, words


def word_brackets(
    document: Document, layer: str, words: Sequence[Bounds], counted: Sequence[Bounds]
) -> Iterator[Bracket]:
    """Yield the spans of a layer as brackets over the words that count, roots excluded.

    A span that cuts one of all ``words`` has its characters, as negative numbers: it is right only
    if gold cuts the same word.
    """
    starts, ends = [start for start, _ in counted], [end for _, end in counted]
    first, last = {start for start, _ in words}, {end for _, end in words}
    for span in document.layer_or_empty(layer).spans:
        if span.label in _ROOTS:
            continue
        start, end = bisect_left(starts, span.start), bisect_right(ends, span.end)
        if span.start not in first or span.end not in last:
            yield -1 - span.start, -1 - span.end, span.label
        elif start < end:
            yield start, end, span.label
