"""The log of a run: a JSON line per event in its folder, and log lines for users."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from spanloom.atomic_io import write_file
from spanloom.errors import StorageError

Log = Callable[[str], None]


class MetricsLog:
    """Appends to ``metrics.jsonl``; only the first process writes."""

    def __init__(self, path: Path, log: Log, *, active: bool) -> None:
        """``log`` shows one line to the user."""
        self.path, self._show, self._active = path, log, active

    def start(self, *, keep: int | None, due: bool = False) -> None:
        """Start an empty file, or after a resume drop the lines after the first ``keep`` updates.

        Where dev is still ``due`` after the last of them, its metrics are dropped, too.
        """
        if not self._active:
            return
        kept = []
        if keep is not None and self.path.exists():
            lines = self.path.read_bytes().splitlines()
            kept = [line for line in lines if _before(line, keep, due=due)]
        write_file(self.path, b"".join(line + b"\n" for line in kept))

    def write(self, event: Mapping[str, object]) -> None:
        """Append one event; raises ``StorageError``."""
        if not self._active:
            return
        try:
            with self.path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(event) + "\n")
        except OSError as error:
            problem = f"could not be written: {error.strerror}"
            raise StorageError(f"{self.path}: {problem}") from error

    def log(self, text: str) -> None:
        """Show one line."""
        if self._active:
            self._show(text)


def _before(line: bytes, keep: int, *, due: bool) -> bool:
    """Whether a line is kept; one that a kill cut short is not."""
    try:
        event = json.loads(line)
        return int(event["step"]) + (due and "dev" in event) <= keep
    except (ValueError, KeyError, TypeError):
        return False
