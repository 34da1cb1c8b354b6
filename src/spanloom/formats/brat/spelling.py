"""How labels, layers and free text are spelled in a brat file.

A type is ``layer__Label``, or ``Label`` where no layer is named. A character that brat refuses in a
type is written ``_xHH_`` (its code point, lower-case hexadecimal), nothing at all as ``_x_``. An
underscore is written ``_x5f_`` where it would otherwise be taken for part of an escape or for the
border between layer and label. Reading undoes an escape only where writing would have made it, so
that both directions are exact.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from spanloom.document import BLANKS

_ESCAPE = re.compile(r"_x([0-9a-f]{0,6})_")
_AFTER_UNDERSCORE = re.compile(r"x[0-9a-f]{0,6}_")
_BORDER = re.compile(r"_x[0-9a-f]{0,6}_|__")
_BREAKS = "\n\r"


@lru_cache(maxsize=4096)
def write_type(label: str, layer: str | None = None) -> str:
    """Return the brat type of a label, with the layer in front where one is given."""
    if layer is None:
        return _word(label, "", splits=True)
    return _word(layer, "__", splits=True) + "__" + _word(label, "", splits=False)


@lru_cache(maxsize=4096)
def read_type(written: str) -> tuple[str | None, str]:
    """Return layer (None where the type names none) and label of a brat type, never a blank one."""
    layer, label = _divide(written)
    if label.strip(BLANKS) and write_type(label, layer) == written:
        return layer, label
    return None, written


@lru_cache(maxsize=4096)
def write_name(text: str) -> str:
    """Return a role or the name of a resource as one word without a colon."""
    return _word(text, "", splits=False)


def read_name(written: str) -> str:
    """Return what ``write_name`` wrote."""
    if "_x" not in written:
        return written
    text = _plain(written)
    return text if write_name(text) == written else written


def write_key(text: str) -> str:
    """Return a key of a resource without blanks."""
    return _escaped(text, str.isspace) or "_x_"


def read_key(written: str) -> str:
    """Return what ``write_key`` wrote."""
    if "_x" not in written:
        return written
    text = _plain(written)
    return text if write_key(text) == written else written


def write_text(text: str, *, tabs: bool = True) -> str:
    """Return free text on one line, its outer blanks kept; ``tabs``: may stand as they are."""
    plain = "_x" not in text and text == text.strip() and not any(c in text for c in _BREAKS)
    if plain and (tabs or "\t" not in text):
        return text
    refused = _BREAKS if tabs else _BREAKS + "\t"
    first = len(text) - len(text.lstrip())
    last = max(first, len(text.rstrip()))
    inner = _escaped(text[first:last], lambda c: c in refused, _escaped(text[last:], _always))
    return _escaped(text[:first], _always) + inner + _escaped(text[last:], _always)


def read_text(written: str, *, tabs: bool = True) -> str:
    """Return the text that ``write_text`` wrote; outer blanks do not count."""
    bare = written.strip()
    if "_x" not in bare:
        return bare
    text = _plain(bare)
    return text if write_text(text, tabs=tabs) == bare else bare


def _divide(written: str) -> tuple[str | None, str]:
    """Split at the first border that is no part of an escape."""
    for token in _BORDER.finditer(written):
        if token[0] == "__":
            return _plain(written[: token.start()]), _plain(written[token.end() :])
    return None, _plain(written)


def _plain(written: str) -> str:
    """Undo every escape."""
    return _ESCAPE.sub(_character, written)


def _character(escape: re.Match[str]) -> str:
    """Return the character of one escape, the escape itself where there is none."""
    if not escape[1]:
        return ""
    code = int(escape[1], 16)
    return chr(code) if code <= 0x10FFFF else escape[0]


def _word(text: str, ahead: str, *, splits: bool) -> str:
    """Escape what cannot stand in a type; ``splits``: a double underscore would be a border."""
    return _escaped(text, _refused, ahead, splits=splits) or "_x_"


def _refused(char: str) -> bool:
    """Whether brat refuses the character in a type."""
    return not (char.isalnum() or char in "_-")


def _always(_: str) -> bool:
    """Every character is to be escaped."""
    return True


def _escaped(
    text: str, refused: Callable[[str], bool], ahead: str = "", *, splits: bool = False
) -> str:
    """Escape from the right, for what an underscore means depends on what follows it."""
    pieces = []
    for char in reversed(text):
        if refused(char):
            piece = f"_x{ord(char):x}_"
        elif char == "_" and (_AFTER_UNDERSCORE.match(ahead) or (splits and ahead[:1] == "_")):
            piece = "_x5f_"
        else:
            piece = char
        pieces.append(piece)
        ahead = (piece + ahead)[:9]
    return "".join(reversed(pieces))
