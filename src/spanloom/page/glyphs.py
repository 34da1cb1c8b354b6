"""How text looks in columns: what a control character is shown as, how wide characters stand.

A column is the width of ``0`` in a monospaced font. Combining marks take none, wide CJK and emoji
take two. These are the terminal's rules; the page fits its words to the same widths.
"""

import unicodedata
from functools import lru_cache

_JOINERS = "\u200c\u200d"  # shape their neighbours (Persian, Indic, emoji), so they are left alone
_NUMBER_SIGNS = range(0x0600, 0x0606)  # format characters by category that do have a glyph
_FLAG_TAGS = range(0xE0020, 0xE0080)  # spell the flags of Scotland and Wales inside an emoji
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_RIGHT = frozenset({"R", "AL"})


def _is_hidden(char: str) -> bool:
    if char in _JOINERS or ord(char) in _NUMBER_SIGNS or ord(char) in _FLAG_TAGS:
        return False
    return unicodedata.category(char) in _HIDDEN


def _symbol(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨{code:04X}⟩"


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    return _symbol(char) if _is_hidden(char) else char


def visible(text: str) -> str:
    """Return the text with every character that hides or reorders text replaced by a sign of it.

    ``\\t`` becomes ``␉``, a right-to-left override ``⟨202E⟩``; lone surrogates too, so the result
    can always be written as UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


@lru_cache(maxsize=4096)
def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def columns(text: str) -> int:
    """Return how many columns the text takes, as it is (so after ``visible``)."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def elide(text: str, width: int) -> str:
    """Return the text cut to ``width`` columns, the last of them ``…`` where something was cut."""
    if columns(text) <= width:
        return text
    kept, used = [], 0
    for char in text:
        used += _columns(char)
        if used > width - 1:
            break
        kept.append(char)
    return "".join(kept) + "…" * (width > 0)


def is_right_to_left(text: str) -> bool | None:
    """Return the direction of the first letter that has one, None where no character has."""
    if text.isascii() and not any(map(str.isalpha, text)):
        return None
    for char in text:
        direction = unicodedata.bidirectional(char)
        if direction == "L":
            return False
        if direction in _RIGHT:
            return True
    return None
