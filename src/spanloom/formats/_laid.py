"""The words of a document as a file of words writes them, and where its annotations lie in them."""

from dataclasses import dataclass
from functools import cached_property

from spanloom.document import SENTENCES, WORDS, Attribute, Document, Span
from spanloom.forms.grid import Grid
from spanloom.words import Bounds, Words, splitter, words_of


@dataclass(frozen=True)
class Laid:
    """A document cut into its given words; without any, blanks part words and lines sentences."""

    document: Document

    @cached_property
    def words(self) -> Words:
        """Bounds of words in characters, of sentences in words."""
        return words_of(self.document, splitter("blank", "line"))

    @cached_property
    def forms(self) -> list[str]:
        """Return the words as they stand in the text."""
        return [self.document.text[start:end] for start, end in self.words.words]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Which word each span of the layer of words is, by its id."""
        if not self.document.has(WORDS):
            return {}
        first = {start: row for row, (start, _) in enumerate(self.words.words)}
        spans = self.document[WORDS].spans
        return {span.id: first[span.start] for span in spans if span.start in first}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Which sentence each span of the layer of sentences is, by its id; without words: none."""
        if not self.document.has(SENTENCES):
            return {}
        places = {span.id: self._grid.place(span) for span in self.document[SENTENCES].spans}
        return {key: place.sentence for key, place in places.items() if place.width}

    def values(self, layer: str) -> dict[int, list[Attribute]]:
        """Return the attributes of words by their row, or those of sentences by their number."""
        places = self.rows if layer == WORDS else self.numbers
        found: dict[int, list[Attribute]] = {}
        for each in self.document[layer].attributes if self.document.has(layer) else ():
            if each.target in places:
                found.setdefault(places[each.target], []).append(each)
        return found

    def spaces(self, sentence: Bounds) -> list[bool]:
        """Whether anything stands between each word of a sentence and the next; last: False."""
        first, end = sentence
        bounds = self.words.words[first:end]
        after = [before[1] < word[0] for before, word in zip(bounds, bounds[1:], strict=False)]
        return [*after, False] if bounds else []

    def covered(self, span: Span) -> Bounds | None:
        """Return the words of one sentence that a span without gaps covers exactly, else None."""
        place = self._grid.place(span)
        if len(span.fragments) > 1 or not place.fits or place.sentence != place.last_sentence:
            return None
        return place.first, place.end

    def by_sentence(self, layer: str) -> tuple[list[list[tuple[int, int, Span]]], list[Span]]:
        """Return a layer's spans by sentence, and those that no words of one sentence are.

        Bounds are words of the sentence, in the order of the layer. An absent layer has none.
        """
        found: list[list[tuple[int, int, Span]]] = [[] for _ in self.words.sentences]
        lost: list[Span] = []
        for span in self.document[layer].spans if self.document.has(layer) else ():
            bounds = self.covered(span)
            if bounds is None:
                lost.append(span)
                continue
            number = self._grid.place(span).sentence
            first = self.words.sentences[number][0]
            found[number].append((bounds[0] - first, bounds[1] - first, span))
        return found, lost

    @cached_property
    def _grid(self) -> Grid:
        return Grid(self.words)
