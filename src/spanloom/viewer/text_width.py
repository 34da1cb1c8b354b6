"""Compute the width of text in terminal columns, and make hidden characters visible.

A column is the width of ``0`` in a monospaced font. Combining marks take none, wide CJK and emoji
take two: the terminal's rules.
"""

import unicodedata
from functools import lru_cache

_ZWJ = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)  # tints of the preceding emoji
_JOINING_HANGUL = range(0x1160, 0x1200)  # Hangul letters that join the preceding syllable
_JOINERS = "\u200c\u200d"  # shape their neighbors (Persian, Indic, emoji), so they are kept
_NUMBER_SIGNS = range(0x0600, 0x0606)  # format characters by category that do have a glyph
_FLAG_TAGS = range(0xE0020, 0xE0080)  # spell the flags of Scotland and Wales inside an emoji
_VISIBLE_SIGNS = {"\t": "⇥", "\n": "⏎"}  # in every font, as the control pictures U+2400… are not
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def _is_hidden(character: str) -> bool:
    """Whether a character is invisible or reorders text."""
    if character in _JOINERS or ord(character) in _NUMBER_SIGNS or ord(character) in _FLAG_TAGS:
        return False
    return unicodedata.category(character) in _HIDDEN_CATEGORIES


def _symbol(character: str) -> str:
    """Return the sign shown for a hidden character."""
    return _VISIBLE_SIGNS.get(character, f"⟨{ord(character):02X}⟩")


@lru_cache(maxsize=4096)
def _visible_character(character: str) -> str:
    """Return the character, or the sign shown for it."""
    return _symbol(character) if _is_hidden(character) else character


def visible(text: str) -> str:
    """Return the text with every character that hides or reorders text replaced by a sign.

    ``\\t`` becomes ``⇥``, a right-to-left override ``⟨202E⟩``; lone surrogates are replaced too, so
    the result can always be encoded as UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible_character, text))


@lru_cache(maxsize=4096)
def _character_columns(character: str) -> int:
    """Return the number of columns of a character by itself."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or ord(character) in _SKIN_TONES:
        return 0
    if ord(character) in _JOINING_HANGUL:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def columns(text: str) -> int:
    """Return the number of columns of a text as it is (so call ``visible`` first)."""
    if text.isascii():
        return len(text)
    num_columns = sum(map(_character_columns, text))
    if _ZWJ in text:  # an emoji joined to the previous one has no width of its own
        pairs = zip(text, text[1:], strict=False)
        num_columns -= sum(
            2
            for previous, following in pairs
            if previous == _ZWJ and _character_columns(following) == 2
        )
    return num_columns


def elide(text: str, width: int) -> str:
    """Return the text truncated to ``width`` columns, the last one ``…`` if anything was cut."""
    if columns(text) <= width:
        return text
    kept_characters, used_columns = [], 0
    for character in text:
        used_columns += _character_columns(character)
        if used_columns > width - 1:
            break
        kept_characters.append(character)
    return "".join(kept_characters) + "…" * (width > 0)
