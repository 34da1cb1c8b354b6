"""XML as strangers write it: no entities of its own, no network, nothing outside the file."""

import re
from typing import Any

from lxml import etree

from spanloom.errors import FormatError

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BETWEEN = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_WITHIN = _BETWEEN | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def parsed(text: str, path: str) -> Any:
    """Return the root element; each element knows its line (``sourceline``).

    Raises ``FormatError`` for broken XML and for a document type: with entities switched off there
    is nothing that it could say.
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
    except (etree.XMLSyntaxError, ValueError) as error:  # ValueError: half a character
        line = getattr(error, "lineno", None) or 1
        first = str(error).splitlines()[0]
        raise FormatError(path, line, f"not XML: {first:.200}") from error
    if root.getroottree().docinfo.doctype:
        raise FormatError(path, 1, "expected XML without a document type (<!DOCTYPE>)")
    return root


def escaped(text: str) -> str:
    """Return a text as XML holds it between tags; what no XML may hold becomes U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text).translate(_BETWEEN)


def quoted(text: str) -> str:
    """Return a text as the value of an attribute, with its quotes."""
    return f'"{_FORBIDDEN.sub(chr(0xFFFD), text).translate(_WITHIN)}"'
