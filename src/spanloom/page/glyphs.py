"""How text looks in columns: what a control character is shown as, how wide characters stand.

A column is the width of ``0`` in a monospaced font. Combining marks take none, wide CJK and emoji
take two: the terminal's rules.
"""

import unicodedata
from functools import lru_cache

_ZWJ = "\u200d"
_SKIN = range(0x1F3FB, 0x1F400)  # tints of the emoji before them
_VOWELS = range(0x1160, 0x1200)  # Hangul letters that join the syllable before them
_JOINERS = "\u200c\u200d"  # shape their neighbours (Persian, Indic, emoji), so they are left alone
_NUMBER_SIGNS = range(0x0600, 0x0606)  # format characters by category that do have a glyph
_FLAG_TAGS = range(0xE0020, 0xE0080)  # spell the flags of Scotland and Wales inside an emoji
_SIGNS = {"\t": "⇥", "\n": "⏎"}  # in every font, as the control pictures U+2400… are not
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def _is_hidden(char: str) -> bool:
    if char in _JOINERS or ord(char) in _NUMBER_SIGNS or ord(char) in _FLAG_TAGS:
        return False
    return unicodedata.category(char) in _HIDDEN


def _symbol(char: str) -> str:
    return _SIGNS.get(char, f"⟨{ord(char):02X}⟩")


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    return _symbol(char) if _is_hidden(char) else char


def visible(text: str) -> str:
    """Return the text with every character that hides or reorders text replaced by a sign of it.

    ``\\t`` becomes ``⇥``, a right-to-left override ``⟨202E⟩``; lone surrogates too, so the result
    can always be written as UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


@lru_cache(maxsize=4096)
def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or ord(char) in _SKIN:
        return 0
    if ord(char) in _VOWELS:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def columns(text: str) -> int:
    """Return how many columns the text takes, as it is (so after ``visible``)."""
    if text.isascii():
        return len(text)
    total = sum(map(_columns, text))
    if _ZWJ in text:  # an emoji joined to the one before takes no room of its own
        pairs = zip(text, text[1:], strict=False)
        total -= sum(2 for one, other in pairs if one == _ZWJ and _columns(other) == 2)
    return total


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
