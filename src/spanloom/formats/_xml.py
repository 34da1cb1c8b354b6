"""Parse untrusted XML: no custom entities, no network, no external files; and escape text."""

import re
from typing import Any

from lxml import etree

from spanloom.errors import FormatError

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CONTENT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE_ESCAPES = _CONTENT_ESCAPES | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def parsed(text: str, path: str) -> Any:
    """Return the root element; each element has its line (``sourceline``).

    Raises ``FormatError`` for broken XML and for a document type, which is useless with entities
    switched off.
    """
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=False,
    )
    try:
        root = etree.fromstring(text.encode("utf-8"), parser)
    except (etree.XMLSyntaxError, ValueError) as error:  # ValueError: an unpaired surrogate
        line = getattr(error, "lineno", None) or 1
        first_line = str(error).splitlines()[0]
        raise FormatError(path, line, f"not XML: {first_line:.200}") from error
    if root.getroottree().docinfo.doctype:
        raise FormatError(path, 1, "expected XML without a document type (<!DOCTYPE>)")
    return root


def escaped(text: str) -> str:
    """Return a text as XML content; characters that XML forbids become U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text).translate(_CONTENT_ESCAPES)


def quoted(text: str) -> str:
    """Return a text as an attribute value, with its quotes."""
    return f'"{_FORBIDDEN.sub(chr(0xFFFD), text).translate(_ATTRIBUTE_ESCAPES)}"'
