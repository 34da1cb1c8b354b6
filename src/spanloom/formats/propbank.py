r"""Read and write PropBank's propositions: a line per predicate that points into a file of trees.

::

    0 1 gold meet-v meet.03 ----- 0:1-ARG0 1:0-rel 2:1-ARG1
    1 3 gold sing-v sing.01 ----- 0:1*1:1-LINK-SLC 1:1*2:0-ARG0 3:0-rel

The cells are the number of a tree and of the predicate's leaf, who annotated it, lemma and roleset,
inflection, and places with their roles. ``2:1`` is the constituent one level above the tag of leaf
2, and empty leaves count. ``,`` and ``;`` join the parts of an argument, ``*`` the members of a
chain, of which empty ones are left out. A link (``LINK-SLC``) from an antecedent to a relative
pronoun makes both arguments: ``ARG0`` and ``R-ARG0``. A part that does not follow the one before it
is an argument of its own, ``C-ARG0``, as in CoNLL-2005's columns.

A file of trees (``trees``; default: the same name with the suffix ``.mrg``) is the document, read
as by that format and with its options. Predicates and arguments are the layer ``srl``,
a relation per role; a predicate without words is left out. Where ``dumps`` would spell the lines of
a sentence otherwise, they are its attributes ``propbank``. (Palmer, Gildea and Kingsbury, 2005)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spanloom.annotation.props import Argument, Proposition
from spanloom.annotation.trees import EMPTY, Tree
from spanloom.document import SENTENCES, Document
from spanloom.errors import FormatError
from spanloom.formats import trees as tree_format
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._propositions import LAYER, VERB, annotate, propositions
from spanloom.formats._text import Line, lines
from spanloom.formats._word_view import WordView
from spanloom.formats.trees import TreeOptions

ROW = "propbank"  # attribute of sentences

_LINK, _RELATIVE_LINK, _PREDICATE = "LINK-", "LINK-SLC", "rel"
_CONTINUED, _REFERRING = "C-", "R-"
_POINTER = r"[0-9]{1,9}:[0-9]{1,9}"
_ROW = re.compile(
    rf"([0-9]{{1,9}}) ([0-9]{{1,9}}) \S+ \S+ (\S+) \S+"
    rf"((?: +{_POINTER}(?:[*,;]{_POINTER})*-[^\s()*]+)+)"
)
_LEMMA = re.compile(r"\.[^.]*\Z")

Bounds = tuple[int, int]  # words of the sentence


class _Pointer(NamedTuple):
    """A constituent: its first leaf, and how far it is above that leaf's tag."""

    leaf: int
    height: int


class _Place(NamedTuple):
    """A role and its chain, of which each member may have several parts."""

    role: str
    chain: tuple[tuple[_Pointer, ...], ...]


class _TreeIndex:
    """Find the words of a tree's constituents by pointers, and pointers by words."""

    def __init__(self, tree: Tree) -> None:
        """Index all nodes: their parents, leaves and word bounds."""
        self._parents: list[int] = []
        self._starts: list[int] = []
        self._leaves: list[int] = []
        stack = [(tree, -1)]
        num_words = 0
        is_word: list[bool] = []
        while stack:
            node, parent = stack.pop()
            index = len(self._parents)
            self._parents.append(parent)
            self._starts.append(num_words)
            is_word.append(node.word is not None and node.label != EMPTY)
            num_words += is_word[-1]
            if node.word is not None:
                self._leaves.append(index)
            stack.extend((child, index) for child in reversed(node.children))
        self._ends = [start + word for start, word in zip(self._starts, is_word, strict=True)]
        for index in range(len(self._parents) - 1, 0, -1):
            parent = self._parents[index]
            self._ends[parent] = max(self._ends[parent], self._ends[index])
        self._leaf_of_word = [leaf for leaf, index in enumerate(self._leaves) if is_word[index]]
        self.num_words = num_words

    def words(self, pointer: _Pointer) -> Bounds:
        """Return the words of a constituent; raises ``LookupError`` if the tree has none there."""
        if pointer.leaf >= len(self._leaves):
            raise LookupError(f"expected one of {len(self._leaves)} leaves, got {pointer.leaf}")
        node = self._leaves[pointer.leaf]
        for _ in range(pointer.height):
            node = self._parents[node]
            if node < 0:
                raise LookupError(f"nothing is {pointer.height} above leaf {pointer.leaf}")
        return self._starts[node], self._ends[node]

    def leaf(self, word: int) -> int:
        """Return the number of a word among all leaves."""
        return self._leaf_of_word[word]

    def pointers(self, bounds: Bounds) -> Iterator[str]:
        """Yield pointers to the widest constituents that make up these words, from the left."""
        word, end = bounds
        while word < end:
            leaf = self._leaf_of_word[word]
            node = self._leaves[leaf]
            while (parent := self._parents[node]) >= 0 and (
                self._starts[parent] == word and self._ends[parent] <= end
            ):
                node = parent
            first_leaf = self._first_leaf(node, leaf)
            yield f"{first_leaf}:{self._depth(first_leaf, node)}"
            word = self._ends[node]

    def _first_leaf(self, node: int, leaf: int) -> int:
        """Return the first leaf below a node, at or before a leaf below it."""
        while leaf and self._leaves[leaf - 1] > node:
            leaf -= 1
        return leaf

    def _depth(self, leaf: int, node: int) -> int:
        """Return how far a node is above a leaf."""
        index, depth = self._leaves[leaf], 0
        while index != node:
            index, depth = self._parents[index], depth + 1
        return depth


def loads(
    text: str, *, path: str = "<string>", options: TreeOptions = TreeOptions(), trees: str = ""
) -> Iterator[Document]:
    """Yield the document of the trees; raises ``FormatError`` with path and line."""
    if not trees and not text.strip():
        return
    builder = tree_format.start_document(trees, str(Path(path).with_suffix(".mrg")), options)
    builder.layer(LAYER)
    all_trees = tree_format.all_trees(trees, options)
    indices = [_TreeIndex(tree) for tree in all_trees]
    rows_of_tree: dict[int, list[str]] = {}
    props_of_tree: dict[int, list[Proposition]] = {}
    for line in lines(text):
        if line.text:
            tree, in_row = _parse_line(line, indices, path)
            rows_of_tree.setdefault(tree, []).append(line.text)
            props_of_tree.setdefault(tree, []).extend(in_row)
    first = 0
    for sentence, tree in enumerate(_trees_of_sentences(all_trees)):
        rows, props = rows_of_tree.get(tree, []), props_of_tree.get(tree, [])
        annotate(builder, first, props, plain_labels=False)
        if rows != _format_rows(tree, _writable(props, indices[tree]), indices[tree]):
            for row in rows:
                builder.attribute(SENTENCES, ROW, builder.sentences[sentence], row)
        first += indices[tree].num_words
    yield builder.build()


def dumps(documents: Iterable[Document], *, options: TreeOptions = TreeOptions()) -> dict[str, str]:
    """Return the lines and, as ``trees``, the trees of all documents, one after another.

    Left out is what ``_propositions.propositions`` leaves out, and ``R-`` without an antecedent.
    """
    document_list = list(documents)
    tree_text = tree_format.dumps(document_list, options=options)
    all_trees = tree_format.all_trees(tree_text, TreeOptions())
    indices = [_TreeIndex(tree) for tree in all_trees]
    numbers = _trees_of_sentences(all_trees)
    rows: list[str] = []
    for document in document_list:
        view = WordView(document)
        attributes = view.values(SENTENCES)
        for sentence, props in enumerate(propositions(view)):
            tree = next(numbers)
            raw_rows = [
                attribute.value or ""
                for attribute in attributes.get(sentence, ())
                if attribute.label == ROW
            ]
            is_raw = raw_rows and _read_again(raw_rows, tree, indices) == props
            rows += raw_rows if is_raw else _format_rows(tree, props, indices[tree])
    return {"": "".join(f"{row}\n" for row in rows), "trees": tree_text}


def _trees_of_sentences(all_trees: Sequence[Tree]) -> Iterator[int]:
    """Yield the number of the tree of each sentence: those without words are no sentences."""
    return (number for number, tree in enumerate(all_trees) if tree_format.has_words(tree))


def _parse_line(
    line: Line, indices: Sequence[_TreeIndex], path: str
) -> tuple[int, list[Proposition]]:
    """Return the tree of a line and its proposition, none if the predicate has no words."""
    match = _ROW.fullmatch(line.text)
    if not match:
        expected = (
            "expected tree, leaf, annotator, lemma, roleset, inflection, places like 3:1-ARG0"
        )
        raise FormatError(path, line.number, f"{expected}, got {line.text!r:.60}")
    tree, leaf, roleset = int(match[1]), int(match[2]), match[3]
    if tree >= len(indices):
        problem = f"expected one of {len(indices)} trees, numbered from 0, got {tree}"
        raise FormatError(path, line.number, problem)
    places = [_parse_place(place) for place in match[4].split()]
    try:
        start, end = indices[tree].words(_Pointer(leaf, 0))
        arguments = tuple(_arguments(places, indices[tree]))
    except LookupError as error:
        raise FormatError(path, line.number, f"tree {tree}: {error}") from error
    if start == end:
        return tree, []
    return tree, [Proposition(start, roleset, arguments)]


def _parse_place(text: str) -> _Place:
    """Return the chain and the role of a place."""
    chain, _, role = text.partition("-")
    members = (re.findall(_POINTER, member) for member in chain.split("*"))
    return _Place(role, tuple(tuple(map(_parse_pointer, parts)) for parts in members))


def _parse_pointer(text: str) -> _Pointer:
    leaf, _, height = text.partition(":")
    return _Pointer(int(leaf), int(height))


def _arguments(places: Sequence[_Place], index: _TreeIndex) -> list[Argument]:
    """Return the arguments of a predicate, by their first word, the widest first."""
    antecedents = {
        place.chain[-1]: place.chain[:-1] for place in places if place.role == _RELATIVE_LINK
    }
    arguments: list[Argument] = []
    for place in places:
        if place.role.startswith(_LINK):
            continue
        role = VERB if place.role == _PREDICATE else place.role
        pronouns = [member for member in place.chain if member in antecedents]
        linked = [antecedent for pronoun in pronouns for antecedent in antecedents[pronoun]]
        if linked:
            arguments += _name_runs(_REFERRING + role, _runs(pronouns, index))
        others = [member for member in place.chain if not linked or member not in antecedents]
        arguments += _name_runs(role, _runs([*linked, *others], index))
    return sorted(set(arguments), key=lambda argument: (argument.start, -argument.end))


def _runs(members: Sequence[tuple[_Pointer, ...]], index: _TreeIndex) -> list[Bounds]:
    """Return the words of some members of a chain as runs, by their first word."""
    bounds = {index.words(pointer) for member in members for pointer in member}
    runs: list[Bounds] = []
    for start, end in sorted(bounds):
        if start == end:
            continue
        if runs and start <= runs[-1][1]:
            runs[-1] = runs[-1][0], max(runs[-1][1], end)
        else:
            runs.append((start, end))
    return runs


def _name_runs(role: str, runs: Sequence[Bounds]) -> Iterator[Argument]:
    """Yield an argument per run; those after the first continue it."""
    for number, (start, end) in enumerate(runs):
        yield Argument(start, end, _CONTINUED + role if number else role)


def _writable(props: Iterable[Proposition], index: _TreeIndex) -> list[Proposition]:
    """Return the propositions of a sentence as ``propositions`` reads them from a document."""
    builder = DocumentBuilder()
    annotate(builder, builder.sentence(["_"] * index.num_words).start, list(props), False)
    return propositions(WordView(builder.build()))[0]


def _read_again(
    rows: Sequence[str], tree: int, indices: Sequence[_TreeIndex]
) -> list[Proposition] | None:
    """Return the propositions of the lines of a sentence, None if they do not fit its tree."""
    props: list[Proposition] = []
    for row in rows:
        try:
            number, in_row = _parse_line(Line(1, row), indices, "")
        except FormatError:
            return None
        if number != tree:
            return None
        props += in_row
    return _writable(props, indices[tree])


def _format_rows(tree: int, props: Iterable[Proposition], index: _TreeIndex) -> list[str]:
    """Return a sentence's lines, by their predicate."""
    rows = []
    for prop in props:
        lemma = _LEMMA.sub("", prop.sense)
        cells = [str(tree), str(index.leaf(prop.word)), "gold", f"{lemma}-v", prop.sense, "-----"]
        rows.append(" ".join([*cells, *_format_places(prop.arguments, index)]))
    return rows


def _format_places(arguments: Sequence[Argument], index: _TreeIndex) -> Iterator[str]:
    """Yield the places of a predicate's arguments, by their first word."""
    parts: dict[str, list[Argument]] = {}  # the parts of the last argument of each role
    places: list[tuple[str, list[Argument]]] = []
    for argument in arguments:
        role = argument.label.removeprefix(_CONTINUED)
        if role == argument.label or role not in parts:
            parts[role] = []
            places.append((role, parts[role]))
        parts[role].append(argument)
    for role, place in places:
        pointers = _format_parts(place, index)
        referred_to = role.removeprefix(_REFERRING)
        if role == referred_to:
            yield f"{pointers}-{_PREDICATE if role == VERB else role}"
            continue
        antecedents = [antecedent for name, antecedent in places if name == referred_to]
        if antecedents:
            yield f"{_format_parts(antecedents[0], index)}*{pointers}-{_RELATIVE_LINK}"
            yield f"{pointers}-{referred_to}"


def _format_parts(parts: Iterable[Argument], index: _TreeIndex) -> str:
    """Return pointers to the words of an argument's parts."""
    return ",".join(pointer for part in parts for pointer in index.pointers((part.start, part.end)))


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by its first line."""
    first = head.partition("\n")[0].rstrip("\r")
    return _ROW.fullmatch(first) is not None and f"-{_PREDICATE}" in first


_TREES = """\
(TOP (S (NP (NNP Ada)) (VP (VBD met) (NP (NNP Bob))) (. .)))
(TOP (NP (NP (NNP Bob)) (SBAR (WHNP (WP who)) (S (NP (-NONE- *T*)) (VP (VBZ sings))))))
(TOP (NP (-NONE- *)))
(TOP (S (NP (-NONE- *)) (VP (VB Look) (NP (PRP it)) (PRT (RP up)) (, ,) (INTJ (UH please)))))
"""
_ROWS = """\
0 1 gold meet-v meet.03 ----- 0:1-ARG0 1:0-rel 2:1-ARG1
1 3 gold sing-v sing.01 ----- 0:1-ARG0 0:1*1:1-LINK-SLC 1:1-ARG0 3:1-rel
3 1 ann look-v look.05 ----- 0:1-ARG0 1:0,3:1-rel 2:1-ARG1 5:1-ARGM-DIS
"""
KIND = Format(
    loads,
    dumps,
    _sniff,
    (".prop",),
    {"": _ROWS, "trees": _TREES},
    TreeOptions,
    sidecars={"trees": "{stem}.mrg"},
)
