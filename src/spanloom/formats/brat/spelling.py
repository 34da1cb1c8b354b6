"""Escape and unescape labels, layers and free text for brat files.

A type is ``layer__Label``, or ``Label`` if no layer is named. A character that brat refuses in a
type is written ``_xHH_`` (its code point in lower-case hexadecimal), an empty text ``_x_``. An
underscore is written ``_x5f_`` where it would otherwise be read as part of an escape or as the
border between layer and label. Reading undoes an escape only where writing would have made it, so
both directions are exact.
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
    """Return the brat type of a label, prefixed by the layer if one is given."""
    if layer is None:
        return _escape_word(label, "", splits=True)
    return _escape_word(layer, "__", splits=True) + "__" + _escape_word(label, "", splits=False)


@lru_cache(maxsize=4096)
def read_type(escaped: str) -> tuple[str | None, str]:
    """Return layer (None if the type names none) and label of a brat type; no label is blank."""
    layer, label = _split_type(escaped)
    if label.strip(BLANKS) and write_type(label, layer) == escaped:
        return layer, label
    return None, escaped


@lru_cache(maxsize=4096)
def write_name(text: str) -> str:
    """Return a role or the name of a resource as one word without a colon."""
    return _escape_word(text, "", splits=False)


def read_name(escaped: str) -> str:
    """Return the text that ``write_name`` wrote."""
    if "_x" not in escaped:
        return escaped
    text = _unescape(escaped)
    return text if write_name(text) == escaped else escaped


def write_key(text: str) -> str:
    """Return a resource's key without blanks."""
    return _escape(text, str.isspace) or "_x_"


def read_key(escaped: str) -> str:
    """Return the text that ``write_key`` wrote."""
    if "_x" not in escaped:
        return escaped
    text = _unescape(escaped)
    return text if write_key(text) == escaped else escaped


def write_text(text: str, *, tabs: bool = True) -> str:
    """Return free text on one line, outer blanks escaped; ``tabs``: tabs may stay as they are."""
    needs_no_escape = (
        "_x" not in text and text == text.strip() and not any(char in text for char in _BREAKS)
    )
    if needs_no_escape and (tabs or "\t" not in text):
        return text
    refused = _BREAKS if tabs else _BREAKS + "\t"
    start = len(text) - len(text.lstrip())
    end = max(start, len(text.rstrip()))
    middle = _escape(text[start:end], lambda char: char in refused, _escape(text[end:], _always))
    return _escape(text[:start], _always) + middle + _escape(text[end:], _always)


def read_text(escaped: str, *, tabs: bool = True) -> str:
    """Return the text that ``write_text`` wrote; outer blanks are ignored."""
    stripped = escaped.strip()
    if "_x" not in stripped:
        return stripped
    text = _unescape(stripped)
    return text if write_text(text, tabs=tabs) == stripped else stripped


def _split_type(escaped: str) -> tuple[str | None, str]:
    """Split a type into layer and label at the first border that is not part of an escape."""
    for token in _BORDER.finditer(escaped):
        if token[0] == "__":
            return _unescape(escaped[: token.start()]), _unescape(escaped[token.end() :])
    return None, _unescape(escaped)


def _unescape(escaped: str) -> str:
    """Replace all escapes by their characters."""
    return _ESCAPE.sub(_character, escaped)


def _character(escape: re.Match[str]) -> str:
    """Return the character of an escape, the escape itself if it stands for none."""
    if not escape[1]:
        return ""
    code = int(escape[1], 16)
    is_character = code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF  # a surrogate is none
    return chr(code) if is_character else escape[0]


def _escape_word(text: str, ahead: str, *, splits: bool) -> str:
    """Escape characters not allowed in a type; ``splits``: ``__`` would be read as the border."""
    return _escape(text, _is_refused, ahead, splits=splits) or "_x_"


def _is_refused(char: str) -> bool:
    """Whether brat refuses the character in a type."""
    return not (char.isalnum() or char in "_-")


def _always(_: str) -> bool:
    """Return True: escape each character."""
    return True


def _escape(
    text: str, refused: Callable[[str], bool], ahead: str = "", *, splits: bool = False
) -> str:
    """Escape from right to left, as the meaning of an underscore depends on what follows it."""
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
