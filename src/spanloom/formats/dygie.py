"""DyGIE's JSON lines, in which SciERC is: entities, relations and coreference of whole documents.

::

    {"clusters": [[[0, 0], [3, 3]]], "sentences": [["Ada", "ran", "."], ["She", "won", "."]],
     "ner": [[[0, 0, "Person"]], [[3, 3, "Person"]]], "relations": [[], []], "doc_key": "a"}

A line is a document. Words are numbered through it and bounds are ``[first, last]``; a relation is
``[first, last, first, last, label]``, from the first mention to the second, which ``ner`` has. In
layer ``entities`` mentions may nest and cross; in layer ``coreference`` each ``mention`` of a
cluster but the first has a relation ``coref`` to the one before it. A mention in two clusters is
two spans. (Luan et al., 2018)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.config.options import Options
from spanloom.document import Document, Layer
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._json import a_list, a_number, a_string, an_object, only, parsed, value_of
from spanloom.formats._laid import Laid
from spanloom.formats._lines import lines
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing
from spanloom.forms.links import linked
from spanloom.words import Bounds

ENTITIES, COREFERENCE = "entities", "coreference"
MENTION, COREF = "mention", "coref"

_KEYS = ("clusters", "sentences", "ner", "relations", "doc_key", "dataset")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every line that is not blank; raises ``FormatError`` with the line."""
    names = Names()
    for line in lines(text):
        if line.text.strip():
            whole = parsed(line.text, path, line.number)
            try:
                yield _document(whole, names)
            except ValueError as error:
                raise FormatError(path, line.number, str(error)) from error


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return a line a document."""
    return "".join(json.dumps(_said(each)) + "\n" for each in documents)


def _document(value: Any, names: Names) -> Document:
    """Return the document of a line; raises ``ValueError``."""
    said = an_object(value)
    only(said, *_KEYS)
    made = names.making(a_string(value_of(said, "doc_key")))
    if "dataset" in said:
        made.meta.append(("dataset", a_string(said["dataset"])))
    sentences: list[Bounds] = []
    for each in a_list(value_of(said, "sentences")):
        words = [_word(word) for word in a_list(each)]
        if not words:
            raise ValueError("expected words in every sentence, got []")
        row = made.sentence(words)
        sentences.append((row.start, row.stop))
    if "relations" in said and "ner" not in said:
        raise ValueError("expected the key 'ner' beside 'relations'")
    if "ner" in said:
        _entities(made, sentences, said)
    if "clusters" in said:
        _clusters(made, a_list(said["clusters"]))
    return made.done()


def _entities(made: Making, sentences: list[Bounds], said: dict[str, Any]) -> None:
    """Add mentions and relations."""
    made.layer(ENTITIES)
    mentions: dict[Bounds, str] = {}
    for bounds, entry in _by_sentence("ner", said, sentences):
        start, end, label = _parted("ner", entry, 2)
        if not bounds[0] <= start < end <= bounds[1]:
            raise ValueError(f"ner: expected words of their sentence, {bounds}, got {entry!r:.60}")
        mention = made.over(ENTITIES, label, start, end)
        mentions.setdefault((start, end), mention)
    for bounds, entry in _by_sentence("relations", said, sentences):
        *ends, label = _parted("relations", entry, 4)
        head, tail = (ends[0], ends[1]), (ends[2], ends[3])
        if head not in mentions or tail not in mentions or not bounds[0] <= head[0] < bounds[1]:
            problem = "relations: expected two mentions of ner, the first in this sentence"
            raise ValueError(f"{problem}, got {entry!r:.60}")
        made.relation(ENTITIES, label, mentions[head], mentions[tail])


def _clusters(made: Making, clusters: list[Any]) -> None:
    """Add mentions, and a relation from each to the one before it in its cluster."""
    made.layer(COREFERENCE)
    for cluster in clusters:
        found: list[tuple[Bounds, str]] = []
        for entry in a_list(cluster):
            start, end = _parted("clusters", [*a_list(entry), ""], 2)[:2]
            if not 0 <= start < end <= len(made.words):
                problem = f"clusters: expected words in [0, {len(made.words)})"
                raise ValueError(f"{problem}, got {entry!r:.60}")
            found.append(((start, end), made.over(COREFERENCE, MENTION, start, end)))
        if not found:
            raise ValueError("clusters: expected mentions in every cluster, got []")
        found.sort(key=lambda each: each[0])
        for (_, before), (_, mention) in zip(found, found[1:], strict=False):
            made.relation(COREFERENCE, COREF, mention, before)


def _by_sentence(
    key: str, said: dict[str, Any], sentences: list[Bounds]
) -> Iterator[tuple[Bounds, Any]]:
    """Yield what stands under a key, if it is there, with the words of its sentence."""
    if key not in said:
        return
    parts = a_list(said[key])
    if len(parts) != len(sentences):
        problem = f"{key}: expected a list for each of {len(sentences)} sentences"
        raise ValueError(f"{problem}, got {len(parts)}")
    for bounds, part in zip(sentences, parts, strict=True):
        for entry in a_list(part):
            yield bounds, entry


def _parted(key: str, entry: Any, numbers: int) -> list[Any]:
    """Return bounds ``[start, end)`` and the label of an entry, made of ``[first, last]``."""
    found = a_list(entry)
    if len(found) != numbers + 1:
        problem = f"{key}: expected {numbers} numbers and a label"
        raise ValueError(f"{problem}, got {entry!r:.60}")
    bounds = [a_number(each) + place % 2 for place, each in enumerate(found[:numbers])]
    return [*bounds, a_string(found[numbers])]


def _word(value: Any) -> str:
    """Return a word, which is not empty."""
    word = a_string(value)
    if not word:
        raise ValueError("expected a word, got ''")
    return word


def _said(document: Document) -> dict[str, Any]:
    """Return the line of a document."""
    laid = Laid(document)
    said: dict[str, Any] = {}
    if document.has(COREFERENCE):
        said["clusters"] = _written_clusters(laid, document[COREFERENCE])
    said["sentences"] = [laid.forms[first:end] for first, end in laid.words.sentences]
    if document.has(ENTITIES):
        said |= _written_entities(laid, document[ENTITIES])
    said["doc_key"] = own(document)
    meta = dict(document.meta)
    return said | ({"dataset": meta["dataset"]} if "dataset" in meta else {})


def _written_entities(laid: Laid, layer: Layer) -> dict[str, Any]:
    """Return mentions and relations by sentence."""
    places = _places(laid, layer)
    ner: list[list[Any]] = [[] for _ in laid.words.sentences]
    relations: list[list[Any]] = [[] for _ in laid.words.sentences]
    for span in layer.spans:
        if span.id in places:
            number, *bounds = places[span.id]
            ner[number].append([*bounds, span.label])
    for each in layer.relations:
        if each.head in places and each.tail in places:
            number, *head = places[each.head]
            relations[number].append([*head, *places[each.tail][1:], each.label])
    return {"ner": ner, "relations": relations}


def _written_clusters(laid: Laid, layer: Layer) -> list[list[list[int]]]:
    """Return the clusters in the order of their first spans, those of one mention too."""
    places = _places(laid, layer)
    groups = {key: number for number, group in enumerate(linked(layer)) for key in group}
    found: dict[int | str, list[list[int]]] = {}
    for span in layer.spans:
        if span.id in places:
            _, first, last = places[span.id]
            found.setdefault(groups.get(span.id, span.id), []).append([first, last])
    return list(found.values())


def _places(laid: Laid, layer: Layer) -> dict[str, tuple[int, int, int]]:
    """Return sentence, first and last word of each span that words of one sentence are."""
    found = {}
    for number, spans in enumerate(laid.by_sentence(layer.name)[0]):
        begin = laid.words.sentences[number][0]
        for start, end, span in spans:
            found[span.id] = number, begin + start, begin + end - 1
    return found


def _lost(document: Document, options: Options) -> Losses:
    """Count all but words, entities with relations, and clusters."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the keys of the first line."""
    first = head.lstrip().split("\n", 1)[0]
    keyed = re.search(r'"sentences"\s*:\s*\[\s*\[\s*"', first) is not None
    return first.startswith("{") and keyed and re.search(r'"(ner|clusters)"\s*:', first) is not None


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".json", ".jsonl"),
    '{"clusters": [[[4, 4], [0, 1], [6, 6]], [[4, 5]]], "sentences": [["Ada", "Byron", "ran", '
    '"."], ["Her", "dog", "won", "."]], "ner": [[[0, 1, "Person"], [0, 0, "Name"]], [[4, 4, '
    '"Person"], [4, 5, "Animal"]]], "relations": [[[0, 1, 4, 5, "Owns"]], [[4, 5, 4, 4, "Part"]]], '
    '"doc_key": "a"}\n',
)
