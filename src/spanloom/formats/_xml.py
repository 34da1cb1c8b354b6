"""Parse untrusted XML: no custom entities, no network, no external files; and escape text."""

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from lxml import etree

from spanloom.document import Document
from spanloom.errors import FormatError

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CONTENT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE_ESCAPES = _CONTENT_ESCAPES | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def parse_xml(text: str, path: str) -> Any:
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


def child_elements(element: Any, path: str, *tags: str, namespace: str = "") -> list[Any]:
    """Return the child elements; raises ``FormatError`` for other tags, and for text."""
    children = list(element)
    for child in children:
        is_element = isinstance(child.tag, str)
        if not is_element or child.tag not in [namespace + tag for tag in tags]:
            got = child.tag.removeprefix(namespace) if is_element else "a comment or instruction"
            problem = f"expected <{'> or <'.join(tags)}>, got {got:.60}"
            raise FormatError(path, child.sourceline, problem)
    loose_text = "".join([element.text or "", *(child.tail or "" for child in children)]).strip()
    if loose_text:
        parent = element.tag.removeprefix(namespace)
        problem = f"expected no text in <{parent}>, got {loose_text!r:.60}"
        raise FormatError(path, element.sourceline, problem)
    return children


def check_element(
    element: Any,
    tag: str,
    path: str,
    known: Collection[str] | None = None,
    *,
    namespace: str = "",
) -> None:
    """Raise ``FormatError`` for another tag, or an attribute that is not ``known`` (None: all)."""
    if element.tag != namespace + tag:
        problem = f"expected <{namespace}{tag}>, got {element.tag!r:.60}"
        raise FormatError(path, element.sourceline, problem)
    if known is not None and (unknown := [key for key in element.attrib if key not in known]):
        choices = ", ".join(known) or "none"
        problem = f"unknown attribute {unknown[0]!r:.60} of <{tag}>; known: {choices}"
        raise FormatError(path, element.sourceline, problem)


def escape_text(text: str) -> str:
    """Return a text as XML content; characters that XML forbids become U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text).translate(_CONTENT_ESCAPES)


def quote_attribute(text: str) -> str:
    """Return a text as an attribute value, with its quotes."""
    return f'"{_FORBIDDEN.sub(chr(0xFFFD), text).translate(_ATTRIBUTE_ESCAPES)}"'


ORDER = "order"  # the label of notes that hold a tag's row and depth

_ORDER = re.compile(r"[0-9]{1,9} [0-9]{1,9}")


class Tag(NamedTuple):
    """A tag with its words ``[first, end)`` and its nesting depth."""

    name: str
    attributes: dict[str, str]
    depth: int
    first: int
    end: int
    row: int = -1  # its index among the tags


class About:
    """The attributes and notes of a layer's tags."""

    def __init__(self, document: Document, layer: str) -> None:
        """Collect them by span id."""
        self.attributes_of: dict[str, dict[str, str]] = {}
        self.order: dict[str, tuple[int, int]] = {}
        annotated = document.layer_or_empty(layer)
        for attribute in annotated.attributes:
            if attribute.value is not None:
                self.attributes_of.setdefault(attribute.target, {}).setdefault(
                    attribute.label, attribute.value
                )
        for note in annotated.notes:
            if note.label == ORDER and _ORDER.fullmatch(note.text):
                row, depth = note.text.split()
                self.order[note.target] = int(row), int(depth)

    def tag(self, name: str, span: str, first: int, end: int) -> Tag:
        """Return the tag of a span."""
        row, depth = self.order.get(span, (-1, 0))
        return Tag(name, self.attributes_of.get(span, {}), depth, first, end, row)


def nesting_order(tags: Sequence[Tag]) -> bool:
    """Whether tags in this order, with these depths, nest correctly."""
    stack: list[Tag] = []
    min_start = 0
    for tag in tags:
        while stack and len(stack) >= tag.depth:
            min_start = max(min_start, stack.pop().end)
        outer = stack[-1].end if stack else tag.end
        if tag.depth != len(stack) + 1 or not min_start <= tag.first <= tag.end <= outer:
            return False
        min_start = tag.first
        stack.append(tag)
    return True
