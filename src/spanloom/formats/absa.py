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

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spanloom.annotation.aspects import ASPECTS, TERM
from spanloom.config.options import Options
from spanloom.document import Document, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._xml import escape_text, parse_xml, quote_attribute

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
    _check_element(root, "sentences", (), path)
    for sentence in _children(root, path, "sentence"):
        _check_element(sentence, "sentence", ("id",), path)
        yield _parse_document(sentence, names, path)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the file; characters that XML cannot hold become U+FFFD."""
    lines = (line + "\n" for document in documents for line in _format_sentence(document))
    return "".join([_HEAD, "<sentences>\n", *lines, "</sentences>\n"])


def _parse_document(sentence: Any, names: Names, path: str) -> Document:
    """Return the document of a sentence."""
    builder = names.making(sentence.get("id", ""))
    children = _children(sentence, path, "text", "aspectTerms", "aspectCategories")
    tags = [child.tag for child in children]
    if tags[:1] != ["text"] or len(set(tags)) < len(tags):
        problem = "expected <text>, then at most one <aspectTerms> and one <aspectCategories>"
        raise FormatError(path, sentence.sourceline, f"{problem}, got {', '.join(tags) or 'none'}")
    _check_element(children[0], "text", (), path, leaf=True)
    text = children[0].text or ""
    builder.add_text(text)
    builder.layer(ASPECTS)
    for child in children[1:]:
        if child.tag == "aspectTerms":
            for element in _children(child, path, "aspectTerm"):
                _add_term(builder, element, text, path)
        else:
            builder.layer(CATEGORIES)
            for element in _children(child, path, "aspectCategory"):
                _add_category(builder, element, text, path)
    return builder.build()


def _add_term(builder: DocumentBuilder, element: Any, text: str, path: str) -> None:
    """Add the span of a term."""
    _check_element(element, "aspectTerm", ("term", POLARITY, "from", "to"), path, leaf=True)
    start, end = (_parse_offset(element, key, path) for key in ("from", "to"))
    if not 0 <= start <= end <= len(text) or text[start:end] != element.get("term"):
        problem = f"expected the term {element.get('term')!r:.60} at {start}..{end}"
        raise FormatError(path, element.sourceline, f"{problem}, got {text[start:end]!r:.60}")
    builder.span(ASPECTS, element.get(POLARITY, TERM), (start, end))


def _add_category(builder: DocumentBuilder, element: Any, text: str, path: str) -> None:
    """Add the span of a category, over the whole text."""
    _check_element(element, "aspectCategory", ("category", POLARITY), path, leaf=True)
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


def _children(element: Any, path: str, *tags: str) -> list[Any]:
    """Return the child elements; raises ``FormatError`` for other tags, and for text."""
    children = list(element)
    for child in children:
        if child.tag not in tags:
            got = child.tag if isinstance(child.tag, str) else "a comment or instruction"
            problem = f"expected <{'> or <'.join(tags)}>, got {got:.60}"
            raise FormatError(path, child.sourceline, problem)
    loose_text = "".join([element.text or "", *(child.tail or "" for child in children)]).strip()
    if loose_text:
        problem = f"expected no text in <{element.tag}>, got {loose_text!r:.60}"
        raise FormatError(path, element.sourceline, problem)
    return children


def _check_element(
    element: Any, tag: str, keys: tuple[str, ...], path: str, *, leaf: bool = False
) -> None:
    """Raise ``FormatError`` for another tag or attribute, and for a child of a leaf."""
    if element.tag != tag:
        raise FormatError(path, element.sourceline, f"expected <{tag}>, got {element.tag!r:.60}")
    for key in element.attrib:
        if key not in keys:
            problem = (
                f"unknown attribute {key!r:.60} of <{tag}>; known: {', '.join(keys) or 'none'}"
            )
            raise FormatError(path, element.sourceline, problem)
    if leaf and len(element):
        raise FormatError(path, element.sourceline, f"expected no element in <{tag}>")


def _format_sentence(document: Document) -> Iterator[str]:
    """Yield the lines of a document."""
    yield f"    <sentence id={quote_attribute(id_in_file(document))}>"
    text = escape_text(document.text).replace("&gt;", ">")  # as the release has it
    yield f"        <text>{text.replace(']]>', ']]&gt;')}</text>"
    terms = [span for span in _layer_spans(document, ASPECTS) if len(span.fragments) == 1]
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
    for span in _layer_spans(document, CATEGORIES):
        if span.fragments == ((0, len(document.text)),):
            polarity_attribute = (
                f" polarity={quote_attribute(polarity[span.id])}" if span.id in polarity else ""
            )
            category = quote_attribute(span.label)
            yield f"            <aspectCategory category={category}{polarity_attribute}/>"


def _layer_spans(document: Document, layer: str) -> Sequence[Span]:
    """Return the spans of a layer, none where it is absent."""
    return document[layer].spans if document.has_layer(layer) else ()


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
