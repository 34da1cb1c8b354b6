"""One row of the board: what a run reached on one test set, and how to run it again."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from spanloom.errors import FormatError
from spanloom.storage import write_file


@dataclass(frozen=True, slots=True)
class Row:
    """``figures`` are the task's own numbers, the first its main one; ``interval`` is of that.

    ``key`` says which files and card the dataset was prepared from; ``report`` is all that was
    measured. Speeds are words a second of CPU time.
    """

    dataset: str
    version: str
    key: str
    task: str
    kind: str
    recipe: str
    seed: int
    commit: str
    command: str
    date: str
    figures: dict[str, float]
    interval: tuple[float, float] | None
    minutes: float
    annotated: float
    report: dict[str, Any]

    @property
    def main(self) -> tuple[str, float]:
        """The name of the first figure, and its value."""
        return next(iter(self.figures.items()))

    @property
    def file(self) -> str:
        """A name for its file: the same run again replaces it."""
        return f"{self.dataset}-{self.task}-{self.recipe}-{self.seed}.json"


def save(row: Row, folder: Path) -> Path:
    """Write a row below ``folder``; raises ``StorageError``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / row.file
    write_file(path, (json.dumps(asdict(row), indent=1) + "\n").encode())
    return path


def load_all(folder: Path) -> list[Row]:
    """Return the rows below ``folder``, by file name; raises ``FormatError`` for what is none."""
    return [_load(path) for path in sorted(folder.glob("*.json"))]


def _load(path: Path) -> Row:
    try:
        said = json.loads(path.read_text("utf-8"))
        wanted = {each.name for each in fields(Row)}
        if not isinstance(said, dict) or set(said) != wanted or not said["figures"]:
            raise ValueError(f"expected the keys {', '.join(sorted(wanted))} and a figure")
        interval = said["interval"]
        return Row(**{**said, "interval": None if interval is None else tuple(interval)})
    except (OSError, ValueError, TypeError) as error:
        raise FormatError(str(path), None, f"no row of the board: {error}") from error
