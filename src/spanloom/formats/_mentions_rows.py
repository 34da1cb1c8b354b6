"""Entities and coreference of a document as brackets in MISC; ``_mentions`` reads them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from spanloom.document import Attribute, Document, Fragment, Span
from spanloom.formats._laid import Laid
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
from spanloom.formats._universal import ID, MISC, NONE
from spanloom.formats._universal_rows import Block, after, attributes_of, places_of
from spanloom.forms.links import linked

_LABEL = re.compile(r"[^-()|\t\n\r]+")
_VALUE = re.compile(r"[^()|\t\n\r]*")
_GROUP = re.compile(r"(?!.*\[[0-9]+/[0-9]+\]$)[^-()|\t\n\r]+")
_ANTECEDENT = re.compile(r"[^|,\t\n\r]+")

_NODES = re.compile(r"([0-9.]{1,20})-([0-9.]{1,20})")

Place = tuple[int, list[tuple[int, int]]]  # sentence, runs of its nodes


@dataclass(slots=True)
class _Found:
    """A mention of up to three layers."""

    span: Span
    mention: Mention
    nodes: str | None = None
    layers: set[str] = field(default_factory=set)


def tell(laid: Laid, blocks: Sequence[Block], before: str | None) -> str | None:
    """Add brackets, and the header unless ``before`` is in force; return which one then is."""
    document = laid.document
    if not blocks or not any(document.has(each) for each in (ENTITIES, COREFERENCE, NAMED)):
        return before
    meta = dict(document.meta)
    header = meta.get(KEY) or meta.get(INHERITED) or HEADER
    if header.split("-")[0] not in GROUPS:
        header = HEADER
    inherited = INHERITED in meta and header == before
    if not inherited and all(key != KEY for key, _ in blocks[0].comments):
        blocks[0].comments.insert(0, (KEY, header))
    fields = header.split("-")
    find = _Places(laid, blocks)
    by_sentence: list[list[Mention]] = [[] for _ in blocks]
    for each in _mentions(document, fields):
        place = find.of(each)
        if place and _LABEL.fullmatch(each.span.label):
            each.mention.parts = place[1]
            by_sentence[place[0]].append(each.mention)
    for block, mentions in zip(blocks, by_sentence, strict=True):
        _bracket(block, sorted(mentions, key=lambda each: each.parts[0][0]), fields)
    return header


def _mentions(document: Document, fields: Sequence[str]) -> list[_Found]:
    """Return the mentions of the three layers, those on the same characters taken as one."""
    found: list[_Found] = []
    by_place: dict[tuple[Fragment, ...], list[_Found]] = {}
    groups, fresh = _groups(document, "" if fields[0] == GROUPS[0] else "e")
    for layer in (ENTITIES, COREFERENCE, NAMED):
        said = attributes_of(document, layer)
        for span in document[layer].spans if document.has(layer) else ():
            here = by_place.setdefault(tuple(sorted(span.fragments)), [])
            fit = (one for one in here if span.label in (one.span.label, MENTION))
            each = next((one for one in fit if layer not in one.layers), None)
            if each is None:
                said_of = {} if span.label == MENTION else {ETYPE: span.label}
                each = _Found(span, Mention("", said_of, 0))
                here.append(each)
                found.append(each)
            each.layers.add(layer)
            each.mention.group = groups.get(span.id, each.mention.group)
            _say(each, said.get(span.id, ()))
    for each in found:
        each.mention.group = each.mention.group or next(fresh)
    _link(document, found)
    return found


def _say(found: _Found, said: Iterable[Attribute]) -> None:
    """Note what attributes say of a mention."""
    for each in said:
        value = each.value or ""
        if each.label == NODES:
            found.nodes = value
        elif each.label in ANTECEDENTS:
            if _ANTECEDENT.fullmatch(value):
                found.mention.antecedents.append((each.label, value))
        elif _VALUE.fullmatch(value):
            found.mention.said.setdefault(each.label, value)


def _link(document: Document, found: Iterable[_Found]) -> None:
    """Note where the named ones are linked."""
    if not document.has(NAMED):
        return
    places = {(tuple(sorted(each.span.fragments)), each.span.label): each for each in found}
    spans = {span.id: span for span in document[NAMED].spans}
    for link in document[NAMED].normalizations:
        span = spans.get(link.target)
        each = span and places.get((tuple(sorted(span.fragments)), span.label))
        if each and _VALUE.fullmatch(link.key):
            each.mention.said[IDENTITY] = link.key


def _groups(document: Document, prefix: str) -> tuple[dict[str, str], Iterator[str]]:
    """Return the group of each span of the layer of coreference, and names for further ones.

    Spans that relations connect are a group; it is called as its first span says, unless an
    earlier one is.
    """
    if not document.has(COREFERENCE):
        return {}, (f"{prefix}{number}" for number in count(1))
    layer = document[COREFERENCE]
    wanted = {each.target: each.value for each in layer.attributes if each.label == GROUP}
    used = {value for value in wanted.values() if value and _GROUP.fullmatch(value)}
    fresh = (name for name in (f"{prefix}{n}" for n in count(1)) if name not in used)
    clusters = linked(layer)
    inside = {each for cluster in clusters for each in cluster}
    alone = [(span.id,) for span in layer.spans if span.id not in inside]
    found: dict[str, str] = {}
    given: set[str] = set()
    for cluster in (*clusters, *alone):
        names = (wanted[each] for each in cluster if wanted.get(each) in used - given)
        name = next(names, None) or next(fresh)
        given.add(name)
        found |= dict.fromkeys(cluster, name)
    return found, fresh


@dataclass(slots=True)
class _Places:
    """Finds mentions among the nodes of a document's sentences."""

    laid: Laid
    blocks: Sequence[Block]
    _starts: dict[int, int] = field(init=False)
    _ends: dict[int, int] = field(init=False)
    _words: list[tuple[int, int]] = field(init=False)
    _nodes: list[dict[str, int]] = field(init=False)  # by sentence: where each id stands

    def __post_init__(self) -> None:
        """Number words and nodes."""
        bounds = self.laid.words.words
        self._starts = {start: row for row, (start, _) in enumerate(bounds)}
        self._ends = {end: row for row, (_, end) in enumerate(bounds)}
        self._words = places_of(self.laid)
        self._nodes = [
            {cells[ID]: place for place, cells in enumerate(block.nodes())} for block in self.blocks
        ]

    def of(self, found: _Found) -> Place | None:
        """Return where a mention is, None unless it is whole words of one sentence."""
        if found.nodes is not None:
            return self._by_nodes(found.span, found.nodes)
        runs: list[tuple[int, int]] = []
        sentences = set()
        for start, end in sorted(found.span.fragments):
            first, last = self._starts.get(start), self._ends.get(end)
            if start == end or first is None or last is None:
                return None
            (number, word), (other, until) = self._words[first], self._words[last]
            sentences |= {number, other}
            nodes = self._nodes[number]
            runs.append((nodes[str(word + 1)], nodes.get(str(until + 1), 0)))
        return (number, runs) if len(sentences) == 1 else None

    def _by_nodes(self, span: Span, written: str) -> Place | None:
        """Return where a mention is whose nodes are told, as some of them are empty."""
        first = self._starts.get(span.start) if span.start < span.end else None
        number = after(self.laid, self._words, span.start)[0]
        if first is not None:
            number = self._words[first][0]
        runs: list[tuple[int, int]] = []
        for run in written.split(","):
            found = _NODES.fullmatch(run)
            ends = [self._nodes[number].get(found[side], -1) for side in (1, 2)] if found else [-1]
            if min(ends) < 0 or ends[0] > ends[1] or (runs and ends[0] <= runs[-1][1]):
                return None
            runs.append((ends[0], ends[1]))
        return number, runs


def _bracket(block: Block, mentions: Sequence[Mention], fields: Sequence[str]) -> None:
    """Add the brackets and antecedents of a sentence; ``mentions`` stand in order."""
    for cells in block.nodes():  # what is told is not said again
        apart = (item for item in cells[MISC].split("|") if not item.startswith("Entity="))
        cells[MISC] = "|".join(apart) or NONE
    nodes = [cells[ID] for cells in block.nodes()]
    opening: list[list[tuple[Mention, int]]] = [[] for _ in nodes]
    closing: list[list[str]] = [[] for _ in nodes]
    for each in mentions:
        for number, (start, _) in enumerate(each.parts):
            opening[start].append((each, number))
    for place, node in enumerate(nodes):
        opened = ""
        ended = "".join(reversed(closing[place]))
        crossing = False
        for each, number in opening[place]:
            key, end = _key(each, number), each.parts[number][1]
            opened += f"({_spelt(each, key, fields) if number == 0 else key}"
            if end > place:
                closing[end].append(f"{key})")
                crossing = True
            else:
                opened += ")"
        written = ended + opened if crossing else opened + ended  # after (2-x no 1) can stand
        begun = [each for each, number in opening[place] if number == 0]
        items = {"Entity": written, **{key: antecedents(begun, key) for key in ANTECEDENTS}}
        told = {key: value for key, value in items.items() if value}
        if told:
            block.told.setdefault(node, {}).update(told)


def _key(mention: Mention, number: int) -> str:
    """Return how brackets call a part of a mention."""
    parts = len(mention.parts)
    return mention.group if parts == 1 else f"{mention.group}[{number + 1}/{parts}]"


def _spelt(mention: Mention, key: str, fields: Sequence[str]) -> str:
    """Return what stands in the first bracket of a mention: its key, then its fields."""
    values = [mention.said.get(name) for name in fields[1:]]
    while values and values[-1] is None:
        values.pop()
    inner, last = values[:-1], values[-1:]
    kept = ["" if value is None or "-" in value else value for value in inner]
    return "-".join([key, *kept, *(value or "" for value in last)])
