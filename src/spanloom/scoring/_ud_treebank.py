"""Read CoNLL-U as strictly, and as laxly, as the official program of Universal Dependencies.

A file ends with an empty line; comments only stand before a sentence; word numbers inside a
multi-word token are not checked; empty nodes and their dependents are skipped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.universal_dependencies import NOWHERE, ROOT, Edge, Placed, Treebank, universal

_WITH_CASE = frozenset(("obl", "nmod", "conj", "advcl"))
_NOT_A_CASE = frozenset(("pass", "relcl", "xsubj"))


@dataclass(frozen=True, slots=True)
class WordPosition:
    """Index of a word and of its sentence's first word, and the basic tree of all words so far."""

    word: int
    start: int
    heads: Sequence[int]
    deprels: Sequence[str]

    @property
    def basic(self) -> Edge:
        """The word's relation in the basic tree, if it has a head."""
        head = self.heads[self.word]
        return NOWHERE if head == ROOT else head, self.deprels[self.word]

    def number(self, head: int) -> int:
        """Return an index as heads are numbered in the file: from 1, and 0 is the root."""
        return 0 if head == ROOT else head - self.start + 1


Rule = Callable[[Sequence[Edge], WordPosition], Sequence[Edge]]


def _no_gaps(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Replace paths of several steps by the basic relation, and remove duplicates of the others."""
    kept: list[Edge] = []
    seen: set[Edge] = set()
    for edge in edges:
        is_path = ">" in edge[1]
        if is_path or edge not in seen:
            kept.append(position.basic if is_path else edge)
            seen.add(kept[-1])
    return kept


def _no_shared_parents(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Keep only the conjunct relation of a conjunct, the last if there are several."""
    conjuncts = [edge for edge in edges if edge[1].startswith("conj") and ">" not in edge[1]]
    return conjuncts[-1:] or edges


def _no_control(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Remove the subjects of open complements."""
    return [edge for edge in edges if not _is_controlled_subject(edge, position)]


def _is_controlled_subject(edge: Edge, position: WordPosition) -> bool:
    """Whether an edge is the subject of an open complement."""
    head, path = edge
    if head < 0 or position.deprels[head] != "xcomp":
        return False
    return any(step.startswith("nsubj") for step in path.split(">"))


def _no_relative_clauses(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Remove the antecedent from the arguments of its relative clause."""
    kept: list[Edge] = []
    for head, path in edges:
        if path.partition(">")[0] == "ref":
            kept.append(position.basic)
        elif not _is_relative_clause(head, position):
            kept.append((head, path))
    return kept


def _is_relative_clause(head: int, position: WordPosition) -> bool:
    """Whether the head is a clause that modifies the word itself, as the program counts words."""
    if head < 0 or not position.deprels[head].startswith("acl"):
        return False
    return position.number(position.heads[head]) == position.word - position.start


def _no_case(edges: Sequence[Edge], position: WordPosition) -> Sequence[Edge]:
    """Remove cases and prepositions from relation names."""
    return [(head, ">".join(map(_without_case, path.split(">")))) for head, path in edges]


def _without_case(step: str) -> str:
    """Return a relation without its case or preposition."""
    name, *rest = step.split(":")
    has_case = name in _WITH_CASE and len(rest) == 1 and rest[0] not in _NOT_A_CASE
    return name if has_case else step


RULES: Mapping[str, Rule] = {
    "1": _no_gaps,
    "2": _no_shared_parents,
    "4": _no_control,
    "5": _no_relative_clauses,
    "6": _no_case,
}
"""Rules by the digit that selects them, in the order in which they are applied."""


# Unicode category Zs: blanks that a form may contain, which are ignored
BLANKS = (
    " \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_NO_BLANKS = str.maketrans("", "", BLANKS)
_ID, _FORM, _FEATS, _HEAD, _DEPREL, _DEPS = 0, 1, 5, 6, 7, 8


@dataclass(frozen=True, slots=True)
class Strictness:
    """What a file may contain, and the rules applied to its enhanced relations."""

    rules: Sequence[Rule] = ()
    empty_nodes: bool = True
    several_roots: bool = False


@dataclass(frozen=True, slots=True)
class TreebankFile:
    """A treebank, its tokens' characters without blanks, and the line number of each token."""

    treebank: Treebank
    text: str
    lines: Sequence[int]


def read(path: Path, strictness: Strictness) -> TreebankFile:
    """Read a file; raises ``FormatError`` where the official program refuses it."""
    builder = _TreebankBuilder(str(path), strictness)
    for first_line, rows in _sentences(text_of(path), str(path)):
        builder.add(first_line, rows)
    return builder.build()


def _sentences(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number of each sentence's first row, and its rows."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    rows: list[str] = []
    for line_number, line in enumerate(lines, 1):
        if line and (rows or not line.startswith("#")):
            rows.append(line)
        elif not line and not rows:
            raise FormatError(path, line_number, "expected a word, got an empty line")
        elif not line:
            yield line_number - len(rows), rows
            rows = []
    if rows:
        raise FormatError(path, len(lines), "expected an empty line after the last sentence")


class _TreebankBuilder:
    """The words of one file so far; lists have one entry per word unless noted."""

    def __init__(self, path: str, strictness: Strictness) -> None:
        """Start without words."""
        self.path, self.strictness = path, strictness
        self.text: list[str] = []  # of tokens
        self.lines: list[int] = []  # of tokens
        self.tokens: list[tuple[int, int]] = []
        self.sentences: list[tuple[int, int]] = []
        self.word_lines: list[int] = []  # lines of words
        self.columns: list[list[str]] = [[] for _ in range(5)]  # form to feats
        self.head_cells: list[tuple[str, str]] = []  # cells of heads and enhanced relations
        self.word_bounds: list[tuple[int, int]] = []
        self.in_multiword: list[bool] = []
        self.deprels: list[str] = []
        self.heads: list[int] = []
        self.edges: list[Sequence[Edge]] = []

    @property
    def num_characters(self) -> int:
        """Number of characters of all tokens."""
        return self.tokens[-1][1] if self.tokens else 0

    def add(self, first_line: int, rows: Sequence[str]) -> None:
        """Add a sentence whose rows begin at line ``first_line``."""
        first_word, first_character, words_left = len(self.word_lines), self.num_characters, 0
        for line_number, row in enumerate(rows, first_line):
            columns = row.split("\t")
            if len(columns) != 10:
                raise self._format_error(line_number, "10 columns with tabs between", row)
            if "." in columns[_ID]:
                self._skip_empty_node(line_number, columns[_ID])
            elif words_left > 0:
                words_left -= 1
                self._add_word(columns, line_number, in_multiword=True)
            elif "-" in columns[_ID]:
                self._add_token(columns, line_number)
                words_left = self._num_token_words(columns[_ID], line_number)
            else:
                self._add_token(columns, line_number)
                self._check_id(columns[_ID], len(self.word_lines) - first_word + 1, line_number)
                self._add_word(columns, line_number, in_multiword=False)
        end_line = first_line + len(rows)
        if words_left > 0:
            raise FormatError(
                self.path, end_line, f"expected {words_left} more words of a token, got none"
            )
        self._end_sentence(first_word, first_character, end_line)

    def build(self) -> TreebankFile:
        """Return the treebank that was read."""
        forms, lemmas, upos, xpos, feats = self.columns
        starts = [start for start, _ in self.word_bounds]
        ends = [end for _, end in self.word_bounds]
        treebank = Treebank(
            self.tokens,
            self.sentences,
            Placed(forms, starts, ends, self.in_multiword),
            lemmas,
            upos,
            xpos,
            feats,
            self.heads,
            self.deprels,
            self.edges,
        )
        return TreebankFile(treebank, "".join(self.text), self.lines)

    def _format_error(self, line_number: int, expected: str, got: str) -> FormatError:
        return FormatError(self.path, line_number, f"expected {expected}, got {got!r:.60}")

    def _skip_empty_node(self, line_number: int, name: str) -> None:
        """Skip an empty node; raises ``FormatError`` if none are allowed."""
        if not self.strictness.empty_nodes:
            raise self._format_error(line_number, "no empty node", name)

    def _add_token(self, columns: list[str], line_number: int) -> None:
        """Add a token, and remove the blanks of its form."""
        form = columns[_FORM]
        if " " in form or not form.isascii():
            form = columns[_FORM] = form.translate(_NO_BLANKS)
        if not form:
            raise FormatError(self.path, line_number, "expected a form, got none")
        start = self.num_characters
        self.text.append(form)
        self.lines.append(line_number)
        self.tokens.append((start, start + len(form)))

    def _num_token_words(self, name: str, line_number: int) -> int:
        """Return the number of words of a multi-word token ``first-last``."""
        first, _, last = name.partition("-")
        try:
            return int(last) - int(first) + 1
        except ValueError as error:
            raise self._format_error(
                line_number, "the numbers of words, as in 3-4", name
            ) from error

    def _check_id(self, name: str, expected: int, line_number: int) -> None:
        """Raise ``FormatError`` for a word out of order."""
        try:
            is_expected = int(name) == expected
        except ValueError:
            is_expected = False
        if not is_expected:
            raise self._format_error(line_number, f"the word's number {expected}", name)

    def _add_word(self, columns: list[str], line_number: int, *, in_multiword: bool) -> None:
        """Add a word of the latest token."""
        self.word_lines.append(line_number)
        columns[_FEATS] = universal(columns[_FEATS])
        for column, cell in zip(self.columns, columns[_FORM:_HEAD], strict=True):
            column.append(cell)
        self.head_cells.append((columns[_HEAD], columns[_DEPS]))
        self.word_bounds.append(self.tokens[-1])
        self.in_multiword.append(in_multiword)
        self.deprels.append(columns[_DEPREL].partition(":")[0])

    def _end_sentence(self, first_word: int, first_character: int, end_line: int) -> None:
        """Finish a sentence: resolve heads, check the tree, and read the enhanced relations."""
        self.sentences.append((first_character, self.num_characters))
        num_words = len(self.word_lines) - first_word
        self.heads += [
            self._head_index(word, first_word, num_words)
            for word in range(first_word, first_word + num_words)
        ]
        roots = self.heads[first_word:].count(ROOT)
        if roots > 1 and not self.strictness.several_roots:
            raise FormatError(self.path, end_line, f"expected one root in a sentence, got {roots}")
        if roots == 0 or self._has_cycle(first_word):
            raise FormatError(self.path, end_line, "expected a tree of words, got a circle or none")
        for word in range(first_word, first_word + num_words):
            self.edges.append(self._enhanced_edges(word, first_word, num_words))

    def _head_index(self, word: int, first_word: int, num_words: int) -> int:
        """Return the index of a word's head."""
        head = self._head_number(self.head_cells[word][0], word, num_words)
        return first_word + head - 1 if head else ROOT

    def _head_number(self, text: str, word: int, num_words: int) -> int:
        """Return a head's number in the sentence, 0 to ``num_words``."""
        try:
            head = int(text)
        except ValueError:
            head = -1
        if not 0 <= head <= num_words:
            raise self._format_error(self.word_lines[word], f"a head from 0 to {num_words}", text)
        return head

    def _has_cycle(self, first_word: int) -> bool:
        """Whether a word of the sentence is its own ancestor."""
        acyclic = {ROOT}
        for word in range(first_word, len(self.heads)):
            path = set()
            while word not in acyclic:
                if word in path:
                    return True
                path.add(word)
                word = self.heads[word]
            acyclic |= path
        return False

    def _enhanced_edges(self, word: int, first_word: int, num_words: int) -> Sequence[Edge]:
        """Return the enhanced relations of a word, after all rules."""
        deps = self.head_cells[word][1]
        if deps in ("", "_"):
            return ()
        edges: Sequence[Edge] = list(self._parse_edges(deps, word, first_word, num_words))
        for rule in self.strictness.rules:
            edges = rule(edges, WordPosition(word, first_word, self.heads, self.deprels))
        return tuple(edges)

    def _parse_edges(self, deps: str, word: int, first_word: int, num_words: int) -> Iterator[Edge]:
        """Yield the enhanced relations of a cell, without those from empty nodes."""
        for edge in deps.split("|"):
            head, colon, path = edge.partition(":")
            if not colon:
                raise self._format_error(
                    self.word_lines[word], "enhanced relations, head:relation", edge
                )
            if "." in head:
                self._skip_empty_node(self.word_lines[word], head)
                continue
            number = self._head_number(head, word, num_words)
            yield (first_word + number - 1 if number else ROOT), path
