"""Entities and their coreference in MISC, as GUM and CorefUD write them.

    # global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity
    2  Bush   …  Entity=(1-person-new-nnnnn-cf1-1-coref-George_Bush)
    7  his    …  Entity=(2-object-new-nnnnn-cf2-2-sgl(1-person-giv:act-nnnnn-cf1-1-ana)
    8  house  …  Bridge=1<2|Entity=2)

A mention is one span in each of three layers, labelled by its type (``mention`` without one):

* ``entities``, nested: what fields say of it, as attributes; ``nodes`` where one of them is empty
* ``coreference``: attributes ``group``, ``link``, ``Bridge`` and ``SplitAnte`` (groups of
  antecedents); a relation ``coref`` from each later mention of a group to the one before
* ``named``: those alone with a field ``identity``, which is linked there

A mention with a gap, ``(e1[1/2]-…`` and ``(e1[2/2]``, has several fragments. See Zeldes (2017)
and https://ufal.mff.cuni.cz/corefud.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spanloom.document import Fragment
from spanloom.errors import FormatError
from spanloom.formats._making import Making
from spanloom.formats._universal import ID, MISC, Part, Row, Sentence, Told, take_first

KEY, INHERITED = "global.Entity", "inherited global.Entity"
HEADER = "GRP-etype-infstat-salience-centering-minspan-link-identity"
GROUPS = ("GRP", "eid")  # what the first field is called
ETYPE, LINK, IDENTITY = "etype", "link", "identity"
MENTION, COREF, GROUP, NODES = "mention", "coref", "group", "nodes"
ENTITIES, COREFERENCE, NAMED = "entities", "coreference", "named"
RESOURCE = "Wikipedia"
ANTECEDENTS = ("Bridge", "SplitAnte")

_PIECE = re.compile(r"\(([^-()][^()]*)(\)?)|([^()]+)\)")
_PART = re.compile(r"(.*)\[([1-9][0-9]{0,3})/([1-9][0-9]{0,3})\]", re.DOTALL)


@dataclass(slots=True)
class Mention:
    """What is said of a mention; ``parts`` are its nodes, first and last of each run."""

    group: str
    said: dict[str, str]
    line: int
    parts: list[tuple[int, int]] = field(default_factory=list)
    antecedents: list[tuple[str, str]] = field(default_factory=list)
    total: int = 1
    span: str = ""  # id in the layer of coreference


class Key(NamedTuple):
    """How a bracket calls its mention: group, which of how many parts."""

    group: str
    part: int = 1
    total: int = 1


def header(part: Part, before: str | None) -> str | None:
    """Return what fields mentions have in a document, None where nothing says so.

    A header that is the first comment is taken away; where it is not GUM's, meta keeps it.
    """
    comments = part.sentences[0].comments
    own = next((value for key, value in comments if key == KEY and value), None)
    found = own or before
    if found is None or found.split("-")[0] not in GROUPS:
        return None
    if own is None:
        part.making.meta.append((INHERITED, found))
    elif own != HEADER:
        part.making.meta.append((KEY, own))
    take_first(comments, KEY)
    return found


@dataclass(slots=True)
class Reader:
    """Reads the mentions of one document, sentence by sentence."""

    making: Making
    fields: Sequence[str]
    path: str
    _last: dict[str, str] = field(default_factory=dict)  # the last mention of each group

    def __post_init__(self) -> None:
        """Say which layers there are."""
        self.making.layer(ENTITIES)
        self.making.layer(COREFERENCE)
        if IDENTITY in self.fields:
            self.making.layer(NAMED)

    def sentence(self, sentence: Sentence) -> Told:
        """Add the mentions of the last sentence; return the items of MISC that tell them.

        Raises ``FormatError``: brackets that do not match, fields that the header does not have.
        """
        nodes = sentence.nodes()
        first = len(self.making.words) - len(sentence.words)
        open_ = _Open(self.fields, self.path)
        told: dict[str, dict[str, str]] = {}
        for place, (_, row) in enumerate(nodes):
            items = dict(item.partition("=")[::2] for item in row.cells[MISC].split("|"))
            if "Entity" in items:
                begun = open_.node(place, row, items["Entity"])
                taken = [key for key in ANTECEDENTS if _taken(begun, key, items.get(key))]
                told[row.cells[ID]] = {key: items[key] for key in ("Entity", *taken)}
        for mention in open_.closed():
            self._add(mention, nodes, first)
        return told

    def _add(self, mention: Mention, nodes: list[tuple[int, Row]], first: int) -> None:
        """Add one mention to the layers."""
        making, said = self.making, mention.said
        label = said.pop(ETYPE, "") or MENTION
        link, identity = said.pop(LINK, None), said.pop(IDENTITY, None)
        fragments = [self._fragment(nodes[a : b + 1], first) for a, b in mention.parts]
        span = making.span(ENTITIES, label, *fragments)
        for name, value in said.items():
            making.attribute(ENTITIES, name, span, value)
        runs = [(nodes[a][1].cells[ID], nodes[b][1].cells[ID]) for a, b in mention.parts]
        if any("." in each for run in runs for each in run):
            written = ",".join(f"{a}-{b}" for a, b in runs)
            making.attribute(ENTITIES, NODES, span, written)
        again = making.span(COREFERENCE, label, *fragments)
        making.attribute(COREFERENCE, GROUP, again, mention.group)
        if link is not None:
            making.attribute(COREFERENCE, LINK, again, link)
        for name, value in mention.antecedents:
            making.attribute(COREFERENCE, name, again, value)
        if mention.group in self._last:
            making.relation(COREFERENCE, COREF, again, self._last[mention.group])
        self._last[mention.group] = again
        if identity is not None:
            named = making.span(NAMED, label, *fragments)
            making.link(NAMED, IDENTITY, named, RESOURCE, identity)

    def _fragment(self, nodes: list[tuple[int, Row]], first: int) -> Fragment:
        """Return the characters of a run of nodes, of no width where all are empty."""
        words = [before for before, row in nodes if "." not in row.cells[ID]]
        if words:
            return self.making.at(first + words[0], first + words[-1] + 1)
        return self.making.at(first + nodes[0][0], first + nodes[0][0])


@dataclass(slots=True)
class _Open:
    """The mentions of a sentence, closed and not yet closed."""

    fields: Sequence[str]
    path: str
    _found: list[Mention] = field(default_factory=list)
    _open: dict[Key, list[tuple[Mention, int, int]]] = field(default_factory=dict)  # start, line
    _waiting: dict[tuple[str, int, int], list[Mention]] = field(default_factory=dict)

    def node(self, place: int, row: Row, written: str) -> list[Mention]:
        """Read the brackets at a node; return the mentions that begin there."""
        begun = []
        pieces = list(_PIECE.finditer(written))
        if "".join(piece[0] for piece in pieces) != written or not written:
            raise FormatError(self.path, row.line, f"expected Entity=(…), got {written!r:.60}")
        for piece in pieces:
            if piece[3]:
                self._close(_key(piece[3]), place, row.line)
                continue
            key = _key(piece[1].partition("-")[0])
            mention = self._mention(key, piece[1], row.line)
            self._open.setdefault(key, []).append((mention, place, row.line))
            if key.part == 1:
                begun.append(mention)
            if piece[2]:
                self._close(key, place, row.line)
        return begun

    def closed(self) -> list[Mention]:
        """Return the mentions in the order of their first brackets; none may be open still."""
        for key, stack in self._open.items():
            for _, _, line in stack:
                problem = f"expected {key.group}) before the end of the sentence, got none"
                raise FormatError(self.path, line, problem)
        for mention in self._found:
            if len(mention.parts) != mention.total:
                problem = f"expected {mention.total} parts of {mention.group}, "
                raise FormatError(self.path, mention.line, f"{problem}got {len(mention.parts)}")
            if any(a[1] >= b[0] for a, b in zip(mention.parts, mention.parts[1:], strict=False)):
                problem = f"expected parts of {mention.group} one after the other"
                raise FormatError(self.path, mention.line, f"{problem}, got overlapping ones")
        return self._found

    def _mention(self, key: Key, written: str, line: int) -> Mention:
        """Return the mention that a bracket opens, or goes on with."""
        if key.part > 1:
            waiting = self._waiting.get((key.group, key.part, key.total))
            if not waiting:
                problem = f"expected part {key.part - 1} of {key.group} before this one, got none"
                raise FormatError(self.path, line, problem)
            return waiting.pop()
        values = written.split("-", len(self.fields) - 1)
        last = len(values) - 1
        pairs = list(zip(self.fields, values, strict=False))
        said = {name: value for n, (name, value) in enumerate(pairs) if n and (value or n == last)}
        mention = Mention(key.group, said, line, total=key.total)
        self._found.append(mention)
        return mention

    def _close(self, key: Key, place: int, line: int) -> None:
        stack = self._open.get(key)
        if not stack:
            problem = f"expected a bracket that closes an open mention, got {key.group!r:.60}"
            raise FormatError(self.path, line, problem)
        mention, start, _ = stack.pop()
        mention.parts.append((start, place))
        if key.part < key.total:
            self._waiting.setdefault((key.group, key.part + 1, key.total), []).append(mention)


def antecedents(begun: Sequence[Mention], key: str) -> str:
    """Return the value of an item of MISC that names antecedents of these mentions."""
    return ",".join(
        f"{value}<{each.group}" for each in begun for name, value in each.antecedents if name == key
    )


def _taken(begun: Sequence[Mention], key: str, written: str | None) -> bool:
    """Give antecedents to the mentions that begin here, if all of the item is about them."""
    if not written:
        return False
    pairs = [pair.rpartition("<")[::2] for pair in written.split(",")]
    by_group = {each.group: each for each in reversed(begun)}
    told = [(by_group.get(group), value) for value, group in pairs]
    ordered = ",".join(
        f"{value}<{each.group}" for each in begun for one, value in told if one is each
    )
    if ordered != written:
        return False
    for each, value in told:
        if each:
            each.antecedents.append((key, value))
    return True


def _key(written: str) -> Key:
    found = _PART.fullmatch(written)
    if found is None or int(found[2]) > int(found[3]):
        return Key(written)
    return Key(found[1], int(found[2]), int(found[3]))
