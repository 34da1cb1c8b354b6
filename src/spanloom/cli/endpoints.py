"""IN and OUT of ``annotate`` where these are URLs of stores, and the local folder for such a run.

The folder is ``~/.local/state/spanloom/annotate/NAME-HASH`` (or below ``$XDG_STATE_HOME``), a
folder for each OUT. In ``in`` lie files while they are read, in ``out`` what is annotated and not
uploaded yet. A run that ends well deletes it.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from spanloom.atomic_io import report_os_errors
from spanloom.cli.console import WrongUse, log
from spanloom.cli.destination import Destination, LocalDestination, StoreDestination
from spanloom.cli.inputs import check_one_kind, is_like_shard, is_shard
from spanloom.cli.shards import (
    Reader,
    Shard,
    ShardFile,
    ShardFolder,
    Source,
    no_fingerprint,
    read_file,
)
from spanloom.cli.stores import StorePath, is_url, is_web, open_store
from spanloom.corpora.files import is_hidden
from spanloom.document import Document
from spanloom.errors import DataError, FormatError, StorageError
from spanloom.file_lock import LockHeld, open_locked

_FLAGS = os.O_RDWR | os.O_CREAT


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What is read, where the output is written on this machine, and where it goes from there."""

    source: Source
    out: Path
    destination: Destination = LocalDestination()


@contextmanager
def open_endpoints(source: str, out: str) -> Iterator[Endpoints]:
    """Yield the endpoints of a run whose IN, OUT or both are URLs.

    Raises ``WrongUse`` for what no store can be asked for, ``DataError`` where nothing can be read,
    ``StorageError`` where OUT cannot be written or another process is at work, and what
    ``open_store`` raises.
    """
    if is_url(out) and is_web(out):
        raise WrongUse(f"-o {out}: http is read only; expected a store such as s3://")
    places = [open_store(text) if is_url(text) else Path(text) for text in (source, out)]
    read, written = places
    _check(read, written)
    with _working_folder(out) as folder:
        if isinstance(written, StorePath):
            (folder / "empty").touch()
            written.check_writable(folder / "empty")
            log(f"working folder: {folder}")
        inputs = _source(read, folder / "in") if isinstance(read, StorePath) else read
        if isinstance(written, StorePath):
            local = folder / "out" / written.name
            local.parent.mkdir(exist_ok=True)
            yield Endpoints(inputs, local, StoreDestination(local, written))
        else:
            yield Endpoints(inputs, written)


def _check(read: Path | StorePath, written: Path | StorePath) -> None:
    """Raise ``WrongUse`` for an OUT that cannot be, ``DataError`` for an IN that is not there."""
    if isinstance(read, Path) and not read.exists():
        raise DataError(f"{read}: no such file or folder")
    if isinstance(written, Path):
        return
    if not written.name:
        raise WrongUse(f"-o {written.url}: expected a URL that ends in a name")
    is_inside = isinstance(read, StorePath) and f"{written.path}/".startswith(f"{read.path}/")
    if isinstance(read, StorePath) and is_inside and read.fs == written.fs:
        raise WrongUse(f"-o {written.url}: expected a folder outside of the corpus {read.url}")


def _source(store: StorePath, inbox: Path) -> Path | ShardFolder:
    """Return the local copy of a file or of a folder with texts, or the shards of a folder.

    Raises ``DataError`` for a folder of neither, or of both.
    """
    name = store.name or "corpus"
    if not store.is_folder():
        store.download(inbox / name)
        return inbox / name
    files = store.files()
    check_one_kind(store.url, map(Path, files))
    if any(file.endswith(".txt") and not is_hidden(PurePath(file)) for file in files):
        for file in files:
            store.child(file).download(inbox / name / file)
        return inbox / name
    shards = tuple(
        ShardFile(
            path,
            file.size,
            _download_and_read(store.child(path), inbox / name / path, path),
            partial(str, file.fingerprint) if file.fingerprint else no_fingerprint,
        )
        for path, file in files.items()
        if is_shard(PurePath(path)) and not is_hidden(PurePath(path))
    )
    if not shards:
        wanted = "*.txt, *.jsonl, *.jsonl.gz and *.parquet"
        raise DataError(f"{store.url}: no documents; looked for {wanted}")
    paths = map(PurePath, files)
    ignored = (str(path) for path in paths if is_like_shard(path) and not is_hidden(path))
    return ShardFolder(name, shards, tuple(ignored))


def _download_and_read(store: StorePath, local: Path, name: str) -> Reader:
    """Return what reads a file of a store, ``name``, which lies in ``local`` meanwhile."""

    def read_shard(shard: Shard) -> Iterator[Document]:
        store.download(local)
        try:
            yield from read_file(local, name)(shard)
        except FormatError as error:
            raise FormatError(store.url, error.line, error.problem) from error
        finally:
            local.unlink(missing_ok=True)

    return read_shard


@contextmanager
def _working_folder(out: str) -> Iterator[Path]:
    """Yield the local folder of runs into OUT under a lock; it is kept if the run fails.

    Raises ``StorageError`` if another process is at work there.
    """
    folder = _state_folder() / _folder_name(out)
    with ExitStack() as stack:
        with report_os_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(open_locked(folder / "lock", _FLAGS, seconds=0))
            except LockHeld:
                raise StorageError(f"{folder}: another process is at work here") from None
        shutil.rmtree(folder / "in", ignore_errors=True)  # of a run that was killed
        stack.callback(_clean, folder)
        yield folder
        shutil.rmtree(folder / "out", ignore_errors=True)


def _clean(folder: Path) -> None:
    """Delete what no later run needs: all but the annotated documents that are not uploaded."""
    shutil.rmtree(folder / "in", ignore_errors=True)
    if not any(path.is_file() for path in (folder / "out").rglob("*")):
        shutil.rmtree(folder, ignore_errors=True)


def _state_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "spanloom" / "annotate"


def _folder_name(out: str) -> str:
    """Return a name of its own for each OUT, the same from wherever the command is called."""
    full = out if is_url(out) else str(Path(out).resolve())
    name = "".join(char if char.isalnum() else "-" for char in Path(full).name)[-40:]
    return f"{name}-{hashlib.sha256(full.encode()).hexdigest()[:16]}"
