"""Add to a document's file where it is: lines at its end, and nothing else is touched.

What is added follows from what the file holds while its lock is held (``appending``), so an
annotation that somebody else added meanwhile is there, and its id is taken.
"""

from collections.abc import Callable
from pathlib import Path

from spanloom.appending.extend import extend
from spanloom.document import Document
from spanloom.errors import StorageError
from spanloom.formats.brat.ids import mentions
from spanloom.formats.brat.page import home
from spanloom.formats.brat.read import PARTS, decoded, files, loads_parts, read_text_file
from spanloom.formats.brat.save import inside
from spanloom.formats.brat.write import added, separator

Merge = Callable[[Document], Document]


def append(root: Path, name: str, merge: Merge) -> int:
    """Add the new annotations that ``merge`` makes of a document; return how many.

    They go to the end of ``NAME.ann`` (of the last of split files) under ``root``, which is made if
    need be; that a layer is empty is not written. Raises ``StorageError`` as
    ``extend`` does and for what leads out of ``root``, ``FormatError`` where a file cannot be read,
    and what ``merge`` raises; then nothing is added.
    """
    base = inside(root, name)
    text = base.with_name(base.name + ".txt")
    if not text.resolve().is_relative_to(root.resolve()):
        raise StorageError(f"{text}: not written, it leads out of {root}")
    addition = _Addition(text, name, merge)
    if not addition.path.resolve().is_relative_to(root.resolve()):
        raise StorageError(f"{addition.path}: not written, it leads out of {root}")
    extend(addition.path, addition)
    return len(addition.lines)


class _Addition:
    """What is to be added to the file at ``path``."""

    def __init__(self, text: Path, name: str, merge: Merge) -> None:
        self._text, self._name, self._merge = text, name, merge
        found = files(text)
        self._suffix = home(found)
        self._beside = {
            suffix: found.get(suffix, text.with_name(text.name.removesuffix(".txt") + suffix))
            for suffix in dict.fromkeys((self._suffix, *found))
            if ".ann" not in found or suffix not in PARTS
        }
        self.path = self._beside[self._suffix]
        self.lines: list[str] = []

    def block(self, content: bytes) -> bytes:
        """Return the lines to add, the first one on a line of its own."""
        parts = {
            suffix: decoded(content, str(place))
            if suffix == self._suffix
            else read_text_file(place)
            for suffix, place in self._beside.items()
        }
        document = loads_parts(read_text_file(self._text), parts, name=self._name).document
        self.lines = added(self._merge(document))
        end = _line_end(parts[self._suffix])
        ahead = separator(parts[self._suffix], end) if self.lines else ""
        try:
            return (ahead + "".join(line + end for line in self.lines)).encode()
        except UnicodeEncodeError as error:
            raise StorageError(f"{self.path}: cannot be written as utf-8: {error}") from error

    def holds(self, block: bytes, more: bytes) -> bool:
        """Whether others added whole lines that share neither id nor content with ours."""
        if not more.endswith(block[-1:]) or block[:1] in b"\r\n":
            return False
        theirs = more.decode(errors="replace")
        if not set(mentions(theirs)).isdisjoint(line.partition("\t")[0] for line in self.lines):
            return False
        said = {line.partition("\t")[2] for line in theirs.replace("\r", "\n").split("\n")}
        return said.isdisjoint(line.partition("\t")[2] for line in self.lines)


def _line_end(content: str) -> str:
    """Return how lines of a file end, as reading cuts them."""
    if "\n" not in content:
        return "\r" if "\r" in content else "\n"
    return "\r\n" if content[: content.index("\n")].endswith("\r") else "\n"
