"""Files and folders of object stores, named by URLs such as ``s3://bucket/corpus``, by fsspec.

See https://filesystem-spec.readthedocs.io. Objects are read and written as a whole: they are
downloaded to local files, and local files that are complete are uploaded.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from spanloom.errors import DataError, NameNotFound, PackageMissing, StorageError

_SCHEME = r"[a-z][a-z0-9+.-]+"  # of two letters or more: one is the drive of a Windows path
_URL = re.compile(rf"(?:{_SCHEME}::)*{_SCHEME}://\S*", re.IGNORECASE)
_WEB = ("http", "https")
_IN_EXTRA = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp"}
# Protocols of real folders, which must be made, and where a file is renamed at once. In buckets an
# object appears when all of it is there, and making a folder may make a bucket of a wrong name.
_WITH_FOLDERS = ("file", "dir", "memory", "sftp", "ssh", "smb", "hdfs", "webdav", "ftp")
# what stores call a file's hash, or the time when it was changed; the first is the best
_VERSION_KEYS = ("md5Hash", "ETag", "etag", "LastModified", "last_modified", "mtime", "created")
_PROBE = ".spanloom-probe"
_LOGGERS = ("fsspec", "s3fs", "gcsfs", "aiobotocore", "botocore", "google")


def is_url(text: str) -> bool:
    """Return whether an argument is a URL: a scheme, ``://`` and no blank."""
    return _URL.fullmatch(text) is not None


def is_web(url: str) -> bool:
    """Return whether a URL is one of the web, where files can be read and have no folders."""
    return url.rpartition("::")[2].partition("://")[0].lower() in _WEB


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The bytes of a file of a store, 0 if unknown, and what tells its versions apart, if known."""

    size: int
    fingerprint: str | None


@dataclass(frozen=True, slots=True)
class StorePath:
    """A file or folder of a store; ``path`` is its path in the file system ``fs`` of fsspec."""

    url: str
    fs: Any
    path: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path.partition("?")[0]).name

    def child(self, name: str) -> "StorePath":
        """Return what is below this folder under a relative name."""
        return StorePath(_child_url(self.url, name), self.fs, f"{self.path.rstrip('/')}/{name}")

    def exists(self) -> bool:
        """Return whether there is a file or folder; raises ``DataError``."""
        with _reading(self.url):
            return bool(self.fs.exists(self.path))

    def is_folder(self) -> bool:
        """Return whether something lies below this path; raises ``DataError``."""
        with _reading(self.url):
            return not is_web(self.url) and bool(self.fs.isdir(self.path))

    def files(self) -> dict[str, StoredFile]:
        """Return all files below this folder by relative name, sorted.

        Raises ``DataError``, also for a name that would lead out of a local folder.
        """
        with _reading(self.url):
            infos = self.fs.find(self.path, detail=True)
        root = self.path.rstrip("/")
        files = {
            path.removeprefix(root).lstrip("/"): StoredFile(info.get("size") or 0, _version(info))
            for path, info in infos.items()
        }
        for name in files:
            if ".." in PurePosixPath(name).parts or "\0" in name:
                raise DataError(f"{self.url}: the name {name!r} leads out of the folder")
        return dict(sorted(files.items()))

    def num_bytes(self) -> int:
        """Return the bytes of a file, 0 if unknown; raises ``DataError``."""
        with _reading(self.url):
            return self.fs.info(self.path).get("size") or 0

    def download(self, target: Path) -> None:
        """Copy a file to a local one; raises ``DataError``."""
        with _reading(self.url):
            target.parent.mkdir(parents=True, exist_ok=True)
            self.fs.get_file(self.path, str(target))

    def upload(self, source: Path) -> None:
        """Copy a local file here, whole or not at all; raises ``StorageError``."""
        with _writing(self.url):
            if _protocol(self.fs) not in _WITH_FOLDERS:
                self.fs.put_file(str(source), self.path)
                return
            parent, _, name = self.path.rpartition("/")
            self.fs.makedirs(parent, exist_ok=True)
            staging = f"{parent}/.{name}.staging" if parent else f".{name}.staging"
            self.fs.put_file(str(source), staging)
            self.fs.mv(staging, self.path)

    def delete(self) -> None:
        """Delete a file, if it is there; raises ``StorageError``."""
        with _writing(self.url):
            if self.fs.exists(self.path):
                self.fs.rm_file(self.path)

    def check_writable(self, empty: Path) -> None:
        """Raise ``StorageError`` if nothing can be written here; ``empty`` is an empty file."""
        probe = StorePath(self.url, self.fs, self.path.rstrip("/") + _PROBE)
        probe.upload(empty)
        probe.delete()


def open_store(url: str) -> StorePath | Path:
    """Return what a URL names; a local path for ``file://``.

    Raises ``NameNotFound`` for an unknown protocol, ``PackageMissing`` without fsspec or the
    store's package, ``DataError`` for a URL that is not understood.
    """
    PackageMissing.check(url, "stores", "fsspec")
    import fsspec
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    for name in _LOGGERS:  # they log tracebacks of what is tried again; we report what fails
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    schemes = [link.partition("://")[0].lower() for link in url.split("::")]
    protocols = fsspec.available_protocols()
    for scheme in schemes:
        if scheme not in protocols:
            raise NameNotFound("protocol", scheme, protocols)
    try:
        with _reading(url):
            fs, path = url_to_fs(url)
    except DataError as error:
        if isinstance(error.__cause__, ImportError) and schemes[-1] in _IN_EXTRA:
            raise PackageMissing(url, _IN_EXTRA[schemes[-1]], "stores") from error
        raise
    return Path(path) if type(fs) is LocalFileSystem else StorePath(url, fs, path)


def _version(info: Mapping[str, Any]) -> str | None:
    """Return what tells the versions of a file apart, by the first such field of fsspec's info."""
    key = next((key for key in _VERSION_KEYS if info.get(key)), None)
    return None if key is None else f"{key.lower()}:{info[key]}"


def _protocol(fs: Any) -> str:
    """Return the first name of a file system's protocol."""
    return str(fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0])


def _child_url(url: str, name: str) -> str:
    """Return the URL of a file below a folder; in a chain, the first path is that of the folder."""
    links = url.split("::")
    first = next(number for number, link in enumerate(links) if "://" in link)
    links[first] = f"{links[first].rstrip('/')}/{name}"
    return "::".join(links)


@contextmanager
def _reading(url: str) -> Iterator[None]:
    """Context manager: whatever a store raises becomes a ``DataError`` of one line."""
    try:
        yield
    except Exception as error:  # each store's package has errors of its own, without a common base
        raise DataError(f"{url}: cannot be read: {_reason(error)}") from error


@contextmanager
def _writing(url: str) -> Iterator[None]:
    """Context manager: whatever a store raises becomes a ``StorageError`` of one line."""
    try:
        yield
    except Exception as error:  # as above
        raise StorageError(f"{url}: could not be written: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__
