"""Download the raw files of a card; each is written completely or not at all."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from spanloom.atomic_io import write_chunks
from spanloom.corpora.card import Card, Source
from spanloom.errors import DataError, MissingFileError

_TIMEOUT_SECONDS = 60
_CHUNK_BYTES = 1 << 20
_MAX_BYTES = 2_000_000_000  # bytes of one file

Say = Callable[[str], None]


def fetch(card: Card, raw: Path, report: Say) -> None:
    """Download the files of a card that have an address and are not yet below ``raw``.

    Patterns and sources without ``base`` cannot be downloaded: their files must exist. Raises
    ``DataError`` for an address that is not https or leads to one that is not, that fails, or whose
    file is too large or cut off.
    """
    for source in card.sources.values():
        for path in _missing(source, raw):
            first_part, *other_parts = PurePosixPath(path).parts
            address = source.base_url.rstrip("/") + "/" + "/".join(other_parts or [first_part])
            report(f"{address} to {raw / path}")
            target = raw / path
            target.parent.mkdir(parents=True, exist_ok=True)
            _download(address, target)


def _missing(source: Source, raw: Path) -> list[str]:
    """Return the paths of a source that have an address and do not exist below ``raw``."""
    if not source.base_url:
        return []
    return [path for path in source.files if "*" not in path and not (raw / path).exists()]


def _download(address: str, target: Path) -> None:
    """Download one file, completely or not at all."""
    _require_https(address, address)
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_SECONDS) as response:
            _require_https(response.url, address)  # of the last redirect
            write_chunks(target, _chunks(response, address))
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError) as error:
        raise _download_error(address, error) from error


def _require_https(url: str, address: str) -> None:
    """Raise ``DataError`` for the URL of an address, or of its redirect, that is not https."""
    if not url.startswith("https://"):
        redirect = "" if url == address else f", got a redirect to {url}"
        raise DataError(f"{address}: expected an address that starts with https://{redirect}")


def _chunks(response: http.client.HTTPResponse, address: str) -> Iterator[bytes]:
    """Yield the body of a response; raises ``DataError`` if it is too large or cut off."""
    size = 0
    while chunk := _read_chunk(response, address):
        size += len(chunk)
        if size > _MAX_BYTES:
            raise DataError(f"{address}: larger than {_MAX_BYTES:,} bytes")
        yield chunk
    if response.length:  # a lost connection reads as the end
        problem = f"cut off after {size:,} bytes, {response.length:,} before its end"
        raise DataError(f"{address}: {problem}")


def _read_chunk(response: http.client.HTTPResponse, address: str) -> bytes:
    try:
        return response.read(_CHUNK_BYTES)
    except (OSError, http.client.HTTPException) as error:  # the other end, not our disk
        raise _download_error(address, error) from error


def _download_error(address: str, error: Exception) -> MissingFileError:
    return MissingFileError(f"{address}: cannot be downloaded: {error}")
