"""Lexical expressions of sentences as layers, for the formats of STREUSLE.

Layer ``mwe`` has multiword expressions (``strong``, ``weak``; a gap parts fragments), layer
``supersenses`` one span for each lexical expression that has a sense (two, where role and function
differ: ``p.Agent|p.Ancillary``). Its category is the attribute ``lexcat`` of its first word.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.document import WORDS, Attribute, Fragment, Span
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.forms.expressions import Expressions, Group, Lexical

MWE, SENSES = "mwe", "supersenses"
STRONG, WEAK = "strong", "weak"
CATEGORY = "lexcat"


def add(making: Making, first: int, said: Expressions) -> None:
    """Add the expressions of the last sentence; ``first`` is its first word in the document."""
    making.layer(MWE)
    making.layer(SENSES)
    kinds = [(words, STRONG) for words in said.strong] + [(words, WEAK) for words in said.weak]
    for words, label in sorted(kinds):
        making.span(MWE, label, *_fragments(making, first, words))
    for each in said.lexical:
        if each.sense:
            making.span(SENSES, each.sense, *_fragments(making, first, each.words))
        if each.category:
            target = making.words[first + each.words[0]]
            making.attribute(WORDS, CATEGORY, target, each.category)


@dataclass(frozen=True)
class Lexicon:
    """The expressions of a document: those that share no word with an earlier one of a kind."""

    laid: Laid

    def sentences(self) -> list[Expressions]:
        """Return those of each sentence."""
        said = self.laid.values(WORDS)
        strong, weak, senses = self._groups(MWE, STRONG), self._groups(MWE, WEAK), self._senses()
        found = []
        for number, (first, end) in enumerate(self.laid.words.sentences):
            inside = {word for group in strong[number] for word in group}
            alone = [(word,) for word in range(end - first) if word not in inside]
            lexical = []
            for words in sorted((*strong[number], *alone)):
                category = _category(said.get(first + words[0], ()))
                lexical.append(Lexical(words, category, senses[number].get(words, "")))
            found.append(Expressions(tuple(lexical), tuple(sorted(weak[number]))))
        return found

    def _groups(self, layer: str, label: str) -> list[list[Group]]:
        """Return the words of spans with that label, by sentence."""
        found: list[list[Group]] = [[] for _ in self.laid.words.sentences]
        taken: list[set[int]] = [set() for _ in found]
        for number, words, span in self._spans(layer):
            if span.label == label and len(words) > 1 and not taken[number].intersection(words):
                found[number].append(words)
                taken[number].update(words)
        return found

    def _senses(self) -> list[dict[Group, str]]:
        """Return the sense of each group of words, by sentence."""
        found: list[dict[Group, str]] = [{} for _ in self.laid.words.sentences]
        for number, words, span in self._spans(SENSES):
            found[number].setdefault(words, span.label)
        return found

    def _spans(self, layer: str) -> Iterator[tuple[int, Group, Span]]:
        """Yield spans that are whole words of one sentence: its number, the words in it."""
        if not self.laid.document.has(layer):
            return
        bounds = self.laid.words.words
        starts = {start: row for row, (start, _) in enumerate(bounds)}
        ends = {end: row for row, (_, end) in enumerate(bounds)}
        many = enumerate(self.laid.words.sentences)
        places = [(number, row) for number, (a, b) in many for row in range(b - a)]
        for span in self.laid.document[layer].spans:
            rows: list[int] = []
            for start, end in sorted(span.fragments):
                first, last = starts.get(start), ends.get(end)
                if first is None or last is None or first > last:
                    break
                rows += range(first, last + 1)
            else:
                if len({places[row][0] for row in rows}) == 1:
                    yield places[rows[0]][0], tuple(places[row][1] for row in rows), span


def _category(said: Iterable[Attribute]) -> str:
    """Return the category that a word's attributes name, "" where they name none."""
    return next((each.value or "" for each in said if each.label == CATEGORY), "")


def _fragments(making: Making, first: int, words: Sequence[int]) -> list[Fragment]:
    """Return the characters of words, those side by side in one fragment."""
    runs: list[list[int]] = []
    for word in words:
        if runs and runs[-1][1] == word:
            runs[-1][1] = word + 1
        else:
            runs.append([word, word + 1])
    return [making.at(first + start, first + end) for start, end in runs]
