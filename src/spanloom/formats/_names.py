"""Turn the names that a file gives its documents into unique relative paths."""

import re

from spanloom.document import Document
from spanloom.formats._document_builder import DocumentBuilder

ID = "id"  # the key in ``meta`` of an id that cannot be a name

_WRONG = re.compile(r"[\\\x00-\x1f\x7f\ud800-\udfff]")
_NUMBERED = re.compile(r"s[0-9]{5,}")
_MAX_BYTES = 200  # of a path component; most file systems allow 255


def numbered(number: int) -> str:
    """Return the name of a document without one: its number in the file, from 1."""
    return f"s{number:05}"


def is_counted(name: str) -> bool:
    """Whether a name is just the document's number in its file."""
    return _NUMBERED.fullmatch(name) is not None


def usable(name: str) -> str:
    """Return a name as a relative path; invalid characters and an empty name become ``_``."""
    parts = _WRONG.sub("_", name).split("/")
    return "/".join(_clean_part(part) for part in parts)


class Names:
    """The names of one file's documents, each used once."""

    def __init__(self) -> None:
        """Begin without names."""
        self._count_of: dict[str, int] = {}

    def of(self, requested: str) -> str:
        """Return a valid name not yet used; a second ``a`` becomes ``a~2``."""
        base = usable(requested)
        name = base
        while name in self._count_of:
            self._count_of[base] += 1
            name = f"{base}~{self._count_of[base]}"
        self._count_of[name] = 1
        return name

    def making(self, requested: str) -> DocumentBuilder:
        """Begin the document with that id, which ``meta`` keeps if the name differs from it."""
        name = self.of(requested)
        return DocumentBuilder(name, [] if name == requested else [(ID, requested)])


def own(document: Document) -> str:
    """Return the id of a document in its file: its name, unless ``meta`` holds another."""
    return dict(document.meta).get(ID, document.name)


def _clean_part(part: str) -> str:
    """Return a valid path component: not empty, not only dots, not too long."""
    if not part.strip(" ."):
        return "_" * max(1, len(part))
    return part.encode()[:_MAX_BYTES].decode(errors="ignore")
