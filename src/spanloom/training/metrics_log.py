"""What a run says while it trains: a JSON line an event in its folder, and a line for people."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from spanloom.atomic_io import write_file
from spanloom.errors import StorageError

Say = Callable[[str], None]


class MetricsLog:
    """Appends to ``metrics.jsonl``; a process that is not the first keeps silent."""

    def __init__(self, path: Path, say: Say, *, active: bool) -> None:
        """``say`` shows one line to whoever waits."""
        self.path, self._say, self._active = path, say, active

    def start(self, *, keep: int | None, due: bool = False) -> None:
        """Begin anew, or after a resume drop what stands after the first ``keep`` updates.

        Where dev is still ``due`` after the last of them, its scores there are dropped, too.
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
            self._say(text)


def _before(line: bytes, keep: int, *, due: bool) -> bool:
    """A line that a kill cut short counts as after."""
    try:
        event = json.loads(line)
        return int(event["step"]) + (due and "dev" in event) <= keep
    except (ValueError, KeyError, TypeError):
        return False
