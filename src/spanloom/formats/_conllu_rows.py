"""Convert documents to sentences of CoNLL-U: comments and rows, from words, text and layers.

Annotations that no cell can hold are left out.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spanloom.document import SENTENCES, WORDS, Attribute, Document, Span
from spanloom.formats._conllu import (
    COLUMNS,
    DEPREL,
    DEPS,
    FEATS,
    FORM,
    GLUED,
    HEAD,
    ID,
    LEMMA,
    MISC,
    NAMES,
    NEWDOC_ID,
    NONE,
    SENT_ID,
    TEXT,
    TOKENS,
    UNMARKED,
    UPOS,
    XPOS,
    comment,
    merge_misc,
    newdoc_of,
)
from spanloom.formats._document_builder import default_name, id_in_file
from spanloom.formats._word_view import WordView

_BREAKS = str.maketrans("\t\n\r", "   ")
_LINE_BREAKS = str.maketrans("\n\r", "  ")  # a comment may have tabs

Cells = list[str]


@dataclass(frozen=True, slots=True)
class Block:
    """A sentence to be written; ``before`` maps a word to the rows before it.

    ``layer_items`` are MISC items derived from text and layers, ``further`` the cells after MISC,
    both by node id.
    """

    text: str
    comments: list[tuple[str, str | None]]
    words: list[Cells]
    before: dict[int, list[Cells]] = field(default_factory=dict)
    layer_items: dict[str, dict[str, str]] = field(default_factory=dict)
    further: dict[str, Cells] = field(default_factory=dict)

    def nodes(self) -> list[Cells]:
        """Return the rows of words and empty nodes in order."""
        return [row for row in self.rows() if "-" not in row[ID]]

    def rows(self) -> Iterator[Cells]:
        """Yield all rows in order."""
        for position in range(len(self.words) + 1):
            yield from self.before.get(position, ())
            yield from self.words[position : position + 1]

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines, with ``width`` columns after MISC."""
        yield from (format_comment(*comment) for comment in self.comments)
        for row in self.rows():
            items = [] if row[MISC] == NONE else row[MISC].split("|")
            row[MISC] = merge_misc(items, self.layer_items.get(row[ID], {}))
            yield "\t".join([*row, *self.further.get(row[ID], [NONE] * width)])


def format_comment(key: str, value: str | None) -> str:
    """Return the line of a comment."""
    if key == "#":
        return f"#{value or ''}".translate(_LINE_BREAKS)
    return (f"# {key}" if value is None else f"# {key} = {value}").translate(_LINE_BREAKS)


def fits(value: str | None) -> bool:
    """Whether a cell can hold the value."""
    return value not in (None, "", NONE) and value.translate(_BREAKS) == value


def blocks(view: WordView) -> list[Block]:
    """Return the sentences of a document, without columns that other formats add."""
    sentence_blocks = _build_blocks(view)
    _add_tokens(sentence_blocks, view)
    _add_arcs(sentence_blocks, view)
    _add_graph(sentence_blocks, view)
    for number, block in enumerate(sentence_blocks):
        _add_space_after(block, view.spaces(view.words.sentences[number]))
    return sentence_blocks


def mark(documents: Sequence[tuple[Document, list[Block]]], add_missing: bool) -> None:
    """Add newdoc comments where needed and, with ``add_missing``, each missing sent_id and text."""
    number = 0
    is_plain = []
    for document, document_blocks in documents:
        is_plain.append(
            len(document_blocks) == 1
            and _is_plain_sentence(document, document_blocks[0], number + 1)
        )
        number += len(document_blocks)
    for index, (document, document_blocks) in enumerate(documents):
        name = id_in_file(document) or default_name(index + 1)
        is_unmarked = index == 0 and UNMARKED in document.meta
        if (
            document_blocks
            and not all(is_plain)
            and not is_unmarked
            and not _has_newdoc(document_blocks[0])
        ):
            document_blocks[0].comments.insert(0, (NEWDOC_ID, name))
        for sentence, block in enumerate(document_blocks if add_missing else (), 1):
            keys = {key for key, _ in block.comments}
            if SENT_ID not in keys:
                block.comments.append((SENT_ID, f"{name}-{sentence}"))
            if TEXT not in keys:
                block.comments.append((TEXT, block.text))


def row_of(view: WordView) -> dict[str, int]:
    """Return the word of each one-word span of all layers, by span id."""
    starts = {bounds: row for row, bounds in enumerate(view.words.words)}
    row_of_span = {}
    for layer in view.document.layers:
        for span in layer.spans:
            row = starts.get(span.fragments[0])
            if row is not None and len(span.fragments) == 1:
                row_of_span[span.id] = row
    return row_of_span


def after(view: WordView, word_positions: list[tuple[int, int]], start: int) -> tuple[int, int]:
    """Return the sentence of a character offset, and how many of its words end before it."""
    bounds = view.words.words
    words_before = bisect_right(bounds, start, key=lambda word_bounds: word_bounds[1])
    if (
        words_before < len(word_positions)
        and word_positions[words_before][1] == 0
        and bounds[words_before][0] == start
    ):
        return word_positions[words_before]
    if words_before == 0:
        return 0, 0
    number, word = word_positions[words_before - 1]
    return number, word + 1


def places_of(view: WordView) -> list[tuple[int, int]]:
    """Return each word's sentence and its index in the sentence."""
    sentences = enumerate(view.words.sentences)
    return [(number, row) for number, (first, end) in sentences for row in range(end - first)]


def attributes_of(document: Document, layer: str) -> Mapping[str, list[Attribute]]:
    """Return a layer's attributes by target."""
    by_target: dict[str, list[Attribute]] = {}
    for attribute in document.layer_or_empty(layer).attributes:
        by_target.setdefault(attribute.target, []).append(attribute)
    return by_target


def _is_plain_sentence(document: Document, block: Block, number: int) -> bool:
    """Whether a one-sentence document has the name it would get without newdoc comments."""
    sent_id = next((value for key, value in block.comments if key == SENT_ID), None)
    return not _has_newdoc(block) and id_in_file(document) in ("", sent_id or default_name(number))


def _has_newdoc(block: Block) -> bool:
    return any(newdoc_of(comment) is not None for comment in block.comments)


def _build_blocks(view: WordView) -> list[Block]:
    """Return blocks with comments, forms, tags and the words' own attributes."""
    words, sentences = view.values(WORDS), view.values(SENTENCES)
    sentence_of_span = view.sentence_of_span
    layer = view.document[SENTENCES].spans if sentence_of_span else ()
    spans = {sentence_of_span[span.id]: span for span in layer if span.id in sentence_of_span}
    tags = {column: _tags_by_row(view, NAMES[column]) for column in (UPOS, XPOS)}
    sentence_blocks = []
    for number, (first, end) in enumerate(view.words.sentences):
        text = _text(view, first, end, spans.get(number))
        comments = [_comment(attribute, text) for attribute in sentences.get(number, ())]
        block = Block(
            text, [pair for pair in comments if comment(format_comment(*pair)[1:]) == pair], []
        )
        for row in range(first, end):
            cells = _new_row(str(row - first + 1), view.tokens[row])
            _fill_cells(cells, words.get(row, ()), (LEMMA, FEATS, DEPREL, MISC))
            for column, tag_of_row in tags.items():
                cells[column] = tag_of_row.get(row, NONE)
            block.words.append(cells)
        sentence_blocks.append(block)
    return sentence_blocks


def _comment(attribute: Attribute, text: str) -> tuple[str, str | None]:
    """Return a sentence's attribute as a comment; ``text`` without a value gets the text."""
    is_default = attribute.label == TEXT and attribute.value is None
    return attribute.label, text if is_default else attribute.value


def _text(view: WordView, first: int, end: int, span: Span | None) -> str:
    """Return a sentence's text: its span's, at least from the first to the last word."""
    first_char, last_char = view.words.words[first][0], view.words.words[end - 1][1]
    if span:
        first_char, last_char = min(first_char, span.start), max(last_char, span.end)
    return view.document.text[first_char:last_char].translate(_LINE_BREAKS)


def _tags_by_row(view: WordView, layer: str) -> dict[int, str]:
    """Return the first label in a layer of each word."""
    tag_of_row: dict[int, str] = {}
    if view.document.has_layer(layer):
        rows = row_of(view)
        for span in view.document[layer].spans:
            if span.id in rows and fits(span.label):
                tag_of_row.setdefault(rows[span.id], span.label)
    return tag_of_row


def _new_row(number: str, form: str) -> Cells:
    """Return a row with only an id and a form."""
    cells = [NONE] * len(COLUMNS)
    cells[ID], cells[FORM] = number, form.translate(_BREAKS) or NONE
    return cells


def _fill_cells(cells: Cells, attributes: Iterable[Attribute], columns: Iterable[int]) -> None:
    """Write attributes into the cells of their names; the first of each name wins."""
    column_of = {NAMES[column]: column for column in columns}
    for attribute in attributes:
        column = column_of.pop(attribute.label, None)
        if column is not None and attribute.value is not None and fits(attribute.value):
            cells[column] = attribute.value


def _add_tokens(sentence_blocks: list[Block], view: WordView) -> None:
    """Add the rows of multiword tokens; of two that share a word the first is kept."""
    by_target = attributes_of(view.document, TOKENS)
    for block, spans in zip(sentence_blocks, view.by_sentence(TOKENS)[0], strict=True):
        covered = 0
        for first, end, span in sorted(spans, key=lambda item: item[:2]):
            if first >= covered:
                cells = _new_row(f"{first + 1}-{end}", view.document.text_of(span))
                _fill_cells(cells, by_target.get(span.id, ()), range(FORM, MISC + 1))
                block.before.setdefault(first, []).append(cells)
                covered = end


def _add_arcs(sentence_blocks: list[Block], view: WordView) -> None:
    """Add heads and relation labels; a word gets the first head that the layer gives it."""
    if not view.document.has_layer("dependency"):
        return
    rows, word_positions = row_of(view), places_of(view)
    for relation in view.document["dependency"].relations:
        if relation.head not in rows or relation.tail not in rows or not fits(relation.label + "."):
            continue
        head_sentence, head = word_positions[rows[relation.head]]
        tail_sentence, tail = word_positions[rows[relation.tail]]
        cells = sentence_blocks[tail_sentence].words[tail]
        if head_sentence == tail_sentence and cells[HEAD] == NONE and relation.label:
            cells[HEAD] = "0" if head == tail else str(head + 1)
            cells[DEPREL] = relation.label


def _add_graph(sentence_blocks: list[Block], view: WordView) -> None:
    """Add empty nodes and enhanced heads, the heads in the order of their layer."""
    if not view.document.has_layer("enhanced"):
        return
    word_positions = places_of(view)
    position_of = {key: word_positions[row] for key, row in row_of(view).items()}
    row_of_node = {
        key: (number, sentence_blocks[number].words[word])
        for key, (number, word) in position_of.items()
    }
    by_target = attributes_of(view.document, "enhanced")
    for key, (_, cells) in row_of_node.items():
        _fill_cells(cells, by_target.get(key, ()), (DEPS,))
    row_of_node |= _add_empty_nodes(sentence_blocks, view, by_target)
    for block in sentence_blocks:
        heads = {"0", *(cells[ID] for cells in block.nodes())}
        for cells in block.nodes():
            edges = (item.partition(":") for item in cells[DEPS].split("|"))
            if not all(head in heads and label for head, _, label in edges):
                cells[DEPS] = NONE
    for relation in view.document["enhanced"].relations:
        if relation.head not in row_of_node or relation.tail not in row_of_node:
            continue
        (head_sentence, head), (tail_sentence, cells) = (
            row_of_node[relation.head],
            row_of_node[relation.tail],
        )
        if (
            head_sentence == tail_sentence
            and fits(relation.label + ".")
            and relation.label
            and "|" not in relation.label
        ):
            previous_edges = "" if cells[DEPS] == NONE else f"{cells[DEPS]}|"
            cells[DEPS] = f"{previous_edges}{'0' if head is cells else head[ID]}:{relation.label}"


def _add_empty_nodes(
    sentence_blocks: list[Block], view: WordView, by_target: Mapping[str, list[Attribute]]
) -> dict[str, tuple[int, Cells]]:
    """Add the rows of empty nodes; return sentence and row of each by span id."""
    word_positions = places_of(view)
    row_of_node = {}
    for span in view.document["enhanced"].spans if sentence_blocks else ():
        if span.start < span.end:
            continue
        sentence, word = after(view, word_positions, span.start)
        rows = sentence_blocks[sentence].before.setdefault(word, [])
        num_empty = sum("." in row[ID] for row in rows)
        cells = _new_row(f"{word}.{num_empty + 1}", NONE)
        _fill_cells(cells, by_target.get(span.id, ()), range(FORM, MISC + 1))
        rows.insert(num_empty, cells)  # before a token
        row_of_node[span.id] = sentence, cells
    return row_of_node


def _add_space_after(block: Block, spaces: list[bool]) -> None:
    """Record for each token, and each word outside tokens, whether no blank follows."""
    before = block.before.items()
    token_rows = {position: row for position, rows in before for row in rows if "-" in row[ID]}
    number = 0
    while number < len(block.words):
        row = token_rows.get(number, block.words[number])
        end = int(row[ID].partition("-")[2] or number + 1)
        if end < len(block.words) and not spaces[end - 1]:
            block.layer_items.setdefault(row[ID], {})[GLUED[0]] = GLUED[1]
        number = end
