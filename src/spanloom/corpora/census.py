"""What is in one layer of some documents: labels, widths, how spans and relations lie, answers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spanloom.corpora.shapes import crossing_pairs, nested
from spanloom.document import Document, Layer, Relation, Span
from spanloom.forms.grid import Grid
from spanloom.forms.queries import answers, strays
from spanloom.metrics.spans import bounds

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
class Census:
    """Counts that grow document by document.

    ``labels`` by kind (``arguments`` are the roles of events, as written); ``widths`` of spans in
    words touched, gaps included; ``shapes`` and ``links`` count what makes a corpus hard, all
    names present from the start.
    """

    labels: dict[str, Counter[str]] = field(default_factory=dict)
    widths: Counter[int] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(SHAPES, 0)))
    links: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(LINKS, 0)))

    def add(self, layer: Layer, relations: Sequence[Relation], grid: Grid) -> None:
        """Count one document's layer; ``relations`` are projected, events among them."""
        for kind in KINDS:
            self._count(kind, (each.label for each in getattr(layer, kind)))
        roles = (each.role for event in layer.events for each in event.arguments)
        self._count("arguments", roles)
        self.widths.update(grid.place(span).width for span in layer.spans)
        self.shapes.update(_shapes(layer.spans, grid))
        self.links.update(_links(relations, {span.id: span for span in layer.spans}, grid))
        written = len(layer.relations) + sum(len(event.arguments) for event in layer.events)
        self.links[SAME] += written - len(relations)  # those that projection has merged

    def _count(self, kind: str, labels: Iterable[str]) -> None:
        """Add to one kind's table, which is only made where there is something to count."""
        found = Counter(labels)
        if found:
            self.labels.setdefault(kind, Counter()).update(found)

    def width_at(self, share: float) -> int:
        """Return the least width (words) that holds this share of the spans; 0 without spans."""
        wanted, seen = share * self.widths.total(), 0
        for width in sorted(self.widths):
            seen += self.widths[width]
            if seen >= wanted - 1e-9:  # 0.07 * 100 is a little more than 7
                return width
        return 0


@dataclass(slots=True)
class Asked:
    """How the layer of some documents answers their queries.

    ``queries`` of the documents that have the layer, ``answers`` to them, ``unanswered`` queries
    without any; ``strays`` answer a query that is not there, or are no spans of the layer.
    """

    queries: int = 0
    answers: int = 0
    unanswered: int = 0
    strays: int = 0

    def add(self, document: Document, layer: str) -> None:
        """Count one document's layer."""
        found = answers(document, layer)
        self.queries += len(found)
        self.answers += sum(map(len, found.values()))
        self.unanswered += sum(not alternatives for alternatives in found.values())
        self.strays += len(strays(document, layer))

    @property
    def meant(self) -> bool:
        """Whether the layer is one of answers: some span answers something."""
        return self.answers + self.strays > 0


def _shapes(spans: Sequence[Span], grid: Grid) -> dict[str, int]:
    """One document's spans by how they lie, in the order of ``SHAPES``."""
    intervals = {(span.start, span.end) for span in spans if span.start < span.end}
    places = [(span, grid.place(span)) for span in spans]
    items = {(span.label, bounds(span)) for span in spans}
    labels = Counter(where for _, where in items)
    counts = (
        nested(intervals),
        crossing_pairs(intervals),
        len(spans) - len(items),
        sum(times > 1 for times in labels.values()),
        sum(len(span.fragments) > 1 for span in spans),
        sum(span.start == span.end for span in spans),
        sum(place.width > 0 and place.sentence != place.last_sentence for _, place in places),
        sum(not place.fits and span.start < span.end for span, place in places),
    )
    return dict(zip(SHAPES, counts, strict=True))


def _links(relations: Sequence[Relation], known: Mapping[str, Span], grid: Grid) -> dict[str, int]:
    """One document's relations by how they lie, in the order of ``LINKS``."""
    inside = [
        (each.label, known[each.head], known[each.tail])
        for each in relations
        if each.head in known and each.tail in known
    ]
    items = {(label, bounds(head), bounds(tail)) for label, head, tail in inside}
    pairs = Counter((head, tail) for _, head, tail in items)
    counts = (
        sum(grid.place(a).sentence != grid.place(b).sentence for _, a, b in inside),
        sum(bounds(a) == bounds(b) for _, a, b in inside),
        len(inside) - len(items),
        sum(times > 1 for times in pairs.values()),
        len(relations) - len(inside),
    )
    return dict(zip(LINKS, counts, strict=True))
