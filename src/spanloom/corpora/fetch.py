"""Raw files from a card's address: each is there whole or not at all; sums are checked later."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from spanloom.corpora.card import Card, Source
from spanloom.errors import DataError
from spanloom.storage import write_chunks

_SECONDS = 60
_PIECE = 1 << 20
_MOST = 2_000_000_000  # bytes of one file

Say = Callable[[str], None]


def fetch(card: Card, raw: Path, say: Say) -> None:
    """Download the files of a card that are not below ``raw`` and have an address.

    Patterns cannot be downloaded, nor sources without ``base``: they must be there. Raises
    ``DataError`` for an address that is not https, that fails, or whose file is too large.
    """
    for source in card.sources.values():
        for path in _missing(source, raw):
            first, *rest = PurePosixPath(path).parts
            address = source.base.rstrip("/") + "/" + "/".join(rest or [first])
            say(f"{address} to {raw / path}")
            target = raw / path
            target.parent.mkdir(parents=True, exist_ok=True)
            _download(address, target)


def _missing(source: Source, raw: Path) -> list[str]:
    if not source.base:
        return []
    return [each for each in source.files if "*" not in each and not (raw / each).exists()]


def _download(address: str, target: Path) -> None:
    """Write one file, whole or not at all."""
    if not address.startswith("https://"):
        raise DataError(f"{address}: expected an address that starts with https://")
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            write_chunks(target, _pieces(answer, address))
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError) as error:
        raise _failed(address, error) from error


def _pieces(answer: http.client.HTTPResponse, address: str) -> Iterator[bytes]:
    """Yield what comes, a piece at a time."""
    size = 0
    while piece := _piece(answer, address):
        size += len(piece)
        if size > _MOST:
            raise DataError(f"{address}: larger than {_MOST:,} bytes")
        yield piece


def _piece(answer: http.client.HTTPResponse, address: str) -> bytes:
    try:
        return answer.read(_PIECE)
    except (OSError, http.client.HTTPException) as error:  # the other end, not our disk
        raise _failed(address, error) from error


def _failed(address: str, error: Exception) -> DataError:
    return DataError(f"{address}: cannot be downloaded: {error}")
