"""Read text files and report the line of invalid bytes."""

from pathlib import Path

from spanloom.errors import FormatError


def text_of(path: Path) -> str:
    """Return the text of a UTF-8 file, line ends as they are; raises ``FormatError``."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), None, f"cannot be read: {error.strerror}") from error
    return decoded(data, path)


def decoded(data: bytes, path: Path, encoding: str = "utf-8") -> str:
    """Decode bytes; raises ``FormatError`` with the line of the first wrong byte."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte {error.start} (0x{data[error.start]:02x}) is not utf-8"
        raise FormatError(str(path), line, problem) from error
