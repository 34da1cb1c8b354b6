"""Constituency trees: in brackets, and as labelled spans of words.

    (TOP (S (NP-SBJ (-NONE- *)) (VP (VB Stop))))
    words   Stop
    tags    VB
    spans   (0, 1, TOP) (0, 1, S) (0, 0, "(NP-SBJ (-NONE- *))") (0, 1, VP)

Spans are ordered outermost first, also in a unary chain, so that several labels may have the same
words. A subtree without words (all its leaves are tagged -NONE-) is one span of no words, its label
the subtree in brackets; it follows its parent span, before that span's other parts. So nothing is
lost, and ``build_tree`` is the inverse. Marcus et al. (1993) has the brackets.

Nothing here is recursive: a tree may be deeper than Python's stack.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spanloom.errors import DocumentError

EMPTY = "-NONE-"  # the tag of a leaf that is not a word of the text
TOP, UNKNOWN = "TOP", "X"  # labels given to brackets without one: a root, any other

_TOKEN = re.compile(r"[()]|[^\s()]+", re.ASCII)
_ATOM = re.compile(r"[^\s()]+", re.ASCII)
_FUNCTION = re.compile(r"[-=]")


class TreeError(DocumentError):
    """Brackets or spans are no tree; ``offset`` is the character where brackets are malformed."""

    def __init__(self, offset: int | None, problem: str) -> None:
        super().__init__(problem if offset is None else f"character {offset}: {problem}")
        self.offset, self.problem = offset, problem


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A label over parts, or a part-of-speech tag over one word; a node may have no label ("").

    Raises ``TreeError`` if it could not be written in brackets.
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
        """Return whether labels, words and shape are the same."""
        return isinstance(other, Tree) and self._content() == other._content()

    def __hash__(self) -> int:
        """Hash what ``==`` compares."""
        return hash(self._content())

    def __repr__(self) -> str:
        """Return the tree in brackets."""
        return f"Tree[{format_tree(self)}]"

    def _content(self) -> tuple[tuple[str, int, str | None], ...]:
        """Return label, number of children and word of each node in preorder."""
        return tuple((node.label, len(node.children), node.word) for node in walk(self))


class Bracket(NamedTuple):
    """A label over the words ``[start, end)``."""

    start: int
    end: int
    label: str


class Flat(NamedTuple):
    """A tree as words, one tag per word, and spans; see the example in the module docstring."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    brackets: tuple[Bracket, ...]


def walk(tree: Tree) -> Iterator[Tree]:
    """Yield all nodes and leaves in preorder, from left to right."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def parse(text: str) -> Tree:
    """Return the one tree in a text; raises ``TreeError`` with the offending character's offset."""
    trees = parse_all(text)
    first = next(trees, None)
    if first is None:
        raise TreeError(len(text), "expected '(', got the end")
    second = next(trees, None)
    if second is not None:
        raise TreeError(second[0], "expected the end, got a second tree")
    return first[1]


def parse_all(text: str) -> Iterator[tuple[int, Tree]]:
    """Yield each tree of a text, with the offset where it begins; see ``parse``."""
    stack: list[_OpenBracket] = []
    for match in _TOKEN.finditer(text):
        token, offset = match[0], match.start()
        if token == "(":
            if stack:
                stack[-1].require_no_word(offset)
            stack.append(_OpenBracket(offset))
        elif not stack:
            raise TreeError(offset, f"expected '(', got {token!r:.60}")
        elif token == ")":
            bracket = stack.pop()
            node = bracket.to_tree(offset)
            if stack:
                stack[-1].children.append(node)
            else:
                yield bracket.offset, node
        else:
            stack[-1].add_token(token, offset)
    if stack:
        raise TreeError(stack[-1].offset, "expected a ')' for this '(', got the end")


def format_tree(tree: Tree) -> str:
    """Return the tree in brackets on one line, with one blank between any two parts."""
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


def flatten(tree: Tree) -> Flat:
    """Return words, tags and spans; ``build_tree`` is the inverse."""
    sizes = _subtree_sizes(tree)
    words: list[str] = []
    tags: list[str] = []
    groups: list[list[Bracket]] = [[]]  # each span with its empty subtrees
    stack, index = [(tree, 0)], 0
    while stack:
        node, parent = stack.pop()
        num_words, num_nodes = sizes[index]
        index += 1 if num_words else num_nodes
        if not num_words:
            groups[parent].append(Bracket(len(words), len(words), format_tree(node)))
        elif node.word is not None:
            words.append(node.word)
            tags.append(node.label)
        else:
            groups.append([Bracket(len(words), len(words) + num_words, node.label)])
            stack.extend((child, len(groups) - 1) for child in reversed(node.children))
    brackets = tuple(bracket for span_group in groups for bracket in span_group)
    return Flat(tuple(words), tuple(tags), brackets)


def build_tree(words: Sequence[str], tags: Sequence[str], brackets: Sequence[Bracket]) -> Tree:
    """Return the tree of these spans, whose order matters on the same words: outermost first.

    A span of no words is attached to the last span of words before it. Raises ``TreeError`` where
    spans cross or leave the words, or no span contains all others.
    """
    if len(words) != len(tags):
        raise TreeError(None, f"expected a tag a word, got {len(tags)} for {len(words)} words")
    leaves = [Tree(tag, word=word) for word, tag in zip(words, tags, strict=True)]
    root = _OpenSpan(0, len(leaves), "")
    stack, next_leaf = [root], 0
    for span in _open_spans(root, brackets):
        while stack[-1].end <= span.start and len(stack) > 1:
            next_leaf = _finish(stack, leaves, next_leaf)
        if span.end > stack[-1].end:
            problem = f"expected spans that do not cross, got {span} after {stack[-1]}"
            raise TreeError(None, problem)
        next_leaf = stack[-1].fill(leaves, next_leaf, span.start)
        stack.append(span)
    while len(stack) > 1:
        next_leaf = _finish(stack, leaves, next_leaf)
    root.fill(leaves, next_leaf, root.end)
    roots = root.parts()
    if len(roots) != 1:
        raise TreeError(None, f"expected one span over all words, got {len(roots)} side by side")
    return roots[0]


def without_empty(tree: Tree) -> Tree | None:
    """Return the tree without -NONE- leaves and their empty ancestors; None if nothing is left."""

    def keep_node(node: Tree, children: tuple[Tree, ...]) -> Tree | None:
        if node.word is not None:
            return None if node.label == EMPTY else node
        return Tree(node.label, children) if children else None

    return _rebuild(tree, keep_node)


def without_functions(tree: Tree) -> Tree:
    """Return the tree with plain labels (NP for NP-SBJ-1, NP=2); tags and words are unchanged."""

    def strip_functions(node: Tree, children: tuple[Tree, ...]) -> Tree:
        return node if node.word is not None else Tree(category(node.label), children)

    return _rebuild(tree, strip_functions) or tree


def is_wrapper(tree: Tree) -> bool:
    """Return whether a tree is brackets without a label around one subtree: ``( (S …) )``."""
    return not tree.label and len(tree.children) == 1 and bool(tree.children[0].children)


def label_all_nodes(tree: Tree) -> Tree:
    """Return the tree with a label at every node.

    Brackets without a label are removed if they hold one part, as readers of the Penn Treebank do,
    and labelled X otherwise; a root of several parts, or over a word alone, is labelled TOP.
    """
    while is_wrapper(tree):
        (tree,) = tree.children

    def add_label(node: Tree, children: tuple[Tree, ...]) -> Tree:
        if node.word is not None or node.label:
            return node if node.word is not None else Tree(node.label, children)
        return children[0] if len(children) == 1 else Tree(UNKNOWN, children)

    root = tree if tree.word is not None or tree.label else Tree(TOP, tree.children)
    return _rebuild(root, add_label) or root


def category(label: str) -> str:
    """Return a label without functions and numbers; one that begins with "-" is unchanged."""
    return label if label.startswith("-") else _FUNCTION.split(label, maxsplit=1)[0] or label


@dataclass(slots=True)
class _OpenBracket:
    """A '(' whose ')' has not been read yet."""

    offset: int
    label: str | None = None
    word: str | None = None
    children: list[Tree] = field(default_factory=list)

    def require_no_word(self, offset: int) -> None:
        """Check that a subtree may begin here."""
        if self.word is not None:
            raise TreeError(offset, f"expected ')' after the word {self.word!r:.60}, got '('")

    def add_token(self, token: str, offset: int) -> None:
        """Add a label or a word."""
        if self.children or self.word is not None:
            raise TreeError(offset, f"expected '(' or ')', got {token!r:.60}")
        if self.label is None:
            self.label = token
        else:
            self.word = token

    def to_tree(self, offset: int) -> Tree:
        """Return the tree in the brackets."""
        if not self.children and self.word is None:
            raise TreeError(offset, "expected a word or '(', got ')'")
        return Tree(self.label or "", tuple(self.children), self.word)


@dataclass(slots=True)
class _OpenSpan:
    """A span whose parts are added from left to right."""

    start: int
    end: int
    label: str
    empty: list[tuple[int, Tree]] = field(default_factory=list)
    full: list[tuple[int, Tree]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"({self.start}, {self.end}, {self.label!r:.60})"

    def fill(self, leaves: Sequence[Tree], start: int, end: int) -> int:
        """Add the leaves ``[start, end)``; return the index of the first leaf not yet added."""
        self.full += ((index, leaves[index]) for index in range(start, end))
        return max(start, end)

    def parts(self) -> tuple[Tree, ...]:
        """Return the parts by position, those without words first."""
        return tuple(part for _, part in sorted(self.empty + self.full, key=lambda item: item[0]))


def _open_spans(root: _OpenSpan, brackets: Sequence[Bracket]) -> list[_OpenSpan]:
    """Return the spans of words, outermost first, with empty subtrees attached."""
    spans: list[_OpenSpan] = []
    parent = root
    for start, end, label in brackets:
        if not root.start <= start <= end <= root.end:
            problem = f"span ({start}, {end}): expected words within [0, {root.end})"
            raise TreeError(None, problem)
        if start < end:
            parent = _OpenSpan(start, end, label)
            spans.append(parent)
        elif parent.start <= start <= parent.end:
            parent.empty.append((start, parse(label)))
        else:
            raise TreeError(
                None, f"expected a span of no words within {parent}, got one at {start}"
            )
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _finish(stack: list[_OpenSpan], leaves: Sequence[Tree], next_leaf: int) -> int:
    """Close the innermost span, add it to its parent, and return the next leaf's index."""
    span = stack.pop()
    next_leaf = span.fill(leaves, next_leaf, span.end)
    stack[-1].full.append((span.start, Tree(span.label, span.parts())))
    return next_leaf


def _subtree_sizes(tree: Tree) -> list[tuple[int, int]]:
    """Return the number of words and the number of nodes of each subtree, in preorder."""
    sizes: list[tuple[int, int]] = []
    stack: list[tuple[int, int]] = []
    for node in reversed(list(walk(tree))):
        parts = [stack.pop() for _ in node.children]
        own_words = int(node.word is not None and node.label != EMPTY)
        stack.append(
            (own_words + sum(size[0] for size in parts), 1 + sum(size[1] for size in parts))
        )
        sizes.append(stack[-1])
    return sizes[::-1]


def _rebuild(tree: Tree, make: Callable[[Tree, tuple[Tree, ...]], Tree | None]) -> Tree | None:
    """Rebuild the tree bottom-up; ``make`` maps a node and its new parts, None removes it."""
    stack: list[Tree | None] = []
    for node in reversed(list(walk(tree))):
        parts = [stack.pop() for _ in node.children]
        stack.append(make(node, tuple(part for part in parts if part is not None)))
    return stack[0]
