"""spaCy's DocBin: documents of tokens with tags, a tree, entities, and named groups of spans.

| DocBin | document |
|---|---|
| tokens and blanks | text; layer ``words``, without tokens of blanks alone |
| SENT_START | layer ``sentences``, if any is said |
| LEMMA, MORPH | attributes ``lemma`` and ``feats`` of the word |
| POS, TAG | layers ``upos``, ``xpos`` |
| HEAD, DEP | layer ``dependency``: relations from head to dependent, a root's to itself |
| ENT_IOB, ENT_TYPE | layer ``entities``; its ENT_ID an attribute, its ENT_KB_ID a link |
| groups of spans | a layer each; ``entities`` that nest are one too |
| ``cats`` | meta ``cats``, as JSON |

Name and meta of a document stand in its user data. spaCy is needed only when such files are read
or written. See https://spacy.io/api/docbin.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from spanloom.config.options import Options
from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Document, Fragment, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._docbin import Grouped, Row, Tokens, begins, packed, unpacked
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.formats._names import Names, numbered
from spanloom.formats._regained import missing

ENTITIES, DEPENDENCY = "entities", "dependency"
CATS = "cats"
_TAGS = {"POS": "upos", "TAG": "xpos"}
_COLUMNS = {"LEMMA": "lemma", "MORPH": "feats"}
_FEATS = re.compile(r"[^=|\s]+=[^=|\s]+(?:\|[^=|\s]+=[^=|\s]+)*")
_OUT, _IN, _BEGIN = 2, 1, 3  # of ENT_IOB; 0 says nothing


def loads(
    text: bytes, *, path: str = "<bytes>", options: Options = Options()
) -> Iterator[Document]:
    """Yield the documents of a file; raises ``FormatError``, without a line as bytes have none."""
    names = Names()
    for number, tokens in enumerate(unpacked(text, path), 1):
        try:
            yield _Reading(tokens, Making(names.of(_name(tokens) or numbered(number)))).document()
        except ValueError as error:
            raise FormatError(path, None, f"document {number}: {error}") from error


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> bytes:
    """Return the file; what DocBin has no place for is left out."""
    return packed(_Writing(Laid(each)).tokens() for each in documents)


def _name(tokens: Tokens) -> str:
    name = tokens.kept.get("name")
    return name if isinstance(name, str) else ""


@dataclass(frozen=True)
class _Reading:
    """A document in the making from tokens; every method raises ``ValueError``."""

    tokens: Tokens
    making: Making

    def document(self) -> Document:
        """Return it."""
        tokens, making = self.tokens, self.making
        pairs = zip(tokens.words, tokens.spaces, strict=True)
        making.raw("".join(word + " " * blank for word, blank in pairs))
        bounds = self._bounds()
        solid = [row for row, word in enumerate(tokens.words) if not word.isspace()]
        making.layer(WORDS)
        words = {row: making.span(WORDS, WORD, bounds[row]) for row in solid}
        self._sentences(bounds, solid)
        for row, word in words.items():
            for column, name in _COLUMNS.items():
                if tokens.rows[row][column]:
                    making.attribute(WORDS, name, word, tokens.rows[row][column])
        for column, layer in _TAGS.items():
            if any(tokens.rows[row][column] for row in solid):
                making.layer(layer)
            for row in solid:
                if tokens.rows[row][column]:
                    making.span(layer, tokens.rows[row][column], bounds[row])
        self._tree(bounds, solid)
        self._entities(bounds)
        self._groups()
        if tokens.cats:
            making.meta.append((CATS, json.dumps(tokens.cats, ensure_ascii=False)))
        for pair in tokens.kept.get("meta") or ():
            key, value = pair
            making.meta.append((str(key), str(value)))
        return making.done()

    def _bounds(self) -> list[Fragment]:
        """Return the characters of each token."""
        found: list[Fragment] = []
        start = 0
        for word, blank in zip(self.tokens.words, self.tokens.spaces, strict=True):
            found.append((start, start + len(word)))
            start += len(word) + blank
        return found

    def _sentences(self, bounds: list[Fragment], solid: list[int]) -> None:
        """Add sentences, from first to last word."""
        said = [each["SENT_START"] for each in self.tokens.rows]
        begun = [row for row, each in enumerate(said) if each == 1]
        if not begun or (len(said) > 1 and not any(said[1:])):  # the first is said without reason
            return
        self.making.layer(SENTENCES)
        cuts = sorted({0, *begun, len(bounds)})
        place = 0
        for end in cuts[1:]:
            first = place
            while place < len(solid) and solid[place] < end:
                place += 1
            if first < place:
                start, stop = bounds[solid[first]][0], bounds[solid[place - 1]][1]
                self.making.span(SENTENCES, SENTENCE, (start, stop))

    def _tree(self, bounds: list[Fragment], solid: list[int]) -> None:
        rows = self.tokens.rows
        if not any(rows[row]["DEP"] for row in solid):
            return
        spans = {row: self.making.span(DEPENDENCY, WORD, bounds[row]) for row in solid}
        for row, span in spans.items():
            head = row + rows[row]["HEAD"]
            if not 0 <= head < len(bounds):
                raise ValueError(f"expected the head of token {row} in its text, got {head}")
            if rows[row]["DEP"] and head in spans:
                self.making.relation(DEPENDENCY, rows[row]["DEP"], spans[head], span)

    def _entities(self, bounds: list[Fragment]) -> None:
        """Add flat entities; what goes on with nothing, or with another type, begins."""
        rows = self.tokens.rows
        if not any(row["ENT_IOB"] for row in rows):
            return
        self.making.layer(ENTITIES)
        runs: list[list[int]] = []
        for place, row in enumerate(rows):
            on = bool(runs) and runs[-1][1] == place
            if row["ENT_IOB"] == _IN and on and row["ENT_TYPE"] == rows[place - 1]["ENT_TYPE"]:
                runs[-1][1] = place + 1
            elif row["ENT_IOB"] in (_IN, _BEGIN):
                runs.append([place, place + 1])
        for first, end in runs:
            said = rows[first]
            fragment = bounds[first][0], bounds[end - 1][1]
            span = self.making.span(ENTITIES, said["ENT_TYPE"], fragment)
            if said["ENT_ID"]:
                self.making.attribute(ENTITIES, "id", span, said["ENT_ID"])
            if said["ENT_KB_ID"]:
                self.making.link(ENTITIES, "kb_id", span, "", said["ENT_KB_ID"])

    def _groups(self) -> None:
        """Add a layer for each group of spans."""
        taken = {WORDS, SENTENCES, DEPENDENCY, *_TAGS.values()}
        if any(row["ENT_IOB"] for row in self.tokens.rows):
            taken.add(ENTITIES)
        for name, spans in self.tokens.groups.items():
            layer = name
            while layer in taken:
                layer = f"{layer}~"
            taken.add(layer)
            self.making.layer(layer)
            for each in spans:
                if not 0 <= each.start <= each.stop <= self.making.size:
                    problem = f"expected a span within {self.making.size} characters"
                    raise ValueError(f"{problem}, got {each.start}..{each.stop}")
                span = self.making.span(layer, each.label, (each.start, each.stop))
                if each.key:
                    self.making.link(layer, "kb_id", span, "", each.key)


@dataclass(frozen=True)
class _Writing:
    """The tokens of a document: its words, and a token of each gap that is no single blank."""

    laid: Laid

    def tokens(self) -> Tokens:
        """Return them with all that has a place."""
        document = self.laid.document
        words, spaces, places = self._parted()
        rows: list[Row] = [dict.fromkeys(("POS", "TAG", "DEP"), "") for _ in words]
        for row in rows:
            row |= dict.fromkeys((*_COLUMNS, "ENT_TYPE", "ENT_KB_ID", "ENT_ID"), "")
            row |= {"ENT_IOB": 0, "HEAD": 0, "SENT_START": -1 if document.has(SENTENCES) else 0}
        made = Tokens(words, spaces, rows)
        for first, _ in self.laid.words.sentences if document.has(SENTENCES) else ():
            rows[places[first]]["SENT_START"] = 1
        self._add_columns(rows, places)
        self._add_tree(rows, places)
        flat = self._add_entities(rows, places)
        held = {WORDS, SENTENCES, DEPENDENCY, *_TAGS.values(), *([ENTITIES] if flat else [])}
        made.groups = {
            _utf8(each.name): list(self._grouped(each.name, places))
            for each in document.layers
            if each.name not in held
        }
        meta = [(key, value) for key, value in document.meta if key != CATS]
        made.cats = _cats(dict(document.meta).get(CATS))
        made.kept = {"name": _utf8(document.name)} if document.name else {}
        if meta:
            made.kept["meta"] = [[_utf8(key), _utf8(value)] for key, value in meta]
        return made

    def _parted(self) -> tuple[list[str], list[bool], list[int]]:
        """Return tokens, whether a blank follows each, and which token each word is."""
        text = self.laid.document.text
        words: list[str] = []
        spaces: list[bool] = []
        places: list[int] = []
        done = 0
        for start, end in (*self.laid.words.words, (len(text), len(text))):
            gap = text[done:start]
            if gap[:1] == " " and words:
                spaces[-1], gap = True, gap[1:]
            if gap:
                words.append(_utf8(gap))
                spaces.append(False)
            if start < end:
                places.append(len(words))
                words.append(_utf8(text[start:end]))
                spaces.append(False)
            done = end
        return words, spaces, places

    def _add_columns(self, rows: list[Row], places: list[int]) -> None:
        """Add tags, and what words say of themselves."""
        from spacy.parts_of_speech import IDS

        for column, layer in _TAGS.items():
            for sentence in self.laid.by_sentence(layer)[0]:
                for _, _, span in sentence:
                    row = self._row(span)
                    said = _utf8(span.label)
                    if row is not None and (column == "TAG" or said in IDS):
                        cells = rows[places[row]]
                        cells[column] = cells[column] or said
        for word, said_of in self.laid.values(WORDS).items():
            for each in said_of:
                for column, name in _COLUMNS.items():
                    fits = column != "MORPH" or _FEATS.fullmatch(each.value or "")
                    if each.label == name and fits and not rows[places[word]][column]:
                        rows[places[word]][column] = _utf8(each.value or "")

    def _add_tree(self, rows: list[Row], places: list[int]) -> None:
        """Add the heads of sentences where they make a tree, as spaCy reads no others."""
        document = self.laid.document
        if not document.has(DEPENDENCY):
            return
        ends = {span.id: self._row(span) for span in document[DEPENDENCY].spans}
        heads: dict[int, tuple[int, str]] = {}
        for each in document[DEPENDENCY].relations:
            head, tail = ends.get(each.head), ends.get(each.tail)
            if head is not None and tail is not None and each.label:
                heads.setdefault(tail, (head, _utf8(each.label)))
        for first, end in self.laid.words.sentences:
            here = {row: heads[row] for row in range(first, end) if row in heads}
            if all(first <= head < end for head, _ in here.values()) and _is_forest(here):
                for row, (head, label) in here.items():
                    rows[places[row]] |= {"HEAD": places[head] - places[row], "DEP": label}

    def _add_entities(self, rows: list[Row], places: list[int]) -> bool:
        """Add entities if none shares a word with another; return whether they were added."""
        document = self.laid.document
        by_sentence, lost = self.laid.by_sentence(ENTITIES)
        found = [each for sentence in by_sentence for _, _, each in sentence]
        bounds = sorted((span.start, span.end) for span in found)
        shared = any(a[1] > b[0] for a, b in zip(bounds, bounds[1:], strict=False))
        nameless = any(not span.label for span in found)
        if not document.has(ENTITIES) or lost or shared or nameless or not rows:
            return False
        for row in rows:
            row["ENT_IOB"] = _OUT
        ids = {
            each.target: each.value for each in document[ENTITIES].attributes if each.label == "id"
        }
        keys = {each.target: each.key for each in document[ENTITIES].normalizations}
        for span in found:
            first, end = self.laid.covered(span) or (0, 0)
            for place in range(places[first], places[end - 1] + 1):
                begun = place == places[first]
                rows[place] |= {
                    "ENT_IOB": _BEGIN if begun else _IN,
                    "ENT_TYPE": _utf8(span.label),
                    "ENT_ID": _utf8(ids.get(span.id) or ""),
                    "ENT_KB_ID": _utf8(keys.get(span.id) or ""),
                }
        return True

    def _grouped(self, layer: str, places: list[int]) -> Iterator[Grouped]:
        """Yield the spans of a layer that are whole words without gaps."""
        bounds = self.laid.words.words
        starts = {start: row for row, (start, _) in enumerate(bounds)}
        ends = {end: row for row, (_, end) in enumerate(bounds)}
        keys = {each.target: each.key for each in self.laid.document[layer].normalizations}
        for span in self.laid.document[layer].spans:
            first, last = starts.get(span.start), ends.get(span.end)
            if len(span.fragments) == 1 and first is not None and last is not None:
                tokens = places[first], places[last] + 1
                label, key = _utf8(span.label), _utf8(keys.get(span.id, ""))
                yield Grouped(label, *tokens, span.start, span.end, key)

    def _row(self, span: Span) -> int | None:
        """Return the one word that a span is, None if it is none."""
        covered = self.laid.covered(span)
        return covered[0] if covered and covered[1] - covered[0] == 1 else None


def _is_forest(heads: dict[int, tuple[int, str]]) -> bool:
    """Whether every way up ends, at a word that heads itself or has no head."""
    done: set[int] = set()
    for start in heads:
        way: dict[int, None] = {}
        here = start
        while here not in done and here in heads and heads[here][0] != here:
            if here in way:
                return False
            way[here] = None
            here = heads[here][0]
        done.update(way)
    return True


def _cats(written: str | None) -> dict[str, float]:
    """Return the numbers of categories that meta holds; none where it holds something else."""
    try:
        found: Any = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return {}
    fits = isinstance(found, dict) and all(type(each) in (int, float) for each in found.values())
    return {_utf8(key): float(each) for key, each in found.items()} if fits else {}


def _utf8(text: str) -> str:
    """Return a text that has UTF-8, with ? for half characters."""
    return text.encode(errors="replace").decode()


def _lost(document: Document, options: Options) -> Losses:
    """Count what is not there when the file is read again."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by what the first bytes decompress to."""
    return bool(head) and max(head) < "\u0100" and begins(head.encode("latin-1"))


_SAMPLE = base64.b64decode(
    "eJzrWl6WWlScmZ+32EDPcGliSUlR8RxHTy9vH18//4CzjEfOMh49y3hsWUl+dmpe8VFmhj8mFl5cpbO3MEBBAgMqWM"
    "sIoZmhfDvPQzU/W19aQ4UZYLQZyz3rPm/XfWjaGe44WSQH2D47Fmb5aAMDY218Cpr8QagBTOgaoeA/FMD4lsLVgucc"
    "d2TC+Fcn64tFdq3GpZ1hEw73/0cDuPQvOrTG583N+vW45GGAWPejg1fiLyvrTGJ5aWW+tJltUr/lMw9yzWfEIQ4D7+"
    "y2lyim95mTa/5Ah/+y4oLE5NTiIxyMIJ8C8fKc1Lz0koziIywcQIHlxSVFmXnpxXMXLORaqLfYMSVxsVN+0uIA16Cl"
    "geZGppaLgzNSV4UAs1KqbUBiccmSnNS0kiW5qakly3NT80pA2TA3tWRJcmJJ8cSGpWk5ienFExs3ZSQWx5fmZefll+"
    "fFQ6w/tBpI58WnF+WXFhRPPNLSeKSkeUleYm7q6uT8otS01KLUvORUSG5uWApSWjzpiAa6V9zkRCdvvLzkHJQLizlm"
    "giphYcc+Edm6laXFqUXxKYkliROPqDWuANmak5+f2wR21+JE/SSgP4Fyk5amp+YVpS4pScxJBQDR4fTN"
)

KIND = Format(loads, dumps, _lost, _looks, (".spacy",), _SAMPLE, binary=True)
