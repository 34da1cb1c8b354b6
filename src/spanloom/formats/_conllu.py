"""Read sentences of CoNLL-U and formats that extend it: checked rows, comments, words, MISC.

    # newdoc id = a                     the document's name; without newdoc: one per sentence
    # sent_id = a-1                     an attribute of the sentence: label ``sent_id``, value
    # text = I don't                    the same, without a value if it is the sentence's text
    1    I    I    PRON …               a word
    2-3  don't  _  _    …               a token over words, in the layer ``tokens``
    2    do   do   AUX  …
    3    n't  not  PART …
    3.1  go   go   VERB …               an empty node: a span of no width in the layer ``enhanced``

A comment that is neither ``# key = value`` nor ``# key`` has the label ``#`` and, as its value,
what follows that sign. See https://universaldependencies.org/format.html.
"""

import re
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spanloom.document import SENTENCES, WORDS, Fragment
from spanloom.errors import FormatError
from spanloom.formats._document_builder import DocumentBuilder, Names, default_name
from spanloom.formats._text import Line, blocks, cells

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
NAMES = tuple(name.lower() for name in COLUMNS)  # the label of a cell as an attribute
NONE = "_"
TOKENS, TOKEN = "tokens", "token"  # layer and label of multiword tokens
TEXT, SENT_ID, NEWDOC, NEWDOC_ID = "text", "sent_id", "newdoc", "newdoc id"
RAW = "#"  # the label of a comment that is neither key nor key = value
UNMARKED = (NEWDOC, "no")  # meta of a document before the first newdoc of its file
GLUED = ("SpaceAfter", "No")
PLACES = ("SpaceAfter", "Entity", "Bridge", "SplitAnte")  # MISC items from text and layers

_ID = re.compile(r"(0|[1-9][0-9]{0,8})(?:([-.])([1-9][0-9]{0,8}))?")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_COMMENT = re.compile(r" (?P<key>[^=\s](?:[^=]*[^=\s])?) = (?P<value>.*)", re.DOTALL)
_KEY = re.compile(r" ([^=\s](?:[^=]*[^=\s])?)", re.DOTALL)
_NEWDOC = re.compile(r"\s*newdoc(?:\s+id\s*=\s*(.*))?\s*", re.DOTALL)
_NEWDOC_LINE = re.compile(r"^#\s*newdoc\b", re.MULTILINE)

Comment = tuple[str, str | None]
LayerItems = Mapping[str, Mapping[str, str]]  # items of MISC derived from layers, by node id


class Row(NamedTuple):
    """The cells of a line, and its line number."""

    line: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: ``tokens`` as (first word, end, row), ``empty`` nodes as (words before, row)."""

    line: int
    comments: list[Comment] = field(default_factory=list)
    words: list[Row] = field(default_factory=list)
    tokens: list[tuple[int, int, Row]] = field(default_factory=list)
    empty: list[tuple[int, Row]] = field(default_factory=list)

    def nodes(self) -> list[tuple[int, Row]]:
        """Return words and empty nodes in order, each with the number of words before it."""
        nodes = [*enumerate(self.words), *self.empty]
        return sorted(nodes, key=lambda node: (node[0], "." not in node[1].cells[ID]))


class Part(NamedTuple):
    """A document's builder and its sentences."""

    builder: DocumentBuilder
    sentences: list[Sentence]


def comment(text: str) -> Comment:
    """Return key and value of a comment; ``text`` is what follows the ``#``."""
    match = _COMMENT.fullmatch(text)
    if match and match["key"] != RAW:
        return match["key"], match["value"]
    match = _KEY.fullmatch(text)
    if match and match[1] not in (RAW, TEXT):
        return match[1], None
    return RAW, text


def parts(text: str, path: str, columns: Sequence[str]) -> Iterator[Part]:
    """Yield the documents of a file, their sentences parsed but not yet added to the builder.

    Raises ``FormatError`` for wrong cells, ids out of order and sentences without words.
    """
    has_newdoc = _NEWDOC_LINE.search(text) is not None
    names = Names()
    part: Part | None = None
    for number, block in enumerate(blocks(text), 1):
        sentence = _parse_sentence(block, path, columns)
        begins_document = not has_newdoc or any(
            newdoc_of(comment) is not None for comment in sentence.comments
        )
        if part is None or begins_document:
            if part:
                yield part
            part = _begin_part(sentence, names, number, has_newdoc)
        part.sentences.append(sentence)
    if part:
        yield part


def lay(builder: DocumentBuilder, sentence: Sentence) -> range:
    """Add the words, comments and multiword tokens of a sentence; return its word indices."""
    stated_text = next((value for key, value in sentence.comments if key == TEXT), None)
    text, bounds = _text_and_bounds(sentence, stated_text)
    rows = builder.add_pretokenized(text, bounds)
    target = builder.sentences[-1]
    for key, value in sentence.comments:
        is_default = key == TEXT and value == text
        builder.attribute(SENTENCES, key, target, None if is_default else value)
    for first, end, row in sentence.tokens:
        token = builder.add_word_span(TOKENS, TOKEN, rows[first], rows[end - 1] + 1)
        first_char, last_char = bounds[first][0], bounds[end - 1][1]
        if text[first_char:last_char] != row.cells[FORM]:
            builder.attribute(TOKENS, NAMES[FORM], token, row.cells[FORM])
        glue_items = [GLUED] if end < len(sentence.words) and _is_glued(row) else []
        values(builder, TOKENS, token, row, range(LEMMA, MISC))
        add_misc_items(builder, TOKENS, token, row, dict(glue_items))
    return rows


def misc(builder: DocumentBuilder, sentence: Sentence, layer_items: LayerItems) -> None:
    """Add the MISC items of each word that neither text nor layers provide."""
    in_tokens = {word for first, end, _ in sentence.tokens for word in range(first, end)}
    first = len(builder.words) - len(sentence.words)
    for number, row in enumerate(sentence.words):
        is_separate = number not in in_tokens and number + 1 < len(sentence.words)
        glued = dict([GLUED]) if is_separate and _is_glued(row) else {}
        stated_items = {**layer_items.get(row.cells[ID], {}), **glued}
        add_misc_items(builder, WORDS, builder.words[first + number], row, stated_items)


def values(
    builder: DocumentBuilder, layer: str, target: str, row: Row, columns: Iterable[int]
) -> None:
    """Add the cells of these columns that are not ``_`` as attributes."""
    for column in columns:
        if row.cells[column] != NONE:
            builder.attribute(layer, NAMES[column], target, row.cells[column])


def add_misc_items(
    builder: DocumentBuilder, layer: str, target: str, row: Row, stated_items: Mapping[str, str]
) -> None:
    """Add the items of MISC that are not ``stated_items``.

    An item of ``stated_items`` that stands out of order is kept as a bare key.
    """
    cell = row.cells[MISC]
    if cell == NONE:
        return
    known_items = {f"{key}={value}" for key, value in stated_items.items()}
    items = cell.split("|")
    rest = [item for item in items if item not in known_items]
    if merge_misc(rest, stated_items) != cell:
        rest = [item.partition("=")[0] if item in known_items else item for item in items]
    if any(rest):
        builder.attribute(layer, NAMES[MISC], target, "|".join(rest))


def merge_misc(items: Iterable[str], stated_items: Mapping[str, str]) -> str:
    """Return MISC with the items that text and layers provide inserted in order.

    A bare key marks the position of such an item; others are inserted alphabetically.
    """
    rest = dict(stated_items)
    kept_items: list[str] = []
    for item in items:
        if item in rest:
            kept_items.append(f"{item}={rest.pop(item)}")
        elif item not in PLACES:
            kept_items.append(item)
    keys = {item.partition("=")[0] for item in kept_items}
    for key, value in rest.items():
        if key not in keys:
            insort(kept_items, f"{key}={value}", key=_sort_key)
    return "|".join(kept_items) or NONE


def head_of(row: Row, num_words: int, path: str) -> int | None:
    """Return the number of a word's head, 0 for a root, None if it has none."""
    cell = row.cells[HEAD]
    if cell == NONE:
        return None
    number = int(cell) if _NUMBER.fullmatch(cell) else -1
    if not 0 <= number <= num_words or cell == row.cells[ID]:
        problem = f"expected as head 0 or another of {num_words} words, got {cell!r:.60}"
        raise FormatError(path, row.line, problem)
    return number


def edges_of(row: Row, nodes: Mapping[str, str], path: str) -> list[tuple[str, str]]:
    """Return the enhanced heads of a node with their labels; ``nodes`` are the valid heads.

    Raises ``FormatError`` for heads that are not nodes.
    """
    edges = []
    for item in row.cells[DEPS].split("|") if row.cells[DEPS] != NONE else ():
        head, colon, label = item.partition(":")
        if not colon or not label or (head != "0" and head not in nodes):
            problem = f"expected HEAD:LABEL, the head 0 or a node, got {item!r:.60}"
            raise FormatError(path, row.line, problem)
        edges.append((head, label))
    return edges


def _begin_part(sentence: Sentence, names: Names, number: int, has_newdoc: bool) -> Part:
    """Begin a document, named by its newdoc comment, else by its sentence id or number."""
    newdoc_id = next(filter(None, map(newdoc_of, sentence.comments)), None)
    sent_id = next((value for key, value in sentence.comments if key == SENT_ID), None)
    builder = names.making(newdoc_id or sent_id or default_name(number))
    if has_newdoc and all(newdoc_of(comment) is None for comment in sentence.comments):
        builder.meta.append(UNMARKED)
    take_first(sentence.comments, NEWDOC_ID)
    return Part(builder, [])


def take_first(comments: list[Comment], key: str) -> None:
    """Remove the first comment if it has a value and is the only one with that key."""
    keys = [name for name, _ in comments]
    if keys[:1] == [key] and keys.count(key) == 1 and comments[0][1]:
        del comments[0]


def newdoc_of(comment: Comment) -> str | None:
    """Return the id in a newdoc comment, "" if it has none, None for other comments."""
    key, value = comment
    if key in (NEWDOC, NEWDOC_ID):
        return value or ""
    match = _NEWDOC.fullmatch(value or "") if key == RAW else None
    return (match[1] or "") if match else None


def _parse_sentence(block: list[Line], path: str, columns: Sequence[str]) -> Sentence:
    """Parse a block of lines; raises ``FormatError``."""
    sentence = Sentence(block[0].number)
    for line in block:
        if "\r" in line.text:
            raise FormatError(path, line.number, "expected no carriage return within a line")
        if line.text[0] == "#" and not sentence.words:
            sentence.comments.append(comment(line.text[1:]))
            continue
        row = Row(line.number, cells(line, path, columns))
        if "" in row.cells:
            column = columns[row.cells.index("")]
            raise FormatError(path, line.number, f"expected _ or a value as {column}, got ''")
        problem = _add_row(sentence, row)
        if problem:
            raise FormatError(path, line.number, problem)
    unfinished = [row for _, end, row in sentence.tokens if end > len(sentence.words)]
    if unfinished or not sentence.words:
        problem = f"expected word {len(sentence.words) + 1}, got the end of the sentence"
        raise FormatError(path, block[-1].number, problem)
    return sentence


def _add_row(sentence: Sentence, row: Row) -> str:
    """Add a row to its sentence; return what is wrong with its id, "" if nothing is."""
    num_words = len(sentence.words)
    match = _ID.fullmatch(row.cells[ID])
    if match is None:
        return f"expected an id (2, 2-3 or 2.1), got {row.cells[ID]!r:.60}"
    first, last = int(match[1]), int(match[3] or 0)
    is_empty_blocked = bool(sentence.tokens) and sentence.tokens[-1][0] == num_words
    if match[2] is None and first == num_words + 1:
        sentence.words.append(row)
    elif match[2] == "-" and first == num_words + 1 <= last and _is_uncovered(sentence, num_words):
        sentence.tokens.append((num_words, last, row))
    elif (
        match[2] == "."
        and first == num_words
        and not is_empty_blocked
        and last == _next_empty_number(sentence, num_words)
    ):
        sentence.empty.append((num_words, row))
    else:
        return (
            f"expected word {num_words + 1}, or what stands before it, got the id {row.cells[ID]}"
        )
    return _check_layer_items(row.cells[MISC])


def _check_layer_items(misc: str) -> str:
    """Return what is wrong with the MISC items derived from layers, "" if nothing is."""
    items = [item for item in misc.split("|") if item.partition("=")[0] in PLACES]
    keys = {item.partition("=")[0] for item in items}
    if len(keys) < len(items) or keys.intersection(items):
        return f"expected {' and '.join(sorted(keys))} once in MISC, each with a value"
    return ""


def _is_uncovered(sentence: Sentence, word: int) -> bool:
    """Whether no multiword token covers that word."""
    return not sentence.tokens or sentence.tokens[-1][1] <= word


def _next_empty_number(sentence: Sentence, word: int) -> int:
    """Return the number of the next empty node after the first ``word`` words."""
    if not sentence.empty or sentence.empty[-1][0] != word:
        return 1
    return int(sentence.empty[-1][1].cells[ID].partition(".")[2]) + 1


def _text_and_bounds(sentence: Sentence, stated_text: str | None) -> tuple[str, list[Fragment]]:
    """Return a sentence's text and word bounds, with the blanks of ``stated_text`` if it fits.

    A multiword token whose form is not its words' forms is written as its words, separated by
    blanks.
    """
    units = list(_forms_and_blanks(sentence))
    bounds = _bounds_in_text(stated_text, units) if stated_text is not None else None
    if stated_text is not None and bounds is not None:
        return stated_text, bounds
    pieces, bounds, size = [], [], 0
    for form, blank in units:
        bounds.append((size, size + len(form)))
        pieces.append(form + " " * blank)
        size += len(form) + blank
    return "".join(pieces), bounds


def _forms_and_blanks(sentence: Sentence) -> Iterator[tuple[str, bool]]:
    """Yield the form of each word and whether a blank follows, never after the last."""
    starts = {first: (end, row) for first, end, row in sentence.tokens}
    index, num_words = 0, len(sentence.words)
    while index < num_words:
        end, token = starts.get(index, (index + 1, sentence.words[index]))
        forms = [row.cells[FORM] for row in sentence.words[index:end]]
        found_bounds = _bounds_in_token(token.cells[FORM], forms)
        neighbors = zip(found_bounds, found_bounds[1:], strict=False)
        has_blank = [left[1] < right[0] for left, right in neighbors] or [True] * (end - index - 1)
        yield from zip(forms, [*has_blank, end < num_words and not _is_glued(token)], strict=True)
        index = end


def _bounds_in_token(surface: str, forms: Sequence[str]) -> list[Fragment]:
    """Return the words' bounds in a token of those words and blanks, [] if it has other text."""
    bounds: list[Fragment] = []
    offset = 0
    for form in forms:
        offset += len(surface[offset:]) - len(surface[offset:].lstrip()) if bounds else 0
        if not surface.startswith(form, offset):
            return []
        bounds.append((offset, offset + len(form)))
        offset += len(form)
    return bounds if offset == len(surface) else []


def _bounds_in_text(text: str, units: Iterable[tuple[str, bool]]) -> list[Fragment] | None:
    """Return the words' bounds in a text of just them and their blanks, else None."""
    bounds: list[Fragment] = []
    offset = 0
    for form, blank in units:
        end = offset + len(form)
        if not text.startswith(form, offset):
            return None
        bounds.append((offset, end))
        offset = end
        while offset < len(text) and text[offset].isspace():
            offset += 1
        if (offset > end) != blank:
            return None
    return bounds if offset == len(text) else None


def _is_glued(row: Row) -> bool:
    """Whether ``SpaceAfter=No`` says that no blank follows."""
    return "=".join(GLUED) in row.cells[MISC].split("|")


def _sort_key(item: str) -> str:
    return item.partition("=")[0].lower()
