"""Tell what is wrong with a file whose format cannot be told."""

from collections.abc import Iterator
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats import _files
from spanloom.formats._annotated_texts import json_or_none
from spanloom.formats._json import json_lines, parse_json
from spanloom.formats._text import UTF8, decode_text

_MAX_BYTES = 1_000_000  # of a file that are searched for what is wrong
_MIN_ROWS = 2  # that tell a format


def problem_of(path: Path, encoding: str = UTF8) -> FormatError | None:
    """Return what is wrong with a file, by the only format that its first rows or its name fit.

    None if several or none fit, if the reader of the format accepts the file, or if it cannot be
    read at all.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if not data.strip():
        return FormatError(str(path), None, "is empty")
    try:
        head = _files.decode_head(data[:_MAX_BYTES], path, encoding)
        name, beginning = _likely_format(head, path)
    except FormatError as error:
        return error
    try:
        if name is not None:
            _read(path, name, beginning, encoding)
        elif head.lstrip().startswith(("{", "[")):
            _parse(decode_text(data, path, encoding).removeprefix("\ufeff"), str(path))
    except FormatError as error:
        reader = "" if name is None else f" (read as {name}; spanloom convert --from says another)"
        return FormatError(str(path), error.line, error.problem + reader)
    return None


def _likely_format(head: str, path: Path) -> tuple[str | None, str]:
    """Return the only format that the longest recognized beginning fits, else the file's ending."""
    format_of = {
        name: file_format
        for name, file_format in _files.detectable_formats().items()
        if not file_format.binary
    }
    for beginning in _beginnings(head):
        matching = [name for name, form in format_of.items() if form.sniff(beginning, path.name)]
        if len(matching) == 1:
            return matching[0], beginning
    by_ending = [
        name for name, form in format_of.items() if path.name.lower().endswith(form.suffixes)
    ]
    return (by_ending[0] if len(by_ending) == 1 else None), head


def _beginnings(head: str) -> Iterator[str]:
    """Yield half of the rows, a quarter of them, and so on: one before the first bad row."""
    rows = head.splitlines(keepends=True)
    size = len(rows)
    while (size := size // 2) >= _MIN_ROWS:
        yield "".join(rows[:size])


def _read(path: Path, name: str, beginning: str, encoding: str) -> None:
    """Read a file as a format, with the options that its beginning shows; raises its errors."""
    file_format = _files.load(name)
    options = file_format.options(**file_format.sniff_options(beginning))
    for _ in _files.read(path, file_format, options, encoding=encoding):
        pass


def _parse(text: str, path: str) -> None:
    """Parse JSON, or JSON lines where the first line is a value; raises ``FormatError``."""
    try:
        parse_json(text, path)
    except FormatError:
        if json_or_none(text.lstrip().partition("\n")[0]) is None:
            raise
        for _ in json_lines(text, path):
            pass
