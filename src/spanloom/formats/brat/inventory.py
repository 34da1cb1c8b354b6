"""The annotation.conf that documents need to open in brat with all their types."""

from collections.abc import Iterable

from spanloom.document import (
    GIVEN,
    Annotation,
    Attribute,
    Document,
    Equivalence,
    Event,
    Relation,
    Span,
)
from spanloom.formats.brat.entries import Config, Entry, Role
from spanloom.formats.brat.layers import type_of
from spanloom.formats.brat.sidecar import stands_apart
from spanloom.formats.brat.spelling import write_name, write_text

_Roles = dict[str, dict[str, None]]
_EQUIVALENT = (("<REL-TYPE>", "symmetric-transitive"),)


def config_of(documents: Iterable[Document]) -> Config:
    """Return the configuration with every type, role and value in the documents, sorted."""
    seen = _Seen()
    for document in documents:
        seen.add(document)
    return seen.config()


class _Seen:
    """What has been seen in documents so far: for each type its roles and what filled them."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.entities: set[str] = set()
        self.events: dict[str, _Roles] = {}
        self.relations: dict[str, set[tuple[str, str, str, str]]] = {}
        self.equivalences: dict[str, set[str]] = {}
        self.attributes: dict[str, set[str]] = {}

    def add(self, document: Document) -> None:
        """Take in the types of a document, those of its words file left out."""
        apart = stands_apart(document)
        layer_of = {
            each.id: layer.name for layer in document.layers for each in layer.annotations()
        }
        types = {each.id: type_of(each, layer_of) for each in document.annotations().values()}
        for layer in document.layers:
            if not (apart and layer.name in GIVEN):
                for each in layer.annotations():
                    self._add(each, types)

    def _add(self, annotation: Annotation, types: dict[str, str]) -> None:
        """Take in one annotation."""
        own = types[annotation.id]
        match annotation:
            case Span():
                self.entities.add(own)
            case Event():
                roles = self.events.setdefault(own, {})
                for each in annotation.arguments:
                    name = write_name(each.role.rstrip("0123456789") or each.role)
                    roles.setdefault(name, {})[types.get(each.target, "<ANY>")] = None
            case Relation(roles=(first, second)):
                ends = types.get(annotation.head, "<ANY>"), types.get(annotation.tail, "<ANY>")
                row = (write_name(first), ends[0], write_name(second), ends[1])
                self.relations.setdefault(own, set()).add(row)
            case Equivalence():
                members = {types.get(each, "<ANY>") for each in annotation.members}
                self.equivalences.setdefault(own, set()).update(members)
            case Attribute():
                values = self.attributes.setdefault(own, set())
                if annotation.value is not None:
                    values.add(write_text(annotation.value, tabs=False) or "_x_")
            case _:
                pass

    def config(self) -> Config:
        """Return the configuration."""
        entities = tuple(Entry((name,)) for name in sorted(self.entities - set(self.events)))
        events = tuple(Entry((name,), _events(self.events[name])) for name in sorted(self.events))
        relations = [
            Entry((name,), _relation(rows, ends))
            for name in sorted(self.relations)
            for ends in sorted({(row[0], row[2]) for row in self.relations[name]})
            for rows in [self.relations[name]]
        ]
        equivalences = [
            Entry((name,), (Role("Arg1", found), Role("Arg2", found)), marks=_EQUIVALENT)
            for name in sorted(self.equivalences)
            for found in [tuple(sorted(self.equivalences[name]))]
        ]
        attributes = tuple(
            Entry((name,), _attribute(self.attributes[name])) for name in sorted(self.attributes)
        )
        return Config(entities, (*relations, *equivalences), events, attributes)


def _events(roles: _Roles) -> tuple[Role, ...]:
    """Return an event's roles, all optional; brat numbers none that ends in a digit."""
    return tuple(
        Role(name, tuple(sorted(roles[name])), 0, 1 if name[-1].isdigit() else None)
        for name in sorted(roles)
    )


def _relation(
    rows: Iterable[tuple[str, str, str, str]], ends: tuple[str, str]
) -> tuple[Role, Role]:
    """Return the two roles of a relation with what filled them under these two names."""
    first, second = ends
    fitting = [row for row in rows if (row[0], row[2]) == ends]
    heads, tails = sorted({row[1] for row in fitting}), sorted({row[3] for row in fitting})
    return Role(first, tuple(heads)), Role(second, tuple(tails))


def _attribute(values: Iterable[str]) -> tuple[Role, ...]:
    """Return what an attribute takes; values with a blank, comma or bar have no form."""
    listed = tuple(sorted(each for each in values if not set(each) & set(" \t,|<>")))
    anything = Role("Arg", ("<ANY>",))
    return (anything, Role("Value", listed)) if listed else (anything,)
