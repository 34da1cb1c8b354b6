"""Convert columns of CoNLL-U to layers: tags, trees, graphs of words; infer multiword tokens."""

import re
from collections.abc import Iterable
from itertools import pairwise

from spanloom.document import SENTENCES, WORD, WORDS, Document, Layer, Span
from spanloom.formats._conllu import (
    DEPREL,
    DEPS,
    FEATS,
    FORM,
    HEAD,
    ID,
    LEMMA,
    NONE,
    TOKEN,
    TOKENS,
    UPOS,
    XPOS,
    LayerItems,
    Part,
    Row,
    Sentence,
    add_misc_items,
    edges_of,
    head_of,
    misc,
    values,
)
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._word_view import WordView

_LAYERS = {UPOS: "upos", XPOS: "xpos", HEAD: "dependency", DEPS: "enhanced"}


def create_layers(part: Part) -> list[int]:
    """Return the columns that a document annotates, and create their layers."""
    rows = [row for sentence in part.sentences for row in sentence.words]
    empty = [row for sentence in part.sentences for _, row in sentence.empty]
    columns = [
        column
        for column in _LAYERS
        if any(row.cells[column] != NONE for row in rows) or (column == DEPS and empty)
    ]
    for layer in (WORDS, SENTENCES, TOKENS, *(_LAYERS[column] for column in columns)):
        part.builder.layer(layer)
    return columns


def add(
    builder: DocumentBuilder,
    sentence: Sentence,
    columns: Iterable[int],
    layer_items: LayerItems,
    path: str,
) -> None:
    """Add the columns' annotations of the last sentence to the builder.

    Raises ``FormatError`` for heads that are not words and for malformed edges.
    """
    first = len(builder.words) - len(sentence.words)
    for number, row in enumerate(sentence.words, first):
        word_columns = (LEMMA, FEATS, DEPREL) if row.cells[HEAD] == NONE else (LEMMA, FEATS)
        values(builder, WORDS, builder.words[number], row, word_columns)
    for column in columns:
        if column == HEAD:
            _add_tree(builder, sentence, first, path)
        elif column == DEPS:
            _add_graph(builder, sentence, first, layer_items, path)
        else:
            _add_tags(builder, sentence, first, column)
    misc(builder, sentence, layer_items)


def _add_tags(builder: DocumentBuilder, sentence: Sentence, first: int, column: int) -> None:
    for number, row in enumerate(sentence.words, first):
        if row.cells[column] != NONE:
            builder.add_word_span(_LAYERS[column], row.cells[column], number, number + 1)


def _add_tree(builder: DocumentBuilder, sentence: Sentence, first: int, path: str) -> None:
    """Add the dependency tree; a word may have no head."""
    layer, num_words = _LAYERS[HEAD], len(sentence.words)
    spans = [
        builder.add_word_span(layer, WORD, index, index + 1)
        for index in range(first, first + num_words)
    ]
    for number, row in enumerate(sentence.words):
        head = head_of(row, num_words, path)
        if head is not None:
            head_span = spans[head - 1] if head else spans[number]
            builder.relation(layer, row.cells[DEPREL], head_span, spans[number])


def _add_graph(
    builder: DocumentBuilder, sentence: Sentence, first: int, layer_items: LayerItems, path: str
) -> None:
    """Add the words, the empty nodes among them, and the edges of the enhanced graph.

    A relation of a node to itself marks a root, so a node that is its own head keeps its cell as an
    attribute.
    """
    layer = _LAYERS[DEPS]
    nodes: dict[str, str] = {}
    rows = sentence.nodes()
    for words_before, row in rows:
        if "." in row.cells[ID]:
            position = first + words_before
            nodes[row.cells[ID]] = _add_empty_node(builder, layer, position, row, layer_items)
        else:
            nodes[row.cells[ID]] = builder.add_word_span(
                layer, WORD, first + words_before, first + words_before + 1
            )
    for _, row in rows:
        node_id = row.cells[ID]
        target, edges = nodes[node_id], edges_of(row, nodes, path)
        if any(head == node_id for head, _ in edges):
            values(builder, layer, target, row, (DEPS,))
            continue
        for head, label in edges:
            builder.relation(layer, label, nodes.get(head, target), target)


def _add_empty_node(
    builder: DocumentBuilder, layer: str, position: int, row: Row, layer_items: LayerItems
) -> str:
    """Add a node without words and return its span's id."""
    span = builder.add_word_span(layer, "empty", position, position)
    values(builder, layer, span, row, range(FORM, DEPS))
    add_misc_items(builder, layer, span, row, layer_items.get(row.cells[ID], {}))
    return span


_CLITIC = re.compile(r"(?:n['’`]?t|['’`](?:s|m|d|re|ve|ll|em))", re.I)


def add_multiword_tokens(document: Document) -> Document:
    """Return the document with a layer of multiword tokens, unchanged if it has one."""
    if document.has_layer(TOKENS):
        return document
    view = WordView(document)
    bounds, text = view.words.words, document.text
    runs: list[list[int]] = []
    for first, end in view.words.sentences:
        for row, next_row in pairwise(range(first, end)):
            if not _is_contracted(text, bounds[row], bounds[next_row]):
                continue
            if runs and runs[-1][1] == next_row:
                runs[-1][1] = next_row + 1
            else:
                runs.append([row, next_row + 1])
    if not runs:
        return document
    new_id = document.id_generator()
    bounds_of_runs = ((bounds[first][0], bounds[end - 1][1]) for first, end in runs)
    spans = tuple(Span(new_id("M"), TOKEN, (run_bounds,)) for run_bounds in bounds_of_runs)
    return document.with_layer(Layer(TOKENS, spans))


def _is_contracted(text: str, word: tuple[int, int], next_word: tuple[int, int]) -> bool:
    """Whether two neighboring words are one token."""
    if word[1] != next_word[0]:
        return False
    if text[word[1] - 1].isalpha() and text[next_word[0]].isalpha():
        return True
    return text[word[1] - 1].isalnum() and _CLITIC.fullmatch(text, *next_word) is not None
