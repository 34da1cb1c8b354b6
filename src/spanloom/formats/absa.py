"""Read and write aspects and their polarities, in the XML of SemEval-2014 task 4.

::

    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <sentences>
        <sentence id="7">
            <text>The soup was cold.</text>
            <aspectTerms>
                <aspectTerm term="soup" polarity="negative" from="4" to="8"/>
            </aspectTerms>
            <aspectCategories>
                <aspectCategory category="food" polarity="negative"/>
            </aspectCategories>
        </sentence>
    </sentences>

A document is a sentence of raw text. Layer ``aspects`` has a span for each term, labelled with its
polarity, or ``term`` where none is given (test data). Categories belong to the whole sentence:
layer ``categories`` has a span over the text for each, its polarity an attribute; the layer is
absent where the sentence has none. (Pontiki et al., 2014)
"""

from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.annotation.aspects import ASPECTS, TERM
from spanloom.config.options import Options
from spanloom.document import Document, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._xml import (
    check_element,
    child_elements,
    escape_text,
    parse_xml,
    quote_attribute,
)

CATEGORIES = "categories"
POLARITY = "polarity"

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAX_DIGITS = 9  # digits of an offset


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield one document per sentence; raises ``FormatError``: path, line, what was expected."""
    if not text.strip():
        return
    names = Names()
    root = parse_xml(text, path)
    check_element(root, "sentences", path, ())
    for sentence in child_elements(root, path, "sentence"):
        check_element(sentence, "sentence", path, ("id",))
        yield _parse_document(sentence, names, path)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the file; characters that XML cannot hold become U+FFFD."""
    lines = (line + "\n" for document in documents for line in _format_sentence(document))
    return "".join([_HEAD, "<sentences>\n", *lines, "</sentences>\n"])


def _parse_document(sentence: Any, names: Names, path: str) -> Document:
    """Return the document of a sentence."""
    builder = names.making(sentence.get("id", ""))
    children = child_elements(sentence, path, "text", "aspectTerms", "aspectCategories")
    tags = [child.tag for child in children]
    if tags[:1] != ["text"] or len(set(tags)) < len(tags):
        problem = "expected <text>, then at most one <aspectTerms> and one <aspectCategories>"
        raise FormatError(path, sentence.sourceline, f"{problem}, got {', '.join(tags) or 'none'}")
    _check_leaf(children[0], "text", path, ())
    text = children[0].text or ""
    builder.add_text(text)
    builder.layer(ASPECTS)
    for child in children[1:]:
        if child.tag == "aspectTerms":
            for element in child_elements(child, path, "aspectTerm"):
                _add_term(builder, element, text, path)
        else:
            builder.layer(CATEGORIES)
            for element in child_elements(child, path, "aspectCategory"):
                _add_category(builder, element, text, path)
    return builder.build()


def _add_term(builder: DocumentBuilder, element: Any, text: str, path: str) -> None:
    """Add the span of a term."""
    _check_leaf(element, "aspectTerm", path, ("term", POLARITY, "from", "to"))
    start, end = (_parse_offset(element, key, path) for key in ("from", "to"))
    if not 0 <= start <= end <= len(text) or text[start:end] != element.get("term"):
        problem = f"expected the term {element.get('term')!r:.60} at {start}..{end}"
        raise FormatError(path, element.sourceline, f"{problem}, got {text[start:end]!r:.60}")
    builder.span(ASPECTS, element.get(POLARITY, TERM), (start, end))


def _add_category(builder: DocumentBuilder, element: Any, text: str, path: str) -> None:
    """Add the span of a category, over the whole text."""
    _check_leaf(element, "aspectCategory", path, ("category", POLARITY))
    span = builder.span(CATEGORIES, element.get("category", ""), (0, len(text)))
    if POLARITY in element.attrib:
        builder.attribute(CATEGORIES, POLARITY, span, element.get(POLARITY))


def _parse_offset(element: Any, key: str, path: str) -> int:
    """Return the offset that an attribute gives; raises ``FormatError``."""
    value = element.get(key, "")
    if not (value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS):
        problem = f"expected a character's number in {key}, got {value!r:.60}"
        raise FormatError(path, element.sourceline, problem)
    return int(value)


def _check_leaf(element: Any, tag: str, path: str, known: tuple[str, ...]) -> None:
    """Raise ``FormatError`` for an element inside, and as ``check_element`` does."""
    check_element(element, tag, path, known)
    if len(element):
        raise FormatError(path, element.sourceline, f"expected no element in <{tag}>")


def _format_sentence(document: Document) -> Iterator[str]:
    """Yield the lines of a document."""
    yield f"    <sentence id={quote_attribute(id_in_file(document))}>"
    text = escape_text(document.text).replace("&gt;", ">")  # as the release has it
    yield f"        <text>{text.replace(']]>', ']]&gt;')}</text>"
    terms = [span for span in document.layer_or_empty(ASPECTS).spans if len(span.fragments) == 1]
    if terms:
        yield "        <aspectTerms>"
        yield from (_format_term(document, span) for span in terms)
        yield "        </aspectTerms>"
    if document.has_layer(CATEGORIES):
        yield "        <aspectCategories>"
        yield from _format_categories(document)
        yield "        </aspectCategories>"
    yield "    </sentence>"


def _format_term(document: Document, span: Span) -> str:
    """Return the line of a term."""
    polarity = "" if span.label == TERM else f" polarity={quote_attribute(span.label)}"
    term = quote_attribute(document.text_of(span))
    offsets = f'from="{span.start}" to="{span.end}"'
    return f"            <aspectTerm term={term}{polarity} {offsets}/>"


def _format_categories(document: Document) -> Iterator[str]:
    """Yield the lines of the categories."""
    polarity = {
        attribute.target: attribute.value
        for attribute in document[CATEGORIES].attributes
        if attribute.label == POLARITY and attribute.value is not None
    }
    for span in document[CATEGORIES].spans:
        if span.fragments == ((0, len(document.text)),):
            polarity_attribute = (
                f" polarity={quote_attribute(polarity[span.id])}" if span.id in polarity else ""
            )
            category = quote_attribute(span.label)
            yield f"            <aspectCategory category={category}{polarity_attribute}/>"


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the first elements."""
    start = head.lstrip("\ufeff \t\r\n").removeprefix(_HEAD.strip()).lstrip()
    return start.startswith("<sentences>") and "<sentence id=" in start and "<text>" in start


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".xml",),
    _HEAD + "<sentences>\n"
    '    <sentence id="7:1">\n'
    '        <text>The soup &amp; the &lt;10€> "wine" were cold.</text>\n'
    "        <aspectTerms>\n"
    '            <aspectTerm term="soup" polarity="negative" from="4" to="8"/>\n'
    '            <aspectTerm term="&quot;wine&quot;" from="21" to="27"/>\n'
    "        </aspectTerms>\n"
    "        <aspectCategories>\n"
    '            <aspectCategory category="food" polarity="negative"/>\n'
    '            <aspectCategory category="anecdotes/miscellaneous"/>\n'
    "        </aspectCategories>\n"
    "    </sentence>\n"
    '    <sentence id="8">\n'
    "        <text>So. </text>\n"
    "    </sentence>\n"
    "</sentences>\n",
)
