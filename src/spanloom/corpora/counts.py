"""Count documents, sentences, words and annotations, in the terms of dataset cards."""

from collections import Counter
from dataclasses import dataclass, field

from spanloom.document import GIVEN_WORDS, Document, Layer
from spanloom.tokenization import word_tokenizer, words_of

_KINDS = ("relations", "events", "equivalences")
_ALWAYS = ("documents", "sentences", "words")


@dataclass(slots=True)
class AnnotationCounts:
    """Counts of documents, sentences, words and queries; of spans and other annotations by layer.

    Spans are counted under the layer's name, relations under ``NAME relations`` (events and
    equivalences likewise), event arguments under ``NAME arguments``. In layers with relations,
    ``NAME sources`` counts spans where no relation ends: predicates, or the last mentions of
    clusters. Words and sentences are the given ones; without them, blanks separate words and line
    ends separate sentences.
    """

    raw_counts: Counter[str] = field(default_factory=Counter)

    def add(self, document: Document) -> None:
        """Count one more document."""
        words = words_of(document, word_tokenizer("whitespace", "newline"))
        self.raw_counts["documents"] += 1
        self.raw_counts["sentences"] += len(words.sentences)
        self.raw_counts["words"] += len(words.words)
        self.raw_counts["queries"] += len(document.queries)
        for layer in document.layers:
            if layer.name not in GIVEN_WORDS:
                self._add_layer(layer)

    @property
    def counts(self) -> dict[str, int]:
        """Counts by name, in the order in which they came up; zero counts are left out."""
        return {
            name: number
            for name, number in self.raw_counts.items()
            if name in _ALWAYS or (number and self._is_informative(name))
        }

    def _add_layer(self, layer: Layer) -> None:
        """Count one layer of a document."""
        self.raw_counts[layer.name] += len(layer.spans)
        for kind in _KINDS:
            self.raw_counts[f"{layer.name} {kind}"] += len(getattr(layer, kind))
        self.raw_counts[f"{layer.name} arguments"] += sum(
            len(event.arguments) for event in layer.events
        )
        tails = {relation.tail for relation in layer.relations}
        sources = sum(span.id not in tails for span in layer.spans)
        self.raw_counts[f"{layer.name} sources"] += sources

    def _is_informative(self, count_name: str) -> bool:
        """Whether a count carries information: without relations, all spans would be sources."""
        name = count_name.removesuffix(" sources")
        return name == count_name or self.raw_counts[f"{name} relations"] > 0
