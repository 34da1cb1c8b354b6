"""Documents of a folder that cannot be read or changed: named, counted, and told at the end."""

from pathlib import Path

from spanloom.cli.console import log
from spanloom.errors import DataError, SpanloomError
from spanloom.quantity import quantity


class LeftOut:
    """Logs and counts the skipped documents."""

    def __init__(self) -> None:
        """Begin with none."""
        self.count = 0

    def add(self, error: SpanloomError) -> None:
        """Log which document is skipped, and why, on one line."""
        self.count += 1
        log("left out: " + " ".join(str(error).split("\n")))

    def check(self, root: Path | str, size: int | None = None) -> None:
        """Raise ``DataError`` if documents were skipped; ``size`` is the number of all."""
        if not self.count:
            return
        if size is not None:
            raise DataError(f"{root}: {self.count} of {size} documents were left out")
        verb = "was" if self.count == 1 else "were"
        raise DataError(f"{root}: {quantity(self.count, 'document')} {verb} left out")
