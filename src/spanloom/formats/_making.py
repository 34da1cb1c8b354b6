"""A document in the making: words make the text, and annotations get ids that none has yet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from spanloom.document import (
    SENTENCE,
    SENTENCES,
    WORD,
    WORDS,
    Annotation,
    Attribute,
    Document,
    Equivalence,
    Event,
    Fragment,
    Layer,
    Normalization,
    Note,
    Query,
    Relation,
    Span,
    require_label,
)
from spanloom.formats.brat.layers import layer_from

_LETTER: dict[type[Annotation], str] = {
    Span: "T",
    Relation: "R",
    Event: "E",
    Attribute: "A",
    Normalization: "N",
    Note: "#",
    Equivalence: "*",
}


@dataclass(slots=True)
class Making:
    """Grows by sentences of words; ``done`` is the document.

    Every layer that was named is there in the end, so an empty one says "nothing there".
    """

    name: str = ""
    meta: list[tuple[str, str]] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # ids of the given words, in order
    sentences: list[str] = field(default_factory=list)  # ids of theirs
    size: int = 0  # characters there are
    _pieces: list[str] = field(default_factory=list)
    _bounds: list[Fragment] = field(default_factory=list)
    _layers: dict[str, list[Annotation]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def sentence(self, forms: Sequence[str], spaces: Sequence[bool] | None = None) -> range:
        """Add a line of words and return which words of the document they are.

        ``spaces[i]`` is whether a blank follows word i (default: between any two). A word may hold
        blanks. The text of a sentence ends with its last word.
        """
        first, start = self._line()
        for number, form in enumerate(forms):
            self._bounds.append((self.size, self.size + len(form)))
            blank = number + 1 < len(forms) and (spaces is None or spaces[number])
            self._grow(form + " " * blank)
        self._mark(first, start)
        return range(first, len(self.words))

    def given(self, text: str, words: Iterable[Fragment]) -> range:
        """Add a text as it stands, as one sentence with the words at these characters of it."""
        first, start = self._line()
        self._bounds += [(start + a, start + b) for a, b in words]
        self._grow(text)
        self._mark(first, start)
        return range(first, len(self.words))

    def raw(self, text: str) -> int:
        """Add a text whose words nobody gives; return where it begins."""
        _, start = self._line()
        self._grow(text)
        return start

    def layer(self, name: str) -> None:
        """Say that there is such a layer, even if nothing will be in it."""
        self._layers.setdefault(name, [])

    def at(self, start: int, end: int) -> Fragment:
        """Return the characters of words ``[start, end)``; of no words, those before ``start``."""
        if start < end:
            return self._bounds[start][0], self._bounds[end - 1][1]
        place = self._bounds[start][0] if start < len(self._bounds) else self.size
        return place, place

    def over(self, layer: str, label: str, start: int, end: int) -> str:
        """Add a span over the words ``[start, end)`` and return its id."""
        return self.span(layer, label, self.at(start, end))

    def span(self, layer: str, label: str, *fragments: Fragment) -> str:
        """Add a span and return its id."""
        return self._add(layer, Span(self._fresh(Span), label, fragments))

    def relation(self, layer: str, label: str, head: str, tail: str) -> str:
        """Add a relation and return its id."""
        return self._add(layer, Relation(self._fresh(Relation), label, head, tail))

    def attribute(self, layer: str, label: str, target: str, value: str | None = None) -> str:
        """Add an attribute and return its id."""
        return self._add(layer, Attribute(self._fresh(Attribute), label, target, value))

    def note(self, layer: str, label: str, target: str, text: str) -> str:
        """Add a note and return its id."""
        return self._add(layer, Note(self._fresh(Note), label, target, text))

    def link(self, layer: str, label: str, target: str, resource: str, key: str) -> str:
        """Add a normalization and return its id."""
        made = Normalization(self._fresh(Normalization), label, target, resource, key)
        return self._add(layer, made)

    def put(self, layer: Layer) -> None:
        """Add what a layer holds, whose ids ``fresh`` made."""
        self.layer(layer.name)
        self._layers[layer.name] += layer.annotations()

    def fresh(self, letter: str) -> str:
        """Return the next id that begins with a letter."""
        self._numbers[letter] = self._numbers.get(letter, 0) + 1
        return f"{letter}{self._numbers[letter]}"

    def done(self) -> Document:
        """Return the document; raises ``DocumentError`` where annotations contradict each other."""
        layers = tuple(layer_from(name, found) for name, found in self._layers.items())
        text, meta, queries = "".join(self._pieces), tuple(self.meta), tuple(self.queries)
        return Document(text, layers, self.name, meta, queries)

    def _line(self) -> tuple[int, int]:
        """Begin a line; return which word and which character will be its first."""
        if self.size:
            self._grow("\n")
        return len(self.words), self.size

    def _grow(self, text: str) -> None:
        self._pieces.append(text)
        self.size += len(text)

    def _fresh(self, kind: type[Annotation]) -> str:
        """Return the next id of a kind."""
        return self.fresh(_LETTER[kind])

    def _add(self, layer: str, made: Annotation) -> str:
        require_label(made, self.name)  # here, where its line is still known
        self._layers.setdefault(layer, []).append(made)
        return made.id

    def _mark(self, first: int, start: int) -> None:
        """Add the spans of the words from ``first`` on, and of their sentence."""
        self.words += [self.span(WORDS, WORD, each) for each in self._bounds[first:]]
        self.sentences.append(self.span(SENTENCES, SENTENCE, (start, self.size)))
