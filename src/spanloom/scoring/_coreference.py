"""The files of CoNLL-2012 as its scorers read them: the last column, document by document."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.forms.coreference_column import ColumnError, Mention, closed, clusters

_BEGIN, _END = "#begin document", "#end document"


@dataclass(frozen=True, slots=True)
class Part:
    """The column of one document, with the line of each cell."""

    path: str
    cells: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def clusters(self) -> list[list[Mention]]:
        """Return the clusters by their first mentions; raises ``FormatError``."""
        try:
            return [list(each) for each in clusters(self.cells).values()]
        except ColumnError as error:
            self._refuse(error)

    def closed(self) -> list[list[Mention]]:
        """Return the clusters, and their mentions, as they are closed; raises ``FormatError``."""
        found: dict[str, list[Mention]] = {}
        try:
            for name, mention in closed(self.cells):
                found.setdefault(name, []).append(mention)
        except ColumnError as error:
            self._refuse(error)
        return list(found.values())

    def _refuse(self, error: ColumnError) -> NoReturn:
        raise FormatError(self.path, self.lines[error.word], error.problem) from error


def pairs(gold: Path, predicted: Path) -> dict[str, tuple[Part, Part]]:
    """Return each gold document and its prediction, an empty one where there is none.

    Names are what stands behind ``#begin document``. Raises ``FormatError``.
    """
    wanted, found = _parts(gold), _parts(predicted)
    if not wanted:
        raise FormatError(str(gold), None, f"expected a line {_BEGIN!r}, got none")
    return {name: (part, found.get(name, Part(str(predicted)))) for name, part in wanted.items()}


def table(rows: dict[str, dict[str, Any]], average: str) -> str:
    """Lay out recall, precision and F1 of each measure, for people."""
    lines = [f"{'':<22}{'recall':>8}{'precision':>11}{'F1':>8}"]
    for name, row in rows.items():
        ratios = f"{row['recall']:>8.2f}{row['precision']:>11.2f}{row['f1']:>8.2f}"
        lines.append(f"{name:<22}{ratios}")
    return "\n".join([*lines, average])


def _parts(path: Path) -> dict[str, Part]:
    """The documents of a file by their names."""
    parts: dict[str, Part] = {}
    part = None
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.startswith(_BEGIN):
            name = line.removeprefix(_BEGIN).strip()
            if name in parts:
                problem = f"expected each document once, got {name!r:.60} again"
                raise FormatError(str(path), number, problem)
            part = parts[name] = Part(str(path))
        elif line.startswith(_END):
            part = None
        elif line.strip() and not line.startswith("#"):
            if part is None:
                problem = f"expected a word between {_BEGIN!r} and {_END!r}, got {line!r:.60}"
                raise FormatError(str(path), number, problem)
            part.cells.append(line.rsplit(None, 1)[-1])
            part.lines.append(number)
    return parts
