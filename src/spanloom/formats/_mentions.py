"""Read entities and coreference from MISC, as GUM and CorefUD write them.

    # global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity
    2  Bush   …  Entity=(1-person-new-nnnnn-cf1-1-coref-George_Bush)
    7  his    …  Entity=(2-object-new-nnnnn-cf2-2-sgl(1-person-giv:act-nnnnn-cf1-1-ana)
    8  house  …  Bridge=1<2|Entity=2)

A mention is one span in each of three layers, labelled by its type (``mention`` if it has none):

* ``entities``, nested: its fields as attributes; ``nodes`` if one of its nodes is empty
* ``coreference``: attributes ``group``, ``link``, ``Bridge`` and ``SplitAnte`` (groups of
  antecedents); a relation ``coref`` from each later mention of a group to the one before
* ``named``: only mentions with a field ``identity``, as a normalization

A mention with a gap, ``(e1[1/2]-…`` and ``(e1[2/2]``, has several fragments. See Zeldes (2017)
and https://ufal.mff.cuni.cz/corefud.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spanloom.document import Fragment
from spanloom.errors import FormatError
from spanloom.formats._conllu import ID, MISC, LayerItems, Part, Row, Sentence, take_first
from spanloom.formats._document_builder import DocumentBuilder

KEY, INHERITED = "global.Entity", "inherited global.Entity"
HEADER = "GRP-etype-infstat-salience-centering-minspan-link-identity"
GROUPS = ("GRP", "eid")  # possible names of the first field
ETYPE, LINK, IDENTITY = "etype", "link", "identity"
MENTION, COREF, GROUP, NODES = "mention", "coref", "group", "nodes"
ENTITIES, COREFERENCE, NAMED = "entities", "coreference", "named"
RESOURCE = "Wikipedia"
ANTECEDENTS = ("Bridge", "SplitAnte")

_PIECE = re.compile(r"\(([^-()][^()]*)(\)?)|([^()]+)\)")
_PART = re.compile(r"(.*)\[([1-9][0-9]{0,3})/([1-9][0-9]{0,3})\]", re.DOTALL)


@dataclass(slots=True)
class Mention:
    """A mention and its fields; ``parts`` are its runs of nodes as (first, last)."""

    group: str
    fields: dict[str, str]
    line: int
    parts: list[tuple[int, int]] = field(default_factory=list)
    antecedents: list[tuple[str, str]] = field(default_factory=list)
    total: int = 1
    span: str = ""  # its id in the layer ``coreference``


class Key(NamedTuple):
    """A bracket's mention: its group, the part's number and the number of parts."""

    group: str
    part: int = 1
    total: int = 1


def header(part: Part, previous_header: str | None) -> str | None:
    """Return the names of a document's mention fields joined by ``-``, None without a header.

    A header that is the first comment is removed; if it is not GUM's, meta keeps it.
    """
    comments = part.sentences[0].comments
    document_header = next((value for key, value in comments if key == KEY and value), None)
    header_text = document_header or previous_header
    if header_text is None or header_text.split("-")[0] not in GROUPS:
        return None
    if document_header is None:
        part.builder.meta.append((INHERITED, header_text))
    elif document_header != HEADER:
        part.builder.meta.append((KEY, document_header))
    take_first(comments, KEY)
    return header_text


@dataclass(slots=True)
class Reader:
    """Adds the mentions of one document to its builder, sentence by sentence."""

    builder: DocumentBuilder
    fields: Sequence[str]
    path: str
    _last: dict[str, str] = field(default_factory=dict)  # the last mention of each group

    def __post_init__(self) -> None:
        """Create the layers."""
        self.builder.layer(ENTITIES)
        self.builder.layer(COREFERENCE)
        if IDENTITY in self.fields:
            self.builder.layer(NAMED)

    def sentence(self, sentence: Sentence) -> LayerItems:
        """Add the last sentence's mentions; return the MISC items that encode them, by node id.

        Raises ``FormatError`` for unbalanced brackets.
        """
        nodes = sentence.nodes()
        first = len(self.builder.words) - len(sentence.words)
        brackets = _BracketStack(self.fields, self.path)
        items_of_node: dict[str, dict[str, str]] = {}
        for position, (_, row) in enumerate(nodes):
            items = dict(item.partition("=")[::2] for item in row.cells[MISC].split("|"))
            if "Entity" in items:
                begun_mentions = brackets.node(position, row, items["Entity"])
                antecedent_keys = [
                    key
                    for key in ANTECEDENTS
                    if _assign_antecedents(begun_mentions, key, items.get(key))
                ]
                items_of_node[row.cells[ID]] = {
                    key: items[key] for key in ("Entity", *antecedent_keys)
                }
        for mention in brackets.close():
            self._add(mention, nodes, first)
        return items_of_node

    def _add(self, mention: Mention, nodes: list[tuple[int, Row]], first: int) -> None:
        """Add one mention to the layers."""
        builder, fields = self.builder, mention.fields
        label = fields.pop(ETYPE, "") or MENTION
        link, identity = fields.pop(LINK, None), fields.pop(IDENTITY, None)
        fragments = [
            self._fragment(nodes[first_node : last_node + 1], first)
            for first_node, last_node in mention.parts
        ]
        span = builder.span(ENTITIES, label, *fragments)
        for name, value in fields.items():
            builder.attribute(ENTITIES, name, span, value)
        runs = [
            (nodes[first_node][1].cells[ID], nodes[last_node][1].cells[ID])
            for first_node, last_node in mention.parts
        ]
        if any("." in node_id for run in runs for node_id in run):
            node_ids = ",".join(f"{first_node}-{last_node}" for first_node, last_node in runs)
            builder.attribute(ENTITIES, NODES, span, node_ids)
        coref_span = builder.span(COREFERENCE, label, *fragments)
        builder.attribute(COREFERENCE, GROUP, coref_span, mention.group)
        if link is not None:
            builder.attribute(COREFERENCE, LINK, coref_span, link)
        for name, value in mention.antecedents:
            builder.attribute(COREFERENCE, name, coref_span, value)
        if mention.group in self._last:
            builder.relation(COREFERENCE, COREF, coref_span, self._last[mention.group])
        self._last[mention.group] = coref_span
        if identity is not None:
            named = builder.span(NAMED, label, *fragments)
            builder.add_normalization(NAMED, IDENTITY, named, RESOURCE, identity)

    def _fragment(self, nodes: list[tuple[int, Row]], first: int) -> Fragment:
        """Return the characters of a run of nodes; empty if the run has only empty nodes."""
        words = [words_before for words_before, row in nodes if "." not in row.cells[ID]]
        if words:
            return self.builder.char_bounds(first + words[0], first + words[-1] + 1)
        return self.builder.char_bounds(first + nodes[0][0], first + nodes[0][0])


@dataclass(slots=True)
class _BracketStack:
    """The closed and open mentions of a sentence."""

    fields: Sequence[str]
    path: str
    _mentions: list[Mention] = field(default_factory=list)
    _open: dict[Key, list[tuple[Mention, int, int]]] = field(default_factory=dict)  # start, line
    _waiting: dict[tuple[str, int, int], list[Mention]] = field(default_factory=dict)

    def node(self, position: int, row: Row, text: str) -> list[Mention]:
        """Read the brackets at a node; return the mentions that begin there."""
        begun_mentions = []
        pieces = list(_brackets(text))
        if "".join(piece[0] for piece in pieces) != text or not text:
            raise FormatError(self.path, row.line, f"expected Entity=(…), got {text!r:.60}")
        for piece in pieces:
            if piece[3]:
                self._close(_parse_key(piece[3]), position, row.line)
                continue
            key = _parse_key(piece[1].partition("-")[0])
            mention = self._mention(key, piece[1], row.line)
            self._open.setdefault(key, []).append((mention, position, row.line))
            if key.part == 1:
                begun_mentions.append(mention)
            if piece[2]:
                self._close(key, position, row.line)
        return begun_mentions

    def close(self) -> list[Mention]:
        """Return all mentions by first bracket.

        Raises ``FormatError`` for open brackets and for missing or overlapping parts.
        """
        for key, stack in self._open.items():
            for _, _, line in stack:
                problem = f"expected {key.group}) before the end of the sentence, got none"
                raise FormatError(self.path, line, problem)
        for mention in self._mentions:
            if len(mention.parts) != mention.total:
                problem = f"expected {mention.total} parts of {mention.group}, "
                raise FormatError(self.path, mention.line, f"{problem}got {len(mention.parts)}")
            if any(
                part[1] >= following[0]
                for part, following in zip(mention.parts, mention.parts[1:], strict=False)
            ):
                problem = f"expected parts of {mention.group} one after the other"
                raise FormatError(self.path, mention.line, f"{problem}, got overlapping ones")
        return self._mentions

    def _mention(self, key: Key, text: str, line: int) -> Mention:
        """Return the new mention of an opening bracket, or the one whose next part it opens."""
        if key.part > 1:
            waiting = self._waiting.get((key.group, key.part, key.total))
            if not waiting:
                problem = f"expected part {key.part - 1} of {key.group} before this one, got none"
                raise FormatError(self.path, line, problem)
            return waiting.pop()
        values = text.split("-", len(self.fields) - 1)
        last_index = len(values) - 1
        pairs = list(zip(self.fields, values, strict=False))
        fields = {
            name: value
            for index, (name, value) in enumerate(pairs)
            if index and (value or index == last_index)
        }
        mention = Mention(key.group, fields, line, total=key.total)
        self._mentions.append(mention)
        return mention

    def _close(self, key: Key, position: int, line: int) -> None:
        stack = self._open.get(key)
        if not stack:
            problem = f"expected a bracket that closes an open mention, got {key.group!r:.60}"
            raise FormatError(self.path, line, problem)
        mention, start, _ = stack.pop()
        mention.parts.append((start, position))
        if key.part < key.total:
            self._waiting.setdefault((key.group, key.part + 1, key.total), []).append(mention)


def antecedents(mentions: Sequence[Mention], key: str) -> str:
    """Return the value of the MISC item ``key`` that names antecedents of these mentions."""
    return ",".join(
        f"{value}<{mention.group}"
        for mention in mentions
        for name, value in mention.antecedents
        if name == key
    )


def _assign_antecedents(mentions: Sequence[Mention], key: str, text: str | None) -> bool:
    """Add antecedents to the mentions that begin here, if the item names only these mentions."""
    if not text:
        return False
    pairs = [pair.rpartition("<")[::2] for pair in text.split(",")]
    by_group = {mention.group: mention for mention in reversed(mentions)}
    assigned = [(by_group.get(group), value) for value, group in pairs]
    ordered = ",".join(
        f"{value}<{mention.group}"
        for mention in mentions
        for target, value in assigned
        if target is mention
    )
    if ordered != text:
        return False
    for mention, value in assigned:
        if mention:
            mention.antecedents.append((key, value))
    return True


def _brackets(text: str) -> Iterator[re.Match[str]]:
    """Yield the brackets at the start of a text, as far as they follow one another."""
    end = 0
    while match := _PIECE.match(text, end):
        yield match
        end = match.end()


def _parse_key(text: str) -> Key:
    match = _PART.fullmatch(text)
    if match is None or int(match[2]) > int(match[3]):
        return Key(text)
    return Key(match[1], int(match[2]), int(match[3]))
