"""Extend an annotation.conf by the types that documents have and it lacks.

Every line of it stays as it is, with its comments, macros and constraints; new types come at the
end of their section.
"""

import re
from collections.abc import Iterable

from spanloom.formats.brat import conf
from spanloom.formats.brat.conf_from_documents import SECTIONS, Config, Entry

_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # str.splitlines would also split at other characters
_HEADER = re.compile(r"\s*\[(.*)\]\s*")
_SPANS = ("entities", "events")  # a span's type may stand in either section
_BEFORE = "# types found in the documents"


def extend(text: str, needed: Config) -> str:
    """Return a configuration's text with the types of ``needed`` that it lacks.

    Raises ``FormatError`` for a configuration with mistakes.
    """
    known = conf.loads(text)
    missing = {name: missing_entries(known, needed, name) for name in SECTIONS}
    if not any(missing.values()):
        return text
    lines = _LINE.findall(text)
    last_line_of = _last_lines(lines)
    for name in sorted(SECTIONS, key=lambda name: -last_line_of.get(name, len(lines))):
        if not missing[name]:
            continue
        new = [_BEFORE, *conf.format_entries(missing[name])]
        if name in last_line_of:
            _insert(lines, last_line_of[name] + 1, new)
        else:
            blank = [""] if lines and lines[-1].strip() else []
            _insert(lines, len(lines), [*blank, f"[{name}]", *new])
    return "".join(lines)


def _insert(lines: list[str], row: int, new: Iterable[str]) -> None:
    """Insert new lines before a row; they end as the lines before it do."""
    ends = (
        "\r\n" if line.endswith("\r\n") else "\n" for line in reversed(lines[:row]) if "\n" in line
    )
    end = next(ends, "\n")
    if row and not lines[row - 1].endswith("\n"):
        lines[row - 1] += end
    lines[row:row] = [line + end for line in new]


def missing_entries(known: Config, needed: Config, section: str) -> list[Entry]:
    """Return the entries of types that a configuration has no entry for."""
    sections = _SPANS if section == "entities" else (section,)
    labels = {entry.label for name in sections for entry in known.section(name)}
    return [entry for entry in needed.section(section) if entry.label not in labels]


def _last_lines(lines: list[str]) -> dict[str, int]:
    """Return the index of the last line of each section that is not blank."""
    last: dict[str, int] = {}
    section = ""
    for row, line in enumerate(lines):
        header = _HEADER.fullmatch(line.removeprefix("\ufeff"))
        if header and not line.lstrip().startswith("#"):
            section = conf.section_name(header[1])
        if section and line.strip():
            last[section] = row
    return last
