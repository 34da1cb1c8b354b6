"""One row of the board: what a run reached on one test set, how fast, and how to run it again."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from spanloom.atomic_io import write_file
from spanloom.errors import FormatError

Bounds = tuple[float, float]

_TOLD = 2  # settings after the first that are told one by one


@dataclass(frozen=True, slots=True)
class Result:
    """``figures`` are the task's own numbers, the first its main one; ``intervals`` are of those.

    ``key`` says which files and card the dataset was prepared from, ``given`` the layers that the
    task was told, ``labels`` what the dataset's labels are called where a task learns from several
    (what nobody looked for is not scored: not the dataset's usual figure), ``settings`` what was
    changed in the recipe but for the seed, ``report`` all that was measured, ``tallies`` what
    figures are made of document by document (``metrics.tally``). ``dev`` are the
    figures for which the weights were chosen, after ``updates``, which is ``epoch`` passes over the
    data of the last stage.

    ``minutes`` are of CPU time in training. Speeds are words a second of CPU time: ``trained`` in
    training, ``annotated`` end to end, ``encoder`` the encoder alone on the same batches in the
    same run; ``ratio`` is annotated by encoder, round by round, the median. What is not known is
    None: times where the run's folder is gone, ``encoder`` and ``ratio`` without a transformer.
    """

    dataset: str
    version: str
    key: str
    task: str
    kind: str
    given: tuple[str, ...]
    recipe: str
    settings: tuple[str, ...]
    seed: int
    commit: str
    command: str
    date: str
    figures: dict[str, float]
    intervals: dict[str, Bounds]
    dev: dict[str, float]
    updates: int | None
    epoch: float | None
    minutes: float | None
    trained: float | None
    annotated: float
    encoder: float | None
    ratio: float | None
    compute: str
    report: dict[str, Any]
    labels: dict[str, str | None] = field(default_factory=dict)
    tallies: dict[str, str] = field(default_factory=dict)
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @property
    def main(self) -> tuple[str, float]:
        """The name of the first figure, and its value."""
        return next(iter(self.figures.items()))

    @property
    def made_by(self) -> str:
        """Its recipe and what was changed; of many settings the first, and how many follow."""
        first, *more = self.settings or ("",)
        rest = " ".join(more) if len(more) <= _TOLD else f"and {len(more)} settings more"
        return " ".join(filter(None, (self.recipe, first, rest)))

    @property
    def file(self) -> str:
        """A name for its file: the same run again replaces it."""
        said = hashlib.sha256("\n".join(self.settings).encode()).hexdigest()
        changed = f"-{said[:8]}" if self.settings else ""
        return f"{self.dataset}-{self.task}-{self.recipe}{changed}-{self.seed}.json"


_ROW = TypeAdapter(Result)


def save(row: Result, folder: Path) -> Path:
    """Write a row below ``folder``; raises ``StorageError``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / row.file
    write_file(path, (json.dumps(asdict(row), indent=1) + "\n").encode())
    return path


def load_results(folder: Path) -> list[Result]:
    """Return the rows below ``folder``, by file name; raises ``FormatError`` for what is none."""
    return [_load(path) for path in sorted(folder.glob("*.json"))]


def _load(path: Path) -> Result:
    try:
        row = _ROW.validate_json(path.read_bytes())
    except OSError as error:
        raise FormatError(str(path), None, f"no row of the board: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "row"
        problem = f"{where}: {first['msg']}, got {first['input']!r:.60}"
        raise FormatError(str(path), None, f"no row of the board: {problem}") from error
    if not row.figures:
        raise FormatError(str(path), None, "no row of the board: figures: expected one, got none")
    return row
