"""The columns of CoNLL-U as layers: tags, trees and graphs of words."""

from collections.abc import Iterable

from spanloom.document import SENTENCES, WORD, WORDS
from spanloom.formats._making import Making
from spanloom.formats._universal import (
    DEPREL,
    DEPS,
    FEATS,
    FORM,
    HEAD,
    ID,
    LEMMA,
    NONE,
    TOKENS,
    UPOS,
    XPOS,
    Part,
    Row,
    Sentence,
    Told,
    edges_of,
    head_of,
    kept,
    misc,
    values,
)

_LAYERS = {UPOS: "upos", XPOS: "xpos", HEAD: "dependency", DEPS: "enhanced"}


def annotated(part: Part) -> list[int]:
    """Return the columns that a document annotates, and say that there are their layers."""
    rows = [row for sentence in part.sentences for row in sentence.words]
    empty = [row for sentence in part.sentences for _, row in sentence.empty]
    found = [
        column
        for column in _LAYERS
        if any(row.cells[column] != NONE for row in rows) or (column == DEPS and empty)
    ]
    for layer in (WORDS, SENTENCES, TOKENS, *(_LAYERS[column] for column in found)):
        part.making.layer(layer)
    return found


def add(making: Making, sentence: Sentence, columns: Iterable[int], told: Told, path: str) -> None:
    """Add what the columns say of the last sentence of a document in the making.

    Raises ``FormatError``: heads that no word is, edges that are none.
    """
    first = len(making.words) - len(sentence.words)
    for number, row in enumerate(sentence.words, first):
        own = (LEMMA, FEATS, DEPREL) if row.cells[HEAD] == NONE else (LEMMA, FEATS)
        values(making, WORDS, making.words[number], row, own)
    for column in columns:
        if column == HEAD:
            _tree(making, sentence, first, path)
        elif column == DEPS:
            _graph(making, sentence, first, told, path)
        else:
            _tags(making, sentence, first, column)
    misc(making, sentence, told)


def _tags(making: Making, sentence: Sentence, first: int, column: int) -> None:
    for number, row in enumerate(sentence.words, first):
        if row.cells[column] != NONE:
            making.over(_LAYERS[column], row.cells[column], number, number + 1)


def _tree(making: Making, sentence: Sentence, first: int, path: str) -> None:
    """Add the tree; a word may have no head."""
    layer, count = _LAYERS[HEAD], len(sentence.words)
    spans = [making.over(layer, WORD, n, n + 1) for n in range(first, first + count)]
    for number, row in enumerate(sentence.words):
        head = head_of(row, count, path)
        if head is not None:
            above = spans[head - 1] if head else spans[number]
            making.relation(layer, row.cells[DEPREL], above, spans[number])


def _graph(making: Making, sentence: Sentence, first: int, told: Told, path: str) -> None:
    """Add the words, the empty nodes among them, and the edges.

    A relation to itself is a root's, so a node that heads itself keeps its cell as an attribute.
    """
    layer = _LAYERS[DEPS]
    nodes: dict[str, str] = {}
    every = sentence.nodes()
    for before, row in every:
        if "." in row.cells[ID]:
            place = first + before
            nodes[row.cells[ID]] = _empty(making, layer, place, row, told)
        else:
            nodes[row.cells[ID]] = making.over(layer, WORD, first + before, first + before + 1)
    for _, row in every:
        number = row.cells[ID]
        target, edges = nodes[number], edges_of(row, nodes, path)
        if any(head == number for head, _ in edges):
            values(making, layer, target, row, (DEPS,))
            continue
        for head, label in edges:
            making.relation(layer, label, nodes.get(head, target), target)


def _empty(making: Making, layer: str, place: int, row: Row, told: Told) -> str:
    """Add a node without words and return the id of its span."""
    span = making.over(layer, "empty", place, place)
    values(making, layer, span, row, range(FORM, DEPS))
    kept(making, layer, span, row, told.get(row.cells[ID], {}))
    return span
