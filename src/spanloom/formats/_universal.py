"""Sentences of CoNLL-U and of formats with further columns: checked rows, and documents of them.

    # newdoc id = a                     the document's name; without any newdoc a sentence each
    # sent_id = a-1                     an attribute of the sentence: label ``sent_id``, value
    # text = I don't                    the same without a value: it is the sentence's text
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
from spanloom.formats._lines import Line, blocks, cells
from spanloom.formats._making import Making
from spanloom.formats._names import Names, numbered

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
NAMES = tuple(name.lower() for name in COLUMNS)  # what a cell is called as an attribute
NONE = "_"
TOKENS, TOKEN = "tokens", "token"  # the layer of what stands over words, the label of its spans
TEXT, SENT_ID, NEWDOC, NEWDOC_ID = "text", "sent_id", "newdoc", "newdoc id"
RAW = "#"  # the label of a comment that is no key with a value
UNMARKED = (NEWDOC, "no")  # meta of a document before the first newdoc of its file
GLUED = ("SpaceAfter", "No")
PLACES = ("SpaceAfter", "Entity", "Bridge", "SplitAnte")  # items of MISC told by text and layers

_ID = re.compile(r"(0|[1-9][0-9]{0,8})(?:([-.])([1-9][0-9]{0,8}))?")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_COMMENT = re.compile(r" (?P<key>[^=\s](?:[^=]*[^=\s])?) = (?P<value>.*)", re.DOTALL)
_KEY = re.compile(r" ([^=\s](?:[^=]*[^=\s])?)", re.DOTALL)
_NEWDOC = re.compile(r"\s*newdoc(?:\s+id\s*=\s*(.*))?\s*", re.DOTALL)
_MARK = re.compile(r"^#\s*newdoc\b", re.MULTILINE)

Comment = tuple[str, str | None]
Told = Mapping[str, Mapping[str, str]]  # items of MISC that layers tell, by the id of the node


class Row(NamedTuple):
    """The cells of a line, and its number."""

    line: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A block of lines: ``tokens`` stand over words ``[first, end)``, ``empty`` after so many."""

    line: int
    comments: list[Comment] = field(default_factory=list)
    words: list[Row] = field(default_factory=list)
    tokens: list[tuple[int, int, Row]] = field(default_factory=list)
    empty: list[tuple[int, Row]] = field(default_factory=list)

    def nodes(self) -> list[tuple[int, Row]]:
        """Return words and empty nodes as they stand, each with how many words came before."""
        every = [*enumerate(self.words), *self.empty]
        return sorted(every, key=lambda each: (each[0], "." not in each[1].cells[ID]))


class Part(NamedTuple):
    """The sentences of one document, and what will be it."""

    making: Making
    sentences: list[Sentence]


def comment(written: str) -> Comment:
    """Return what a comment says; ``written`` is what follows its sign."""
    found = _COMMENT.fullmatch(written)
    if found and found["key"] != RAW:
        return found["key"], found["value"]
    found = _KEY.fullmatch(written)
    if found and found[1] not in (RAW, TEXT):
        return found[1], None
    return RAW, written


def parts(text: str, path: str, columns: Sequence[str]) -> Iterator[Part]:
    """Yield the documents of a file, their sentences read but not yet in the making.

    Raises ``FormatError``: cells, ids that do not count, sentences without words.
    """
    marked = _MARK.search(text) is not None
    names = Names()
    part: Part | None = None
    for number, block in enumerate(blocks(text), 1):
        sentence = _sentence(block, path, columns)
        begins = not marked or any(newdoc_of(each) is not None for each in sentence.comments)
        if part is None or begins:
            if part:
                yield part
            part = _begun(sentence, names, number, marked)
        part.sentences.append(sentence)
    if part:
        yield part


def lay(making: Making, sentence: Sentence) -> range:
    """Add the words of a sentence, its comments and its tokens; return which words they are."""
    said = next((value for key, value in sentence.comments if key == TEXT), None)
    text, bounds = _laid(sentence, said)
    rows = making.given(text, bounds)
    target = making.sentences[-1]
    for key, value in sentence.comments:
        own = key == TEXT and value == text
        making.attribute(SENTENCES, key, target, None if own else value)
    for first, end, row in sentence.tokens:
        token = making.over(TOKENS, TOKEN, rows[first], rows[end - 1] + 1)
        start, stop = bounds[first][0], bounds[end - 1][1]
        if text[start:stop] != row.cells[FORM]:
            making.attribute(TOKENS, NAMES[FORM], token, row.cells[FORM])
        spoken = [GLUED] if end < len(sentence.words) and _glued(row) else []
        values(making, TOKENS, token, row, range(LEMMA, MISC))
        kept(making, TOKENS, token, row, dict(spoken))
    return rows


def misc(making: Making, sentence: Sentence, told: Told) -> None:
    """Add what MISC says of each word beside what layers tell."""
    within = {word for first, end, _ in sentence.tokens for word in range(first, end)}
    first = len(making.words) - len(sentence.words)
    for number, row in enumerate(sentence.words):
        apart = number not in within and number + 1 < len(sentence.words)
        glued = dict([GLUED]) if apart and _glued(row) else {}
        known = {**told.get(row.cells[ID], {}), **glued}
        kept(making, WORDS, making.words[first + number], row, known)


def values(making: Making, layer: str, target: str, row: Row, columns: Iterable[int]) -> None:
    """Add the cells of these columns as attributes, those that say something."""
    for column in columns:
        if row.cells[column] != NONE:
            making.attribute(layer, NAMES[column], target, row.cells[column])


def kept(making: Making, layer: str, target: str, row: Row, told: Mapping[str, str]) -> None:
    """Add what MISC says beside what is told, a bare key where that stands out of order."""
    written = row.cells[MISC]
    if written == NONE:
        return
    told_items = {f"{key}={value}" for key, value in told.items()}
    items = written.split("|")
    rest = [item for item in items if item not in told_items]
    if joined(rest, told) != written:
        rest = [item.partition("=")[0] if item in told_items else item for item in items]
    if any(rest):
        making.attribute(layer, NAMES[MISC], target, "|".join(rest))


def joined(items: Iterable[str], told: Mapping[str, str]) -> str:
    """Return the items of MISC with those that text and layers tell, in their places.

    A bare key holds the place of what is told; what has no place goes where the alphabet puts it.
    """
    rest = dict(told)
    found: list[str] = []
    for item in items:
        if item in rest:
            found.append(f"{item}={rest.pop(item)}")
        elif item not in PLACES:
            found.append(item)
    keys = {item.partition("=")[0] for item in found}
    for key, value in rest.items():
        if key not in keys:
            insort(found, f"{key}={value}", key=_alphabet)
    return "|".join(found) or NONE


def head_of(row: Row, words: int, path: str) -> int | None:
    """Return the number of a word's head, 0 for a root, None where none is said."""
    written = row.cells[HEAD]
    if written == NONE:
        return None
    number = int(written) if _NUMBER.fullmatch(written) else -1
    if not 0 <= number <= words or written == row.cells[ID]:
        problem = f"expected as head 0 or another of {words} words, got {written!r:.60}"
        raise FormatError(path, row.line, problem)
    return number


def edges_of(row: Row, nodes: Mapping[str, str], path: str) -> list[tuple[str, str]]:
    """Return the enhanced heads of a node and their labels; ``nodes`` are those there are.

    Raises ``FormatError``: heads that no node is.
    """
    found = []
    for item in row.cells[DEPS].split("|") if row.cells[DEPS] != NONE else ():
        head, colon, label = item.partition(":")
        if not colon or not label or (head != "0" and head not in nodes):
            problem = f"expected HEAD:LABEL, the head 0 or a node, got {item!r:.60}"
            raise FormatError(path, row.line, problem)
        found.append((head, label))
    return found


def _begun(sentence: Sentence, names: Names, number: int, marked: bool) -> Part:
    """Begin a document; its newdoc is its name, where it is the first comment of all."""
    said = next(filter(None, map(newdoc_of, sentence.comments)), None)
    own = next((value for key, value in sentence.comments if key == SENT_ID), None)
    making = names.making(said or own or numbered(number))
    if marked and all(newdoc_of(each) is None for each in sentence.comments):
        making.meta.append(UNMARKED)
    take_first(sentence.comments, NEWDOC_ID)
    return Part(making, [])


def take_first(comments: list[Comment], key: str) -> None:
    """Take away the first comment if it alone has that key, and a value; else it stays."""
    keys = [each for each, _ in comments]
    if keys[:1] == [key] and keys.count(key) == 1 and comments[0][1]:
        del comments[0]


def newdoc_of(comment: Comment) -> str | None:
    """Return the id that a comment gives to a new document, "" for one without, else None."""
    key, value = comment
    if key in (NEWDOC, NEWDOC_ID):
        return value or ""
    found = _NEWDOC.fullmatch(value or "") if key == RAW else None
    return (found[1] or "") if found else None


def _sentence(block: list[Line], path: str, columns: Sequence[str]) -> Sentence:
    """Return the sentence of a block of lines."""
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
        problem = _placed(sentence, row)
        if problem:
            raise FormatError(path, line.number, problem)
    over = [row for _, end, row in sentence.tokens if end > len(sentence.words)]
    if over or not sentence.words:
        problem = f"expected word {len(sentence.words) + 1}, got the end of the sentence"
        raise FormatError(path, block[-1].number, problem)
    return sentence


def _placed(sentence: Sentence, row: Row) -> str:
    """Add a row to its sentence; return what is wrong with its id, "" if nothing is."""
    done = len(sentence.words)
    found = _ID.fullmatch(row.cells[ID])
    if found is None:
        return f"expected an id (2, 2-3 or 2.1), got {row.cells[ID]!r:.60}"
    first, last = int(found[1]), int(found[3] or 0)
    open_ = bool(sentence.tokens) and sentence.tokens[-1][0] == done
    if found[2] is None and first == done + 1:
        sentence.words.append(row)
    elif found[2] == "-" and first == done + 1 <= last and _free(sentence, done):
        sentence.tokens.append((done, last, row))
    elif found[2] == "." and first == done and not open_ and last == _number(sentence, done):
        sentence.empty.append((done, row))
    else:
        return f"expected word {done + 1}, or what stands before it, got the id {row.cells[ID]}"
    return _told_once(row.cells[MISC])


def _told_once(misc: str) -> str:
    """Return what is wrong with the items that text and layers tell, "" if nothing is."""
    items = [item for item in misc.split("|") if item.partition("=")[0] in PLACES]
    keys = {item.partition("=")[0] for item in items}
    if len(keys) < len(items) or keys.intersection(items):
        return f"expected {' and '.join(sorted(keys))} once in MISC, each with a value"
    return ""


def _free(sentence: Sentence, word: int) -> bool:
    """Whether no token stands over that word."""
    return not sentence.tokens or sentence.tokens[-1][1] <= word


def _number(sentence: Sentence, word: int) -> int:
    """Return the number of the next empty node after so many words."""
    if not sentence.empty or sentence.empty[-1][0] != word:
        return 1
    return int(sentence.empty[-1][1].cells[ID].partition(".")[2]) + 1


def _laid(sentence: Sentence, said: str | None) -> tuple[str, list[Fragment]]:
    """Return the text of a sentence and its words' bounds; blanks are those ``said`` if they fit.

    A token whose form is not what its words make is laid as its words, blanks between them.
    """
    units = list(_units(sentence))
    bounds = _found(said, units) if said is not None else None
    if said is not None and bounds is not None:
        return said, bounds
    pieces, bounds, size = [], [], 0
    for form, blank in units:
        bounds.append((size, size + len(form)))
        pieces.append(form + " " * blank)
        size += len(form) + blank
    return "".join(pieces), bounds


def _units(sentence: Sentence) -> Iterator[tuple[str, bool]]:
    """Yield the form of each word and whether a blank follows; after the last one none does."""
    starts = {first: (end, row) for first, end, row in sentence.tokens}
    number, words = 0, len(sentence.words)
    while number < words:
        end, surface = starts.get(number, (number + 1, sentence.words[number]))
        forms = [row.cells[FORM] for row in sentence.words[number:end]]
        found = _within(surface.cells[FORM], forms)
        places = zip(found, found[1:], strict=False)
        apart = [one[1] < two[0] for one, two in places] or [True] * (end - number - 1)
        yield from zip(forms, [*apart, end < words and not _glued(surface)], strict=True)
        number = end


def _within(surface: str, forms: Sequence[str]) -> list[Fragment]:
    """Return where words stand in a token that is made of them and blanks; none where it is not."""
    bounds: list[Fragment] = []
    place = 0
    for form in forms:
        place += len(surface[place:]) - len(surface[place:].lstrip()) if bounds else 0
        if not surface.startswith(form, place):
            return []
        bounds.append((place, place + len(form)))
        place += len(form)
    return bounds if place == len(surface) else []


def _found(text: str, units: Iterable[tuple[str, bool]]) -> list[Fragment] | None:
    """Return where the words stand in a text that has nothing else but blanks, else None."""
    bounds: list[Fragment] = []
    place = 0
    for form, blank in units:
        end = place + len(form)
        if not text.startswith(form, place):
            return None
        bounds.append((place, end))
        place = end
        while place < len(text) and text[place].isspace():
            place += 1
        if (place > end) != blank:
            return None
    return bounds if place == len(text) else None


def _glued(row: Row) -> bool:
    """Whether no blank follows."""
    return "=".join(GLUED) in row.cells[MISC].split("|")


def _alphabet(item: str) -> str:
    return item.partition("=")[0].lower()
