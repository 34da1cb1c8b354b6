"""Names of documents, which are those of files where JSON lines become a brat folder."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from spanloom.corpora.bounded_lines import bounded_lines
from spanloom.errors import FormatError
from spanloom.formats import _files

_GZ = ".gz"


def check_distinct_names(path: Path) -> None:
    """Raise ``FormatError`` for a file of JSON lines in which two documents have one name.

    Raises it as ``bounded_lines`` does, too. What is wrong with other lines is left to their
    reader, and so are other files.
    """
    if not path.name.endswith((".jsonl", f".jsonl{_GZ}")):
        return
    if path.suffix != _GZ and _files.guess(path) != "jsonl":
        return
    lines: dict[str, int] = {}
    for number, name in _names(path):
        if name in lines:
            problem = f"the document of line {lines[name]} has the name {name!r:.80}, too"
            raise FormatError(
                str(path), number, f"{problem}; expected a name of its own, as a file is called so"
            )
        lines[name] = number


def _names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line number and name of each document that has one, as far as they can be read."""
    try:
        with gzip.open(path) if path.suffix == _GZ else path.open("rb") as stream:
            lines = bounded_lines(stream.readline, str(path)) if path.suffix == _GZ else stream
            for number, line in enumerate(lines, 1):
                record = json.loads(line.decode("utf-8-sig")) if line.strip() else None
                if isinstance(record, dict) and isinstance(name := record.get("name"), str):
                    if name:
                        yield number, name
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        return
