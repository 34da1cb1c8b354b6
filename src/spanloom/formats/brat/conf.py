"""annotation.conf: which types a brat collection has, in a hierarchy, and what they take.

::

    [entities]
    !Agent
     Person|PER
     Organization
    [relations]
    Family  Arg1:Person, Arg2:Person, <REL-TYPE>:symmetric-transitive
    [events]
    <POG>=Person|Organization
    Marry   Spouse{2}:Person, Place?:<ANY>
    [attributes]
    Mention Arg:<ENTITY>, Value:Name|Nominal

Macros count within their section and are replaced on reading. brat only warns of most mistakes and
then falls back to a default; here each of them is a ``FormatError`` with its line.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.formats.brat.entries import SECTIONS, Config, Entry, Role
from spanloom.formats.brat.inventory import config_of
from spanloom.formats.brat.read import read_text_file

NAME = "annotation.conf"
MACRO_CHARACTERS = 100_000  # macros made of macros can double with every line
_ALIASES = {"spans": "entities"}
_RESERVED = (
    *("ANY", "ENTITY", "RELATION", "EVENT", "NONE", "EMPTY", "REL-TYPE", "URL", "URLBASE"),
    *("GLYPH-POS", "DEFAULT", "NORM", "OVERLAP", "OVL-TYPE", "INHERIT"),
)
_HEADER = re.compile(r"\s*\[(.*)\]\s*")
_SEPARATOR = re.compile(r"\s*-+\s*")
_MACRO = re.compile(r"<([a-zA-Z_-]+)>=\s*(.*?)\s*")
_NAMED = re.compile(r"<([^<>]*)>")
_ROLE = re.compile(r"([^\s:?*+{}]+)([?*+]|\{([0-9]+)(?:-([0-9]+))?\})?:(\S*)")
_COUNTS = {"": (1, 1), "?": (0, 1), "*": (0, None), "+": (1, None)}


def loads(text: str, path: str = NAME) -> Config:
    """Read a configuration; raises ``FormatError`` with the line of a mistake."""
    entries: dict[str, list[Entry]] = {name: [] for name in SECTIONS}
    section, macros = "", dict[str, str]()
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = raw.rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = _Place(path, number)
        header = _HEADER.fullmatch(line)
        if header:
            section, macros = _section(header[1], where), {}
        elif not section:
            raise where.error(f"expected a section such as [entities] first, got {line!r:.60}")
        elif _SEPARATOR.fullmatch(line):
            entries[section].append(Entry((), line=number))
        elif not _is_macro(line, macros, where):
            entries[section].append(_entry(_expanded(line, macros, where), entries[section], where))
    return Config(*(tuple(entries[name]) for name in SECTIONS))


def dumps(config: Config) -> str:
    """Return the file; ``loads`` of it is the same configuration."""
    blocks = []
    for name in SECTIONS:
        lines = [_written(each) for each in config.section(name)]
        blocks.append("\n".join([f"[{name}]", *lines, ""]))
    return "\n".join(blocks)


def find(folder: Path, root: Path) -> Path | None:
    """Return the configuration of a folder: its own, else the nearest above it, up to ``root``."""
    end = root.resolve()
    here = folder.resolve()
    while here.is_relative_to(end):
        if (here / NAME).is_file():
            return here / NAME
        if here == end:
            break
        here = here.parent
    return None


def load(path: Path, *, encoding: str = "utf-8") -> Config:
    """Read a file; raises ``FormatError``."""
    return loads(read_text_file(path, encoding), str(path))


def from_documents(documents: Iterable[Document]) -> Config:
    """Return the configuration with every type, role and value in the documents, sorted."""
    return config_of(documents)


@dataclass(frozen=True, slots=True)
class _Place:
    """A line of the file."""

    path: str
    line: int

    def error(self, problem: str) -> FormatError:
        """Return the error that names it."""
        return FormatError(self.path, self.line, problem)


def _section(name: str, where: _Place) -> str:
    """Return the section of that name."""
    known = _ALIASES.get(name, name)
    if known in SECTIONS:
        return known
    choices = (*SECTIONS, *_ALIASES)
    near = difflib.get_close_matches(name, choices, n=1)
    hint = f"; did you mean [{near[0]}]?" if near else ""
    raise where.error(f"unknown section [{name:.40}]{hint} (known: {', '.join(choices)})")


def _is_macro(line: str, macros: dict[str, str], where: _Place) -> bool:
    """Take in a line that defines a macro."""
    found = _MACRO.fullmatch(line)
    if not found:
        return False
    name, value = found.groups()
    if name in _RESERVED:
        raise where.error(f"<{name}> cannot be defined, brat gives it its meaning")
    macros[name] = _expanded(value, macros, where)
    if len(macros[name]) > MACRO_CHARACTERS:
        raise where.error(f"<{name:.40}> stands for more than {MACRO_CHARACTERS} characters")
    return True


def _expanded(line: str, macros: dict[str, str], where: _Place) -> str:
    """Replace the macros of the section."""

    def meaning(found: re.Match[str]) -> str:
        name = found[1]
        if name in macros:
            return macros[name]
        if name not in _RESERVED:
            known = ", ".join(f"<{each}>" for each in macros) or "none"
            raise where.error(f"unknown macro <{name:.40}> (defined above: {known})")
        return found[0]

    return _NAMED.sub(meaning, line)


def _entry(line: str, above: list[Entry], where: _Place) -> Entry:
    """Return the entry of a line."""
    bare = line.lstrip(" \t")
    depth = len(line) - len(bare)
    deepest = next((each.depth + 1 for each in reversed(above) if each.terms), 0)
    if depth > deepest:
        raise where.error(f"indented by {depth}, at most {deepest} here: one blank or tab a level")
    first, *rest = bare.split(maxsplit=1)
    terms = [term.strip() for term in first.split("|")]
    usable = not any(term.startswith("!") for term in terms)
    terms = [term.removeprefix("!") for term in terms]
    if not all(terms):
        raise where.error(f"expected a type, or types between |, got {first!r:.60}")
    roles, marks = _arguments(rest[0] if rest else "", terms[0], where)
    if "<INHERIT>" in (mark for mark, _ in marks):
        parent = next((each for each in reversed(above) if each.terms and each.depth < depth), None)
        own = {role.name for role in roles}
        roles += [role for role in (parent.roles if parent else ()) if role.name not in own]
        marks = [each for each in marks if each[0] != "<INHERIT>"]
    return Entry(tuple(terms), tuple(roles), depth, usable, tuple(marks), where.line)


def _arguments(written: str, label: str, where: _Place) -> tuple[list[Role], list[tuple[str, str]]]:
    """Return roles and marks of one entry."""
    roles: list[Role] = []
    marks: list[tuple[str, str]] = []
    for argument in (each.strip() for each in written.split(",")):
        if not argument:
            continue
        if argument.startswith("<"):
            key, _, value = argument.partition(":")
            marks.append((key, value))
            continue
        role = _role(argument, where)
        if role.name in (each.name for each in roles):
            raise where.error(f"{label!r:.40} has the role {role.name!r:.40} twice")
        roles.append(role)
    return roles, marks


def _role(argument: str, where: _Place) -> Role:
    """Return one ``Role:Type|Type`` with its repetition."""
    found = _ROLE.fullmatch(argument)
    if not found:
        raise where.error(
            f"expected Role:Type|Type, the role with ? * + {{2}} or {{1-3}}, got {argument!r:.60}"
        )
    name, repeat, low, high, types = found.groups()
    if low is None:
        least, most = _COUNTS[repeat or ""]
    else:
        least, most = int(low[:9]), int((high or low)[:9])
    if most is not None and not 1 <= most >= least:
        raise where.error(f"{argument!r:.60}: expected at least one and no falling range")
    if name[-1].isdigit() and most != 1:
        raise where.error(
            f"the role {name!r:.40} ends in a digit, so brat cannot number it: not repeatable"
        )
    each = tuple(types.split("|"))
    if not all(each):
        raise where.error(f"{argument!r:.60}: a type is empty")
    return Role(name, each, least, most)


def _written(entry: Entry) -> str:
    """Return the line of an entry."""
    if not entry.terms:
        return "-" * 20
    start = " " * entry.depth + ("" if entry.usable else "!") + "|".join(entry.terms)
    filled = [f"{each.name}{_repeat(each)}:{'|'.join(each.types)}" for each in entry.roles]
    marks = [f"{mark}:{value}" if value else mark for mark, value in entry.marks]
    return "\t".join([start, ", ".join(filled + marks)]).rstrip()


def _repeat(role: Role) -> str:
    """Return the sign of how often a role is filled."""
    for sign, counts in _COUNTS.items():
        if counts == (role.least, role.most):
            return sign
    if role.least == role.most:
        return f"{{{role.least}}}"
    return f"{{{role.least}-{role.most}}}"
