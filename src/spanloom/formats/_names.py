"""Names of documents: what a file calls them, made usable as paths in a corpus, each only once."""

import re

from spanloom.document import Document
from spanloom.formats._making import Making

ID = "id"  # where ``meta`` keeps an id that is no name

_WRONG = re.compile(r"[\\\x00-\x1f\x7f\ud800-\udfff]")
_COUNTED = re.compile(r"s[0-9]{5,}")
_LONGEST = 200  # bytes of a part: most file systems take 255


def numbered(number: int) -> str:
    """Return the name of a document that its file gives none: its place, from 1."""
    return f"s{number:05}"


def is_counted(name: str) -> bool:
    """Whether a document has no name but its place in its file."""
    return _COUNTED.fullmatch(name) is not None


def usable(wanted: str) -> str:
    """Return a relative path: what is wrong for one is written ``_``; an empty one is ``_``."""
    parts = _WRONG.sub("_", wanted).split("/")
    return "/".join(_part(part) for part in parts)


class Names:
    """The names of one file's documents, so that no two are the same."""

    def __init__(self) -> None:
        """Begin with none."""
        self._times: dict[str, int] = {}

    def of(self, wanted: str) -> str:
        """Return a name that is usable and new; a second ``a`` is ``a~2``."""
        name = usable(wanted)
        made = name
        while made in self._times:
            self._times[name] += 1
            made = f"{name}~{self._times[name]}"
        self._times[made] = 1
        return made

    def making(self, wanted: str) -> Making:
        """Begin the document of that id, which ``meta`` keeps where the name differs from it."""
        name = self.of(wanted)
        return Making(name, [] if name == wanted else [(ID, wanted)])


def own(document: Document) -> str:
    """Return the id that a document had in its file: its name, unless ``meta`` says another."""
    return dict(document.meta).get(ID, document.name)


def _part(part: str) -> str:
    """Return a folder's or a file's name: neither nothing, nor dots alone, nor too long."""
    if not part.strip(" ."):
        return "_" * max(1, len(part))
    return part.encode()[:_LONGEST].decode(errors="ignore")
