"""Write entities and coreference as brackets in MISC; ``_mentions`` reads them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from spanloom.annotation.connected_spans import connected_spans
from spanloom.document import Attribute, Document, Fragment, Span
from spanloom.formats._conllu import ID, MISC, NONE
from spanloom.formats._conllu_rows import Block, after, attributes_of, places_of
from spanloom.formats._mentions import (
    ANTECEDENTS,
    COREFERENCE,
    ENTITIES,
    ETYPE,
    GROUP,
    GROUPS,
    HEADER,
    IDENTITY,
    INHERITED,
    KEY,
    MENTION,
    NAMED,
    NODES,
    Mention,
    antecedents,
)
from spanloom.formats._word_view import WordView

_LABEL = re.compile(r"[^-()|\t\n\r]+")
_VALUE = re.compile(r"[^()|\t\n\r]*")
_GROUP = re.compile(r"(?!.*\[[0-9]+/[0-9]+\]$)[^-()|\t\n\r]+")
_ANTECEDENT = re.compile(r"[^|,\t\n\r]+")

_NODES = re.compile(r"([0-9.]{1,20})-([0-9.]{1,20})")

Place = tuple[int, list[tuple[int, int]]]  # sentence, runs of its nodes


@dataclass(slots=True)
class _SpanMention:
    """A mention and its span, merged from up to three layers."""

    span: Span
    mention: Mention
    nodes: str | None = None
    layers: set[str] = field(default_factory=set)


def tell(view: WordView, blocks: Sequence[Block], previous_header: str | None) -> str | None:
    """Add brackets, and the header unless it is in force already; return the header in force."""
    document = view.document
    if not blocks or not any(document.has_layer(layer) for layer in (ENTITIES, COREFERENCE, NAMED)):
        return previous_header
    meta = dict(document.meta)
    header = meta.get(KEY) or meta.get(INHERITED) or HEADER
    if header.split("-")[0] not in GROUPS:
        header = HEADER
    inherited = INHERITED in meta and header == previous_header
    if not inherited and all(key != KEY for key, _ in blocks[0].comments):
        blocks[0].comments.insert(0, (KEY, header))
    fields = header.split("-")
    locator = _NodeLocator(view, blocks)
    by_sentence: list[list[Mention]] = [[] for _ in blocks]
    for span_mention in _mentions(document, fields):
        position = locator.of(span_mention)
        if position and _LABEL.fullmatch(span_mention.span.label):
            span_mention.mention.parts = position[1]
            by_sentence[position[0]].append(span_mention.mention)
    for block, mentions in zip(blocks, by_sentence, strict=True):
        _add_brackets(block, sorted(mentions, key=lambda mention: mention.parts[0][0]), fields)
    return header


def _mentions(document: Document, fields: Sequence[str]) -> list[_SpanMention]:
    """Return the mentions of the three layers, merging those with the same fragments."""
    mentions: list[_SpanMention] = []
    by_fragments: dict[tuple[Fragment, ...], list[_SpanMention]] = {}
    groups, new_groups = _name_groups(document, "" if fields[0] == GROUPS[0] else "e")
    for layer in (ENTITIES, COREFERENCE, NAMED):
        attributes = attributes_of(document, layer)
        for span in document.layer_or_empty(layer).spans:
            candidates = by_fragments.setdefault(tuple(sorted(span.fragments)), [])
            matching = (
                candidate
                for candidate in candidates
                if span.label in (candidate.span.label, MENTION)
            )
            current = next(
                (candidate for candidate in matching if layer not in candidate.layers), None
            )
            if current is None:
                mention_fields = {} if span.label == MENTION else {ETYPE: span.label}
                current = _SpanMention(span, Mention("", mention_fields, 0))
                candidates.append(current)
                mentions.append(current)
            current.layers.add(layer)
            current.mention.group = groups.get(span.id, current.mention.group)
            _add_attributes(current, attributes.get(span.id, ()))
    for current in mentions:
        current.mention.group = current.mention.group or next(new_groups)
    _add_links(document, mentions)
    return mentions


def _add_attributes(span_mention: _SpanMention, attributes: Iterable[Attribute]) -> None:
    """Store attributes as nodes, antecedents and fields of a mention."""
    for attribute in attributes:
        value = attribute.value or ""
        if attribute.label == NODES:
            span_mention.nodes = value
        elif attribute.label in ANTECEDENTS:
            if _ANTECEDENT.fullmatch(value):
                span_mention.mention.antecedents.append((attribute.label, value))
        elif _VALUE.fullmatch(value):
            span_mention.mention.fields.setdefault(attribute.label, value)


def _add_links(document: Document, mentions: Iterable[_SpanMention]) -> None:
    """Store the links of layer ``named`` as the field ``identity``."""
    if not document.has_layer(NAMED):
        return
    by_fragments = {
        (tuple(sorted(span_mention.span.fragments)), span_mention.span.label): span_mention
        for span_mention in mentions
    }
    spans = {span.id: span for span in document[NAMED].spans}
    for link in document[NAMED].normalizations:
        span = spans.get(link.target)
        span_mention = span and by_fragments.get((tuple(sorted(span.fragments)), span.label))
        if span_mention and _VALUE.fullmatch(link.key):
            span_mention.mention.fields[IDENTITY] = link.key


def _name_groups(document: Document, prefix: str) -> tuple[dict[str, str], Iterator[str]]:
    """Return the group of each span in layer ``coreference``, and an iterator of unused names.

    Spans that relations connect are one group, named by the attribute of its first span unless an
    earlier group has that name.
    """
    if not document.has_layer(COREFERENCE):
        return {}, (f"{prefix}{number}" for number in count(1))
    layer = document[COREFERENCE]
    requested = {
        attribute.target: attribute.value
        for attribute in layer.attributes
        if attribute.label == GROUP
    }
    valid_names = {value for value in requested.values() if value and _GROUP.fullmatch(value)}
    new_names = (
        name for name in (f"{prefix}{number}" for number in count(1)) if name not in valid_names
    )
    clusters = connected_spans(layer)
    linked_ids = {span_id for cluster in clusters for span_id in cluster}
    unlinked = [(span.id,) for span in layer.spans if span.id not in linked_ids]
    group_of: dict[str, str] = {}
    used_names: set[str] = set()
    for cluster in (*clusters, *unlinked):
        names = (
            requested[span_id]
            for span_id in cluster
            if requested.get(span_id) in valid_names - used_names
        )
        name = next(names, None) or next(new_names)
        used_names.add(name)
        group_of |= dict.fromkeys(cluster, name)
    return group_of, new_names


@dataclass(slots=True)
class _NodeLocator:
    """Locates mentions among the nodes of a document's sentences."""

    view: WordView
    blocks: Sequence[Block]
    _starts: dict[int, int] = field(init=False)
    _ends: dict[int, int] = field(init=False)
    _words: list[tuple[int, int]] = field(init=False)
    _nodes: list[dict[str, int]] = field(init=False)  # per sentence: position of each node id

    def __post_init__(self) -> None:
        """Index the words and nodes."""
        bounds = self.view.words.words
        self._starts = {start: row for row, (start, _) in enumerate(bounds)}
        self._ends = {end: row for row, (_, end) in enumerate(bounds)}
        self._words = places_of(self.view)
        self._nodes = [
            {cells[ID]: position for position, cells in enumerate(block.nodes())}
            for block in self.blocks
        ]

    def of(self, span_mention: _SpanMention) -> Place | None:
        """Return a mention's sentence and node runs, or None if it is not whole words of one."""
        if span_mention.nodes is not None:
            return self._by_nodes(span_mention.span, span_mention.nodes)
        runs: list[tuple[int, int]] = []
        sentences = set()
        for start, end in sorted(span_mention.span.fragments):
            first, last = self._starts.get(start), self._ends.get(end)
            if start == end or first is None or last is None:
                return None
            (sentence, word), (last_sentence, last_word) = self._words[first], self._words[last]
            sentences |= {sentence, last_sentence}
            nodes = self._nodes[sentence]
            runs.append((nodes[str(word + 1)], nodes.get(str(last_word + 1), 0)))
        return (sentence, runs) if len(sentences) == 1 else None

    def _by_nodes(self, span: Span, node_ids: str) -> Place | None:
        """Return sentence and node runs of a mention whose nodes an attribute gives."""
        first = self._starts.get(span.start) if span.start < span.end else None
        sentence = after(self.view, self._words, span.start)[0]
        if first is not None:
            sentence = self._words[first][0]
        runs: list[tuple[int, int]] = []
        for run in node_ids.split(","):
            match = _NODES.fullmatch(run)
            ends = (
                [self._nodes[sentence].get(match[side], -1) for side in (1, 2)] if match else [-1]
            )
            if min(ends) < 0 or ends[0] > ends[1] or (runs and ends[0] <= runs[-1][1]):
                return None
            runs.append((ends[0], ends[1]))
        return sentence, runs


def _add_brackets(block: Block, mentions: Sequence[Mention], fields: Sequence[str]) -> None:
    """Add the brackets and antecedents of a sentence; ``mentions`` are sorted by start."""
    for cells in block.nodes():  # brackets kept as an attribute are written anew
        other_items = (item for item in cells[MISC].split("|") if not item.startswith("Entity="))
        cells[MISC] = "|".join(other_items) or NONE
    nodes = [cells[ID] for cells in block.nodes()]
    opening: list[list[tuple[Mention, int]]] = [[] for _ in nodes]
    closing: list[list[str]] = [[] for _ in nodes]
    for mention in mentions:
        for number, (start, _) in enumerate(mention.parts):
            opening[start].append((mention, number))
    for position, node in enumerate(nodes):
        opening_text = ""
        closing_text = "".join(reversed(closing[position]))
        opens_longer = False
        for mention, number in opening[position]:
            key, end = _format_key(mention, number), mention.parts[number][1]
            opening_text += (
                f"({_format_first_bracket(mention, key, fields) if number == 0 else key}"
            )
            if end > position:
                closing[end].append(f"{key})")
                opens_longer = True
            else:
                opening_text += ")"
        # no 1) may follow (2-x
        entity_text = closing_text + opening_text if opens_longer else opening_text + closing_text
        first_parts = [mention for mention, number in opening[position] if number == 0]
        items = {
            "Entity": entity_text,
            **{key: antecedents(first_parts, key) for key in ANTECEDENTS},
        }
        nonempty_items = {key: value for key, value in items.items() if value}
        if nonempty_items:
            block.layer_items.setdefault(node, {}).update(nonempty_items)


def _format_key(mention: Mention, number: int) -> str:
    """Return a mention part's key in brackets."""
    parts = len(mention.parts)
    return mention.group if parts == 1 else f"{mention.group}[{number + 1}/{parts}]"


def _format_first_bracket(mention: Mention, key: str, fields: Sequence[str]) -> str:
    """Return the content of a mention's first bracket: its key and fields."""
    values = [mention.fields.get(name) for name in fields[1:]]
    while values and values[-1] is None:
        values.pop()
    inner, last = values[:-1], values[-1:]
    kept_values = ["" if value is None or "-" in value else value for value in inner]
    return "-".join([key, *kept_values, *(value or "" for value in last)])
