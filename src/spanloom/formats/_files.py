"""Files of any format: which one it is, its documents, and documents written as one.

brat is a collection of files and has doors of its own (``formats.brat``).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spanloom import formats
from spanloom.config import kinds
from spanloom.config.options import Options, options
from spanloom.config.yaml import Where
from spanloom.document import WORDS, Document
from spanloom.errors import DocumentError, FormatError, NameNotFound
from spanloom.formats._base import Format
from spanloom.formats._text import decoded
from spanloom.storage import write_file

BRAT = "brat"
_HEAD = 65_536  # characters that are looked at


def names() -> list[str]:
    """List the formats, brat apart."""
    return [name for name in kinds.names(formats.__path__) if name != BRAT]


def load(name: str) -> Format:
    """Return a format; raises ``NameNotFound``."""
    if name == BRAT:
        raise NameNotFound("format of single files", name, names())
    found: Format = kinds.load(formats.__name__, names(), name, "format")
    return found


def guess(path: Path) -> str | None:
    """Return the name of the format that a file looks like, None where none or several do.

    Of several, those whose suffix the file has are meant. Raises ``FormatError`` where the file
    cannot be read.
    """
    head = _bytes(path, _HEAD)
    plain, raw = head.decode("utf-8-sig", errors="ignore"), head.decode("latin-1")
    every = {name: load(name) for name in names()}
    fit = [n for n, each in every.items() if each.looks(raw if each.binary else plain, path.name)]
    closer = [name for name in fit if path.name.lower().endswith(every[name].suffixes)]
    found = closer or fit
    return found[0] if len(found) == 1 else None


def suffixes() -> frozenset[str]:
    """Return what files of any format may end in, .txt apart, which says nothing."""
    every = (suffix for name in names() for suffix in load(name).suffixes)
    return frozenset(every) - {".txt"}


def suited(path: Path, form: Format) -> Options:
    """Return the options that a file's beginning tells."""
    head = "" if form.binary else _bytes(path, _HEAD).decode("utf-8-sig", errors="ignore")
    return form.options(**form.suits(head))


def chosen(form: Format, said: Mapping[str, Any], where: Where) -> Options:
    """Return a format's options; raises ``RecipeError`` as ``config.options`` does."""
    beside = set(form.beside)
    return options(form.options, {k: v for k, v in said.items() if k not in beside}, where, beside)


def gives_words(form: Format) -> bool:
    """Whether files of a format are made of words, as its sample is."""
    texts = form.sample if form.beside else {"": form.sample}
    beside = {key: text for key, text in texts.items() if key}
    return any(document.has(WORDS) for document in form.loads(texts[""], **beside))


def read(
    path: Path, form: Format, options: Options, beside: Mapping[str, str] | None = None
) -> Iterator[Document]:
    """Yield the documents of a file; ``beside`` are names of the files beside it, if not the usual.

    Raises ``FormatError``: files that cannot be read, bytes that are not UTF-8, and as ``loads``.
    """
    places = {key: path.parent / (beside or {}).get(key, name) for key, name in form.beside.items()}
    texts = {key: _text(place) for key, place in places.items()}
    text = _bytes(path) if form.binary else _text(path)
    yield from form.loads(text, path=str(path), options=options, **texts)


def named(documents: Iterable[Document], path: Path) -> Iterator[Document]:
    """Yield the documents; one without a name is called by its file and number."""
    for number, each in enumerate(documents, 1):
        yield each if each.name else replace(each, name=f"{path.stem}-{number:05}")


def write(
    path: Path,
    documents: Iterable[Document],
    form: Format,
    options: Options,
    beside: Mapping[str, str] | None = None,
) -> tuple[Path, ...]:
    """Write documents as one file, and what must stand beside it; returns what was written.

    Each file is written whole or not at all. Raises ``StorageError``, and ``DocumentError`` where
    the format cannot spell what it does hold.
    """
    made = form.dumps(documents, options=options)
    texts = made if form.beside else {"": made}
    written = []
    for key, text in texts.items():
        place = path.parent / (beside or {}).get(key, form.beside[key]) if key else path
        write_file(place, text if form.binary else _encoded(text, place))
        written.append(place)
    return tuple(written)


def _encoded(text: str, path: Path) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"{path}: half a character ({text[error.start]!r}) has no UTF-8"
        ) from error


def _text(path: Path) -> str:
    """Return the text of a file, line ends as they are, without a byte order mark."""
    return decoded(_bytes(path), path, "utf-8-sig")


def _bytes(path: Path, most: int = -1) -> bytes:
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe is gone once looked at
        raise FormatError(str(path), None, "cannot be read: expected a file, got a pipe or device")
    try:
        with path.open("rb") as stream:
            return stream.read(most)
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error
