"""Read and write GUM's XML: one word or one tag per line (Zeldes, 2017).

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

→ is a tab. A text is a document. Each ``<s>`` is a sentence with its attributes. ``<ref>`` is a
span of layer ``hyperlinks``, other tags are spans of layer ``markup``; their attributes are
attributes. A note ``order`` at each tag gives its index among the tags and its depth, as tags
around the same words, or around none, could not be told apart otherwise. The columns ``xpos`` and
``upos`` are layers, the others attributes of the word; ``_`` is no value.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._text import Line, cells, lines
from spanloom.formats._word_view import WordView
from spanloom.formats._xml import ORDER, About, Tag, escape_text, nesting_order, quote_attribute

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
    """Options: the columns of the words."""

    columns: tuple[str, ...] = Field(
        default=("word", "xpos", "lemma", "claws5", "upos", "deprel", "segments"),
        min_length=1,
        description="names of the columns; the first is the word",
    )


def loads(
    text: str, *, path: str = "<string>", options: GumXmlOptions = GumXmlOptions()
) -> Iterator[Document]:
    """Yield one document per text; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    reader: _TextReader | None = None
    for line in lines(text):
        if not line.text.strip():
            continue
        if reader is None:
            reader = _begin_text(line, names, path, options)
        elif reader.closes(line):
            yield reader.document()
            reader = None
    if reader is not None:
        raise FormatError(
            path, reader.line, f"expected </{reader.open_tags[-1].name}>, got no more"
        )


def dumps(documents: Iterable[Document], *, options: GumXmlOptions = GumXmlOptions()) -> str:
    """Return the texts, one after the other; characters that XML cannot hold become U+FFFD."""
    return "".join(
        line + "\n" for document in documents for line in _format_text(document, options)
    )


def _begin_text(line: Line, names: Names, path: str, options: GumXmlOptions) -> "_TextReader":
    """Return the reader of the text that a line begins; raises ``FormatError``."""
    tag = _parse_open_tag(line, path)
    if tag is None or tag[0] != _TEXT:
        raise FormatError(path, line.number, f"expected <text …>, got {line.text!r:.60}")
    attributes = dict(tag[1])
    builder = (
        names.making(attributes.pop("id"))
        if "id" in attributes
        else DocumentBuilder(names.of(_TEXT))
    )
    builder.meta += attributes.items()
    return _TextReader(builder, path, options, line.number)


class _TextReader:
    """Builds the document of a text from its lines."""

    def __init__(
        self, builder: DocumentBuilder, path: str, options: GumXmlOptions, line: int
    ) -> None:
        """Begin after ``<text>``."""
        self.builder, self.path, self.options, self.line = builder, path, options, line
        self.open_tags = [Tag(_TEXT, {}, 0, 0, 0)]
        self.tags: list[Tag] = []  # by their first words
        self.rows: list[list[str]] = []
        self.sentences: list[tuple[int, int]] = []

    def closes(self, line: Line) -> bool:
        """Read a line; return whether it ends the text."""
        self.line = line.number
        if not line.text.startswith("<"):
            self._add_row(line)
            return False
        match = _CLOSE.fullmatch(line.text)
        if match:
            return self._close_tag(match[1])
        tag = _parse_open_tag(line, self.path)
        if tag is None:
            raise self._error(f"expected a word, <TAG …> or </TAG>, got {line.text!r:.60}")
        if tag[0] == _TEXT or (tag[0] == _SENTENCE and self._in_sentence()):
            raise self._error(f"expected no <{tag[0]}> in <{tag[0]}>")
        row = len(self.rows)
        self.tags.append(Tag(*tag, len(self.open_tags), row, row))
        self.open_tags.append(self.tags[-1]._replace(row=len(self.tags) - 1))
        return False

    def document(self) -> Document:
        """Return the document; every tag must be closed."""
        for first, end in self.sentences:
            self.builder.sentence([row[0] for row in self.rows[first:end]])
        for word, row in enumerate(self.rows):
            self._add_columns(word, row)
        for layer in (*_TAG_LAYERS, HYPERLINKS, MARKUP):
            if layer in (*self.options.columns, HYPERLINKS, MARKUP):
                self.builder.layer(layer)
        sentences = iter(self.builder.sentences)
        for number, tag in enumerate(self.tags):
            layer = _layer_of(tag.name)
            span = next(sentences) if layer == SENTENCES else ""
            span = span or self.builder.add_word_span(layer, tag.name, tag.first, tag.end)
            for key, value in tag.attributes.items():
                self.builder.attribute(layer, key, span, value)
            self.builder.note(layer, ORDER, span, f"{number} {tag.depth}")
        return self.builder.build()

    def _in_sentence(self) -> bool:
        """Tell whether a sentence is open."""
        return any(tag.name == _SENTENCE for tag in self.open_tags)

    def _add_row(self, line: Line) -> None:
        """Add the row of a word; raises ``FormatError``."""
        if not self._in_sentence():
            raise self._error(f"expected a word within <s>, got {line.text!r:.60}")
        row = cells(line, self.path, self.options.columns)
        values = [_unescape(cell, line, self.path) for cell in row]
        if not values[0].strip():
            raise self._error(f"expected a word, got {values[0]!r:.60}")
        for name, value in zip(self.options.columns[1:], values[1:], strict=True):
            if name in _TAG_LAYERS and not value.strip():
                raise self._error(f"expected a tag as {name}, or {_NONE}, got {value!r:.60}")
        self.rows.append(values)

    def _close_tag(self, name: str) -> bool:
        """Close a tag; return whether it was the text's. Raises ``FormatError``."""
        tag = self.open_tags.pop()
        if tag.name != name:
            raise self._error(f"expected </{tag.name}>, got </{name:.60}>")
        if not self.open_tags:
            return True
        self.tags[tag.row] = tag._replace(end=len(self.rows))
        if name == _SENTENCE:
            if tag.first == len(self.rows):
                raise self._error("expected words in <s>, got none")
            self.sentences.append((tag.first, len(self.rows)))
        return False

    def _add_columns(self, word: int, row: Sequence[str]) -> None:
        """Add the columns of a word."""
        for name, value in zip(self.options.columns[1:], row[1:], strict=True):
            if value == _NONE:
                continue
            if name in _TAG_LAYERS:
                self.builder.add_word_span(name, value, word, word + 1)
            else:
                self.builder.attribute(WORDS, name, self.builder.words[word], value)

    def _error(self, problem: str) -> FormatError:
        """Return an error of this line."""
        return FormatError(self.path, self.line, problem)


def _layer_of(name: str) -> str:
    """Return the layer of a tag."""
    return {_SENTENCE: SENTENCES, _LINK: HYPERLINKS}.get(name, MARKUP)


def _parse_open_tag(line: Line, path: str) -> tuple[str, dict[str, str]] | None:
    """Return tag and attributes of an opening tag, None for other lines; raises ``FormatError``."""
    match = _OPEN.fullmatch(line.text)
    if match is None:
        return None
    pairs = [(key, _unescape(value, line, path)) for key, value in _VALUE.findall(match[2])]
    if len(dict(pairs)) < len(pairs):
        raise FormatError(path, line.number, f"an attribute stands twice in <{match[1]:.60}>")
    return match[1], dict(pairs)


def _unescape(text: str, line: Line, path: str) -> str:
    """Return a text with its entities replaced; raises ``FormatError`` for unknown ones."""
    unknown = {entity for entity in _ENTITY.findall(text) if entity not in _ENTITIES}
    if unknown:
        choices = ", ".join(f"&{entity}" for entity in _ENTITIES)
        problem = f"expected one of {choices}, got &{min(unknown):.60}"
        raise FormatError(path, line.number, problem)
    return _ENTITY.sub(lambda match: _ENTITIES[match[1]], text)


def _format_text(document: Document, options: GumXmlOptions) -> Iterator[str]:
    """Yield the lines of a document."""
    id_attribute = {"id": id_in_file(document)}
    yield f"<text{_format_attributes(id_attribute | dict(document.meta) | id_attribute)}>"
    writer = _TextWriter(document)
    rows = writer.rows(options)
    stack: list[Tag] = []
    position = 0
    for tag in [*writer.tags(), Tag("", {}, 0, len(rows), len(rows))]:
        while stack and len(stack) >= tag.depth:
            closed = stack.pop()
            yield from rows[position : closed.end]
            position = max(position, closed.end)
            yield f"</{closed.name}>"
        yield from rows[position : tag.first]
        position = max(position, tag.first)
        if tag.name:
            yield f"<{tag.name}{_format_attributes(tag.attributes)}>"
            stack.append(tag)
    yield "</text>"


class _TextWriter:
    """The words and tags of a document."""

    def __init__(self, document: Document) -> None:
        """Index the words by their offsets."""
        self.document, self.view = document, WordView(document)
        words = self.view.words.words
        self.starts = [start for start, _ in words]
        self.word_at_start = {start: row for row, (start, _) in enumerate(words)}
        self.word_at_end = {end: row + 1 for row, (_, end) in enumerate(words)}

    def rows(self, options: GumXmlOptions) -> list[str]:
        """Return the line of each word."""
        columns: dict[str, dict[int, str]] = {name: {} for name in options.columns}
        for word, attributes in self.view.values(WORDS).items():
            for attribute in attributes:
                if attribute.value is not None and attribute.label in columns:
                    columns[attribute.label].setdefault(word, attribute.value)
        for layer in {*_TAG_LAYERS} & {*columns}:
            columns[layer] = {}
            for span in self.document.layer_or_empty(layer).spans:
                bounds = self.view.exact_words(span)
                if bounds is not None and bounds[1] - bounds[0] == 1:
                    columns[layer].setdefault(bounds[0], span.label)
        columns[options.columns[0]] = {
            word: form for word, form in enumerate(self.view.tokens) if form.strip()
        }
        return [
            "\t".join(_escape_cell(column.get(word, _NONE)) for column in columns.values())
            for word in range(len(self.view.tokens))
        ]

    def tags(self) -> list[Tag]:
        """Return the tags by their first words: in the order of notes, else the widest first."""
        all_tags = [*self._sentence_tags(), *self._other_tags()]
        ordered = [tag for tag in all_tags if tag.row >= 0]
        if len(ordered) == len(all_tags):
            ordered.sort(key=lambda tag: tag.row)
            if nesting_order(ordered):
                return ordered
        return self._nest_widest_first(all_tags)

    def _sentence_tags(self) -> Iterator[Tag]:
        """Yield the tags of sentences."""
        ids = {number: key for key, number in reversed(self.view.sentence_of_span.items())}
        about = About(self.document, SENTENCES)
        for number, (first, end) in enumerate(self.view.words.sentences):
            yield about.tag(_SENTENCE, ids.get(number, ""), first, end)

    def _other_tags(self) -> Iterator[Tag]:
        """Yield the tags of links and markup that cover whole words or none."""
        for layer in (MARKUP, HYPERLINKS):
            about = About(self.document, layer)
            for span in self.document.layer_or_empty(layer).spans:
                name = _LINK if layer == HYPERLINKS else span.label
                is_valid = re.fullmatch(_NAME, name, re.ASCII) and _layer_of(name) == layer
                bounds = self._word_bounds(span)
                if bounds is not None and is_valid and name != _TEXT:
                    yield about.tag(name, span.id, *bounds)

    def _word_bounds(self, span: Span) -> tuple[int, int] | None:
        """Return the word bounds of a span; an empty one has the next word twice."""
        if len(span.fragments) > 1:
            return None
        if span.start == span.end:
            word = bisect_left(self.starts, span.start)
            return word, word
        bounds = self.word_at_start.get(span.start), self.word_at_end.get(span.end)
        return None if bounds[0] is None or bounds[1] is None else (bounds[0], bounds[1])

    def _nest_widest_first(self, all_tags: list[Tag]) -> list[Tag]:
        """Return the tags that cross none, each with its depth; all sentences are kept."""
        sentence_starts = {first for first, _ in self.view.words.sentences}
        nested: list[Tag] = []
        stack: list[Tag] = []
        for tag in sorted(all_tags, key=lambda tag: (tag.first, -tag.end)):
            while stack and stack[-1].end <= tag.first:
                stack.pop()
            if stack and tag.end > stack[-1].end:
                continue
            if tag.name != _SENTENCE and not self._fits_sentences(tag, sentence_starts):
                continue
            nested.append(tag._replace(depth=len(stack) + 1))
            stack.append(nested[-1])
        return nested

    def _fits_sentences(self, tag: Tag, sentence_starts: set[int]) -> bool:
        """Tell whether a tag covers whole sentences, or lies in one."""
        in_sentence = sentence_starts.isdisjoint(range(tag.first + 1, tag.end))
        covers_sentences = tag.first in sentence_starts and (
            tag.end in sentence_starts or tag.end == len(self.starts)
        )
        return in_sentence or covers_sentences


def _format_attributes(attributes: Mapping[str, str]) -> str:
    """Return attributes in XML."""
    valid = {key: value for key, value in attributes.items() if re.fullmatch(_NAME, key, re.ASCII)}
    return "".join(f" {key}={quote_attribute(value)}" for key, value in valid.items())


def _escape_cell(text: str) -> str:
    """Return a text as a cell."""
    return escape_text(text).replace("\n", "&#10;").replace("\t", "&#9;")


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the first lines: a text, and a sentence in it."""
    return re.match(r'\s*<text id="[^\n]*>\r?\n', head) is not None and "\n<s" in head


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".xml",),
    '<text id="GUM_news_a" type="news">\n<head>\n<hi rend="bold">\n<s type="frag">\n'
    "Ada\tNNP\tAda\tNP0\tPROPN\troot\t_\n</s>\n</hi>\n</head>\n<figure>\n<caption>\n</caption>\n"
    '</figure>\n<p>\n<s type="decl" transition="null">\n<ref target="https://example.org/?a&amp;b">\n'
    "Ada\tNNP\tAda\tNP0\tPROPN\tnsubj\t_\n</ref>\n&amp;\tCC\t&amp;\tCJC\tCCONJ\tcc\t_\n<w>\n<ref>\n"
    "co\tNN\tco\tNN1\tNOUN\tconj\t_\n</ref>\n-\tHYPH\t-\tPUN\tPUNCT\tpunct\t_\n</w>\n<gap>\n</gap>\n"
    "</s>\n</p>\n</text>\n",
    GumXmlOptions,
)
