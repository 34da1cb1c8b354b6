"""Detect the format of a file, read its documents, and write documents to a file.

brat is a collection of files and has its own functions (``formats.brat``).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spanloom import formats
from spanloom.atomic_io import write_file
from spanloom.config import registry
from spanloom.config.options import Options, validate_options
from spanloom.config.registry import Registry
from spanloom.config.yaml import SourceLocation
from spanloom.document import WORDS, Document
from spanloom.errors import DocumentError, FormatError, NameNotFound, StorageError
from spanloom.formats._base import Format
from spanloom.formats._text import UTF8, decode_text

BRAT = "brat"
_HEAD_SIZE = 65_536  # bytes read to detect a format
_REGISTRY: Registry[Format] = Registry(
    "formats",
    "format",
    Format,
    lambda: [name for name in registry.names(formats.__path__) if name != BRAT],
    lambda name: registry.load(formats.__name__, name),
)


def names() -> list[str]:
    """List the names of all formats but brat, those of plugins too; nothing is imported."""
    return _REGISTRY.names()


def load(name: str) -> Format:
    """Return the format of that name; raises ``NameNotFound`` and ``PluginError``."""
    if name == BRAT:
        raise NameNotFound("format of single files", name, names())
    return _REGISTRY.load(name)


def detectable_formats() -> dict[str, Format]:
    """Return the formats that are guessed from a file: all but those of installed plugins.

    An installed plugin is imported only when its name is asked for.
    """
    return {name: load(name) for name in _REGISTRY.names_without_installed()}


def guess(path: Path, encoding: str = UTF8) -> str | None:
    """Return the name of the format that a file seems to have, None if none or several fit.

    If several fit, those whose suffix the file has are preferred. Raises ``FormatError`` if the
    file cannot be read, or for an unknown encoding.
    """
    head = _read_bytes(path, _HEAD_SIZE)
    text, latin1_text = decode_head(head, path, encoding), head.decode("latin-1")
    format_of = detectable_formats()
    matching = [
        name
        for name, file_format in format_of.items()
        if file_format.sniff(latin1_text if file_format.binary else text, path.name)
    ]
    by_suffix = [name for name in matching if path.name.lower().endswith(format_of[name].suffixes)]
    guesses = by_suffix or matching
    return guesses[0] if len(guesses) == 1 else None


def suffixes() -> frozenset[str]:
    """Return the file suffixes of all formats but .txt, which is ambiguous."""
    all_suffixes = (suffix for form in detectable_formats().values() for suffix in form.suffixes)
    return frozenset(all_suffixes) - {".txt"}


def sniff_options(path: Path, file_format: Format, encoding: str = UTF8) -> Options:
    """Return the options that a file's beginning shows; raises ``FormatError`` as ``guess``."""
    is_text = not file_format.binary
    head = decode_head(_read_bytes(path, _HEAD_SIZE), path, encoding) if is_text else ""
    return file_format.options(**file_format.sniff_options(head))


def decode_head(head: bytes, path: Path, encoding: str) -> str:
    """Return the text that a file begins with; bytes that are not of the encoding are left out.

    The last character may be cut off, and the reader tells which byte is wrong. Raises
    ``FormatError`` for an unknown encoding.
    """
    try:
        return head.decode(encoding, errors="ignore").removeprefix("\ufeff")
    except (LookupError, UnicodeError):  # of no codec, or of one that ignores nothing
        return decode_text(head, path, encoding)


def describe(path: Path, encoding: str = UTF8) -> str:
    """Return as which format a file is read, with the options that its beginning shows.

    Raises ``FormatError`` if the file cannot be read or has no format that can be told.
    """
    name = guess(path, encoding)
    if name is None:
        raise FormatError(str(path), None, "cannot tell its format")
    options = sniff_options(path, load(name), encoding).model_dump(exclude_defaults=True)
    listed = ", ".join(
        f"{key}: {shown(value)}" for key, value in options.items() if value is not None
    )
    return f"{name} ({listed})" if listed else name


def shown(value: object) -> object:
    """Return the value of an option as a message has it: yes, no, none, or itself."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else value


def validate_format_options(
    file_format: Format, settings: Mapping[str, Any], location: SourceLocation
) -> Options:
    """Validate a format's options; raises ``RecipeError`` as ``validate_options`` does."""
    sidecar_keys = set(file_format.sidecars)
    return validate_options(
        file_format.options,
        {key: value for key, value in settings.items() if key not in sidecar_keys},
        location,
        sidecar_keys,
    )


def gives_words(file_format: Format) -> bool:
    """Whether the format's files give words, as its example shows."""
    texts = file_format.example if file_format.sidecars else {"": file_format.example}
    sidecars = {key: text for key, text in texts.items() if key}
    return any(document.has_layer(WORDS) for document in file_format.loads(texts[""], **sidecars))


def sidecar_path(path: Path, name: str) -> Path:
    """Return the path of a file that belongs to another; ``{stem}`` is that one's stem."""
    return path.parent / name.replace("{stem}", path.stem)


def read(
    path: Path,
    file_format: Format,
    options: Options,
    sidecar_names: Mapping[str, str] | None = None,
    encoding: str = UTF8,
) -> Iterator[Document]:
    """Yield the documents of a file; ``sidecar_names`` replaces default names of its sidecar files.

    Raises ``FormatError`` for files that cannot be read, for bytes that are not of the encoding,
    and as ``loads`` does.
    """
    paths = {
        key: sidecar_path(path, (sidecar_names or {}).get(key, name))
        for key, name in file_format.sidecars.items()
    }
    texts = {key: _read_text(sidecar_path, encoding) for key, sidecar_path in paths.items()}
    text = _read_bytes(path) if file_format.binary else _read_text(path, encoding)
    yield from file_format.loads(text, path=str(path), options=options, **texts)


def name_documents(
    documents: Iterable[Document], stem: str, *, first: int = 1
) -> Iterator[Document]:
    """Yield the documents; one without a name is ``stem`` with its number, from ``first``."""
    for number, document in enumerate(documents, first):
        yield document if document.name else replace(document, name=f"{stem}-{number:05}")


def write(
    path: Path,
    documents: Iterable[Document],
    file_format: Format,
    options: Options,
    sidecar_names: Mapping[str, str] | None = None,
) -> tuple[Path, ...]:
    """Write documents as one file with its sidecar files; return the written paths.

    Each file is written atomically. Raises ``StorageError``, also as ``check_sidecars`` does, and
    ``DocumentError`` if the format cannot express a document.
    """
    check_sidecars(path, file_format, sidecar_names)
    output = file_format.dumps(documents, options=options)
    texts = output if file_format.sidecars else {"": output}
    written = []
    for key, text in texts.items():
        name = (sidecar_names or {}).get(key) or file_format.sidecars.get(key, "")
        target = sidecar_path(path, name) if key else path
        write_file(target, text if file_format.binary else _encode(text, target))
        written.append(target)
    return tuple(written)


def check_sidecars(
    path: Path, file_format: Format, sidecar_names: Mapping[str, str] | None = None
) -> None:
    """Raise ``StorageError`` for a sidecar file that is there, unless it is ``path``'s or named.

    It may belong to another file, as default names are often those of all files in a folder.
    """
    if path.exists():
        return
    for key, name in file_format.sidecars.items():
        sidecar = sidecar_path(path, name)
        if not (sidecar_names or {}).get(key) and sidecar.exists():
            problem = "not replaced, as it may belong to another file"
            hint = f"write {path.name} to another folder, or convert it with --writer-option"
            raise StorageError(f"{sidecar}: {problem}; {hint} {key}=NAME")


def _encode(text: str, path: Path) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"{path}: half a character ({text[error.start]!r}) has no UTF-8"
        ) from error


def _read_text(path: Path, encoding: str) -> str:
    """Return the text of a file, line ends unchanged, without a byte order mark."""
    return decode_text(_read_bytes(path), path, encoding).removeprefix("\ufeff")


def _read_bytes(path: Path, max_bytes: int = -1) -> bytes:
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe can be read only once
        raise FormatError(str(path), None, "cannot be read: expected a file, got a pipe or device")
    try:
        with path.open("rb") as stream:
            return stream.read(max_bytes)
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error
