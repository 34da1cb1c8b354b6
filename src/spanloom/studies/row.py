"""The row of a finished run: scores per task, what training cost, how to make it again."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from spanloom.atomic_io import write_file
from spanloom.errors import FormatError

KEY_LENGTH = 16  # hexadecimal digits of a run's key

Split = Literal["dev", "test"]
Curve = tuple[tuple[int, float], ...]  # scores, each after so many updates


@dataclass(frozen=True, slots=True)
class SplitScore:
    """Scores of one task on one split.

    The first of ``metrics`` is the main one. ``per_document_counts`` are the counts behind each of
    them that has any, as ``metrics.bootstrap`` reads them. ``documents`` is the fingerprint of
    those that were scored; rows of earlier versions lack it.
    """

    metrics: dict[str, float]
    per_document_counts: dict[str, str] = field(default_factory=dict)
    documents: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """What a run reached. ``scores`` are by task and split; ``before`` is the run it went on from.

    With several tasks, each is scored with the weights that were best for it on dev, or with those
    that were best for all where the study says so; then ``own_scores`` are of its own. ``updates``
    and ``epoch`` led to the chosen weights. ``train_cpu_minutes`` are of the training loop (None:
    too short to measure), ``other_cpu_minutes`` of all else: reading, building, scoring.
    ``best_updates`` are the updates with batches of a task that led to its best score on dev, by
    task, and ``dev_curves`` all its scores on dev, each after so many of these updates; rows of
    earlier versions lack them. Scores of a task that was given gold at scoring alone
    are under ``given_gold(task)``.
    """

    key: str
    name: str
    recipe: dict[str, Any]
    scores: dict[str, dict[Split, SplitScore]]
    before: str | None
    updates: int
    epoch: float
    train_words_per_s: float | None
    train_cpu_minutes: float | None
    other_cpu_minutes: float
    model_megabytes: float
    compute: str
    processor: str
    version: str
    date: str
    own_scores: dict[str, dict[Split, SplitScore]] = field(default_factory=dict)
    best_updates: dict[str, int] = field(default_factory=dict)
    dev_curves: dict[str, Curve] = field(default_factory=dict)
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


_ROW = TypeAdapter(Row)


def given_gold(task: str) -> str:
    """Return the name under which a row has the scores of a task that was given gold."""
    return f"{task}, gold inputs"


def own_name(task: str) -> str:
    """Return the task's name in its recipe, also of a name that ``given_gold`` made."""
    return task.removesuffix(given_gold(""))


def primary_score(row: Row, task: str, split: Split) -> float:
    """Return the main metric of a task on a split."""
    return next(iter(row.scores[task][split].metrics.values()))


def row_path(folder: Path, key: str) -> Path:
    """Return the file of a row."""
    return folder / f"{key}.json"


def save(row: Row, folder: Path) -> Path:
    """Write a row to its file below ``folder``; raises ``StorageError``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = row_path(folder, row.key)
    write_file(path, (json.dumps(asdict(row), indent=1) + "\n").encode())
    return path


def from_json(text: str | bytes, path: str) -> Row:
    """Read a row; ``path`` stands in errors. Raises ``FormatError``."""
    try:
        return _ROW.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "row"
        problem = f"{key}: {first['msg']}, got {first['input']!r:.60}"
        raise FormatError(path, None, f"no row of a study: {problem}") from error


@dataclass(slots=True)
class Rows:
    """The rows of a folder; each file is read once."""

    folder: Path
    by_key: dict[str, Row] = field(default_factory=dict)

    def read(self, keys: Iterable[str]) -> dict[str, Row]:
        """Return the rows of these runs that are finished, by key; raises ``FormatError``."""
        wanted = list(keys)
        for key in wanted:
            path = row_path(self.folder, key)
            if key not in self.by_key and path.is_file():
                self.by_key[key] = from_json(path.read_bytes(), str(path))
        return {key: self.by_key[key] for key in wanted if key in self.by_key}

    def by_name(self) -> dict[str, list[Row]]:
        """Return all rows of each name, whatever their keys; raises ``FormatError``."""
        named: dict[str, list[Row]] = {}
        for path in sorted(self.folder.glob("[0-9a-f]" * KEY_LENGTH + ".json")):
            row = from_json(path.read_bytes(), str(path))
            named.setdefault(row.name, []).append(row)
        return named
