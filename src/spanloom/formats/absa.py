"""Aspects and their polarities, as the XML of SemEval-2014 task 4 has them.

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
polarity, or ``term`` where none is given (test data). Categories are said of the whole sentence:
layer ``categories`` has a span over the text for each, its polarity an attribute; it is absent
where the sentence has none. (Pontiki et al., 2014)
"""

from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.config.options import Options
from spanloom.document import Document, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing
from spanloom.formats._xml import escaped, parsed, quoted
from spanloom.forms.aspects import ASPECTS, TERM

CATEGORIES = "categories"
POLARITY = "polarity"

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_LONGEST = 9  # digits of an offset


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield a document a sentence; raises ``FormatError``: path, line, what was expected."""
    if not text.strip():
        return
    names = Names()
    root = parsed(text, path)
    _expect(root, "sentences", (), path)
    for sentence in _children(root, path, "sentence"):
        _expect(sentence, "sentence", ("id",), path)
        yield _document(sentence, names, path)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the file; what XML may not hold becomes U+FFFD."""
    lines = (line + "\n" for each in documents for line in _sentence(each))
    return "".join([_HEAD, "<sentences>\n", *lines, "</sentences>\n"])


def _document(sentence: Any, names: Names, path: str) -> Document:
    """Return the document of a sentence."""
    made = names.making(sentence.get("id", ""))
    children = _children(sentence, path, "text", "aspectTerms", "aspectCategories")
    tags = [each.tag for each in children]
    if tags[:1] != ["text"] or len(set(tags)) < len(tags):
        problem = "expected <text>, then at most one <aspectTerms> and one <aspectCategories>"
        raise FormatError(path, sentence.sourceline, f"{problem}, got {', '.join(tags) or 'none'}")
    _expect(children[0], "text", (), path, leaf=True)
    text = children[0].text or ""
    made.raw(text)
    made.layer(ASPECTS)
    for child in children[1:]:
        if child.tag == "aspectTerms":
            for each in _children(child, path, "aspectTerm"):
                _term(made, each, text, path)
        else:
            made.layer(CATEGORIES)
            for each in _children(child, path, "aspectCategory"):
                _category(made, each, text, path)
    return made.done()


def _term(made: Making, element: Any, text: str, path: str) -> None:
    """Add the span of a term."""
    _expect(element, "aspectTerm", ("term", POLARITY, "from", "to"), path, leaf=True)
    start, end = (_offset(element, key, path) for key in ("from", "to"))
    if not 0 <= start <= end <= len(text) or text[start:end] != element.get("term"):
        problem = f"expected the term {element.get('term')!r:.60} at {start}..{end}"
        raise FormatError(path, element.sourceline, f"{problem}, got {text[start:end]!r:.60}")
    made.span(ASPECTS, element.get(POLARITY, TERM), (start, end))


def _category(made: Making, element: Any, text: str, path: str) -> None:
    """Add the span of a category, over the whole text."""
    _expect(element, "aspectCategory", ("category", POLARITY), path, leaf=True)
    span = made.span(CATEGORIES, element.get("category", ""), (0, len(text)))
    if POLARITY in element.attrib:
        made.attribute(CATEGORIES, POLARITY, span, element.get(POLARITY))


def _offset(element: Any, key: str, path: str) -> int:
    """Return the number that an attribute is."""
    said = element.get(key, "")
    if not (said.isascii() and said.isdecimal() and len(said) <= _LONGEST):
        problem = f"expected a character's number in {key}, got {said!r:.60}"
        raise FormatError(path, element.sourceline, problem)
    return int(said)


def _children(element: Any, path: str, *tags: str) -> list[Any]:
    """Return the elements in an element; ``FormatError`` for one of another name, and for text."""
    found = list(element)
    for each in found:
        if each.tag not in tags:
            got = each.tag if isinstance(each.tag, str) else "a comment or instruction"
            problem = f"expected <{'> or <'.join(tags)}>, got {got:.60}"
            raise FormatError(path, each.sourceline, problem)
    loose = "".join([element.text or "", *(each.tail or "" for each in found)]).strip()
    if loose:
        problem = f"expected no text in <{element.tag}>, got {loose!r:.60}"
        raise FormatError(path, element.sourceline, problem)
    return found


def _expect(
    element: Any, tag: str, keys: tuple[str, ...], path: str, *, leaf: bool = False
) -> None:
    """Raise ``FormatError`` unless an element has this name, these attributes, and no child."""
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


def _sentence(document: Document) -> Iterator[str]:
    """Yield the lines of a document."""
    yield f"    <sentence id={quoted(own(document))}>"
    plain = escaped(document.text).replace("&gt;", ">")  # as the release has it
    yield f"        <text>{plain.replace(']]>', ']]&gt;')}</text>"
    terms = [each for each in _spans(document, ASPECTS) if len(each.fragments) == 1]
    if terms:
        yield "        <aspectTerms>"
        yield from (_written_term(document, each) for each in terms)
        yield "        </aspectTerms>"
    if document.has(CATEGORIES):
        yield "        <aspectCategories>"
        yield from _written_categories(document)
        yield "        </aspectCategories>"
    yield "    </sentence>"


def _written_term(document: Document, span: Span) -> str:
    """Return the line of a term."""
    said = "" if span.label == TERM else f" polarity={quoted(span.label)}"
    term = quoted(document.cover(span))
    place = f'from="{span.start}" to="{span.end}"'
    return f"            <aspectTerm term={term}{said} {place}/>"


def _written_categories(document: Document) -> Iterator[str]:
    """Yield the lines of the categories."""
    polarity = {
        each.target: each.value
        for each in document[CATEGORIES].attributes
        if each.label == POLARITY and each.value is not None
    }
    for span in _spans(document, CATEGORIES):
        if span.fragments == ((0, len(document.text)),):
            said = f" polarity={quoted(polarity[span.id])}" if span.id in polarity else ""
            yield f"            <aspectCategory category={quoted(span.label)}{said}/>"


def _spans(document: Document, layer: str) -> tuple[Span, ...]:
    """Return the spans of a layer, none where it is absent."""
    return document[layer].spans if document.has(layer) else ()


def _lost(document: Document, options: Options) -> Losses:
    """Count all but terms without gaps and categories."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the first elements."""
    start = head.lstrip("\ufeff \t\r\n").removeprefix(_HEAD.strip()).lstrip()
    return start.startswith("<sentences>") and "<sentence id=" in start and "<text>" in start


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
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
