"""Extend an annotation.conf by the types that documents have and it lacks.

Every line of it stays as it is, with its comments, macros and constraints; new types come at the
end of their section.
"""

import re

from spanloom.formats.brat import conf
from spanloom.formats.brat.conf_from_documents import SECTIONS, Config, Entry

_HEADER = re.compile(r"\s*\[(.*)\]\s*")
_SPANS = ("entities", "events")  # a span's type may stand in either section
_BEFORE = "# types found in the documents"


def extend(text: str, needed: Config) -> str:
    """Return a configuration's text with the types of ``needed`` that it lacks.

    Raises ``FormatError`` for a configuration with mistakes.
    """
    known = conf.loads(text)
    missing = {name: _missing(known, needed, name) for name in SECTIONS}
    if not any(missing.values()):
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(end)
    last_line_of = _last_lines(lines)
    for name in sorted(SECTIONS, key=lambda name: -last_line_of.get(name, len(lines))):
        new = [_BEFORE, *conf.format_entries(missing[name])]
        if not missing[name]:
            continue
        if name in last_line_of:
            row = last_line_of[name]
            lines[row + 1 : row + 1] = new
        else:
            blank = [] if lines and not lines[-1].strip() else [""]
            lines += [*blank, f"[{name}]", *new, ""]
    return end.join(lines)


def _missing(known: Config, needed: Config, section: str) -> list[Entry]:
    """Return the entries of types that a configuration has no entry for."""
    sections = _SPANS if section == "entities" else (section,)
    labels = {entry.label for name in sections for entry in known.section(name)}
    return [entry for entry in needed.section(section) if entry.label not in labels]


def _last_lines(lines: list[str]) -> dict[str, int]:
    """Return the index of the last line of each section that is not blank."""
    last: dict[str, int] = {}
    section = ""
    for row, line in enumerate(lines):
        header = _HEADER.fullmatch(line)
        if header and not line.lstrip().startswith("#"):
            section = conf.section_name(header[1])
        if section and line.strip():
            last[section] = row
    return last
