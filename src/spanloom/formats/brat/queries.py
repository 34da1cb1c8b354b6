r"""Read and write ``NAME.queries``: a text's queries, one per line: ``Q1`` TAB ``Who met Bob?``.

In both fields a backslash is written ``\\``, a line feed ``\n``, a carriage return ``\r``, a tab
``\t`` and a byte order mark ``\ufeff``; no other backslash is allowed, so both directions are
exact. brat ignores the file. A line that is no query is kept and reported.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from spanloom.document import Document, Query, SourceLine
from spanloom.errors import DocumentError
from spanloom.formats.brat.draft import Line, Problem, split_lines
from spanloom.formats.brat.offsets import MARK

SUFFIX = ".queries"
_ESCAPES = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", MARK: r"\ufeff"}
_CHARACTERS = {escaped: char for char, escaped in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:ufeff|.)?")
_ESCAPE_TABLE = str.maketrans(_ESCAPES)


class QueryFile(NamedTuple):
    """The queries of a file, its raw lines, and the problems of some of them."""

    queries: tuple[Query, ...]
    lines: tuple[SourceLine, ...]
    problems: tuple[Problem, ...]


def read(content: str, name: str) -> QueryFile:
    """Parse the query file of the document ``name``; the first of queries with one id is kept."""
    lines = list(split_lines(content, SUFFIX))
    query_lines: dict[str, tuple[Query, Line]] = {}
    problems: list[Problem] = []
    for line in lines:
        if not line.raw.strip(" \t\r") or line.raw == MARK:
            continue
        query = _parse_query(line.raw)
        if isinstance(query, str):
            problems.append(Problem(name, line.number, SUFFIX, query))
        elif query.id in query_lines:
            problem = f"the id {query.id!r:.40} is taken by line {query_lines[query.id][1].number}"
            problems.append(Problem(name, line.number, SUFFIX, problem))
        else:
            query_lines[query.id] = query, line
    kept = tuple(SourceLine(line.raw, None, line.file, line.end) for line in lines)
    return QueryFile(tuple(query for query, _ in query_lines.values()), kept, tuple(problems))


def format_queries(document: Document) -> str | None:
    """Return the content of the file, None if there is nothing to write and none was read.

    It is the old content if its queries are the document's. Otherwise it has the lines of the
    document's queries in their order, then the old lines that are no query.
    """
    lines = document.source.lines if document.source else ()
    old_lines = [line for line in lines if line.file == SUFFIX]
    if not old_lines and not document.queries:
        return None
    content = "".join(line.raw + line.end for line in old_lines)
    if read(content, document.name).queries == document.queries:
        return content
    bom = MARK if content.startswith(MARK) else ""
    end = next((line.end for line in old_lines if line.end), "\n")
    new_lines = [_format_query(query) for query in document.queries]
    return bom + "".join(
        line + end for line in [*new_lines, *_lines_without_query(document, old_lines)]
    )


def _lines_without_query(document: Document, old_lines: Iterable[SourceLine]) -> list[str]:
    """Return the raw lines that are no query, nor would be if other lines were removed."""
    ids = {query.id for query in document.queries}
    seen: set[str] = set()
    kept = []
    for line in old_lines:
        query = _parse_query(line.raw)
        if isinstance(query, str):
            is_useless = line.raw.strip(" \t\r") not in ("", MARK)
        else:
            is_useless = query.id in seen and query.id in ids
            seen.add(query.id)
        if is_useless:
            kept.append(line.raw)
    return kept


def _format_query(query: Query) -> str:
    """Return the line of a query."""
    return f"{query.id.translate(_ESCAPE_TABLE)}\t{query.prompt.translate(_ESCAPE_TABLE)}"


def _parse_query(raw: str) -> Query | str:
    """Return the query of a line, or a message that says why it has none."""
    key, tab, prompt = raw.partition("\t")
    if not tab or "\t" in prompt:
        return "expected 'Q1', one tab and a prompt"
    for escape in _ESCAPE.findall(raw):
        if escape not in _CHARACTERS:
            return f"expected one of {' '.join(_CHARACTERS)} for a backslash, got {escape!r}"
    try:
        return Query(_unescape(key), _unescape(prompt))
    except DocumentError as error:
        return str(error)


def _unescape(escaped: str) -> str:
    """Replace all escapes by their characters."""
    return _ESCAPE.sub(lambda escape: _CHARACTERS[escape[0]], escaped)
