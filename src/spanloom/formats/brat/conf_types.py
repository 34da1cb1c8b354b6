"""The content of an annotation.conf: its four sections, their types and the roles of each type."""

from collections.abc import Iterable
from dataclasses import dataclass, field

SECTIONS = ("entities", "relations", "events", "attributes")


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
