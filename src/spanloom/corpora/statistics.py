"""Count the documents of a corpus and their annotations, layer by layer.

``prepare`` counts sizes and labels, for dataset cards. ``check`` also counts widths, difficult
spans and relations, and answers to queries.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spanloom.annotation.queries import answers, dangling_answers
from spanloom.annotation.word_index import WordIndex
from spanloom.corpora.reachability import count_nested, crossing_pairs
from spanloom.document import GIVEN_WORDS, Document, Layer, Relation, Span
from spanloom.metrics.spans import bounds
from spanloom.tokenization import Tokenization

KINDS = (
    "spans",
    "relations",
    "events",
    "attributes",
    "normalizations",
    "notes",
    "equivalences",
)


SHAPES = (
    "nested in another span",
    "pairs of spans that cross",
    "duplicates (same bounds and label)",
    "several labels on the same bounds",
    "discontinuous",
    "zero width",
    "across sentences",
    "off word borders",
)
SAME = "duplicates (same label and ends)"
LINKS = (
    "across sentences",
    "from a span to itself",
    SAME,
    "several labels on one ordered pair",
    "with an end that is no span of this layer",
)


@dataclass(slots=True)
class LayerStatistics:
    """Counts of one layer, which grow document by document.

    ``documents`` with this layer; ``labels`` by kind (``arguments`` are the roles of events, as
    written); ``sources``, spans where no relation ends; ``widths`` of spans in words touched, gaps
    included; ``shapes`` and ``links`` count difficult spans and relations, all names present from
    the start.
    """

    documents: int = 0
    labels: dict[str, Counter[str]] = field(default_factory=dict)
    sources: int = 0
    widths: Counter[int] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(SHAPES, 0)))
    links: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(LINKS, 0)))

    def add(self, layer: Layer) -> None:
        """Count the labels of one document's layer."""
        self.documents += 1
        for kind in KINDS:
            self._count(kind, (annotation.label for annotation in getattr(layer, kind)))
        roles = (argument.role for event in layer.events for argument in event.arguments)
        self._count("arguments", roles)
        tails = {relation.tail for relation in layer.relations}
        self.sources += sum(span.id not in tails for span in layer.spans)

    def add_shapes(
        self, layer: Layer, relations: Sequence[Relation], word_index: WordIndex
    ) -> None:
        """Count widths and shapes of a layer; ``relations`` are projected, with those of events."""
        self.widths.update(word_index.locate(span).width for span in layer.spans)
        self.shapes.update(_shape_counts(layer.spans, word_index))
        self.links.update(
            _relation_counts(relations, {span.id: span for span in layer.spans}, word_index)
        )
        num_written = len(layer.relations) + sum(len(event.arguments) for event in layer.events)
        self.links[SAME] += num_written - len(relations)  # duplicates merged by projection

    def merge(self, other: "LayerStatistics") -> None:
        """Add the counts of the documents that follow."""
        self.documents += other.documents
        for kind, counts in other.labels.items():
            self.labels.setdefault(kind, Counter()).update(counts)
        self.sources += other.sources
        self.widths.update(other.widths)
        self.shapes.update(other.shapes)
        self.links.update(other.links)

    def _count(self, kind: str, labels: Iterable[str]) -> None:
        """Add labels to the table of one kind, which exists only if there are any."""
        counts = Counter(labels)
        if counts:
            self.labels.setdefault(kind, Counter()).update(counts)

    def total(self, kind: str) -> int:
        """Return the number of annotations of a kind."""
        return self.labels.get(kind, Counter()).total()

    def width_at(self, fraction: float) -> int:
        """Return the least width (words) that covers a fraction of the spans; 0 without spans."""
        target, count = fraction * self.widths.total(), 0
        for width in sorted(self.widths):
            count += self.widths[width]
            if count >= target - 1e-9:  # 0.07 * 100 is a little more than 7
                return width
        return 0


@dataclass(slots=True)
class CorpusStatistics:
    """Counts of documents, sentences, words, characters and queries, and of each layer."""

    documents: int = 0
    sentences: int = 0
    words: int = 0
    characters: int = 0
    queries: int = 0
    layers: dict[str, LayerStatistics] = field(default_factory=dict)

    def add(self, document: Document, words: Tokenization) -> None:
        """Count one document with its words; the layers of its words are left out."""
        self.documents += 1
        self.sentences += len(words.sentences)
        self.words += len(words.words)
        self.characters += len(document.text)
        self.queries += len(document.queries)
        for layer in document.layers:
            if layer.name not in GIVEN_WORDS:
                self.layers.setdefault(layer.name, LayerStatistics()).add(layer)

    def merge(self, other: "CorpusStatistics") -> None:
        """Add the counts of the documents that follow."""
        self.documents += other.documents
        self.sentences += other.sentences
        self.words += other.words
        self.characters += other.characters
        self.queries += other.queries
        for name, layer in other.layers.items():
            self.layers.setdefault(name, LayerStatistics()).merge(layer)

    def card_counts(self) -> dict[str, int]:
        """Return the counts by the names that dataset cards use.

        Spans are counted under the layer's name, relations under ``NAME relations`` (likewise
        events and equivalences), event arguments under ``NAME arguments``. In layers with
        relations, ``NAME sources`` counts spans where no relation ends: predicates, or the last
        mentions of clusters. Of queries and annotations, counts of zero are left out.
        """
        annotations = {"queries": self.queries}
        for name, layer in self.layers.items():
            annotations[name] = layer.total("spans")
            for kind in ("relations", "events", "equivalences", "arguments"):
                annotations[f"{name} {kind}"] = layer.total(kind)
            annotations[f"{name} sources"] = layer.sources if layer.total("relations") else 0
        sizes = {"documents": self.documents, "sentences": self.sentences, "words": self.words}
        return {**sizes, **{name: count for name, count in annotations.items() if count}}


@dataclass(slots=True)
class QueryCounts:
    """Number of queries of some documents, and of their answers in a layer.

    ``queries`` of the documents that have the layer, ``answers`` to them, ``unanswered`` queries
    without any; ``dangling`` answers refer to a missing query or are no spans of the layer.
    """

    queries: int = 0
    answers: int = 0
    unanswered: int = 0
    dangling: int = 0

    def add(self, document: Document, layer: str) -> None:
        """Count one document's layer."""
        by_query = answers(document, layer)
        self.queries += len(by_query)
        self.answers += sum(map(len, by_query.values()))
        self.unanswered += sum(not alternatives for alternatives in by_query.values())
        self.dangling += len(dangling_answers(document, layer))

    def merge(self, other: "QueryCounts") -> None:
        """Add the counts of the documents that follow."""
        self.queries += other.queries
        self.answers += other.answers
        self.unanswered += other.unanswered
        self.dangling += other.dangling

    @property
    def meant(self) -> bool:
        """Whether the layer holds answers: some span answers a query."""
        return self.answers + self.dangling > 0


def _shape_counts(spans: Sequence[Span], word_index: WordIndex) -> dict[str, int]:
    """Return counts of one document's spans in the order of ``SHAPES``."""
    intervals = {(span.start, span.end) for span in spans if span.start < span.end}
    located = [(span, word_index.locate(span)) for span in spans]
    items = {(span.label, bounds(span)) for span in spans}
    labels = Counter(span_bounds for _, span_bounds in items)
    counts = (
        count_nested(intervals),
        crossing_pairs(intervals),
        len(spans) - len(items),
        sum(count > 1 for count in labels.values()),
        sum(len(span.fragments) > 1 for span in spans),
        sum(span.start == span.end for span in spans),
        sum(
            word_span.width > 0 and word_span.sentence != word_span.last_sentence
            for _, word_span in located
        ),
        sum(not word_span.aligned and span.start < span.end for span, word_span in located),
    )
    return dict(zip(SHAPES, counts, strict=True))


def _relation_counts(
    relations: Sequence[Relation], spans_by_id: Mapping[str, Span], word_index: WordIndex
) -> dict[str, int]:
    """Return counts of one document's relations in the order of ``LINKS``."""
    between_spans = [
        (relation.label, spans_by_id[relation.head], spans_by_id[relation.tail])
        for relation in relations
        if relation.head in spans_by_id and relation.tail in spans_by_id
    ]
    items = {(label, bounds(head), bounds(tail)) for label, head, tail in between_spans}
    pairs = Counter((head, tail) for _, head, tail in items)
    counts = (
        sum(
            word_index.locate(a).sentence != word_index.locate(b).sentence
            for _, a, b in between_spans
        ),
        sum(bounds(a) == bounds(b) for _, a, b in between_spans),
        len(between_spans) - len(items),
        sum(count > 1 for count in pairs.values()),
        len(relations) - len(between_spans),
    )
    return dict(zip(LINKS, counts, strict=True))
