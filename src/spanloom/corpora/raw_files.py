"""The raw files that a card names: found, and checked by their sums."""

import hashlib
from collections.abc import Sequence
from glob import escape
from pathlib import Path

from spanloom.atomic_io import sha256_of
from spanloom.corpora.card import Card, Source
from spanloom.errors import DataError, MissingFileError
from spanloom.formats import _files

TEXT = "text"  # the format of plain text, which has no annotation
GZIP_SUFFIX = ".gz"


def files(source: Source, raw: Path, advice: str = "") -> list[Path]:
    """Return the files of a source, sorted.

    Raises ``MissingFileError`` for a missing file, with the ``advice`` how to get it.
    """
    paths: set[Path] = set()
    for pattern in source.files:
        matches = {path for path in raw.glob(pattern) if path.is_file()}
        if not matches:
            raise MissingFileError(f"{raw / pattern}: no such file; {advice}".removesuffix("; "))
        paths |= matches
    return sorted(paths)


def needed_files(card: Card, raw: Path) -> dict[str, list[Path]]:
    """Return all files that each source is read from, sorted, sidecar files included.

    The key "" holds the lists of names. Raises ``DataError`` for a missing file.
    """
    rules = card.splits.values()
    lists = {rule.listed_in.file for rule in rules if rule.listed_in is not None}
    advice = card.download_instructions or f"see {card.homepage}"
    by_source = {name: _with_sidecars(source, raw, advice) for name, source in card.sources.items()}
    return by_source | {"": sorted(raw / listed for listed in lists)}


def _with_sidecars(source: Source, raw: Path, advice: str) -> list[Path]:
    """Return the files of a source and their sidecar files, sorted."""
    paths = set(files(source, raw, advice))
    if source.format not in (TEXT, _files.BRAT):
        sidecars = _files.load(source.format).sidecars
        names = [str(source.options.get(key, name)) for key, name in sidecars.items()]
        paths |= {_files.sidecar_path(path, name) for path in paths for name in names}
    if source.format == _files.BRAT:
        paths |= {
            sidecar for path in paths for sidecar in path.parent.glob(f"{escape(path.stem)}.*")
        }
    paths |= {
        raw / polarities
        for path in tuple(paths)
        if (polarities := polarity_file(source, path, raw))
    }
    return sorted(paths)


def polarity_file(source: Source, path: Path, raw: Path) -> str:
    """Return the file with the polarities of a file, "" if there is none."""
    polarities = source.polarities
    if isinstance(polarities, str):
        return polarities
    return polarities.get(path.relative_to(raw).as_posix(), "")


def digest(paths: Sequence[Path], raw: Path) -> str:
    """Return the SHA-256 of a list of names and SHA-256 sums, one per line, as sha256sum prints it.

    Raises ``DataError`` for an unreadable file.
    """
    digest_of_all = hashlib.sha256()
    for path in paths:
        try:
            file_sum = sha256_of(path)
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        digest_of_all.update(f"{file_sum}  {path.relative_to(raw).as_posix()}\n".encode())
    return digest_of_all.hexdigest()


def check(card: Card, raw: Path) -> dict[str, str]:
    """Return the sum of each source's files; the key "" holds that of the lists of names.

    Raises ``DataError`` if a file is missing or differs from the card's.
    """
    sums = {name: digest(paths, raw) for name, paths in needed_files(card, raw).items()}
    for name, source in card.sources.items():
        if source.sha256 and sums[name] != source.sha256:
            problem = f"expected files with the sum {source.sha256}, got {sums[name]}"
            raise DataError(f"{raw}: source {name!r}: {problem}; another release?")
    return sums


def stem(path: Path) -> str:
    """Return a file's name without its suffix and that of its compression."""
    return Path(path.name.removesuffix(GZIP_SUFFIX)).stem
