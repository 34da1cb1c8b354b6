"""Trees of constituents in brackets, as the Penn Treebank and many after it have them.

::

    (TOP (S (NP-SBJ (-NONE- *)) (VP (VB Stop)) (. !)))

A file is a document, a tree a sentence. Leaves are the words, their tags the layer ``xpos`` (``_``:
none); all other labels are spans of the layer ``constituency``, outermost first on the same words,
a subtree without words a span of no width whose label is the subtree (``forms.trees``). Words stay
as they are, ``-LRB-`` too. Brackets without a label are no spans where they hold one part, as those
around each tree of the Penn Treebank; a root that holds several is called TOP, anything else X.
(Marcus et al., 1993)

How trees are laid out is ``layout`` in meta: ``line`` (if nothing is said; as above), ``spaced``
(one line, ``( (S …) )``) or ``indented`` (parts that do not fit in 70 columns on lines of their
own); ``wrapped`` says that trees stand in brackets without a label. A tree that stands otherwise is
its sentence's attribute ``spelling``; what follows a tree, if it is not the usual line break (two
where ``indented``, save at the end), is ``after``: blanks, and trees without words. What stands
before all words is ``start`` in meta.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats import _constituents
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.formats._names import numbered
from spanloom.formats._regained import missing
from spanloom.formats._word_labels import XPOS, label
from spanloom.forms.trees import (
    EMPTY,
    Tree,
    TreeError,
    flat,
    named,
    parse_all,
    spelled,
    walk,
    without_empty,
    without_functions,
    wrapped,
)

LAYOUT, START, WRAPPED = "layout", "start", "wrapped"  # in meta
SPELLING, AFTER = "spelling", "after"  # attributes of sentences

_BLANKS = " \t\n\r\f\v"  # all that may part brackets
_MARGIN = 70  # columns
_DEEPEST = 200  # columns before which the parts of a tree are laid on lines of their own
_STEP = 2

_PLAIN = re.compile(r"[0-9]*")


class TreeOptions(Options):
    """What is read of each tree."""

    functions: Literal["keep", "strip"] = Field(
        default="keep", description="what labels say beside the category: NP-SBJ-1, or NP"
    )
    empty: Literal["keep", "strip"] = Field(
        default="keep", description="leaves tagged -NONE-, and what holds nothing else"
    )

    @property
    def all(self) -> bool:
        """Whether trees are read as they are."""
        return self.functions == self.empty == "keep"


class _Layout(NamedTuple):
    """How trees are spelt, whether in brackets without a label, and what parts two of them."""

    spell: Callable[[Tree], str]
    between: str
    wrapped: bool = False

    def __call__(self, tree: Tree) -> str:
        """Return a tree's text."""
        return self.spell(Tree("", (tree,)) if self.wrapped else tree)


class _Spelt(NamedTuple):
    """A tree with words, as it stands, and what follows it up to the next one."""

    tree: Tree
    raw: str
    after: str


@dataclass(slots=True)
class _File:
    """The trees of a file, and what stands before the first one."""

    start: str
    trees: list[_Spelt]


def loads(
    text: str, *, path: str = "<string>", options: TreeOptions = TreeOptions()
) -> Iterator[Document]:
    """Yield the document; none of an empty text. Raises ``FormatError`` where brackets break."""
    if not text:
        return
    file = _file(text.replace("\r\n", "\n"), path)
    longest = max(file.trees, key=lambda each: len(each.raw), default=None)
    name = _recognized(longest) if longest else LINE
    layout = _LAYOUTS[name]._replace(wrapped=bool(longest and wrapped(longest.tree)))
    making = Making(numbered(1))
    if name != LINE:
        making.meta.append((LAYOUT, name))
    if layout.wrapped:
        making.meta.append((WRAPPED, "true"))
    if file.start and options.empty == "keep":
        making.meta.append((START, file.start))
    for layer in (WORDS, SENTENCES, _constituents.LAYER):
        making.layer(layer)
    for number, each in enumerate(file.trees, 1):
        usual = layout.between if number < len(file.trees) else "\n"
        _read(making, each, layout, usual, options)
    yield making.done()


def dumps(documents: Iterable[Document], *, options: TreeOptions = TreeOptions()) -> str:
    """Return the trees of all documents, the sentences of one after those of another.

    What stands in no tree is left out; what trees need beside is in ``_constituents.trees``.
    """
    pieces: list[str] = []
    for document in documents:
        pieces += _written(document)
    return "".join(pieces)


def _file(text: str, path: str) -> _File:
    """Return the trees that hold words, others as part of what is between."""
    file = _File("", [])
    last: tuple[int, Tree] | None = None
    try:
        for offset, tree in parse_all(text):
            _put(file, text[last[0] if last else 0 : offset], last and last[1])
            last = offset, tree
    except TreeError as error:
        line = 1 + text.count("\n", 0, error.offset or 0)
        raise FormatError(path, line, error.problem) from error
    _put(file, text[last[0] if last else 0 :], last and last[1])
    return file


def _put(file: _File, piece: str, tree: Tree | None) -> None:
    """Add a tree and the blanks behind it; None: the blanks before all trees."""
    if tree is not None and _has_words(tree):
        raw = piece.rstrip(_BLANKS)
        file.trees.append(_Spelt(tree, raw, piece[len(raw) :]))
    elif file.trees:
        last = file.trees[-1]
        file.trees[-1] = last._replace(after=last.after + piece)
    else:
        file.start += piece


def _recognized(spelt: _Spelt) -> str:
    """Return the name of the layout in which a tree is, of several the first; LINE if none is."""
    fit = (name for name, each in _LAYOUTS.items() if each.spell(spelt.tree) == spelt.raw)
    return next(fit, LINE)


def _read(making: Making, spelt: _Spelt, layout: _Layout, usual: str, options: TreeOptions) -> None:
    """Add a sentence; what is not ``usual`` behind it, and how it is spelt if not as others."""
    wanted = named(_wanted(spelt.tree, options))
    found = flat(wanted)
    words = making.sentence(found.words)
    _constituents.annotate(making, words.start, found.brackets)
    label(making, XPOS, words.start, found.tags)
    if options.all and layout(wanted) != spelt.raw:
        making.attribute(SENTENCES, SPELLING, making.sentences[-1], spelt.raw)
    if spelt.after != usual and (options.empty == "keep" or not spelt.after.strip(_BLANKS)):
        making.attribute(SENTENCES, AFTER, making.sentences[-1], spelt.after)


def _wanted(tree: Tree, options: TreeOptions) -> Tree:
    """Return what is to be read of a tree with words."""
    wanted = tree if options.empty == "keep" else without_empty(tree) or tree
    return wanted if options.functions == "keep" else without_functions(wanted)


def _written(document: Document) -> Iterator[str]:
    """Yield the texts of a document."""
    laid, meta = Laid(document), dict(document.meta)
    start = meta.get(START, "")
    yield start if _wordless(start) else ""
    layout = _LAYOUTS.get(meta.get(LAYOUT, ""), _LAYOUTS[LINE])
    layout = layout._replace(wrapped=WRAPPED in meta)
    said = laid.values(SENTENCES)
    last = len(laid.words.sentences) - 1
    for number, tree in enumerate(_constituents.trees(laid)):
        values = {each.label: each.value or "" for each in reversed(said.get(number, ()))}
        raw, usual = values.get(SPELLING), layout.between if number < last else "\n"
        after = values.get(AFTER, usual)
        yield layout(tree) if raw is None or not _spells(raw, tree) else raw
        yield after if _wordless(after) else usual


def _wordless(text: str) -> bool:
    """Whether a text holds nothing but blanks and trees without words."""
    try:
        return not any(_has_words(tree) for _, tree in parse_all(text))
    except TreeError:
        return False


def _has_words(tree: Tree) -> bool:
    """Whether any leaf is a word."""
    return any(node.word is not None and node.label != EMPTY for node in walk(tree))


def _spells(raw: str, tree: Tree) -> bool:
    """Whether a text is that tree with or without brackets that have no label, no blanks around."""
    if not raw.startswith("(") or not raw.endswith(")"):
        return False
    try:
        return [named(each) for _, each in parse_all(raw)] == [tree]
    except TreeError:
        return False


def _spaced(tree: Tree) -> str:
    """Return a tree on one line; a root without a label has a blank at either end."""
    made = spelled(tree)
    return f"{made[:-1]} )" if made.startswith("( ") else made


def _indented(tree: Tree) -> str:
    """Return a tree, each part two columns to the right of what it is part of.

    What fits before the margin, or begins far to the right, is laid on one line.
    """
    widths = _widths(tree)
    pieces: list[str] = []
    stack: list[tuple[Tree | str, int]] = [(tree, 0)]
    row = 0
    while stack:
        node, column = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
            continue
        width, size = widths[row]
        if column:
            pieces.append("\n" + " " * column)
        if width + column < _MARGIN or column >= _DEEPEST:
            pieces.append(spelled(node))
            row += size
            continue
        row += 1
        pieces.append(f"({node.label}")
        stack.append((")", 0))
        if node.word is not None:
            pieces.append("\n" + " " * (column + _STEP) + node.word)
        stack += ((child, column + _STEP) for child in reversed(node.children))
    return "".join(pieces)


def _widths(tree: Tree) -> list[tuple[int, int]]:
    """Return how wide each part is on one line, and how many nodes it has, in order of ``walk``."""
    made: list[tuple[int, int]] = []
    stack: list[tuple[int, int]] = []
    for node in reversed(list(walk(tree))):
        parts = [stack.pop() for _ in node.children]
        inner = sum(1 + width for width, _ in parts) if parts else 1 + len(node.word or "")
        stack.append((2 + len(node.label) + inner, 1 + sum(size for _, size in parts)))
        made.append(stack[-1])
    return made[::-1]


LINE = "line"
_LAYOUTS = {
    LINE: _Layout(spelled, "\n"),
    "spaced": _Layout(_spaced, "\n"),
    "indented": _Layout(_indented, "\n\n"),
}


def _lost(document: Document, options: TreeOptions) -> Losses:
    """Count what is not there when it is read again."""
    return missing(document, loads(dumps([document], options=options), options=options))


def _looks(head: str, name: str) -> bool:
    """Tell by the first tree, which is whole and has labels that are no numbers.

    Behind it there is another one, or nothing: a story may begin in brackets.
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
    return len(labels) > 1 and not all(map(_PLAIN.fullmatch, labels))


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".mrg", ".tree", ".ptb"),
    "(TOP (S (NP-SBJ (-NONE- *)) (VP (VB Stop) (NP (NP (DT this)))) (. !)))\n"
    "(TOP (S (NP (NNP Ada)) (VP (VBD waved) (S (NP-1 (-NONE- *PRO*)) (-LRB- -LRB-)"
    " (NP=2 (_ it))))))\n"
    "(NP (-NONE- *))\n\n(TOP\n  (INTJ (UH Yes)))\n",
    TreeOptions,
)
