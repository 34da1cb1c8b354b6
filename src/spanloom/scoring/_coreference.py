"""Read the CoNLL-2012 files of coreference scorers: the last column of each document."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from spanloom.annotation.coreference_column import ColumnError, Mention, clusters, mentions_by_end
from spanloom.errors import FormatError
from spanloom.formats._text import text_of

_BEGIN, _END = "#begin document", "#end document"


@dataclass(frozen=True, slots=True)
class Part:
    """The coreference column of one document, with the line number of each cell."""

    path: str
    cells: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def clusters(self) -> list[list[Mention]]:
        """Return the clusters in the order of their first mentions; raises ``FormatError``."""
        try:
            return [list(cluster) for cluster in clusters(self.cells).values()]
        except ColumnError as error:
            self._raise_format_error(error)

    def closed(self) -> list[list[Mention]]:
        """Return clusters and mentions in the order in which they end; raises ``FormatError``."""
        by_name: dict[str, list[Mention]] = {}
        try:
            for name, mention in mentions_by_end(self.cells):
                by_name.setdefault(name, []).append(mention)
        except ColumnError as error:
            self._raise_format_error(error)
        return list(by_name.values())

    def _raise_format_error(self, error: ColumnError) -> NoReturn:
        raise FormatError(self.path, self.lines[error.word], error.problem) from error


def pairs(gold: Path, predicted: Path) -> dict[str, tuple[Part, Part]]:
    """Return each gold document with its prediction, which is empty if it is missing.

    Documents are named by the text after ``#begin document``. Raises ``FormatError``.
    """
    gold_parts, predicted_parts = _read_parts(gold), _read_parts(predicted)
    if not gold_parts:
        raise FormatError(str(gold), None, f"expected a line {_BEGIN!r}, got none")
    return {
        name: (part, predicted_parts.get(name, Part(str(predicted))))
        for name, part in gold_parts.items()
    }


def table(rows: dict[str, dict[str, Any]], average: str) -> str:
    """Format recall, precision and F1 of each measure."""
    lines = [f"{'':<22}{'recall':>8}{'precision':>11}{'F1':>8}"]
    for name, row in rows.items():
        ratios = f"{row['recall']:>8.2f}{row['precision']:>11.2f}{row['f1']:>8.2f}"
        lines.append(f"{name:<22}{ratios}")
    return "\n".join([*lines, average])


def _read_parts(path: Path) -> dict[str, Part]:
    """Return the documents of a file, by name."""
    parts: dict[str, Part] = {}
    part = None
    for line_number, line in enumerate(text_of(path).split("\n"), 1):
        if line.startswith(_BEGIN):
            name = line.removeprefix(_BEGIN).strip()
            if name in parts:
                problem = f"expected each document once, got {name!r:.60} again"
                raise FormatError(str(path), line_number, problem)
            part = parts[name] = Part(str(path))
        elif line.startswith(_END):
            part = None
        elif line.strip() and not line.startswith("#"):
            if part is None:
                problem = f"expected a word between {_BEGIN!r} and {_END!r}, got {line!r:.60}"
                raise FormatError(str(path), line_number, problem)
            part.cells.append(line.rsplit(None, 1)[-1])
            part.lines.append(line_number)
    return parts
