"""Append annotations to a document's file in place; nothing else in the file is touched.

The added lines follow from the file's content while its lock is held (``appending``), so an
annotation that another process added meanwhile is seen, and its id counts as taken.
"""

from collections.abc import Callable
from pathlib import Path

from spanloom.annotation_ids import find_ids
from spanloom.appending import extend
from spanloom.document import Document
from spanloom.errors import StorageError
from spanloom.formats._text import decode_text
from spanloom.formats.brat.ann_writer import home
from spanloom.formats.brat.read import PARTS, files, loads_parts, read_text_file
from spanloom.formats.brat.save import inside
from spanloom.formats.brat.write import new_lines, separator

Merge = Callable[[Document], Document]


def append(root: Path, name: str, merge: Merge) -> int:
    """Add the new annotations that ``merge`` makes of a document; return how many.

    They go to the end of ``NAME.ann`` (or of the last split file) under ``root``, which is made if
    it does not exist; that a layer is empty is not written. Raises ``StorageError`` as ``extend``
    does and for a path that leads out of ``root``, ``FormatError`` if a file cannot be read, and
    any error of ``merge``; then nothing is added.
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
    """The lines to append to the file at ``path``."""

    def __init__(self, text: Path, name: str, merge: Merge) -> None:
        self._text, self._name, self._merge = text, name, merge
        paths = files(text)
        self._suffix = home(paths)
        self._paths = {
            suffix: paths.get(suffix, text.with_name(text.name.removesuffix(".txt") + suffix))
            for suffix in dict.fromkeys((self._suffix, *paths))
            if ".ann" not in paths or suffix not in PARTS
        }
        self.path = self._paths[self._suffix]
        self.lines: list[str] = []

    def block(self, content: bytes) -> bytes:
        """Return the lines to add as bytes; the first one begins a new line."""
        parts = {
            suffix: decode_text(content, path) if suffix == self._suffix else read_text_file(path)
            for suffix, path in self._paths.items()
        }
        document = loads_parts(read_text_file(self._text), parts, name=self._name).document
        self.lines = new_lines(self._merge(document))
        end = _line_end(parts[self._suffix])
        lead = separator(parts[self._suffix], end) if self.lines else ""
        try:
            return (lead + "".join(line + end for line in self.lines)).encode()
        except UnicodeEncodeError as error:
            raise StorageError(f"{self.path}: cannot be written as utf-8: {error}") from error

    def holds(self, block: bytes, more: bytes) -> bool:
        """Whether another process added only whole lines, with other ids and contents than ours."""
        if not more.endswith(block[-1:]) or block[:1] in b"\r\n":
            return False
        other_text = more.decode(errors="replace")
        if not set(find_ids(other_text)).isdisjoint(line.partition("\t")[0] for line in self.lines):
            return False
        other_contents = {
            line.partition("\t")[2] for line in other_text.replace("\r", "\n").split("\n")
        }
        return other_contents.isdisjoint(line.partition("\t")[2] for line in self.lines)


def _line_end(content: str) -> str:
    """Return the line end of a file, as ``draft.split_lines`` splits it."""
    if "\n" not in content:
        return "\r" if "\r" in content else "\n"
    return "\r\n" if content[: content.index("\n")].endswith("\r") else "\n"
