"""How much there is of everything in some documents, as dataset cards say it."""

from collections import Counter
from dataclasses import dataclass, field

from spanloom.document import GIVEN, Document, Layer
from spanloom.words import splitter, words_of

_KINDS = ("relations", "events", "equivalences")
_ALWAYS = ("documents", "sentences", "words")


@dataclass(slots=True)
class Tally:
    """Counts of documents, sentences, words and queries; of spans and more by layer.

    A layer's spans stand under its name, its relations under ``NAME relations`` (events and
    equivalences so too), the arguments of its events under ``NAME arguments``. Of layers with
    relations ``NAME sources`` are spans where none ends: predicates, or the last mentions of
    clusters. Words and sentences are the given ones, else blanks and lines part them.
    """

    found: Counter[str] = field(default_factory=Counter)

    def add(self, document: Document) -> None:
        """Count one document more."""
        words = words_of(document, splitter("blank", "line"))
        self.found["documents"] += 1
        self.found["sentences"] += len(words.sentences)
        self.found["words"] += len(words.words)
        self.found["queries"] += len(document.queries)
        for layer in document.layers:
            if layer.name not in GIVEN:
                self._layer(layer)

    @property
    def counts(self) -> dict[str, int]:
        """What was counted, in the order it came; what there is none of is left out."""
        return {
            what: number
            for what, number in self.found.items()
            if what in _ALWAYS or (number and self._says(what))
        }

    def _layer(self, layer: Layer) -> None:
        self.found[layer.name] += len(layer.spans)
        for kind in _KINDS:
            self.found[f"{layer.name} {kind}"] += len(getattr(layer, kind))
        self.found[f"{layer.name} arguments"] += sum(len(each.arguments) for each in layer.events)
        ends = {each.tail for each in layer.relations}
        sources = sum(span.id not in ends for span in layer.spans)
        self.found[f"{layer.name} sources"] += sources

    def _says(self, what: str) -> bool:
        """Whether a number says something: where there are no relations, all spans are sources."""
        name = what.removesuffix(" sources")
        return name == what or self.found[f"{name} relations"] > 0
