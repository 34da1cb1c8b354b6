"""Sentences of a ``.conllulex`` file, as far as they are scored (STREUSLE's ``CONLLULEX.md``)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.forms.expressions import ExpressionError, Group, groups
from spanloom.metrics.multiword import Expression
from spanloom.scoring._snacs import coarse

Tag = tuple[str, str, str]  # place in an expression, category, supersenses

_COLUMNS = 19
_NONE, _FIRST = "_", ":1"
_NUMBER, _BESIDE = re.compile(r"[1-9][0-9]{0,8}"), re.compile(r"[0-9]+[-.][0-9]+")
_META = re.compile(r"# (\w+) = (.*)")
_ID = "sent_id"


class Sentence(NamedTuple):
    """``strong`` and ``weak`` are groups as the tags have them; words are counted from 0."""

    line: int
    name: str
    tags: list[Tag]
    expressions: list[Expression]
    strong: list[Group]
    weak: list[Group]


class _Row(NamedTuple):
    """A word's columns, and its line."""

    line: int
    cells: list[str]


def sentences(path: Path, depth: int) -> Iterator[Sentence]:
    """Yield the sentences, adposition supersenses of no more than that depth.

    Raises ``FormatError`` where columns break their form or contradict each other.
    """
    rows: list[_Row] = []
    name, first = "", 1
    for number, line in enumerate([*text_of(path).split("\n"), ""], 1):
        line = line.strip()
        if line.startswith("#"):
            said = _META.fullmatch(line)
            name = said[2] if said and said[1] == _ID else name
        elif line:
            row = _row(line, number, path)
            rows += [row] if row else []
        else:
            if rows:
                yield _sentence(first, name, rows, path, depth)
            rows, name, first = [], "", number + 1


def _row(line: str, number: int, path: Path) -> _Row | None:
    """Return the columns of a word; None for a token of several words, and for none."""
    cells = line.split("\t")
    if len(cells) != _COLUMNS:
        problem = f"expected {_COLUMNS} columns, got {len(cells)}: {line!r:.60}"
        raise FormatError(str(path), number, problem)
    if _BESIDE.fullmatch(cells[0]):
        return None
    if not _NUMBER.fullmatch(cells[0]):
        raise FormatError(str(path), number, f"expected a word's number, got {cells[0]!r:.60}")
    return _Row(number, cells)


def _sentence(line: int, name: str, rows: Sequence[_Row], path: Path, depth: int) -> Sentence:
    for place, row in enumerate(rows, 1):
        if int(row.cells[0]) != place:
            raise FormatError(str(path), row.line, f"expected word {place}, got {row.cells[0]}")
    tags = [_tag(row, path, depth) for row in rows]
    try:
        strong, weak = groups([tag[0] for tag in tags])
    except ExpressionError as error:
        raise FormatError(str(path), rows[error.word].line, error.problem) from error
    said = _groups(rows, path)
    if sorted(said) != strong:
        problem = f"expected tags of the expressions in column 11: {sorted(said)!r:.40}"
        raise FormatError(str(path), line, f"{problem}, got {strong!r:.40}")
    inside = {word for group in strong for word in group}
    alone = [(word,) for word in range(len(rows)) if word not in inside]
    found = [_expression(words, rows, path, depth) for words in (*alone, *strong)]
    return Sentence(line, name, tags, found, strong, weak)


def _groups(rows: Sequence[_Row], path: Path) -> list[Group]:
    """Return the strong expressions that column 11 says, each word as GROUP:PLACE."""
    found: dict[str, list[int]] = {}
    for word, row in enumerate(rows):
        if row.cells[10] != _NONE:
            group, _, place = row.cells[10].partition(":")
            words = found.setdefault(group, [])
            words.append(word)
            if place != str(len(words)):
                problem = f"expected {group:.20}:{len(words)}, got {row.cells[10]!r:.60}"
                raise FormatError(str(path), row.line, problem)
    return [tuple(words) for words in found.values()]


def _tag(row: _Row, path: Path, depth: int) -> Tag:
    """Return the three parts of column 19, which must be what the other columns say."""
    tag = row.cells[18]
    flag = tag.partition("-")[0]
    category, *senses = (_said(row.cells[column]) for column in (11, 13, 14))
    weak = f"+{row.cells[16]}" if row.cells[15].endswith(_FIRST) and _said(row.cells[16]) else ""
    begins = row.cells[10] == _NONE or row.cells[10].endswith(_FIRST)
    if begins != bool(category):
        problem = f"expected a category in column 12 at first words alone, got {tag!r:.60}"
        raise FormatError(str(path), row.line, problem)
    expected = _spelt(flag, category, senses) + (weak if begins else "")
    if tag != expected:
        problem = f"expected {expected!r:.60} as in columns 12 to 17, got {tag!r:.60}"
        raise FormatError(str(path), row.line, problem)
    above = [_coarse(sense, row.line, path, depth) for sense in senses]
    one, two, three = (*(_spelt(flag, category, above) + weak).split("-", 2), "", "")[:3]
    return one, two, three


def _spelt(flag: str, category: str, senses: Sequence[str]) -> str:
    """Return a tag; a second supersense stands in it if it is another."""
    label = "|".join(dict.fromkeys(filter(None, senses)))
    return "-".join(filter(None, (flag, category, label)))


def _coarse(sense: str, line: int, path: Path, depth: int) -> str:
    found = coarse(sense, depth)
    if found is None:
        raise FormatError(str(path), line, f"expected a supersense, got {sense!r:.60}")
    return found


def _expression(words: Group, rows: Sequence[_Row], path: Path, depth: int) -> Expression:
    row = rows[words[0]]
    role, function = (
        _coarse(_said(row.cells[column]), row.line, path, depth) for column in (13, 14)
    )
    return Expression(words, row.cells[11], role, function)


def _said(cell: str) -> str:
    return "" if cell == _NONE else cell
