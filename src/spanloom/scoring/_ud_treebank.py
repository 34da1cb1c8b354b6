"""CoNLL-U as the official program of Universal Dependencies takes it: strict and lax as it is.

A file ends in an empty line; comments stand before a sentence alone; numbers of words inside a
token of several are not looked at; empty nodes, and what hangs from them, are passed over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.universal_dependencies import ROOT, Edge, Treebank, universal
from spanloom.metrics.word_alignment import Placed
from spanloom.scoring._ud_enhancements import Place, Rule

# Unicode's category Zs: blanks that a form may hold, and that do not count
BLANKS = (
    " \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_NO_BLANKS = str.maketrans("", "", BLANKS)
_ID, _FORM, _FEATS, _HEAD, _DEPREL, _DEPS = 0, 1, 5, 6, 7, 8


@dataclass(frozen=True, slots=True)
class Strictness:
    """What a file may hold, and which rules its enhanced relations go through."""

    rules: Sequence[Rule] = ()
    empty_nodes: bool = True
    several_roots: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """A treebank, the characters of its tokens without blanks, and the line of each token."""

    treebank: Treebank
    text: str
    lines: Sequence[int]


def read(path: Path, strictness: Strictness) -> Read:
    """Read a file; raises ``FormatError`` where the official program refuses it."""
    reading = _Reading(str(path), strictness)
    for first, rows in _sentences(text_of(path), str(path)):
        reading.add(first, rows)
    return reading.done()


def _sentences(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of each sentence and the number of the first."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    rows: list[str] = []
    for number, line in enumerate(lines, 1):
        if line and (rows or not line.startswith("#")):
            rows.append(line)
        elif not line and not rows:
            raise FormatError(path, number, "expected a word, got an empty line")
        elif not line:
            yield number - len(rows), rows
            rows = []
    if rows:
        raise FormatError(path, len(lines), "expected an empty line after the last sentence")


class _Reading:
    """One file's words so far; every list has one entry a word, but for tokens and sentences."""

    def __init__(self, path: str, strictness: Strictness) -> None:
        """Begin with no word."""
        self.path, self.strictness = path, strictness
        self.text: list[str] = []  # of tokens
        self.lines: list[int] = []  # of tokens
        self.tokens: list[tuple[int, int]] = []
        self.sentences: list[tuple[int, int]] = []
        self.numbers: list[int] = []  # lines of words
        self.columns: list[list[str]] = [[] for _ in range(5)]  # form to feats
        self.said: list[tuple[str, str]] = []  # heads and enhanced relations as they stand
        self.places: list[tuple[int, int]] = []
        self.inside: list[bool] = []
        self.deprels: list[str] = []
        self.heads: list[int] = []
        self.edges: list[Sequence[Edge]] = []

    @property
    def size(self) -> int:
        """How many characters the tokens have."""
        return self.tokens[-1][1] if self.tokens else 0

    def add(self, first: int, rows: Sequence[str]) -> None:
        """Add a sentence whose rows begin at line ``first``."""
        start, begin, owed = len(self.numbers), self.size, 0
        for number, row in enumerate(rows, first):
            columns = row.split("\t")
            if len(columns) != 10:
                raise self._wrong(number, "10 columns with tabs between", row)
            if "." in columns[_ID]:
                self._empty_node(number, columns[_ID])
            elif owed > 0:
                owed -= 1
                self._word(columns, number, inside=True)
            elif "-" in columns[_ID]:
                self._token(columns, number)
                owed = self._owed(columns[_ID], number)
            else:
                self._token(columns, number)
                self._check_id(columns[_ID], len(self.numbers) - start + 1, number)
                self._word(columns, number, inside=False)
        last = first + len(rows)
        if owed > 0:
            raise FormatError(self.path, last, f"expected {owed} more words of a token, got none")
        self._end(start, begin, last)

    def done(self) -> Read:
        """Return all that was read."""
        forms, lemmas, upos, xpos, feats = self.columns
        starts, ends = [start for start, _ in self.places], [end for _, end in self.places]
        treebank = Treebank(
            self.tokens,
            self.sentences,
            Placed(forms, starts, ends, self.inside),
            lemmas,
            upos,
            xpos,
            feats,
            self.heads,
            self.deprels,
            self.edges,
        )
        return Read(treebank, "".join(self.text), self.lines)

    def _wrong(self, number: int, expected: str, got: str) -> FormatError:
        return FormatError(self.path, number, f"expected {expected}, got {got!r:.60}")

    def _empty_node(self, number: int, name: str) -> None:
        """Pass over an empty node, or refuse it."""
        if not self.strictness.empty_nodes:
            raise self._wrong(number, "no empty node", name)

    def _token(self, columns: list[str], number: int) -> None:
        """Add a token; a word that is one has its form without blanks."""
        form = columns[_FORM]
        if " " in form or not form.isascii():
            form = columns[_FORM] = form.translate(_NO_BLANKS)
        if not form:
            raise FormatError(self.path, number, "expected a form, got none")
        start = self.size
        self.text.append(form)
        self.lines.append(number)
        self.tokens.append((start, start + len(form)))

    def _owed(self, name: str, number: int) -> int:
        """How many words a token ``first-last`` has."""
        first, _, last = name.partition("-")
        try:
            return int(last) - int(first) + 1
        except ValueError as error:
            raise self._wrong(number, "the numbers of words, as in 3-4", name) from error

    def _check_id(self, name: str, expected: int, number: int) -> None:
        """Refuse a word out of order."""
        try:
            right = int(name) == expected
        except ValueError:
            right = False
        if not right:
            raise self._wrong(number, f"the word's number {expected}", name)

    def _word(self, columns: list[str], number: int, *, inside: bool) -> None:
        """Add a word of the latest token."""
        self.numbers.append(number)
        columns[_FEATS] = universal(columns[_FEATS])
        for column, cell in zip(self.columns, columns[_FORM:_HEAD], strict=True):
            column.append(cell)
        self.said.append((columns[_HEAD], columns[_DEPS]))
        self.places.append(self.tokens[-1])
        self.inside.append(inside)
        self.deprels.append(columns[_DEPREL].partition(":")[0])

    def _end(self, start: int, begin: int, last: int) -> None:
        """Tie the words of a sentence together."""
        self.sentences.append((begin, self.size))
        size = len(self.numbers) - start
        self.heads += [self._head(row, start, size) for row in range(start, start + size)]
        roots = self.heads[start:].count(ROOT)
        if roots > 1 and not self.strictness.several_roots:
            raise FormatError(self.path, last, f"expected one root in a sentence, got {roots}")
        if roots == 0 or self._circles(start):
            raise FormatError(self.path, last, "expected a tree of words, got a circle or none")
        for row in range(start, start + size):
            self.edges.append(self._edges(row, start, size))

    def _head(self, row: int, start: int, size: int) -> int:
        """The row of a word's head."""
        head = self._number(self.said[row][0], row, size)
        return start + head - 1 if head else ROOT

    def _number(self, text: str, row: int, size: int) -> int:
        """The number of a head, 0 to ``size``."""
        try:
            head = int(text)
        except ValueError:
            head = -1
        if not 0 <= head <= size:
            raise self._wrong(self.numbers[row], f"a head from 0 to {size}", text)
        return head

    def _circles(self, start: int) -> bool:
        """Whether some word of the sentence is above itself."""
        safe = {ROOT}
        for row in range(start, len(self.heads)):
            way = set()
            while row not in safe:
                if row in way:
                    return True
                way.add(row)
                row = self.heads[row]
            safe |= way
        return False

    def _edges(self, row: int, start: int, size: int) -> Sequence[Edge]:
        """The enhanced relations of a word, through all rules."""
        deps = self.said[row][1]
        if deps in ("", "_"):
            return ()
        edges: Sequence[Edge] = list(self._listed(deps, row, start, size))
        for rule in self.strictness.rules:
            edges = rule(edges, Place(row, start, self.heads, self.deprels))
        return tuple(edges)

    def _listed(self, deps: str, row: int, start: int, size: int) -> Iterator[Edge]:
        """Yield the enhanced relations as they stand, those from empty nodes left out."""
        for edge in deps.split("|"):
            head, colon, path = edge.partition(":")
            if not colon:
                raise self._wrong(self.numbers[row], "enhanced relations, head:relation", edge)
            if "." in head:
                self._empty_node(self.numbers[row], head)
                continue
            number = self._number(head, row, size)
            yield (start + number - 1 if number else ROOT), path
