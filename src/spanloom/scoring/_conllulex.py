"""Read the scored content of ``.conllulex`` files (STREUSLE's ``CONLLULEX.md``).

Supersenses of adpositions form the hierarchy SNACS 2.6 (Schneider et al., arXiv 1704.02134).
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spanloom.annotation.multiword_expressions import ExpressionError, Group, groups
from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.multiword import Expression

_TREE = """
Circumstance
 Temporal
  Time
   StartTime
   EndTime
  Frequency
  Duration
  Interval
 Locus
  Source
  Goal
 Path
  Direction
  Extent
 Means
 Manner
 Explanation
  Purpose
Participant
 Causer
 Force
  Agent
 Theme
  Topic
  Content
 Ancillary
 Stimulus
 Experiencer
 Originator
 Recipient
 Cost
 Beneficiary
 Instrument
Configuration
 Identity
 Species
 Gestalt
  Possessor
  Whole
  Org
  QuantityItem
 Characteristic
  Possession
  PartPortion
   Stuff
  OrgMember
  QuantityValue
   Approximator
 Ensemble
 ComparisonRef
 SetIteration
 SocialRel
"""

PREFIX = "p."


def _paths() -> dict[str, tuple[str, ...]]:
    """Return the path from the root to each supersense."""
    paths: dict[str, tuple[str, ...]] = {}
    path: list[str] = []
    for line in _TREE.split("\n"):
        name = line.lstrip()
        if name:
            path[len(line) - len(name) :] = [PREFIX + name]
            paths[PREFIX + name] = tuple(path)
    return paths


_PATHS = _paths()


def coarse(sense: str, depth: int) -> str | None:
    """Return a supersense, or its ancestor at that depth (1: the root); None if unknown.

    Supersenses that are not an adposition's, and "", are returned unchanged.
    """
    if not sense.startswith(PREFIX):
        return sense
    path = _PATHS.get(sense)
    return path[min(depth, len(path)) - 1] if path else None


Tag = tuple[str, str, str]  # position in an expression, category, supersenses

_COLUMNS = 19
_NONE, _FIRST_WORD = "_", ":1"
_NUMBER, _NOT_A_WORD = re.compile(r"[1-9][0-9]{0,8}"), re.compile(r"[0-9]+[-.][0-9]+")
_META = re.compile(r"# (\w+) = (.*)")
_ID = "sent_id"


class Sentence(NamedTuple):
    """A sentence; ``strong`` and ``weak`` are the groups of its tags, with word indices from 0."""

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
    """Yield the sentences, with adposition supersenses of at most that depth.

    Raises ``FormatError`` if columns are malformed or contradict each other.
    """
    rows: list[_Row] = []
    name, first_line = "", 1
    for line_number, line in enumerate([*text_of(path).split("\n"), ""], 1):
        line = line.strip()
        if line.startswith("#"):
            field = _META.fullmatch(line)
            name = field[2] if field and field[1] == _ID else name
        elif line:
            row = _row(line, line_number, path)
            rows += [row] if row else []
        else:
            if rows:
                yield _sentence(first_line, name, rows, path, depth)
            rows, name, first_line = [], "", line_number + 1


def _row(line: str, line_number: int, path: Path) -> _Row | None:
    """Return the columns of a word, None for a multi-word token or an empty node."""
    cells = line.split("\t")
    if len(cells) != _COLUMNS:
        problem = f"expected {_COLUMNS} columns, got {len(cells)}: {line!r:.60}"
        raise FormatError(str(path), line_number, problem)
    if _NOT_A_WORD.fullmatch(cells[0]):
        return None
    if not _NUMBER.fullmatch(cells[0]):
        raise FormatError(str(path), line_number, f"expected a word's number, got {cells[0]!r:.60}")
    return _Row(line_number, cells)


def _sentence(line: int, name: str, rows: Sequence[_Row], path: Path, depth: int) -> Sentence:
    """Return the sentence of some rows, after checking that its columns agree."""
    for index, row in enumerate(rows, 1):
        if int(row.cells[0]) != index:
            raise FormatError(str(path), row.line, f"expected word {index}, got {row.cells[0]}")
    tags = [_check_tag(row, path, depth) for row in rows]
    try:
        strong, weak = groups([tag[0] for tag in tags])
    except ExpressionError as error:
        raise FormatError(str(path), rows[error.word].line, error.problem) from error
    annotated = _strong_groups(rows, path)
    if sorted(annotated) != strong:
        problem = f"expected tags of the expressions in column 11: {sorted(annotated)!r:.40}"
        raise FormatError(str(path), line, f"{problem}, got {strong!r:.40}")
    in_strong = {word for group in strong for word in group}
    single_words = [(word,) for word in range(len(rows)) if word not in in_strong]
    expressions = [_expression(words, rows, path, depth) for words in (*single_words, *strong)]
    return Sentence(line, name, tags, expressions, strong, weak)


def _strong_groups(rows: Sequence[_Row], path: Path) -> list[Group]:
    """Return the strong expressions of column 11, where each word has GROUP:POSITION."""
    groups: dict[str, list[int]] = {}
    for word, row in enumerate(rows):
        if row.cells[10] != _NONE:
            group, _, position = row.cells[10].partition(":")
            words = groups.setdefault(group, [])
            words.append(word)
            if position != str(len(words)):
                problem = f"expected {group:.20}:{len(words)}, got {row.cells[10]!r:.60}"
                raise FormatError(str(path), row.line, problem)
    return [tuple(words) for words in groups.values()]


def _check_tag(row: _Row, path: Path, depth: int) -> Tag:
    """Return the three parts of column 19, after checking it against the other columns."""
    tag = row.cells[18]
    position = tag.partition("-")[0]
    category, *supersenses = (_value(row.cells[column]) for column in (11, 13, 14))
    weak_suffix = (
        f"+{row.cells[16]}" if row.cells[15].endswith(_FIRST_WORD) and _value(row.cells[16]) else ""
    )
    is_first = row.cells[10] == _NONE or row.cells[10].endswith(_FIRST_WORD)
    if is_first != bool(category):
        problem = f"expected a category in column 12 at first words alone, got {tag!r:.60}"
        raise FormatError(str(path), row.line, problem)
    expected = _format_tag(position, category, supersenses) + (weak_suffix if is_first else "")
    if tag != expected:
        problem = f"expected {expected!r:.60} as in columns 12 to 17, got {tag!r:.60}"
        raise FormatError(str(path), row.line, problem)
    coarse_senses = [_coarsen(sense, row.line, path, depth) for sense in supersenses]
    coarse_tag = _format_tag(position, category, coarse_senses) + weak_suffix
    position_part, category_part, sense_part = (*coarse_tag.split("-", 2), "", "")[:3]
    return position_part, category_part, sense_part


def _format_tag(position: str, category: str, supersenses: Sequence[str]) -> str:
    """Return a tag; the second supersense is only part of it if it differs."""
    label = "|".join(dict.fromkeys(filter(None, supersenses)))
    return "-".join(filter(None, (position, category, label)))


def _coarsen(sense: str, line: int, path: Path, depth: int) -> str:
    """Return a supersense at that depth; raises ``FormatError`` for an unknown one."""
    coarse_sense = coarse(sense, depth)
    if coarse_sense is None:
        raise FormatError(str(path), line, f"expected a supersense, got {sense!r:.60}")
    return coarse_sense


def _expression(words: Group, rows: Sequence[_Row], path: Path, depth: int) -> Expression:
    """Return an expression with its category and supersenses."""
    first_row = rows[words[0]]
    role, function = (
        _coarsen(_value(first_row.cells[column]), first_row.line, path, depth)
        for column in (13, 14)
    )
    return Expression(words, first_row.cells[11], role, function)


def _value(cell: str) -> str:
    """Return a cell's value, "" for an empty one."""
    return "" if cell == _NONE else cell
