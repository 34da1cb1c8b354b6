"""What is drawn of a document: marks (spans with a caption) and links (arrows between marks).

An event is its trigger's mark plus one link an argument; an attribute stands in a caption; notes,
normalisations and scores are tips (shown on hovering). What has no place is listed as loose.
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
from spanloom.page.glyphs import elide

_TIP_COLUMNS = 200  # of a span's text in its tip
QUIET = frozenset({"words", "sentences"})  # layers under every character: drawn when asked for


@dataclass(frozen=True, slots=True)
class Mark:
    """A caption over pieces of the text; ``state`` is a difference found, else ""."""

    id: str
    label: str
    fragments: tuple[Fragment, ...]
    caption: str
    tip: str = ""
    layer: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow from the mark ``source`` to the mark ``target``, without heads if not directed."""

    id: str
    label: str
    source: str
    target: str
    caption: str
    tip: str = ""
    layer: str = ""
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

    def tip(self, head: str, score: float | None, ids: Collection[str]) -> str:
        """Return what is shown on hovering: what it is, its score, its notes and links."""
        lines = [head]
        if score is not None:
            lines.append(f"score {score:.3f}")
        lines += [_describe(each) for id in ids for each in self.about[id]]
        return "\n".join(lines)


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
    return Picture(tuple(_marks(document, facts)), links, tuple(_loose(facts, links)))


def _marks(document: Document, facts: _Facts) -> Iterator[Mark]:
    for layer in facts.layers:
        for span in layer.spans:
            events = facts.triggered[span.id]
            ids = [span.id, *(event.id for event in events)]
            # The tip stands in every row of a span, so that of a whole text must not hold it all.
            head = f"{span.id} {span.label}: {elide(document.cover(span), _TIP_COLUMNS)}"
            caption = facts.caption(_name(span, events), ids)
            tip = facts.tip(head, span.score, ids)
            yield Mark(span.id, span.label, span.fragments, caption, tip, layer.name)


def _name(span: Span, events: list[Event]) -> str:
    """Return the span's label, and those of its events that say something else."""
    others = dict.fromkeys(event.label for event in events if event.label != span.label)
    return " ".join((span.label, *(f"({label})" for label in others)))


def _links(layer: Layer, facts: _Facts) -> Iterator[Link]:
    for relation in layer.relations:
        head, tail = facts.anchor(relation.head), facts.anchor(relation.tail)
        if head and tail:
            caption = facts.caption(relation.label, [relation.id])
            tip = facts.tip(_describe(relation), relation.score, [relation.id])
            yield Link(relation.id, relation.label, head, tail, caption, tip, layer.name)
    for event in layer.events:
        yield from _arguments(event, layer, facts)
    for same in layer.equivalences:
        members = [anchor for member in same.members if (anchor := facts.anchor(member))]
        for one, other in zip(members, members[1:], strict=False):
            tip = facts.tip(_describe(same), None, [same.id])
            caption = facts.caption(same.label, [same.id])
            yield Link(same.id, same.label, one, other, caption, tip, layer.name, directed=False)


def _arguments(event: Event, layer: Layer, facts: _Facts) -> Iterator[Link]:
    source = facts.anchor(event.trigger)
    for argument in event.arguments:
        target = facts.anchor(argument.target)
        if source and target:
            head = f"{event.id} {event.label}, {argument.role}: {argument.target}"
            tip = facts.tip(head, event.score, ())
            yield Link(event.id, argument.role, source, target, argument.role, tip, layer.name)


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
