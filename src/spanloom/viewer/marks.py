"""Find what is drawn of a document: boxes (spans with a caption) and arcs between boxes.

An event is its trigger's box plus one arc per argument; attributes are also part of captions.
Attributes, notes and normalizations of a box or an arc go with it. What cannot be drawn is listed
as loose.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from spanloom.document import (
    Annotation,
    Attribute,
    Document,
    Equivalence,
    Event,
    Fragment,
    Layer,
    Normalization,
    Note,
    Relation,
    Span,
)

# layers that cover every character: drawn on request only
WORD_LAYERS = frozenset({"words", "sentences"})


@dataclass(frozen=True, slots=True)
class SpanBox:
    """A caption over parts of the text; ``state`` is the kind of its difference, else ""."""

    id: str
    label: str
    fragments: tuple[Fragment, ...]
    caption: str
    about: tuple[str, ...] = ()
    layer: str = ""
    score: float | None = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class Arc:
    """An arrow from the box ``source`` to the box ``target``; a line if not directed."""

    id: str
    label: str
    source: str
    target: str
    caption: str
    about: tuple[str, ...] = ()
    layer: str = ""
    score: float | None = None
    state: str = ""
    directed: bool = True


@dataclass(frozen=True, slots=True)
class DrawnDocument:
    """Everything that is drawn of one document; ``loose`` are descriptions of the rest."""

    marks: tuple[SpanBox, ...] = ()
    links: tuple[Arc, ...] = ()
    loose: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[SpanBox | Arc, ...]:
        """Boxes, then arcs."""
        return (*self.marks, *self.links)


@dataclass(slots=True)
class _AnnotationIndex:
    """The annotations of the drawn layers, by the annotation they refer to."""

    layers: tuple[Layer, ...]
    spans: dict[str, Span] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    about: dict[str, list[Annotation]] = field(default_factory=lambda: defaultdict(list))
    events_by_trigger: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for layer in self.layers:
            self.spans |= {span.id: span for span in layer.spans}
            self.events |= {event.id: event for event in layer.events}
            for event in layer.events:
                self.events_by_trigger[event.trigger].append(event)
            details: tuple[Attribute | Normalization | Note, ...]
            details = (*layer.attributes, *layer.normalizations, *layer.notes)
            for detail in details:
                self.about[detail.target].append(detail)

    def anchor(self, target: str) -> str | None:
        """Return the id of the span drawn for an id (an event's trigger), None if there is none."""
        if target in self.events:
            target = self.events[target].trigger
        return target if target in self.spans else None

    def caption(self, label: str, ids: Collection[str]) -> str:
        """Return the label, followed by the attributes of those ids in alphabetical order.

        So captions are equal where the attributes are, in whatever order a file has them.
        """
        attributes = [
            annotation
            for id in ids
            for annotation in self.about[id]
            if isinstance(annotation, Attribute)
        ]
        formatted = [
            attribute.label if attribute.value is None else f"{attribute.label}={attribute.value}"
            for attribute in attributes
        ]
        return f"{label} [{', '.join(sorted(formatted))}]" if formatted else label

    def descriptions(self, ids: Collection[str]) -> tuple[str, ...]:
        """Return one line for each annotation of those ids."""
        return tuple(_describe(annotation) for id in ids for annotation in self.about[id])


def _describe(annotation: Annotation) -> str:
    """Return one line that describes an annotation."""
    match annotation:
        case Attribute():
            score = "" if annotation.score is None else f" (score {annotation.score:.3f})"
            return (
                f"{annotation.id} {annotation.label}"
                + ("" if annotation.value is None else f": {annotation.value}")
                + score
            )
        case Normalization():
            entry = f"{annotation.resource}:{annotation.key} {annotation.text}"
            return f"{annotation.id} {annotation.label}: {entry}".rstrip()
        case Note():
            return f"{annotation.id} {annotation.label}: {annotation.text}"
        case Relation():
            return f"{annotation.id} {annotation.label}: {annotation.head} → {annotation.tail}"
        case Event():
            arguments = ", ".join(
                f"{argument.role}: {argument.target}" for argument in annotation.arguments
            )
            return f"{annotation.id} {annotation.label} at {annotation.trigger} ({arguments})"
        case Equivalence():
            return f"{annotation.id} {annotation.label}: {', '.join(annotation.members)}"
        case _:
            return f"{annotation.id} {annotation.label}"


def drawn_layers(document: Document, names: Collection[str] | None) -> tuple[Layer, ...]:
    """Return the layers to draw: the named ones, or (None) all but words and sentences."""
    if names is None:
        return tuple(layer for layer in document.layers if layer.name not in WORD_LAYERS)
    return tuple(document[name] for name in names)


def picture(document: Document, layers: Collection[str] | None = None) -> DrawnDocument:
    """Return what is drawn of a document; raises ``LayerError`` for a layer it does not have."""
    index = _AnnotationIndex(drawn_layers(document, layers))
    arcs = tuple(arc for layer in index.layers for arc in _arcs(layer, index))
    return DrawnDocument(tuple(_boxes(index)), arcs, tuple(_undrawn(index, arcs)))


def _boxes(index: _AnnotationIndex) -> Iterator[SpanBox]:
    """Yield a box for each span."""
    for layer in index.layers:
        for span in layer.spans:
            events = index.events_by_trigger[span.id]
            ids = [span.id, *(event.id for event in events)]
            caption = index.caption(_box_label(span, events), ids)
            about = index.descriptions(ids)
            yield SpanBox(
                span.id, span.label, span.fragments, caption, about, layer.name, span.score
            )


def _box_label(span: Span, events: list[Event]) -> str:
    """Return the span's label, and the differing labels of its events."""
    other_labels = dict.fromkeys(event.label for event in events if event.label != span.label)
    return " ".join((span.label, *(f"({label})" for label in other_labels)))


def _arcs(layer: Layer, index: _AnnotationIndex) -> Iterator[Arc]:
    """Yield the arcs of relations, event arguments and equivalences of a layer."""
    for relation in layer.relations:
        head, tail = index.anchor(relation.head), index.anchor(relation.tail)
        if head and tail:
            caption = index.caption(relation.label, [relation.id])
            about = index.descriptions([relation.id])
            yield Arc(
                relation.id, relation.label, head, tail, caption, about, layer.name, relation.score
            )
    for event in layer.events:
        yield from _argument_arcs(event, layer, index)
    for equivalence in layer.equivalences:
        members = [anchor for member in equivalence.members if (anchor := index.anchor(member))]
        caption = index.caption(equivalence.label, [equivalence.id])
        about = index.descriptions([equivalence.id])
        for member, next_member in zip(members, members[1:], strict=False):
            yield Arc(
                equivalence.id,
                equivalence.label,
                member,
                next_member,
                caption,
                about,
                layer.name,
                directed=False,
            )


def _argument_arcs(event: Event, layer: Layer, index: _AnnotationIndex) -> Iterator[Arc]:
    """Yield an arc from an event's trigger to each of its arguments."""
    source = index.anchor(event.trigger)
    for argument in event.arguments:
        target = index.anchor(argument.target)
        if source and target:
            yield Arc(
                event.id, argument.role, source, target, argument.role, (), layer.name, event.score
            )


def _undrawn(index: _AnnotationIndex, arcs: tuple[Arc, ...]) -> Iterator[str]:
    """Describe annotations with undrawn targets: unknown ids, relations between relations."""
    drawn = {arc.id for arc in arcs} | {id for id in index.events if index.anchor(id)}
    for target, annotations in index.about.items():
        if target not in drawn and target not in index.spans:
            yield from (f"{_describe(annotation)} (about {target})" for annotation in annotations)
    for layer in index.layers:
        for relation in layer.relations:
            if not (index.anchor(relation.head) and index.anchor(relation.tail)):
                yield _describe(relation)
        for event in layer.events:
            ends = [event.trigger, *(argument.target for argument in event.arguments)]
            if not all(map(index.anchor, ends)):
                yield _describe(event)
        for equivalence in layer.equivalences:
            if len(equivalence.members) < 2 or not all(map(index.anchor, equivalence.members)):
                yield _describe(equivalence)
