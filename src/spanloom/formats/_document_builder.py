"""Build and name a document; annotations get new ids."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from spanloom.annotation_ids import IdGenerator
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
from spanloom.tokenization import Split

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
class DocumentBuilder:
    """Builds a document sentence by sentence; ``build`` returns it.

    Each layer that was named exists in the document, so an empty one says "nothing there".
    """

    name: str = ""
    meta: list[tuple[str, str]] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # ids of the given words, in order
    sentences: list[str] = field(default_factory=list)  # ids of the sentence spans
    size: int = 0  # characters added so far
    _pieces: list[str] = field(default_factory=list)
    _bounds: list[Fragment] = field(default_factory=list)
    _layers: dict[str, list[Annotation]] = field(default_factory=dict)
    _last_number: dict[str, int] = field(default_factory=dict)

    def sentence(self, forms: Sequence[str], spaces: Sequence[bool] | None = None) -> range:
        """Add a line of words and return their indices in the document.

        ``spaces[i]`` is whether a blank follows word i (default: after each but the last). A word
        may hold blanks. The text of a sentence ends with its last word.
        """
        first, start = self._begin_line()
        for index, form in enumerate(forms):
            self._bounds.append((self.size, self.size + len(form)))
            blank = index + 1 < len(forms) and (spaces is None or spaces[index])
            self._append_text(form + " " * blank)
        self._add_sentence_spans(first, start)
        return range(first, len(self.words))

    def add_pretokenized(self, text: str, words: Iterable[Fragment]) -> range:
        """Add a text as one sentence with words at these character bounds; return word indices."""
        first, start = self._begin_line()
        self._bounds += [(start + a, start + b) for a, b in words]
        self._append_text(text)
        self._add_sentence_spans(first, start)
        return range(first, len(self.words))

    def add_text(self, text: str) -> int:
        """Add a text without words; return its character offset."""
        _, start = self._begin_line()
        self._append_text(text)
        return start

    def layer(self, name: str) -> None:
        """Create a layer, even if no annotation is added to it."""
        self._layers.setdefault(name, [])

    def char_bounds(self, start: int, end: int) -> Fragment:
        """Return the characters of words ``[start, end)``; of none, no width before ``start``."""
        if start < end:
            return self._bounds[start][0], self._bounds[end - 1][1]
        offset = self._bounds[start][0] if start < len(self._bounds) else self.size
        return offset, offset

    def add_word_span(self, layer: str, label: str, start: int, end: int) -> str:
        """Add a span over the words ``[start, end)`` and return its id."""
        return self.span(layer, label, self.char_bounds(start, end))

    def span(self, layer: str, label: str, *fragments: Fragment, score: float | None = None) -> str:
        """Add a span and return its id."""
        return self._add_annotation(layer, Span(self._next_id(Span), label, fragments, score))

    def relation(self, layer: str, label: str, head: str, tail: str) -> str:
        """Add a relation and return its id."""
        return self._add_annotation(layer, Relation(self._next_id(Relation), label, head, tail))

    def attribute(self, layer: str, label: str, target: str, value: str | None = None) -> str:
        """Add an attribute and return its id."""
        return self._add_annotation(
            layer, Attribute(self._next_id(Attribute), label, target, value)
        )

    def note(self, layer: str, label: str, target: str, text: str) -> str:
        """Add a note and return its id."""
        return self._add_annotation(layer, Note(self._next_id(Note), label, target, text))

    def add_normalization(
        self, layer: str, label: str, target: str, resource: str, key: str
    ) -> str:
        """Add a normalization and return its id."""
        normalization = Normalization(self._next_id(Normalization), label, target, resource, key)
        return self._add_annotation(layer, normalization)

    def add_layer(self, layer: Layer) -> None:
        """Add a layer's annotations, whose ids are from ``new_id``."""
        self.layer(layer.name)
        self._layers[layer.name] += layer.annotations()

    def new_id(self, letter: str) -> str:
        """Return the next id with that letter."""
        self._last_number[letter] = self._last_number.get(letter, 0) + 1
        return f"{letter}{self._last_number[letter]}"

    def build(self) -> Document:
        """Return the document; raises ``DocumentError`` if annotations contradict each other."""
        layers = tuple(layer_from(name, annotations) for name, annotations in self._layers.items())
        text, meta, queries = "".join(self._pieces), tuple(self.meta), tuple(self.queries)
        return Document(text, layers, self.name, meta, queries)

    def _begin_line(self) -> tuple[int, int]:
        """Begin a line; return its first word's index and its first character's offset."""
        if self.size:
            self._append_text("\n")
        return len(self.words), self.size

    def _append_text(self, text: str) -> None:
        self._pieces.append(text)
        self.size += len(text)

    def _next_id(self, kind: type[Annotation]) -> str:
        """Return the next id of a kind of annotation."""
        return self.new_id(_LETTER[kind])

    def _add_annotation(self, layer: str, annotation: Annotation) -> str:
        require_label(annotation, self.name)  # checked here, where the caller still knows the line
        self._layers.setdefault(layer, []).append(annotation)
        return annotation.id

    def _add_sentence_spans(self, first: int, start: int) -> None:
        """Add the spans of the words from ``first`` on, and of their sentence."""
        self.words += [self.span(WORDS, WORD, bounds) for bounds in self._bounds[first:]]
        self.sentences.append(self.span(SENTENCES, SENTENCE, (start, self.size)))


ID = "id"  # the key in ``meta`` of an id that cannot be a name

_WRONG = re.compile(r"[\\\x00-\x1f\x7f\ud800-\udfff]")
_NUMBERED = re.compile(r"s[0-9]{5,}")
_MAX_BYTES = 200  # of a path component; most file systems allow 255


def default_name(number: int) -> str:
    """Return the name of a document without one: its number in the file, from 1."""
    return f"s{number:05}"


def is_counted(name: str) -> bool:
    """Whether a name is just the document's number in its file."""
    return _NUMBERED.fullmatch(name) is not None


def usable(name: str) -> str:
    """Return a name as a relative path; invalid characters and an empty name become ``_``."""
    parts = _WRONG.sub("_", name).split("/")
    return "/".join(_clean_part(part) for part in parts)


class Names:
    """The names of one file's documents, each used once."""

    def __init__(self) -> None:
        """Begin without names."""
        self._count_of: dict[str, int] = {}

    def of(self, requested: str) -> str:
        """Return a valid name not yet used; a second ``a`` becomes ``a~2``."""
        base = usable(requested)
        name = base
        while name in self._count_of:
            self._count_of[base] += 1
            name = f"{base}~{self._count_of[base]}"
        self._count_of[name] = 1
        return name

    def making(self, requested: str) -> DocumentBuilder:
        """Begin the document with that id, which ``meta`` keeps if the name differs from it."""
        name = self.of(requested)
        return DocumentBuilder(name, [] if name == requested else [(ID, requested)])


def id_in_file(document: Document) -> str:
    """Return the id of a document in its file: its name, unless ``meta`` holds another."""
    return dict(document.meta).get(ID, document.name)


def _clean_part(part: str) -> str:
    """Return a valid path component: not empty, not only dots, not hidden, not too long."""
    if not part.strip(" ."):
        return "_" * max(1, len(part))
    visible = "_" + part[1:] if part.startswith(".") else part
    return visible.encode()[:_MAX_BYTES].decode(errors="ignore")


def with_words(document: Document, split: Split) -> Document:
    """Return the document with words and sentences by ``split``, unchanged if it gives words."""
    if document.has_layer(WORDS):
        return document
    tokenization = split(document.text)
    new_id = IdGenerator(document.annotations())
    words = tuple(Span(new_id("T"), WORD, (bounds,)) for bounds in tokenization.words)
    layers = [Layer(WORDS, words)]
    if not document.has_layer(SENTENCES):
        sentence_bounds = [
            (tokenization.words[first][0], tokenization.words[end - 1][1])
            for first, end in tokenization.sentences
        ]
        sentences = tuple(Span(new_id("T"), SENTENCE, (bounds,)) for bounds in sentence_bounds)
        layers.append(Layer(SENTENCES, sentences))
    return replace(document, layers=(*document.layers, *layers), source=None)
