"""Where the files of ``annotate -o OUT`` go once they are complete: they stay, or go to a store."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from spanloom.cli.console import log
from spanloom.cli.stores import StoredFile, StorePath


class Destination(Protocol):
    """Takes over complete local files; all may raise ``StorageError``, and ``DataError``."""

    is_remote: bool

    def shown(self, path: Path) -> str:
        """Return how messages call a file or folder of the output."""

    def num_bytes(self, path: Path) -> int | None:
        """Return the bytes of the file that an earlier run left there, None if there is none."""

    def names(self, folder: Path) -> Set[str]:
        """Return the names, below the folder of the output, of what an earlier run left there."""

    def publish(self, path: Path) -> None:
        """Take over a complete file, in place of an earlier one."""

    def fetch(self, path: Path) -> None:
        """Make the local copy of a small file what an earlier run published, if that is longer."""

    def discard(self, path: Path) -> None:
        """Free the room that a published file takes here."""

    def withdraw(self, path: Path) -> None:
        """Delete a published file, if it is there."""


class LocalDestination:
    """Files stay where they were written."""

    is_remote = False

    def shown(self, path: Path) -> str:
        """Return the path."""
        return str(path)

    def num_bytes(self, path: Path) -> int | None:
        """Return the bytes of the file."""
        return path.stat().st_size if path.is_file() else None

    def names(self, folder: Path) -> Set[str]:
        """Return the names of the files in the folder, those of this run too."""
        files = (path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix() for path in files}

    def publish(self, path: Path) -> None:
        """Do nothing: the file is there."""

    def fetch(self, path: Path) -> None:
        """Do nothing: the file is there, if there is one."""

    def discard(self, path: Path) -> None:
        """Do nothing: the file is the output."""

    def withdraw(self, path: Path) -> None:
        """Delete the file; raises ``OSError``."""
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class StoreDestination:
    """Files at ``local``, or below it, are uploaded to ``store``, or below that."""

    local: Path
    store: StorePath
    is_remote = True

    @cached_property
    def _files_before(self) -> Mapping[str, StoredFile]:
        """The files that the store had when they were first asked for, by one listing."""
        return self.store.files()

    def shown(self, path: Path) -> str:
        """Return the URL."""
        return self._at(path).url

    def num_bytes(self, path: Path) -> int | None:
        """Return the bytes that it had in the store before this run."""
        file = self._files_before.get(path.relative_to(self.local).as_posix())
        return None if file is None else file.size

    def names(self, folder: Path) -> Set[str]:
        """Return the names that the store had before this run."""
        return self._files_before.keys()

    def publish(self, path: Path) -> None:
        """Upload the file."""
        self._at(path).upload(path)
        if not path.name.startswith("."):
            log(f"uploaded to {self.shown(path)}")

    def fetch(self, path: Path) -> None:
        """Download the file if the local one has fewer bytes: logs grow only at the end."""
        published = self._at(path)
        if not published.exists():
            return
        if not path.exists() or path.stat().st_size < published.num_bytes():
            published.download(path)

    def discard(self, path: Path) -> None:
        """Delete the local file."""
        path.unlink(missing_ok=True)

    def withdraw(self, path: Path) -> None:
        """Delete it there and here."""
        self._at(path).delete()
        path.unlink(missing_ok=True)

    def _at(self, path: Path) -> StorePath:
        name = path.relative_to(self.local).as_posix()
        return self.store if name == "." else self.store.child(name)
