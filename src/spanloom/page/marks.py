"""What is drawn of a document: marks (spans with a caption) and links (arrows between marks).

An event is its trigger's mark plus one link an argument; an attribute stands in a caption too.
What is said about a mark or a link (attributes, notes, normalisations) goes with it. What has no
place is listed as loose.
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

QUIET = frozenset({"words", "sentences"})  # layers under every character: drawn when asked for


@dataclass(frozen=True, slots=True)
class Mark:
    """A caption over pieces of the text; ``state`` is a difference found, else ""."""

    id: str
    label: str
    fragments: tuple[Fragment, ...]
    caption: str
    about: tuple[str, ...] = ()
    layer: str = ""
    score: float | None = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow from the mark ``source`` to the mark ``target``, without heads if not directed."""

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
class Picture:
    """All that is drawn of one document."""

    marks: tuple[Mark, ...] = ()
    links: tuple[Link, ...] = ()
    loose: tuple[str, ...] = ()


@dataclass(slots=True)
class _Facts:
    """The annotations of the drawn layers, by what they are about."""

    layers: tuple[Layer, ...]
    spans: dict[str, Span] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    about: dict[str, list[Annotation]] = field(default_factory=lambda: defaultdict(list))
    triggered: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for layer in self.layers:
            self.spans |= {span.id: span for span in layer.spans}
            self.events |= {event.id: event for event in layer.events}
            for event in layer.events:
                self.triggered[event.trigger].append(event)
            about: tuple[Attribute | Normalization | Note, ...]
            about = (*layer.attributes, *layer.normalizations, *layer.notes)
            for each in about:
                self.about[each.target].append(each)

    def anchor(self, target: str) -> str | None:
        """Return the span that stands for an id (of an event: its trigger), None if none does."""
        if target in self.events:
            target = self.events[target].trigger
        return target if target in self.spans else None

    def caption(self, label: str, ids: Collection[str]) -> str:
        """Return the label with the attributes of those ids behind it."""
        found = [each for id in ids for each in self.about[id] if isinstance(each, Attribute)]
        shown = [a.label if a.value is None else f"{a.label}={a.value}" for a in found]
        return f"{label} [{', '.join(shown)}]" if shown else label

    def told(self, ids: Collection[str]) -> tuple[str, ...]:
        """Return what is said about those ids, a line each."""
        return tuple(_describe(each) for id in ids for each in self.about[id])


def _describe(each: Annotation) -> str:
    match each:
        case Attribute():
            score = "" if each.score is None else f" (score {each.score:.3f})"
            return (
                f"{each.id} {each.label}"
                + ("" if each.value is None else f": {each.value}")
                + score
            )
        case Normalization():
            return f"{each.id} {each.label}: {each.resource}:{each.key} {each.text}".rstrip()
        case Note():
            return f"{each.id} {each.label}: {each.text}"
        case Relation():
            return f"{each.id} {each.label}: {each.head} → {each.tail}"
        case Event():
            filled = ", ".join(f"{a.role}: {a.target}" for a in each.arguments)
            return f"{each.id} {each.label} at {each.trigger} ({filled})"
        case Equivalence():
            return f"{each.id} {each.label}: {', '.join(each.members)}"
        case _:
            return f"{each.id} {each.label}"


def drawn_layers(document: Document, names: Collection[str] | None) -> tuple[Layer, ...]:
    """Return the layers to draw: those named, or (None) all but words and sentences."""
    if names is None:
        return tuple(layer for layer in document.layers if layer.name not in QUIET)
    return tuple(document[name] for name in names)


def picture(document: Document, layers: Collection[str] | None = None) -> Picture:
    """Return what is drawn of a document; raises ``LayerError`` for a layer it does not have."""
    facts = _Facts(drawn_layers(document, layers))
    links = tuple(link for layer in facts.layers for link in _links(layer, facts))
    return Picture(tuple(_marks(facts)), links, tuple(_loose(facts, links)))


def _marks(facts: _Facts) -> Iterator[Mark]:
    for layer in facts.layers:
        for span in layer.spans:
            events = facts.triggered[span.id]
            ids = [span.id, *(event.id for event in events)]
            caption = facts.caption(_name(span, events), ids)
            about = facts.told(ids)
            yield Mark(span.id, span.label, span.fragments, caption, about, layer.name, span.score)


def _name(span: Span, events: list[Event]) -> str:
    """Return the span's label, and those of its events that say something else."""
    others = dict.fromkeys(event.label for event in events if event.label != span.label)
    return " ".join((span.label, *(f"({label})" for label in others)))


def _links(layer: Layer, facts: _Facts) -> Iterator[Link]:
    for each in layer.relations:
        head, tail = facts.anchor(each.head), facts.anchor(each.tail)
        if head and tail:
            caption, about = facts.caption(each.label, [each.id]), facts.told([each.id])
            yield Link(each.id, each.label, head, tail, caption, about, layer.name, each.score)
    for event in layer.events:
        yield from _arguments(event, layer, facts)
    for same in layer.equivalences:
        members = [anchor for member in same.members if (anchor := facts.anchor(member))]
        caption, about = facts.caption(same.label, [same.id]), facts.told([same.id])
        for one, other in zip(members, members[1:], strict=False):
            yield Link(same.id, same.label, one, other, caption, about, layer.name, directed=False)


def _arguments(event: Event, layer: Layer, facts: _Facts) -> Iterator[Link]:
    source = facts.anchor(event.trigger)
    for each in event.arguments:
        target = facts.anchor(each.target)
        if source and target:
            yield Link(event.id, each.role, source, target, each.role, (), layer.name, event.score)


def _loose(facts: _Facts, links: tuple[Link, ...]) -> Iterator[str]:
    """Describe what is about nothing that is drawn: unknown ids, relations between relations."""
    drawn = {link.id for link in links} | {id for id in facts.events if facts.anchor(id)}
    for target, found in facts.about.items():
        if target not in drawn and target not in facts.spans:
            yield from (f"{_describe(each)} (about {target})" for each in found)
    for layer in facts.layers:
        for relation in layer.relations:
            if not (facts.anchor(relation.head) and facts.anchor(relation.tail)):
                yield _describe(relation)
        for event in layer.events:
            ends = [event.trigger, *(argument.target for argument in event.arguments)]
            if not all(map(facts.anchor, ends)):
                yield _describe(event)
        for same in layer.equivalences:
            if len(same.members) < 2 or not all(map(facts.anchor, same.members)):
                yield _describe(same)
