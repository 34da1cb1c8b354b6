"""Read and write annotation.conf: the hierarchy of types of a brat collection and their roles.

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

Macros are local to their section and are expanded on reading. brat only warns of most mistakes and
then falls back to a default; here each of them is a ``FormatError`` with its line.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats.brat.conf_from_documents import SECTIONS, Config, Entry, Role
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
    """Parse a configuration; raises ``FormatError`` with the line of the first mistake."""
    config, mistakes = parse(text, path)
    if mistakes:
        raise mistakes[0]
    return config


def parse(text: str, path: str = NAME) -> tuple[Config, list[FormatError]]:
    """Parse the lines of a configuration that can be parsed; return the mistakes of the others.

    Of a section that is missing or unknown only the first line is a mistake, the rest is skipped.
    """
    entries: dict[str, list[Entry]] = {name: [] for name in SECTIONS}
    mistakes: list[FormatError] = []
    section: str | None = ""
    macros = dict[str, str]()
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = raw.rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        location = _Location(path, number)
        header = _HEADER.fullmatch(line)
        try:
            if header:
                section, macros = None, {}
                section = _parse_section(header[1], location)
            elif section == "":
                section = None
                expected = "expected a section such as [entities] first"
                raise location.error(f"{expected}, got {line!r:.60}")
            elif section is not None:
                _parse_line(line, entries[section], macros, location)
        except FormatError as mistake:
            mistakes.append(mistake)
    return Config(*(tuple(entries[name]) for name in SECTIONS)), mistakes


def dumps(config: Config) -> str:
    """Return the configuration as text; ``loads`` of it is the same configuration."""
    blocks = []
    for name in SECTIONS:
        blocks.append("\n".join([f"[{name}]", *format_entries(config.section(name)), ""]))
    return "\n".join(blocks)


def format_entries(entries: Iterable[Entry]) -> list[str]:
    """Return the lines of entries."""
    return [_format_entry(entry) for entry in entries]


def section_name(written: str) -> str:
    """Return the name of a section that may be called by another name."""
    return _ALIASES.get(written, written)


def find(folder: Path, root: Path) -> Path | None:
    """Return the configuration of a folder or of its nearest parent up to ``root``, else None."""
    last = root.resolve()
    current = folder.resolve()
    while current.is_relative_to(last):
        if (current / NAME).is_file():
            return current / NAME
        if current == last:
            break
        current = current.parent
    return None


def load(path: Path, *, encoding: str = "utf-8") -> Config:
    """Read and parse a configuration file; raises ``FormatError``."""
    return loads(read_text_file(path, encoding), str(path))


@dataclass(frozen=True, slots=True)
class _Location:
    """A path and line that errors name."""

    path: str
    line: int

    def error(self, problem: str) -> FormatError:
        """Return a ``FormatError`` at this location."""
        return FormatError(self.path, self.line, problem)


def _parse_section(name: str, location: _Location) -> str:
    """Return the section's canonical name."""
    section = section_name(name)
    if section in SECTIONS:
        return section
    choices = (*SECTIONS, *_ALIASES)
    close_names = difflib.get_close_matches(name, choices, n=1)
    hint = f"; did you mean [{close_names[0]}]?" if close_names else ""
    raise location.error(f"unknown section [{name:.40}]{hint} (known: {', '.join(choices)})")


def _parse_line(line: str, above: list[Entry], macros: dict[str, str], location: _Location) -> None:
    """Add the entry or the macro of a line to those above it in its section."""
    if _SEPARATOR.fullmatch(line):
        above.append(Entry((), line=location.line))
    elif not _define_macro(line, macros, location):
        above.append(_parse_entry(_expand_macros(line, macros, location), above, location))


def _define_macro(line: str, macros: dict[str, str], location: _Location) -> bool:
    """Store the macro that the line defines; return whether it defines one."""
    match = _MACRO.fullmatch(line)
    if not match:
        return False
    name, value = match.groups()
    if name in _RESERVED:
        raise location.error(f"<{name}> cannot be defined, brat gives it its meaning")
    meaning = _expand_macros(value, macros, location)
    if len(meaning) > MACRO_CHARACTERS:
        raise location.error(f"<{name:.40}> stands for more than {MACRO_CHARACTERS} characters")
    macros[name] = meaning
    return True


def _expand_macros(line: str, macros: dict[str, str], location: _Location) -> str:
    """Replace the section's macros in a line by their values."""

    def meaning(match: re.Match[str]) -> str:
        name = match[1]
        if name in macros:
            return macros[name]
        if name not in _RESERVED:
            macro_names = ", ".join(f"<{macro}>" for macro in macros) or "none"
            raise location.error(f"unknown macro <{name:.40}> (defined above: {macro_names})")
        return match[0]

    return _NAMED.sub(meaning, line)


def _parse_entry(line: str, above: list[Entry], location: _Location) -> Entry:
    """Return the entry of a line; ``above`` are the earlier entries of its section."""
    unindented = line.lstrip(" \t")
    depth = len(line) - len(unindented)
    max_depth = next((entry.depth + 1 for entry in reversed(above) if entry.terms), 0)
    if depth > max_depth:
        raise location.error(
            f"indented by {depth}, at most {max_depth} here: one blank or tab a level"
        )
    first, *rest = unindented.split(maxsplit=1)
    terms = [term.strip() for term in first.split("|")]
    usable = not any(term.startswith("!") for term in terms)
    terms = [term.removeprefix("!") for term in terms]
    if not all(terms):
        raise location.error(f"expected a type, or types between |, got {first!r:.60}")
    roles, marks = _parse_arguments(rest[0] if rest else "", terms[0], location)
    if "<INHERIT>" in (key for key, _ in marks):
        parent = next(
            (entry for entry in reversed(above) if entry.terms and entry.depth < depth), None
        )
        own_names = {role.name for role in roles}
        roles += [role for role in (parent.roles if parent else ()) if role.name not in own_names]
        marks = [(key, value) for key, value in marks if key != "<INHERIT>"]
    return Entry(tuple(terms), tuple(roles), depth, usable, tuple(marks), location.line)


def _parse_arguments(
    arguments: str, label: str, location: _Location
) -> tuple[list[Role], list[tuple[str, str]]]:
    """Return the roles and the marks of an entry."""
    roles: list[Role] = []
    marks: list[tuple[str, str]] = []
    for argument in (part.strip() for part in arguments.split(",")):
        if not argument:
            continue
        if argument.startswith("<"):
            key, _, value = argument.partition(":")
            marks.append((key, value))
            continue
        role = _parse_role(argument, location)
        if role.name in (earlier.name for earlier in roles):
            raise location.error(f"{label!r:.40} has the role {role.name!r:.40} twice")
        roles.append(role)
    return roles, marks


def _parse_role(argument: str, location: _Location) -> Role:
    """Parse ``Role:Type|Type`` with its repetition."""
    match = _ROLE.fullmatch(argument)
    if not match:
        raise location.error(
            f"expected Role:Type|Type, the role with ? * + {{2}} or {{1-3}}, got {argument!r:.60}"
        )
    name, repeat, min_digits, max_digits, types = match.groups()
    if min_digits is None:
        min_count, max_count = _COUNTS[repeat or ""]
    else:
        min_count, max_count = int(min_digits[:9]), int((max_digits or min_digits)[:9])
    if max_count is not None and not 1 <= max_count >= min_count:
        raise location.error(f"{argument!r:.60}: expected at least one and no falling range")
    if name[-1].isdigit() and max_count != 1:
        raise location.error(
            f"the role {name!r:.40} ends in a digit, so brat cannot number it: not repeatable"
        )
    role_types = tuple(types.split("|"))
    if not all(role_types):
        raise location.error(f"{argument!r:.60}: a type is empty")
    return Role(name, role_types, min_count, max_count)


def _format_entry(entry: Entry) -> str:
    """Return the line of an entry."""
    if not entry.terms:
        return "-" * 20
    label = " " * entry.depth + ("" if entry.usable else "!") + "|".join(entry.terms)
    roles = [f"{role.name}{_format_repeat(role)}:{'|'.join(role.types)}" for role in entry.roles]
    marks = [f"{mark}:{value}" if value else mark for mark, value in entry.marks]
    return "\t".join([label, ", ".join(roles + marks)]).rstrip()


def _format_repeat(role: Role) -> str:
    """Return the repetition sign of a role."""
    for sign, counts in _COUNTS.items():
        if counts == (role.least, role.most):
            return sign
    if role.least == role.most:
        return f"{{{role.least}}}"
    return f"{{{role.least}-{role.most}}}"
