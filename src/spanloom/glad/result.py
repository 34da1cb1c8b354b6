"""One result: scores on one test set, speed, and the command that reproduces them."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from spanloom.atomic_io import write_file
from spanloom.errors import FormatError

Bounds = tuple[float, float]

_MAX_LISTED = 2  # settings after the first that are listed one by one


@dataclass(frozen=True, slots=True)
class Result:
    """Test scores of one task on one dataset, with the training and the speed behind them.

    ``metrics`` are the task's own numbers, the first its main one; ``intervals`` are their 95 %
    bounds. ``key`` identifies the files and the card that the dataset was prepared from.
    ``gold_inputs`` are the layers that the task reads as gold. ``labels`` maps the dataset's labels
    if the task learns from several datasets; labels that were not annotated everywhere are not
    scored then. ``settings`` are changes of the recipe without the seed, ``report`` holds all
    measurements, ``per_document_counts`` the counts behind metrics (``metrics.bootstrap``).
    ``dev`` are the dev metrics of the chosen weights, reached after ``updates`` steps, which are
    ``epoch`` passes over the data of the last stage.

    Times and speeds are of CPU time. ``annotate_words_per_s`` is end to end,
    ``encoder_words_per_s`` is the encoder alone on the same batches in the same run;
    ``relative_speed`` is the median over rounds of the first divided by the second. Unknown values
    are None: times if the run's folder is gone, encoder speeds without a transformer.
    """

    dataset: str
    version: str
    key: str
    task: str
    kind: str
    gold_inputs: tuple[str, ...]
    recipe: str
    settings: tuple[str, ...]
    seed: int
    commit: str
    command: str
    date: str
    metrics: dict[str, float]
    intervals: dict[str, Bounds]
    dev: dict[str, float]
    updates: int | None
    epoch: float | None
    train_cpu_minutes: float | None
    train_words_per_s: float | None
    annotate_words_per_s: float
    encoder_words_per_s: float | None
    relative_speed: float | None
    compute: str
    report: dict[str, Any]
    labels: dict[str, str | None] = field(default_factory=dict)
    per_document_counts: dict[str, str] = field(default_factory=dict)
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @property
    def main(self) -> tuple[str, float]:
        """The name and value of the first metric."""
        return next(iter(self.metrics.items()))

    @property
    def made_by(self) -> str:
        """Its recipe and changed settings; of many settings the first, and the number of others."""
        first, *more = self.settings or ("",)
        others = " ".join(more) if len(more) <= _MAX_LISTED else f"and {len(more)} settings more"
        return " ".join(filter(None, (self.recipe, first, others)))

    @property
    def file(self) -> str:
        """Its file name; the same run replaces it."""
        digest = hashlib.sha256("\n".join(self.settings).encode()).hexdigest()
        changed = f"-{digest[:8]}" if self.settings else ""
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
        key = ".".join(map(str, first["loc"])) or "row"
        problem = f"{key}: {first['msg']}, got {first['input']!r:.60}"
        raise FormatError(str(path), None, f"no row of the board: {problem}") from error
    if not row.metrics:
        raise FormatError(str(path), None, "no row of the board: metrics: expected one, got none")
    return row
