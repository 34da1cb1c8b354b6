"""Read and write constituency trees in brackets, as in the Penn Treebank and its successors.

::

    (TOP (S (NP-SBJ (-NONE- *)) (VP (VB Stop)) (. !)))

A file is a document, a tree a sentence. Leaves are the words, their tags the layer ``xpos`` (``_``:
none); all other labels are spans of the layer ``constituency``, outermost first on the same words,
a subtree without words a span of width 0 whose label is the subtree (``annotation.trees``). Words
stay as they are, ``-LRB-`` too. Brackets without a label that hold one part make no span, as those
around each tree of the Penn Treebank; a root that holds several is called TOP, anything else X.
(Marcus et al., 1993)

The layout of trees is ``layout`` in meta: ``line`` (the default; as above), ``spaced`` (one line,
``( (S …) )``) or ``indented`` (parts that do not fit in 70 columns on lines of their own);
``wrapped`` means that trees have outer brackets without a label. A tree in another layout is its
sentence's attribute ``spelling``; the text after a tree, if it is not the usual line break (two
where ``indented``, except at the end), is ``after``: blanks, and trees without words. The text
before all words is ``start`` in meta.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import Field

from spanloom.annotation.trees import (
    EMPTY,
    Tree,
    TreeError,
    flatten,
    format_tree,
    is_wrapper,
    label_all_nodes,
    parse_all,
    walk,
    without_empty,
    without_functions,
)
from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats import _constituents
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, default_name
from spanloom.formats._word_view import XPOS, WordView, label

LAYOUT, START, WRAPPED = "layout", "start", "wrapped"  # in meta
SPELLING, AFTER = "spelling", "after"  # attributes of sentences

_BLANKS = " \t\n\r\f\v"  # blanks that may separate brackets
_MAX_WIDTH = 70  # columns
_MAX_INDENT = 200  # columns; parts beyond it are formatted on one line
_STEP = 2

_BRACKET = re.compile(r"[()]")
_DIGITS = re.compile(r"[0-9]*")


class TreeOptions(Options):
    """Options: what is read of each tree."""

    function_tags: Literal["keep", "strip"] = Field(
        default="keep", description="function tags and indices of labels: NP-SBJ-1, or NP"
    )
    empty_nodes: Literal["keep", "strip"] = Field(
        default="keep", description="leaves tagged -NONE-, and what holds nothing else"
    )

    lenient: bool = Field(
        default=False,
        description="read no-break spaces as blanks, and skip a ) that closes nothing",
    )

    @property
    def all(self) -> bool:
        """Whether trees are read without changes."""
        return self.function_tags == self.empty_nodes == "keep"


class _Layout(NamedTuple):
    """How trees are formatted, the text between them, and whether they have outer brackets."""

    spell: Callable[[Tree], str]
    between: str
    wrapped: bool = False

    def __call__(self, tree: Tree) -> str:
        """Return a tree's text."""
        return self.spell(Tree("", (tree,)) if self.wrapped else tree)


class _RawTree(NamedTuple):
    """A tree with words, its text, and the text after it up to the next one."""

    tree: Tree
    raw: str
    after: str


@dataclass(slots=True)
class _File:
    """The trees of a file, and the text before the first one."""

    start: str
    trees: list[_RawTree]


def loads(
    text: str, *, path: str = "<string>", options: TreeOptions = TreeOptions()
) -> Iterator[Document]:
    """Yield the document; none for an empty text. Raises ``FormatError`` for broken brackets."""
    if text:
        yield start_document(text, path, options).build()


def start_document(text: str, path: str, options: TreeOptions) -> DocumentBuilder:
    """Return the document of a text with its trees, to which layers may be added.

    Raises ``FormatError`` for broken brackets.
    """
    file = _parse_file(_selected_text(text, options), path)
    longest = max(file.trees, key=lambda raw_tree: len(raw_tree.raw), default=None)
    name = _guess_layout(longest) if longest else LINE
    layout = _LAYOUTS[name]._replace(wrapped=bool(longest and is_wrapper(longest.tree)))
    builder = DocumentBuilder(default_name(1))
    if name != LINE:
        builder.meta.append((LAYOUT, name))
    if layout.wrapped:
        builder.meta.append((WRAPPED, "true"))
    if file.start and options.empty_nodes == "keep":
        builder.meta.append((START, file.start))
    for layer in (WORDS, SENTENCES, _constituents.LAYER):
        builder.layer(layer)
    for number, raw_tree in enumerate(file.trees, 1):
        usual_after = layout.between if number < len(file.trees) else "\n"
        _add_sentence(builder, raw_tree, layout, usual_after, options)
    return builder


def all_trees(text: str, options: TreeOptions) -> list[Tree]:
    """Return all trees of a text without broken brackets, those without words included."""
    return [tree for _, tree in parse_all(_selected_text(text, options))]


def has_words(tree: Tree) -> bool:
    """Tell whether any leaf is a word."""
    return any(node.word is not None and node.label != EMPTY for node in walk(tree))


def dumps(documents: Iterable[Document], *, options: TreeOptions = TreeOptions()) -> str:
    """Return the trees of all documents, one document after another.

    Text outside of trees is left out; ``_constituents.trees`` adds what trees require.
    """
    parts: list[str] = []
    for document in documents:
        parts += _format_document(document)
    return "".join(parts)


def _selected_text(text: str, options: TreeOptions) -> str:
    """Return a text with LF as line ends, repaired if the options say so."""
    text = text.replace("\r\n", "\n")
    return _repair(text) if options.lenient else text


def _repair(text: str) -> str:
    """Return a text with blanks in place of no-break spaces and of each ) that closes nothing."""
    depth = 0

    def repair_bracket(match: re.Match[str]) -> str:
        nonlocal depth
        if match[0] == ")" and not depth:
            return " "
        depth += 1 if match[0] == "(" else -1
        return match[0]

    return _BRACKET.sub(repair_bracket, text.replace("\u00a0", " "))


def _parse_file(text: str, path: str) -> _File:
    """Return the trees that hold words; others are part of the text between them."""
    file = _File("", [])
    last: tuple[int, Tree] | None = None
    try:
        for offset, tree in parse_all(text):
            _add_tree(file, text[last[0] if last else 0 : offset], last and last[1])
            last = offset, tree
    except TreeError as error:
        line = 1 + text.count("\n", 0, error.offset or 0)
        raise FormatError(path, line, error.problem) from error
    _add_tree(file, text[last[0] if last else 0 :], last and last[1])
    return file


def _add_tree(file: _File, raw_text: str, tree: Tree | None) -> None:
    """Add a tree and the blanks after it; None for the blanks before all trees."""
    if tree is not None and has_words(tree):
        raw = raw_text.rstrip(_BLANKS)
        file.trees.append(_RawTree(tree, raw, raw_text[len(raw) :]))
    elif file.trees:
        last = file.trees[-1]
        file.trees[-1] = last._replace(after=last.after + raw_text)
    else:
        file.start += raw_text


def _guess_layout(raw_tree: _RawTree) -> str:
    """Return the name of the first layout that a tree has; LINE if it has none."""
    matching = (
        name for name, layout in _LAYOUTS.items() if layout.spell(raw_tree.tree) == raw_tree.raw
    )
    return next(matching, LINE)


def _add_sentence(
    builder: DocumentBuilder,
    raw_tree: _RawTree,
    layout: _Layout,
    usual_after: str,
    options: TreeOptions,
) -> None:
    """Add a sentence; keep its text and the text after it if they are unusual."""
    tree = label_all_nodes(_selected_tree(raw_tree.tree, options))
    flat = flatten(tree)
    words = builder.sentence(flat.words)
    _constituents.annotate(builder, words.start, flat.brackets)
    label(builder, XPOS, words.start, flat.tags)
    if options.all and layout(tree) != raw_tree.raw:
        builder.attribute(SENTENCES, SPELLING, builder.sentences[-1], raw_tree.raw)
    if raw_tree.after != usual_after and (
        options.empty_nodes == "keep" or not raw_tree.after.strip(_BLANKS)
    ):
        builder.attribute(SENTENCES, AFTER, builder.sentences[-1], raw_tree.after)


def _selected_tree(tree: Tree, options: TreeOptions) -> Tree:
    """Return the part of a tree with words that the options select."""
    selected = tree if options.empty_nodes == "keep" else without_empty(tree) or tree
    return selected if options.function_tags == "keep" else without_functions(selected)


def _format_document(document: Document) -> Iterator[str]:
    """Yield the texts of a document."""
    view, meta = WordView(document), dict(document.meta)
    start = meta.get(START, "")
    yield start if _is_wordless(start) else ""
    layout = _LAYOUTS.get(meta.get(LAYOUT, ""), _LAYOUTS[LINE])
    layout = layout._replace(wrapped=WRAPPED in meta)
    attributes = view.values(SENTENCES)
    last = len(view.words.sentences) - 1
    for number, tree in enumerate(_constituents.trees(view)):
        values = {
            attribute.label: attribute.value or ""
            for attribute in reversed(attributes.get(number, ()))
        }
        raw, usual_after = values.get(SPELLING), layout.between if number < last else "\n"
        after = values.get(AFTER, usual_after)
        yield layout(tree) if raw is None or not _is_same_tree(raw, tree) else raw
        yield after if _is_wordless(after) else usual_after


def _is_wordless(text: str) -> bool:
    """Tell whether a text holds nothing but blanks and trees without words."""
    try:
        return not any(has_words(tree) for _, tree in parse_all(text))
    except TreeError:
        return False


def _is_same_tree(raw: str, tree: Tree) -> bool:
    """Tell whether a text is this tree, with or without unlabelled outer brackets."""
    if not raw.startswith("(") or not raw.endswith(")"):
        return False
    try:
        return [label_all_nodes(parsed_tree) for _, parsed_tree in parse_all(raw)] == [tree]
    except TreeError:
        return False


def _format_spaced(tree: Tree) -> str:
    """Return a tree on one line; a root without a label has a blank at either end."""
    line = format_tree(tree)
    return f"{line[:-1]} )" if line.startswith("( ") else line


def _format_indented(tree: Tree) -> str:
    """Return a tree with each part indented by two columns relative to its parent.

    Parts that fit before the margin, or begin far to the right, are formatted on one line.
    """
    widths = _line_widths(tree)
    parts: list[str] = []
    stack: list[tuple[Tree | str, int]] = [(tree, 0)]
    node_index = 0
    while stack:
        node, column = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        width, size = widths[node_index]
        if column:
            parts.append("\n" + " " * column)
        if width + column < _MAX_WIDTH or column >= _MAX_INDENT:
            parts.append(format_tree(node))
            node_index += size
            continue
        node_index += 1
        parts.append(f"({node.label}")
        stack.append((")", 0))
        if node.word is not None:
            parts.append("\n" + " " * (column + _STEP) + node.word)
        stack += ((child, column + _STEP) for child in reversed(node.children))
    return "".join(parts)


def _line_widths(tree: Tree) -> list[tuple[int, int]]:
    """Return each node's width on one line and its number of nodes, in the order of ``walk``."""
    widths: list[tuple[int, int]] = []
    stack: list[tuple[int, int]] = []
    for node in reversed(list(walk(tree))):
        children = [stack.pop() for _ in node.children]
        inner = sum(1 + width for width, _ in children) if children else 1 + len(node.word or "")
        stack.append((2 + len(node.label) + inner, 1 + sum(size for _, size in children)))
        widths.append(stack[-1])
    return widths[::-1]


LINE = "line"
_LAYOUTS = {
    LINE: _Layout(format_tree, "\n"),
    "spaced": _Layout(_format_spaced, "\n"),
    "indented": _Layout(_format_indented, "\n\n"),
}


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the first tree: complete, with labels that are not all numbers.

    Another tree, or nothing, must follow: a story may begin in brackets, too.
    """
    if not head.lstrip(_BLANKS).startswith("("):
        return False
    trees = parse_all(head)
    try:
        _, tree = next(trees)
    except TreeError:
        return False
    try:
        next(trees, None)
    except TreeError as error:
        before = head[: error.offset]
        if before.count("(") == before.count(")"):  # not within a second one that is cut off
            return False
    labels = [node.label for node in walk(tree)]
    return len(labels) > 1 and not all(map(_DIGITS.fullmatch, labels))


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".mrg", ".tree", ".ptb"),
    "(TOP (S (NP-SBJ (-NONE- *)) (VP (VB Stop) (NP (NP (DT this)))) (. !)))\n"
    "(TOP (S (NP (NNP Ada)) (VP (VBD waved) (S (NP-1 (-NONE- *PRO*)) (-LRB- -LRB-)"
    " (NP=2 (_ it))))))\n"
    "(NP (-NONE- *))\n\n(TOP\n  (INTJ (UH Yes)))\n",
    TreeOptions,
)
