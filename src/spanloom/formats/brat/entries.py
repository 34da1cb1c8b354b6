"""What an annotation.conf says: its sections, their types, what each of them takes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

SECTIONS = ("entities", "relations", "events", "attributes")


@dataclass(frozen=True, slots=True)
class Role:
    """What may fill a role, and how often: ``least`` to ``most`` times (None: any number)."""

    name: str
    types: tuple[str, ...]
    least: int = 1
    most: int | None = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One type: its first term is the one in .ann files; ``depth`` is its place in the hierarchy.

    ``marks`` are what stands in angle brackets, such as ``("<REL-TYPE>", "symmetric")``; an entry
    without terms is a separator; ``line`` is where it was read.
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
        """Return the types of a section that may be used, each once though it has several lines."""
        usable = (each.label for each in self.section(section) if each.terms and each.usable)
        return tuple(label for label in dict.fromkeys(usable) if not label.startswith("<"))

    def expand(self, types: Iterable[str]) -> tuple[str, ...]:
        """Return the labels that such types stand for: ``<ENTITY>``, ``<EVENT>``, ``<ANY>``…"""
        entities, events = self.labels("entities"), self.labels("events")
        relations = self.labels("relations")
        meant = {
            "<ENTITY>": entities,
            "<EVENT>": events,
            "<RELATION>": relations,
            "<ANY>": (*entities, *events, *relations),
            "<NONE>": (),
            "<EMPTY>": (),
        }
        found = (label for each in types for label in meant.get(each, (each,)))
        return tuple(dict.fromkeys(found))
