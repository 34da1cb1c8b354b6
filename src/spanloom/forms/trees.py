"""Trees of constituents: in brackets, and as labelled runs of words.

    (TOP (S (NP-SBJ (-NONE- *)) (VP (VB Stop))))
    words   Stop
    tags    VB
    spans   (0, 1, TOP) (0, 1, S) (0, 0, "(NP-SBJ (-NONE- *))") (0, 1, VP)

Spans stand outermost first, a unary chain too, so that several labels lie on the same words. A
subtree without words (all its leaves are tagged -NONE-) is one span of no words, its label the
subtree in brackets; it follows the span it hangs from, before that span's other parts. So nothing
is lost, and ``tree`` makes the same tree of them. Marcus et al. (1993) has the brackets.

Nothing here is recursive: a tree may be deeper than Python's stack.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spanloom.errors import DocumentError

EMPTY = "-NONE-"  # the tag of a leaf that is no word of the text
TOP, UNKNOWN = "TOP", "X"  # how brackets without a label are called: a root, any other

_TOKEN = re.compile(r"[()]|[^\s()]+", re.ASCII)
_ATOM = re.compile(r"[^\s()]+", re.ASCII)
_FUNCTION = re.compile(r"[-=]")


class TreeError(DocumentError):
    """Brackets or spans make no tree; ``offset`` is the character, where brackets were read."""

    def __init__(self, offset: int | None, problem: str) -> None:
        super().__init__(problem if offset is None else f"character {offset}: {problem}")
        self.offset, self.problem = offset, problem


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A label over parts, or a part-of-speech tag over one word; a node may have no label ("").

    Raises ``TreeError`` where brackets could not spell it.
    """

    label: str
    children: tuple["Tree", ...] = ()
    word: str | None = None

    def __post_init__(self) -> None:
        """Check label and word."""
        if bool(self.children) is (self.word is not None):
            raise TreeError(None, f"{self.label!r:.60}: expected either parts or a word")
        for atom in (self.label,) if self.word is None else (self.label, self.word):
            if not _ATOM.fullmatch(atom) and (atom or self.word is not None):
                problem = f"{atom!r:.60}: expected a label or word without blanks and brackets"
                raise TreeError(None, problem)

    def __eq__(self, other: object) -> bool:
        """Whether labels, words and shape are the same."""
        return isinstance(other, Tree) and self._content() == other._content()

    def __hash__(self) -> int:
        """Hash what is compared."""
        return hash(self._content())

    def __repr__(self) -> str:
        """Return the brackets."""
        return f"Tree[{spelled(self)}]"

    def _content(self) -> tuple[tuple[str, int, str | None], ...]:
        return tuple((node.label, len(node.children), node.word) for node in walk(self))


class Bracket(NamedTuple):
    """A label over the words ``[start, end)``."""

    start: int
    end: int
    label: str


class Flat(NamedTuple):
    """A tree as words, one tag a word, and spans, as the head of this file draws them."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    brackets: tuple[Bracket, ...]


def walk(tree: Tree) -> Iterator[Tree]:
    """Yield all nodes and leaves, each before its parts, from left to right."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def parse(text: str) -> Tree:
    """Return the one tree in a text; raises ``TreeError`` with the character where it breaks."""
    found = parse_all(text)
    first = next(found, None)
    if first is None:
        raise TreeError(len(text), "expected '(', got the end")
    second = next(found, None)
    if second is not None:
        raise TreeError(second[0], "expected the end, got a second tree")
    return first[1]


def parse_all(text: str) -> Iterator[tuple[int, Tree]]:
    """Yield each tree of a text, with the character where it begins; see ``parse``."""
    stack: list[_Opened] = []
    for match in _TOKEN.finditer(text):
        token, offset = match[0], match.start()
        if token == "(":
            if stack:
                stack[-1].opens(offset)
            stack.append(_Opened(offset))
        elif not stack:
            raise TreeError(offset, f"expected '(', got {token!r:.60}")
        elif token == ")":
            opened = stack.pop()
            made = opened.closed(offset)
            if stack:
                stack[-1].children.append(made)
            else:
                yield opened.offset, made
        else:
            stack[-1].reads(token, offset)
    if stack:
        raise TreeError(stack[-1].offset, "expected a ')' for this '(', got the end")


def spelled(tree: Tree) -> str:
    """Return the tree in brackets on one line, one blank between any two parts."""
    pieces: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif node.word is not None:
            pieces.append(f"({node.label} {node.word})")
        else:
            pieces.append(f"({node.label}")
            stack.append(")")
            for child in reversed(node.children):
                stack += (child, " ")
    return "".join(pieces)


def flat(tree: Tree) -> Flat:
    """Return words, tags and spans; all that ``tree`` needs to make the same tree."""
    measures = _measures(tree)
    words: list[str] = []
    tags: list[str] = []
    groups: list[list[Bracket]] = [[]]  # each span with those of no words that hang from it
    stack, row = [(tree, 0)], 0
    while stack:
        node, above = stack.pop()
        width, size = measures[row]
        row += 1 if width else size
        if not width:
            groups[above].append(Bracket(len(words), len(words), spelled(node)))
        elif node.word is not None:
            words.append(node.word)
            tags.append(node.label)
        else:
            groups.append([Bracket(len(words), len(words) + width, node.label)])
            stack.extend((child, len(groups) - 1) for child in reversed(node.children))
    brackets = tuple(bracket for group in groups for bracket in group)
    return Flat(tuple(words), tuple(tags), brackets)


def tree(words: Sequence[str], tags: Sequence[str], brackets: Sequence[Bracket]) -> Tree:
    """Return the tree of these spans, whose order matters on the same words: outermost first.

    A span of no words hangs from the last span of words before it. Raises ``TreeError`` where
    spans cross or leave the words, or none holds all others.
    """
    if len(words) != len(tags):
        raise TreeError(None, f"expected a tag a word, got {len(tags)} for {len(words)} words")
    leaves = [Tree(tag, word=word) for word, tag in zip(words, tags, strict=True)]
    outside = _Growing(0, len(leaves), "")
    stack, placed = [outside], 0
    for each in _nested(outside, brackets):
        while stack[-1].end <= each.start and len(stack) > 1:
            placed = _finish(stack, leaves, placed)
        if each.end > stack[-1].end:
            problem = f"expected spans that do not cross, got {each} after {stack[-1]}"
            raise TreeError(None, problem)
        placed = stack[-1].fill(leaves, placed, each.start)
        stack.append(each)
    while len(stack) > 1:
        placed = _finish(stack, leaves, placed)
    outside.fill(leaves, placed, outside.end)
    tops = outside.parts()
    if len(tops) != 1:
        raise TreeError(None, f"expected one span over all words, got {len(tops)} side by side")
    return tops[0]


def without_empty(tree: Tree) -> Tree | None:
    """Return the tree without -NONE- and what holds nothing else; None where nothing is left."""

    def kept(node: Tree, children: tuple[Tree, ...]) -> Tree | None:
        if node.word is not None:
            return None if node.label == EMPTY else node
        return Tree(node.label, children) if children else None

    return _rebuilt(tree, kept)


def without_functions(tree: Tree) -> Tree:
    """Return the tree with plain labels: NP for NP-SBJ-1 and NP=2; tags and words as they are."""

    def plain(node: Tree, children: tuple[Tree, ...]) -> Tree:
        return node if node.word is not None else Tree(category(node.label), children)

    return _rebuilt(tree, plain) or tree


def wrapped(tree: Tree) -> bool:
    """Whether a tree stands in brackets without a label that hold nothing else: ``( (S …) )``."""
    return not tree.label and len(tree.children) == 1 and bool(tree.children[0].children)


def named(tree: Tree) -> Tree:
    """Return the tree with a label at every node.

    Brackets without one that hold one part are left out, as readers of the Penn Treebank do, and
    other ones are called X; a root of several parts, or over a word alone, is called TOP.
    """
    while wrapped(tree):
        (tree,) = tree.children

    def called(node: Tree, children: tuple[Tree, ...]) -> Tree:
        if node.word is not None or node.label:
            return node if node.word is not None else Tree(node.label, children)
        return children[0] if len(children) == 1 else Tree(UNKNOWN, children)

    root = tree if tree.word is not None or tree.label else Tree(TOP, tree.children)
    return _rebuilt(root, called) or root


def category(label: str) -> str:
    """Return a label without functions and numbers; one that begins with "-" stays whole."""
    return label if label.startswith("-") else _FUNCTION.split(label, maxsplit=1)[0] or label


@dataclass(slots=True)
class _Opened:
    """A '(' whose ')' was not read yet."""

    offset: int
    label: str | None = None
    word: str | None = None
    children: list[Tree] = field(default_factory=list)

    def opens(self, offset: int) -> None:
        """A part begins."""
        if self.word is not None:
            raise TreeError(offset, f"expected ')' after the word {self.word!r:.60}, got '('")

    def reads(self, token: str, offset: int) -> None:
        """Read a label or a word."""
        if self.children or self.word is not None:
            raise TreeError(offset, f"expected '(' or ')', got {token!r:.60}")
        if self.label is None:
            self.label = token
        else:
            self.word = token

    def closed(self, offset: int) -> Tree:
        """Return what the brackets hold."""
        if not self.children and self.word is None:
            raise TreeError(offset, "expected a word or '(', got ')'")
        return Tree(self.label or "", tuple(self.children), self.word)


@dataclass(slots=True)
class _Growing:
    """A span that gets its parts from left to right."""

    start: int
    end: int
    label: str
    empty: list[tuple[int, Tree]] = field(default_factory=list)
    full: list[tuple[int, Tree]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"({self.start}, {self.end}, {self.label!r:.60})"

    def fill(self, leaves: Sequence[Tree], start: int, end: int) -> int:
        """Take the leaves ``[start, end)``; return the first that is left, none taken twice."""
        self.full += ((place, leaves[place]) for place in range(start, end))
        return max(start, end)

    def parts(self) -> tuple[Tree, ...]:
        """What there is at each place, without words first."""
        return tuple(part for _, part in sorted(self.empty + self.full, key=lambda each: each[0]))


def _nested(outside: _Growing, brackets: Sequence[Bracket]) -> list[_Growing]:
    """The spans of words in order, and in each what of no words hangs from it."""
    found: list[_Growing] = []
    last = outside
    for start, end, label in brackets:
        if not outside.start <= start <= end <= outside.end:
            problem = f"span ({start}, {end}): expected words within [0, {outside.end})"
            raise TreeError(None, problem)
        if start < end:
            last = _Growing(start, end, label)
            found.append(last)
        elif last.start <= start <= last.end:
            last.empty.append((start, parse(label)))
        else:
            raise TreeError(None, f"expected a span of no words within {last}, got one at {start}")
    return sorted(found, key=lambda each: (each.start, -each.end))


def _finish(stack: list[_Growing], leaves: Sequence[Tree], placed: int) -> int:
    """Close the innermost span and hand it to the one around it; return the first leaf left."""
    done = stack.pop()
    placed = done.fill(leaves, placed, done.end)
    stack[-1].full.append((done.start, Tree(done.label, done.parts())))
    return placed


def _measures(tree: Tree) -> list[tuple[int, int]]:
    """How many words, and how many nodes and leaves, each node holds; in the order of ``walk``."""
    made: list[tuple[int, int]] = []
    stack: list[tuple[int, int]] = []
    for node in reversed(list(walk(tree))):
        parts = [stack.pop() for _ in node.children]
        own = int(node.word is not None and node.label != EMPTY)
        stack.append((own + sum(part[0] for part in parts), 1 + sum(part[1] for part in parts)))
        made.append(stack[-1])
    return made[::-1]


def _rebuilt(tree: Tree, make: Callable[[Tree, tuple[Tree, ...]], Tree | None]) -> Tree | None:
    """Make each node anew of itself and its new parts, the innermost first; None leaves it out."""
    stack: list[Tree | None] = []
    for node in reversed(list(walk(tree))):
        parts = [stack.pop() for _ in node.children]
        stack.append(make(node, tuple(part for part in parts if part is not None)))
    return stack[0]
