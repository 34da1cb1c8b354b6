"""How much there is of everything in some documents, as dataset cards say it."""

from dataclasses import dataclass, field

from spanloom.document import GIVEN, Document, Layer
from spanloom.words import splitter, words_of

_KINDS = ("relations", "events", "equivalences")


@dataclass(slots=True)
class Tally:
    """Counts of documents, sentences, words and queries; of spans and more by layer.

    A layer's spans stand under its name, its relations under ``NAME relations`` (events and
    equivalences so too), the arguments of its events under ``NAME arguments``. ``NAME sources``
    are spans where no relation ends, in layers with relations: predicates, or clusters. Words and
    sentences are the given ones, else blanks and lines part them.
    """

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, document: Document) -> None:
        """Count one document more."""
        words = words_of(document, splitter("blank", "line"))
        self._more("documents", 1)
        self._more("sentences", len(words.sentences))
        self._more("words", len(words.words))
        self._more("queries", len(document.queries))
        for layer in document.layers:
            if layer.name not in GIVEN:
                self._more(layer.name, len(layer.spans))
                for kind in _KINDS:
                    self._more(f"{layer.name} {kind}", len(getattr(layer, kind)))
                arguments = sum(len(each.arguments) for each in layer.events)
                self._more(f"{layer.name} arguments", arguments)
                self._more(f"{layer.name} sources", _sources(layer))

    def _more(self, what: str, number: int) -> None:
        if number or what in ("documents", "sentences", "words"):
            self.counts[what] = self.counts.get(what, 0) + number


def _sources(layer: Layer) -> int:
    """Count the spans of a layer where no relation ends; 0 where it has no relations."""
    ends = {each.tail for each in layer.relations}
    return sum(span.id not in ends for span in layer.spans) if ends else 0
