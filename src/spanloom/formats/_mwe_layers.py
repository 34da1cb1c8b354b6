"""Convert lexical expressions to layers and back, for the formats of STREUSLE.

Layer ``mwe`` has multiword expressions (``strong``, ``weak``; a gap splits fragments), layer
``supersenses`` one span for each lexical expression that has a sense (two, where role and function
differ: ``p.Agent|p.Ancillary``). Its category is the attribute ``lexcat`` of its first word.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.annotation.multiword_expressions import Expressions, Group, Lexical
from spanloom.document import WORDS, Attribute, Fragment, Span
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._word_view import WordView

MWE, SENSES = "mwe", "supersenses"
STRONG, WEAK = "strong", "weak"
CATEGORY = "lexcat"


def add(builder: DocumentBuilder, first: int, expressions: Expressions) -> None:
    """Add the expressions of the last sentence, whose first word has the index ``first``."""
    builder.layer(MWE)
    builder.layer(SENSES)
    labeled_words = [(words, STRONG) for words in expressions.strong] + [
        (words, WEAK) for words in expressions.weak
    ]
    for words, label in sorted(labeled_words):
        builder.span(MWE, label, *_fragments(builder, first, words))
    for lexical in expressions.lexical:
        if lexical.sense:
            builder.span(SENSES, lexical.sense, *_fragments(builder, first, lexical.words))
        if lexical.category:
            target = builder.words[first + lexical.words[0]]
            builder.attribute(WORDS, CATEGORY, target, lexical.category)


@dataclass(frozen=True)
class Lexicon:
    """The expressions of a document, without those that share a word with an earlier one."""

    view: WordView

    def sentences(self) -> list[Expressions]:
        """Return the expressions of each sentence."""
        attributes = self.view.values(WORDS)
        strong, weak, senses = self._groups(MWE, STRONG), self._groups(MWE, WEAK), self._senses()
        expressions = []
        for number, (first, end) in enumerate(self.view.words.sentences):
            grouped = {word for group in strong[number] for word in group}
            ungrouped = [(word,) for word in range(end - first) if word not in grouped]
            lexical = []
            for words in sorted((*strong[number], *ungrouped)):
                category = _category_of(attributes.get(first + words[0], ()))
                lexical.append(Lexical(words, category, senses[number].get(words, "")))
            expressions.append(Expressions(tuple(lexical), tuple(sorted(weak[number]))))
        return expressions

    def _groups(self, layer: str, label: str) -> list[list[Group]]:
        """Return the words of multiword spans with that label, by sentence."""
        groups: list[list[Group]] = [[] for _ in self.view.words.sentences]
        taken: list[set[int]] = [set() for _ in groups]
        for number, words, span in self._spans(layer):
            if span.label == label and len(words) > 1 and not taken[number].intersection(words):
                groups[number].append(words)
                taken[number].update(words)
        return groups

    def _senses(self) -> list[dict[Group, str]]:
        """Return the sense of each group of words, by sentence."""
        senses: list[dict[Group, str]] = [{} for _ in self.view.words.sentences]
        for number, words, span in self._spans(SENSES):
            senses[number].setdefault(words, span.label)
        return senses

    def _spans(self, layer: str) -> Iterator[tuple[int, Group, Span]]:
        """Yield each span of whole words of one sentence: sentence number, words in it, span."""
        if not self.view.document.has_layer(layer):
            return
        bounds = self.view.words.words
        starts = {start: row for row, (start, _) in enumerate(bounds)}
        ends = {end: row for row, (_, end) in enumerate(bounds)}
        sentences = enumerate(self.view.words.sentences)
        word_positions = [
            (number, row) for number, (first, end) in sentences for row in range(end - first)
        ]
        for span in self.view.document[layer].spans:
            rows: list[int] = []
            for start, end in sorted(span.fragments):
                first, last = starts.get(start), ends.get(end)
                if first is None or last is None or first > last:
                    break
                rows += range(first, last + 1)
            else:
                if len({word_positions[row][0] for row in rows}) == 1:
                    yield (
                        word_positions[rows[0]][0],
                        tuple(word_positions[row][1] for row in rows),
                        span,
                    )


def _category_of(attributes: Iterable[Attribute]) -> str:
    """Return the category in a word's attributes, "" if there is none."""
    return next(
        (attribute.value or "" for attribute in attributes if attribute.label == CATEGORY), ""
    )


def _fragments(builder: DocumentBuilder, first: int, words: Sequence[int]) -> list[Fragment]:
    """Return the characters of words, adjacent words in one fragment."""
    runs: list[list[int]] = []
    for word in words:
        if runs and runs[-1][1] == word:
            runs[-1][1] = word + 1
        else:
            runs.append([word, word + 1])
    return [builder.char_bounds(first + start, first + end) for start, end in runs]
