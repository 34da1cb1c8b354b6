r"""``NAME.queries``: the queries put to a text, one a line: ``Q1`` TAB ``Who met Bob?``.

In both fields a backslash is written ``\\``, a line feed ``\n``, a carriage return ``\r``, a tab
``\t`` and a byte order mark ``\ufeff``; no other backslash may stand there, so both directions are
exact. brat does not look at the file. A line that makes no query is kept and reported.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from spanloom.document import Document, Query, SourceLine
from spanloom.errors import DocumentError
from spanloom.formats.brat.draft import Line, Problem, cut
from spanloom.formats.brat.offsets import MARK

SUFFIX = ".queries"
_WRITTEN = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", MARK: r"\ufeff"}
_MEANT = {written: char for char, written in _WRITTEN.items()}
_ESCAPE = re.compile(r"\\(?:ufeff|.)?")
_SPELLING = str.maketrans(_WRITTEN)


class Asked(NamedTuple):
    """The queries of a file, its raw lines, and what is wrong with some of them."""

    queries: tuple[Query, ...]
    lines: tuple[SourceLine, ...]
    problems: tuple[Problem, ...]


def read(content: str, name: str) -> Asked:
    """Read the file of the document ``name``; of two queries of one id the first stays."""
    lines = list(cut(content, SUFFIX))
    found: dict[str, tuple[Query, Line]] = {}
    problems: list[Problem] = []
    for line in lines:
        if not line.raw.strip(" \t\r") or line.raw == MARK:
            continue
        query = _parse(line.raw)
        if isinstance(query, str):
            problems.append(Problem(name, line.number, SUFFIX, query))
        elif query.id in found:
            taken = f"the id {query.id!r:.40} is taken by line {found[query.id][1].number}"
            problems.append(Problem(name, line.number, SUFFIX, taken))
        else:
            found[query.id] = query, line
    kept = tuple(SourceLine(line.raw, None, line.file, line.end) for line in lines)
    return Asked(tuple(query for query, _ in found.values()), kept, tuple(problems))


def written(document: Document) -> str | None:
    """Return the content of the file, None where there is nothing to write and none was read.

    It is the old file where that says the same. Otherwise the lines of the document's queries in
    their order, then the old lines that are no query's.
    """
    lines = document.source.lines if document.source else ()
    old = [line for line in lines if line.file == SUFFIX]
    if not old and not document.queries:
        return None
    content = "".join(line.raw + line.end for line in old)
    if read(content, document.name).queries == document.queries:
        return content
    start = MARK if content.startswith(MARK) else ""
    end = next((line.end for line in old if line.end), "\n")
    made = [_line(query) for query in document.queries]
    return start + "".join(line + end for line in [*made, *_useless(document, old)])


def _useless(document: Document, old: Iterable[SourceLine]) -> list[str]:
    """Return the raw lines that make no query, nor would if other lines were gone."""
    ids = {query.id for query in document.queries}
    seen: set[str] = set()
    kept = []
    for line in old:
        query = _parse(line.raw)
        if isinstance(query, str):
            useless = line.raw.strip(" \t\r") not in ("", MARK)
        else:
            useless = query.id in seen and query.id in ids
            seen.add(query.id)
        if useless:
            kept.append(line.raw)
    return kept


def _line(query: Query) -> str:
    """Return the line of a query."""
    return f"{query.id.translate(_SPELLING)}\t{query.prompt.translate(_SPELLING)}"


def _parse(raw: str) -> Query | str:
    """Return the query of a line, or in words why it makes none."""
    key, tab, prompt = raw.partition("\t")
    if not tab or "\t" in prompt:
        return "expected 'Q1', one tab and a prompt"
    for escape in _ESCAPE.findall(raw):
        if escape not in _MEANT:
            return f"expected one of {' '.join(_MEANT)} for a backslash, got {escape!r}"
    try:
        return Query(_plain(key), _plain(prompt))
    except DocumentError as error:
        return str(error)


def _plain(written: str) -> str:
    """Undo every escape."""
    return _ESCAPE.sub(lambda escape: _MEANT[escape[0]], written)
