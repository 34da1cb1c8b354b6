"""GUM's XML: a line a word, a line a tag (Zeldes, 2017).

::

    <text id="GUM_news_a" type="news">
    <p>
    <s type="decl">
    <ref target="https://example.org">
    Ada→NNP→Ada→NP0→PROPN→nsubj→_
    </ref>
    ran→VBD→run→VVD→VERB→root→_
    </s>
    </p>
    </text>

→ is a tab. A text is a document. Each ``<s>`` is a sentence, its attributes stand there. ``<ref>``
is a span of layer ``hyperlinks``, other tags are spans of layer ``markup``; their attributes are
attributes. A note ``order`` at each tag says its place among the tags and how many it stands in, as
tags around the same words, or around none, could not be told apart otherwise. The columns ``xpos``
and ``upos`` are layers, the others attributes of the word; ``_`` is no value.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line, cells, lines
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing
from spanloom.formats._tag_order import ORDER, About, Tag, nested
from spanloom.formats._xml import escaped, quoted

HYPERLINKS, MARKUP = "hyperlinks", "markup"

_NONE = "_"
_TAG_LAYERS = ("xpos", "upos")
_SENTENCE, _LINK, _TEXT = "s", "ref", "text"
_NAME = r"[A-Za-z_][\w:.-]*"
_OPEN = re.compile(rf'<({_NAME})((?:\s+{_NAME}\s*=\s*"[^"<]*")*)\s*>', re.ASCII)
_CLOSE = re.compile(rf"</({_NAME})\s*>", re.ASCII)
_VALUE = re.compile(rf'({_NAME})\s*=\s*"([^"<]*)"', re.ASCII)
_ENTITY = re.compile(r"&([^;&]*;?)")
_ENTITIES = {
    **{"amp;": "&", "lt;": "<", "gt;": ">", "quot;": '"', "apos;": "'"},
    **{"#10;": "\n", "#9;": "\t", "#13;": "\r"},
}


class GumXmlOptions(Options):
    """Which columns the words have."""

    columns: tuple[str, ...] = Field(
        default=("word", "xpos", "lemma", "claws5", "upos", "deprel", "segments"),
        min_length=1,
        description="names of the columns; the first is the word",
    )


def loads(
    text: str, *, path: str = "<string>", options: GumXmlOptions = GumXmlOptions()
) -> Iterator[Document]:
    """Yield a document a text; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    reading: _Reading | None = None
    for line in lines(text):
        if not line.text.strip():
            continue
        if reading is None:
            reading = _begun(line, names, path, options)
        elif reading.closes(line):
            yield reading.document()
            reading = None
    if reading is not None:
        raise FormatError(path, reading.line, f"expected </{reading.open[-1].name}>, got no more")


def dumps(documents: Iterable[Document], *, options: GumXmlOptions = GumXmlOptions()) -> str:
    """Return the texts, one after the other; what XML may not hold becomes U+FFFD."""
    return "".join(line + "\n" for each in documents for line in _text(each, options))


def _begun(line: Line, names: Names, path: str, options: GumXmlOptions) -> "_Reading":
    """Begin a text."""
    said = _opened(line, path)
    if said is None or said[0] != _TEXT:
        raise FormatError(path, line.number, f"expected <text …>, got {line.text!r:.60}")
    about = dict(said[1])
    made = names.making(about.pop("id")) if "id" in about else Making(names.of(_TEXT))
    made.meta += about.items()
    return _Reading(made, path, options, line.number)


class _Reading:
    """A text being read."""

    def __init__(self, made: Making, path: str, options: GumXmlOptions, line: int) -> None:
        """Stand behind ``<text>``."""
        self.made, self.path, self.options, self.line = made, path, options, line
        self.open = [Tag(_TEXT, {}, 0, 0, 0)]
        self.tags: list[Tag] = []  # by the places of their beginnings
        self.rows: list[list[str]] = []
        self.sentences: list[tuple[int, int]] = []

    def closes(self, line: Line) -> bool:
        """Take a line; return whether it ends the text."""
        self.line = line.number
        if not line.text.startswith("<"):
            self._word(line)
            return False
        match = _CLOSE.fullmatch(line.text)
        if match:
            return self._close(match[1])
        said = _opened(line, self.path)
        if said is None:
            raise self._wrong(f"expected a word, <TAG …> or </TAG>, got {line.text!r:.60}")
        if said[0] == _TEXT or (said[0] == _SENTENCE and self._inside()):
            raise self._wrong(f"expected no <{said[0]}> in <{said[0]}>")
        row = len(self.rows)
        self.tags.append(Tag(*said, len(self.open), row, row))
        self.open.append(self.tags[-1]._replace(row=len(self.tags) - 1))
        return False

    def document(self) -> Document:
        """Return the document; every tag is closed."""
        for first, end in self.sentences:
            self.made.sentence([row[0] for row in self.rows[first:end]])
        for place, row in enumerate(self.rows):
            self._columns(place, row)
        for layer in (*_TAG_LAYERS, HYPERLINKS, MARKUP):
            if layer in (*self.options.columns, HYPERLINKS, MARKUP):
                self.made.layer(layer)
        sentences = iter(self.made.sentences)
        for number, tag in enumerate(self.tags):
            layer = _layer_of(tag.name)
            span = next(sentences) if layer == SENTENCES else ""
            span = span or self.made.over(layer, tag.name, tag.first, tag.end)
            for key, value in tag.said.items():
                self.made.attribute(layer, key, span, value)
            self.made.note(layer, ORDER, span, f"{number} {tag.depth}")
        return self.made.done()

    def _inside(self) -> bool:
        """Whether a sentence is open."""
        return any(each.name == _SENTENCE for each in self.open)

    def _word(self, line: Line) -> None:
        """Take a word."""
        if not self._inside():
            raise self._wrong(f"expected a word within <s>, got {line.text!r:.60}")
        row = cells(line, self.path, self.options.columns)
        found = [_plain(each, line, self.path) for each in row]
        if not found[0].strip():
            raise self._wrong(f"expected a word, got {found[0]!r:.60}")
        self.rows.append(found)

    def _close(self, name: str) -> bool:
        """Take the end of a tag; return whether it was the text's."""
        tag = self.open.pop()
        if tag.name != name:
            raise self._wrong(f"expected </{tag.name}>, got </{name:.60}>")
        if not self.open:
            return True
        self.tags[tag.row] = tag._replace(end=len(self.rows))
        if name == _SENTENCE:
            if tag.first == len(self.rows):
                raise self._wrong("expected words in <s>, got none")
            self.sentences.append((tag.first, len(self.rows)))
        return False

    def _columns(self, place: int, row: Sequence[str]) -> None:
        """Add what the columns say of a word."""
        for name, value in zip(self.options.columns[1:], row[1:], strict=True):
            if value == _NONE:
                continue
            if name in _TAG_LAYERS:
                self.made.over(name, value, place, place + 1)
            else:
                self.made.attribute(WORDS, name, self.made.words[place], value)

    def _wrong(self, problem: str) -> FormatError:
        """Return the error of this line."""
        return FormatError(self.path, self.line, problem)


def _layer_of(name: str) -> str:
    """Return the layer of a tag."""
    return {_SENTENCE: SENTENCES, _LINK: HYPERLINKS}.get(name, MARKUP)


def _opened(line: Line, path: str) -> tuple[str, dict[str, str]] | None:
    """Return name and attributes of a tag that is opened, None where none is."""
    match = _OPEN.fullmatch(line.text)
    if match is None:
        return None
    pairs = [(key, _plain(value, line, path)) for key, value in _VALUE.findall(match[2])]
    if len(dict(pairs)) < len(pairs):
        raise FormatError(path, line.number, f"an attribute stands twice in <{match[1]:.60}>")
    return match[1], dict(pairs)


def _plain(text: str, line: Line, path: str) -> str:
    """Return a text with its entities read."""
    found = {each for each in _ENTITY.findall(text) if each not in _ENTITIES}
    if found:
        choices = ", ".join(f"&{each}" for each in _ENTITIES)
        problem = f"expected one of {choices}, got &{min(found):.60}"
        raise FormatError(path, line.number, problem)
    return _ENTITY.sub(lambda match: _ENTITIES[match[1]], text)


def _text(document: Document, options: GumXmlOptions) -> Iterator[str]:
    """Yield the lines of a document."""
    about = {"id": own(document)}
    yield f"<text{_attributes(about | dict(document.meta) | about)}>"
    written = _Written(document)
    rows = written.rows(options)
    stack: list[Tag] = []
    place = 0
    for tag in [*written.tags(), Tag("", {}, 0, len(rows), len(rows))]:
        while stack and len(stack) >= tag.depth:
            inside = stack.pop()
            yield from rows[place : inside.end]
            place = max(place, inside.end)
            yield f"</{inside.name}>"
        yield from rows[place : tag.first]
        place = max(place, tag.first)
        if tag.name:
            yield f"<{tag.name}{_attributes(tag.said)}>"
            stack.append(tag)
    yield "</text>"


class _Written:
    """The words and tags of a document."""

    def __init__(self, document: Document) -> None:
        """Find the words, and the places of all tags in order."""
        self.document, self.laid = document, Laid(document)
        words = self.laid.words.words
        self.starts = [start for start, _ in words]
        self.first = {start: row for row, (start, _) in enumerate(words)}
        self.last = {end: row + 1 for row, (_, end) in enumerate(words)}

    def rows(self, options: GumXmlOptions) -> list[str]:
        """Return the line of each word."""
        columns: dict[str, dict[int, str]] = {name: {} for name in options.columns}
        for row, said in self.laid.values(WORDS).items():
            for each in said:
                if each.value is not None and each.label in columns:
                    columns[each.label].setdefault(row, each.value)
        for layer in {*_TAG_LAYERS} & {*columns}:
            columns[layer] = {}
            for span in self.document[layer].spans if self.document.has(layer) else ():
                bounds = self.laid.covered(span)
                if bounds is not None and bounds[1] - bounds[0] == 1:
                    columns[layer].setdefault(bounds[0], span.label)
        columns[options.columns[0]] = {
            row: form for row, form in enumerate(self.laid.forms) if form.strip()
        }
        return [
            "\t".join(_cell(column.get(row, _NONE)) for column in columns.values())
            for row in range(len(self.laid.forms))
        ]

    def tags(self) -> list[Tag]:
        """Return the tags by their beginnings: as notes order them, else the widest first."""
        found = [*self._sentences(), *self._others()]
        known = [each for each in found if each.row >= 0]
        if len(known) == len(found):
            known.sort(key=lambda each: each.row)
            if nested(known):
                return known
        return self._widest_first(found)

    def _sentences(self) -> Iterator[Tag]:
        """Yield the tags of sentences."""
        ids = {number: key for key, number in reversed(self.laid.numbers.items())}
        about = About(self.document, SENTENCES)
        for number, (first, end) in enumerate(self.laid.words.sentences):
            yield about.tag(_SENTENCE, ids.get(number, ""), first, end)

    def _others(self) -> Iterator[Tag]:
        """Yield the tags of links and of markup that whole words are, or none."""
        for layer in (MARKUP, HYPERLINKS):
            about = About(self.document, layer)
            for span in self.document[layer].spans if self.document.has(layer) else ():
                name = _LINK if layer == HYPERLINKS else span.label
                usual = re.fullmatch(_NAME, name, re.ASCII) and _layer_of(name) == layer
                bounds = self._bounds(span)
                if bounds is not None and usual and name != _TEXT:
                    yield about.tag(name, span.id, *bounds)

    def _bounds(self, span: Span) -> tuple[int, int] | None:
        """Return the words of a span; of none, twice the word behind it."""
        if len(span.fragments) > 1:
            return None
        if span.start == span.end:
            place = bisect_left(self.starts, span.start)
            return place, place
        bounds = self.first.get(span.start), self.last.get(span.end)
        return None if bounds[0] is None or bounds[1] is None else (bounds[0], bounds[1])

    def _widest_first(self, found: list[Tag]) -> list[Tag]:
        """Return the tags that cross none, each with its depth; sentences are never left out."""
        begins = {first for first, _ in self.laid.words.sentences}
        kept: list[Tag] = []
        stack: list[Tag] = []
        for tag in sorted(found, key=lambda each: (each.first, -each.end)):
            while stack and stack[-1].end <= tag.first:
                stack.pop()
            if stack and tag.end > stack[-1].end:
                continue
            if tag.name != _SENTENCE and not self._fits(tag, begins):
                continue
            kept.append(tag._replace(depth=len(stack) + 1))
            stack.append(kept[-1])
        return kept

    def _fits(self, tag: Tag, begins: set[int]) -> bool:
        """Whether a tag holds whole sentences, or lies in one."""
        within = begins.isdisjoint(range(tag.first + 1, tag.end))
        whole = tag.first in begins and (tag.end in begins or tag.end == len(self.starts))
        return within or whole


def _attributes(said: Mapping[str, str]) -> str:
    """Return attributes as they stand in a tag."""
    usual = {key: value for key, value in said.items() if re.fullmatch(_NAME, key, re.ASCII)}
    return "".join(f" {key}={quoted(value)}" for key, value in usual.items())


def _cell(text: str) -> str:
    """Return a text as a cell."""
    return escaped(text).replace("\n", "&#10;").replace("\t", "&#9;")


def _lost(document: Document, options: GumXmlOptions) -> Losses:
    """Count all but words with their columns, and tags around whole words that do not cross."""
    return missing(document, loads(dumps([document], options=options), options=options))


def _looks(head: str, name: str) -> bool:
    """Tell by the first lines: a text, and a sentence in it."""
    return re.match(r'\s*<text id="[^\n]*>\r?\n', head) is not None and "\n<s" in head


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".xml",),
    '<text id="GUM_news_a" type="news">\n<head>\n<hi rend="bold">\n<s type="frag">\n'
    "Ada\tNNP\tAda\tNP0\tPROPN\troot\t_\n</s>\n</hi>\n</head>\n<figure>\n<caption>\n</caption>\n"
    '</figure>\n<p>\n<s type="decl" transition="null">\n<ref target="https://example.org/?a&amp;b">\n'
    "Ada\tNNP\tAda\tNP0\tPROPN\tnsubj\t_\n</ref>\n&amp;\tCC\t&amp;\tCJC\tCCONJ\tcc\t_\n<w>\n<ref>\n"
    "co\tNN\tco\tNN1\tNOUN\tconj\t_\n</ref>\n-\tHYPH\t-\tPUN\tPUNCT\tpunct\t_\n</w>\n<gap>\n</gap>\n"
    "</s>\n</p>\n</text>\n",
    GumXmlOptions,
)
