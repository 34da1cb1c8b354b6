"""Infer the annotation.conf with which brat opens documents and knows all their types."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, TypeVar

from spanloom.columns import AnnotationColumns
from spanloom.document import (
    GIVEN_WORDS,
    MAIN,
    Annotation,
    Attribute,
    Document,
    Equivalence,
    Event,
    Relation,
    Span,
)
from spanloom.formats.brat.layers import type_of
from spanloom.formats.brat.lookup import Lookup
from spanloom.formats.brat.sidecar import stands_apart
from spanloom.formats.brat.spelling import write_name, write_text, write_type

T = TypeVar("T")

SECTIONS = ("entities", "relations", "events", "attributes")


class LayerTypes(TypedDict):
    """What a layer may have: labels, which of them trigger events, roles, values by attribute.

    ``roles`` are those of arguments alone, which are among the labels of relations, too.
    """

    spans: list[str]
    relations: list[str]
    triggers: list[str]
    roles: list[str]
    attributes: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Role:
    """The types that may fill a role, ``least`` to ``most`` times (None: any number)."""

    name: str
    types: tuple[str, ...]
    least: int = 1
    most: int | None = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One type: its first term is the one in .ann files; ``depth`` is its level in the hierarchy.

    ``marks`` are the keys in angle brackets with their values, such as
    ``("<REL-TYPE>", "symmetric")``; an entry without terms is a separator; ``line`` is its line in
    the file.
    """

    terms: tuple[str, ...]
    roles: tuple[Role, ...] = ()
    depth: int = 0
    usable: bool = True
    marks: tuple[tuple[str, str], ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def label(self) -> str:
        """The type as .ann files write it."""
        return self.terms[0] if self.terms else ""


@dataclass(frozen=True, slots=True)
class Config:
    """The entries of the four sections, each parent before its children."""

    entities: tuple[Entry, ...] = ()
    relations: tuple[Entry, ...] = ()
    events: tuple[Entry, ...] = ()
    attributes: tuple[Entry, ...] = ()

    def section(self, name: str) -> tuple[Entry, ...]:
        """Return the entries of one of ``SECTIONS``."""
        sections = (self.entities, self.relations, self.events, self.attributes)
        return dict(zip(SECTIONS, sections, strict=True))[name]

    def labels(self, section: str) -> tuple[str, ...]:
        """Return the usable types of a section, each once even if it has several lines."""
        usable = (entry.label for entry in self.section(section) if entry.terms and entry.usable)
        return tuple(label for label in dict.fromkeys(usable) if not label.startswith("<"))

    def expand(self, types: Iterable[str]) -> tuple[str, ...]:
        """Return the labels that types such as ``<ENTITY>``, ``<EVENT>`` or ``<ANY>`` stand for."""
        entities, events = self.labels("entities"), self.labels("events")
        relations = self.labels("relations")
        labels_of = {
            "<ENTITY>": entities,
            "<EVENT>": events,
            "<RELATION>": relations,
            "<ANY>": (*entities, *events, *relations),
            "<NONE>": (),
            "<EMPTY>": (),
        }
        labels = (label for type_name in types for label in labels_of.get(type_name, (type_name,)))
        return tuple(dict.fromkeys(labels))


_Roles = dict[str, dict[str, None]]
_EQUIVALENT = (("<REL-TYPE>", "symmetric-transitive"),)


def config_of(documents: Iterable[Document]) -> Config:
    """Return the configuration with all types, roles and values of the documents, sorted."""
    collector = TypeCollector()
    for document in documents:
        collector.add(document)
    return collector.config()


class TypeCollector:
    """Collects the types of documents, and for each type its roles and their fillers."""

    def __init__(self) -> None:
        """Begin with no types."""
        self.entities: set[str] = set()
        self.events: dict[str, _Roles] = {}
        self.relations: dict[str, set[tuple[str, str, str, str]]] = {}
        self.equivalences: dict[str, set[str]] = {}
        self.attributes: dict[str, set[str]] = {}

    def add(self, document: Document) -> None:
        """Add the types of a document, except those of its words file."""
        words_apart = stands_apart(document)
        lookup = Lookup(document.layers)
        for layer in document.layers:
            if not (words_apart and layer.name in GIVEN_WORDS):
                for annotations in layer.kinds():
                    for annotation in _examples(annotations, lookup):
                        self._add_annotation(annotation, layer.name, lookup)

    def add_types(self, layer: str, types: LayerTypes) -> None:
        """Add types that a layer may have; any spans of it fill its relations and roles."""
        prefix = None if layer == MAIN else layer
        span_types = [write_type(label, prefix) for label in types["spans"]]
        self.entities.update(span_types)
        rows = [("Arg1", end, "Arg2", end) for end in span_types or ["<ENTITY>"]]
        for label in types["relations"]:
            if label not in types["roles"]:
                self.relations.setdefault(write_type(label, prefix), set()).update(rows)
        for label in types["triggers"]:
            roles = self.events.setdefault(write_type(label, prefix), {})
            for role in types["roles"]:
                roles.setdefault(write_name(role), {}).update(dict.fromkeys(span_types))
        for name, values in types["attributes"].items():
            written = {write_text(value, tabs=False) for value in values if value}
            self.attributes.setdefault(write_type(name, prefix), set()).update(written)

    def _add_annotation(self, annotation: Annotation, layer: str, lookup: Lookup) -> None:
        """Add the type of one annotation of a layer."""
        type_name = type_of(annotation, layer, lookup.layer_of)

        def type_at(key: str) -> str:
            target, target_layer = lookup.get(key), lookup.layer_of(key)
            if target is None or target_layer is None:
                return "<ANY>"
            return type_of(target, target_layer, lookup.layer_of)

        match annotation:
            case Span():
                self.entities.add(type_name)
            case Event():
                roles = self.events.setdefault(type_name, {})
                for argument in annotation.arguments:
                    name = write_name(argument.role.rstrip("0123456789") or argument.role)
                    roles.setdefault(name, {})[type_at(argument.target)] = None
            case Relation(roles=(first, second)):
                ends = type_at(annotation.head), type_at(annotation.tail)
                row = (write_name(first), ends[0], write_name(second), ends[1])
                self.relations.setdefault(type_name, set()).add(row)
            case Equivalence():
                members = {type_at(member) for member in annotation.members}
                self.equivalences.setdefault(type_name, set()).update(members)
            case Attribute():
                values = self.attributes.setdefault(type_name, set())
                if annotation.value is not None:
                    values.add(write_text(annotation.value, tabs=False) or "_x_")
            case _:
                pass

    def merge(self, other: "TypeCollector") -> None:
        """Add the types that another one collected."""
        self.entities |= other.entities
        for event, roles in other.events.items():
            own_roles = self.events.setdefault(event, {})
            for role, types in roles.items():
                own_roles.setdefault(role, {}).update(types)
        _merge_sets(self.relations, other.relations)
        _merge_sets(self.equivalences, other.equivalences)
        _merge_sets(self.attributes, other.attributes)

    def config(self) -> Config:
        """Return the configuration of the collected types, sorted."""
        entities = tuple(Entry((name,)) for name in sorted(self.entities - set(self.events)))
        events = tuple(
            Entry((name,), _event_roles(self.events[name])) for name in sorted(self.events)
        )
        relations = [
            Entry((name,), _relation_roles(rows, ends))
            for name in sorted(self.relations)
            for ends in sorted({(row[0], row[2]) for row in self.relations[name]})
            for rows in [self.relations[name]]
        ]
        equivalences = [
            Entry((name,), (Role("Arg1", members), Role("Arg2", members)), marks=_EQUIVALENT)
            for name in sorted(self.equivalences)
            for members in [tuple(sorted(self.equivalences[name]))]
        ]
        attributes = tuple(
            Entry((name,), _attribute_roles(self.attributes[name]))
            for name in sorted(self.attributes)
        )
        return Config(entities, (*relations, *equivalences), events, attributes)


def _merge_sets(own: dict[str, set[T]], others: Mapping[str, set[T]]) -> None:
    for name, items in others.items():
        own.setdefault(name, set()).update(items)


def _examples(annotations: Sequence[Annotation], lookup: Lookup) -> Sequence[Annotation]:
    """Return annotations that have all types and all types of ends; of columns only a few."""
    if not isinstance(annotations, AnnotationColumns):
        return annotations
    referred_ids = annotations.referred_ids()
    if referred_ids is None:
        return annotations.examples()
    spans = lookup.columns_with(referred_ids)
    return annotations if spans is None else annotations.examples(spans)


def _event_roles(types_by_role: _Roles) -> tuple[Role, ...]:
    """Return an event's roles, all optional; one that ends in a digit is not repeatable in brat."""
    return tuple(
        Role(name, tuple(sorted(types_by_role[name])), 0, 1 if name[-1].isdigit() else None)
        for name in sorted(types_by_role)
    )


def _relation_roles(
    rows: Iterable[tuple[str, str, str, str]], roles: tuple[str, str]
) -> tuple[Role, Role]:
    """Return the two roles of a relation with the types that fill them under these two names."""
    first, second = roles
    matching = [row for row in rows if (row[0], row[2]) == roles]
    heads, tails = sorted({row[1] for row in matching}), sorted({row[3] for row in matching})
    return Role(first, tuple(heads)), Role(second, tuple(tails))


def _attribute_roles(values: Iterable[str]) -> tuple[Role, ...]:
    """Return the roles of an attribute; values with a blank, comma or bar are left out."""
    written = tuple(sorted(value for value in values if not set(value) & set(" \t,|<>")))
    anything = Role("Arg", ("<ANY>",))
    return (anything, Role("Value", written)) if written else (anything,)
