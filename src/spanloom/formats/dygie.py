"""Read and write DyGIE's JSON lines (SciERC): entities, relations and coreference of documents.

::

    {"clusters": [[[0, 0], [3, 3]]], "sentences": [["Ada", "ran", "."], ["She", "won", "."]],
     "ner": [[[0, 0, "Person"]], [[3, 3, "Person"]]], "relations": [[], []], "doc_key": "a"}

A line is a document. Word indices run through the document and bounds are ``[first, last]``; a
relation is ``[first, last, first, last, label]``, from the first mention to the second, both of
which are in ``ner``. In layer ``entities`` mentions may nest and cross; in layer ``coreference``
each ``mention`` of a cluster but the first has a relation ``coref`` to the one before it. A mention
in two clusters is two spans. (Luan et al., 2018)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.annotation.connected_spans import connected_spans
from spanloom.config.options import Options
from spanloom.document import Document, Layer
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._json import (
    JsonObject,
    a_list,
    a_number,
    a_string,
    json_lines,
    list_of,
    only,
    string_of,
)
from spanloom.formats._text import errors_at
from spanloom.formats._word_view import WordView
from spanloom.tokenization import Bounds

ENTITIES, COREFERENCE = "entities", "coreference"
MENTION, COREF = "mention", "coref"

_KEYS = ("clusters", "sentences", "ner", "relations", "doc_key", "dataset")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every line that is not blank; raises ``FormatError`` with the line."""
    names = Names()
    for number, record in json_lines(text, path):
        with errors_at(path, number):
            yield _build_document(record, names)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return one line per document."""
    return "".join(json.dumps(_format_document(document)) + "\n" for document in documents)


def _build_document(record: JsonObject, names: Names) -> Document:
    """Return the document of a line; raises ``ValueError``."""
    only(record, *_KEYS)
    builder = names.making(string_of(record, "doc_key"))
    if "dataset" in record:
        builder.meta.append(("dataset", string_of(record, "dataset")))
    sentences: list[Bounds] = []
    for sentence in list_of(record, "sentences"):
        words = [_parse_word(word) for word in a_list(sentence)]
        if not words:
            raise ValueError("expected words in every sentence, got []")
        word_range = builder.sentence(words)
        sentences.append((word_range.start, word_range.stop))
    if "relations" in record and "ner" not in record:
        raise ValueError("expected the key 'ner' beside 'relations'")
    if "ner" in record:
        _add_entities(builder, sentences, record)
    if "clusters" in record:
        _add_clusters(builder, list_of(record, "clusters"))
    return builder.build()


def _add_entities(
    builder: DocumentBuilder, sentences: list[Bounds], record: dict[str, Any]
) -> None:
    """Add mentions and relations; raises ``ValueError``."""
    builder.layer(ENTITIES)
    mentions: dict[Bounds, str] = {}
    for bounds, entry in _entries_by_sentence("ner", record, sentences):
        start, end, label = _parse_entry("ner", entry, 2)
        if not bounds[0] <= start < end <= bounds[1]:
            raise ValueError(f"ner: expected words of their sentence, {bounds}, got {entry!r:.60}")
        mention = builder.add_word_span(ENTITIES, label, start, end)
        mentions.setdefault((start, end), mention)
    for bounds, entry in _entries_by_sentence("relations", record, sentences):
        *ends, label = _parse_entry("relations", entry, 4)
        head, tail = (ends[0], ends[1]), (ends[2], ends[3])
        if head not in mentions or tail not in mentions or not bounds[0] <= head[0] < bounds[1]:
            problem = "relations: expected two mentions of ner, the first in this sentence"
            raise ValueError(f"{problem}, got {entry!r:.60}")
        builder.relation(ENTITIES, label, mentions[head], mentions[tail])


def _add_clusters(builder: DocumentBuilder, clusters: list[Any]) -> None:
    """Add mentions, and a relation from each to the one before it in its cluster."""
    builder.layer(COREFERENCE)
    for cluster in clusters:
        mentions: list[tuple[Bounds, str]] = []
        for entry in a_list(cluster):
            start, end = _parse_entry("clusters", [*a_list(entry), ""], 2)[:2]
            if not 0 <= start < end <= len(builder.words):
                problem = f"clusters: expected words in [0, {len(builder.words)})"
                raise ValueError(f"{problem}, got {entry!r:.60}")
            mentions.append(((start, end), builder.add_word_span(COREFERENCE, MENTION, start, end)))
        if not mentions:
            raise ValueError("clusters: expected mentions in every cluster, got []")
        mentions.sort(key=lambda item: item[0])
        for (_, antecedent), (_, mention) in zip(mentions, mentions[1:], strict=False):
            builder.relation(COREFERENCE, COREF, mention, antecedent)


def _entries_by_sentence(
    key: str, record: dict[str, Any], sentences: list[Bounds]
) -> Iterator[tuple[Bounds, Any]]:
    """Yield the entries under a key, if it is present, with the word bounds of their sentence."""
    if key not in record:
        return
    entry_lists = list_of(record, key)
    if len(entry_lists) != len(sentences):
        problem = f"{key}: expected a list for each of {len(sentences)} sentences"
        raise ValueError(f"{problem}, got {len(entry_lists)}")
    for bounds, entry_list in zip(sentences, entry_lists, strict=True):
        for entry in a_list(entry_list):
            yield bounds, entry


def _parse_entry(key: str, entry: Any, num_bounds: int) -> list[Any]:
    """Return bounds ``[start, end)`` and the label of an entry, given as ``[first, last]``."""
    items = a_list(entry)
    if len(items) != num_bounds + 1:
        problem = f"{key}: expected {num_bounds} numbers and a label"
        raise ValueError(f"{problem}, got {entry!r:.60}")
    bounds = [a_number(number) + index % 2 for index, number in enumerate(items[:num_bounds])]
    return [*bounds, a_string(items[num_bounds])]


def _parse_word(value: Any) -> str:
    """Return a word; raises ``ValueError`` if it is empty or no string."""
    word = a_string(value)
    if not word:
        raise ValueError("expected a word, got ''")
    return word


def _format_document(document: Document) -> dict[str, Any]:
    """Return the record of a document."""
    view = WordView(document)
    record: dict[str, Any] = {}
    if document.has_layer(COREFERENCE):
        record["clusters"] = _format_clusters(view, document[COREFERENCE])
    record["sentences"] = [view.tokens[first:end] for first, end in view.words.sentences]
    if document.has_layer(ENTITIES):
        record |= _format_entities(view, document[ENTITIES])
    record["doc_key"] = id_in_file(document)
    meta = dict(document.meta)
    return record | ({"dataset": meta["dataset"]} if "dataset" in meta else {})


def _format_entities(view: WordView, layer: Layer) -> dict[str, Any]:
    """Return mentions and relations by sentence."""
    positions = _positions(view, layer)
    ner: list[list[Any]] = [[] for _ in view.words.sentences]
    relations: list[list[Any]] = [[] for _ in view.words.sentences]
    for span in layer.spans:
        if span.id in positions:
            number, *bounds = positions[span.id]
            ner[number].append([*bounds, span.label])
    for relation in layer.relations:
        if relation.head in positions and relation.tail in positions:
            number, *head = positions[relation.head]
            relations[number].append([*head, *positions[relation.tail][1:], relation.label])
    return {"ner": ner, "relations": relations}


def _format_clusters(view: WordView, layer: Layer) -> list[list[list[int]]]:
    """Return the clusters in the order of their first spans, single mentions included."""
    positions = _positions(view, layer)
    cluster_of_span = {
        key: number for number, group in enumerate(connected_spans(layer)) for key in group
    }
    clusters: dict[int | str, list[list[int]]] = {}
    for span in layer.spans:
        if span.id in positions:
            _, first, last = positions[span.id]
            clusters.setdefault(cluster_of_span.get(span.id, span.id), []).append([first, last])
    return list(clusters.values())


def _positions(view: WordView, layer: Layer) -> dict[str, tuple[int, int, int]]:
    """Return sentence, first and last word of each span that covers words of one sentence."""
    positions = {}
    for number, spans in enumerate(view.by_sentence(layer.name)[0]):
        first_word = view.words.sentences[number][0]
        for start, end, span in spans:
            positions[span.id] = number, first_word + start, first_word + end - 1
    return positions


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the keys of the first line."""
    first_line = head.lstrip().split("\n", 1)[0]
    has_sentences = re.search(r'"sentences"\s*:\s*\[\s*\[\s*"', first_line) is not None
    return (
        first_line.startswith("{")
        and has_sentences
        and re.search(r'"(ner|clusters)"\s*:', first_line) is not None
    )


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".json", ".jsonl"),
    '{"clusters": [[[4, 4], [0, 1], [6, 6]], [[4, 5]]], "sentences": [["Ada", "Byron", "ran", '
    '"."], ["Her", "dog", "won", "."]], "ner": [[[0, 1, "Person"], [0, 0, "Name"]], [[4, 4, '
    '"Person"], [4, 5, "Animal"]]], "relations": [[[0, 1, 4, 5, "Owns"]], [[4, 5, 4, 4, "Part"]]], '
    '"doc_key": "a"}\n',
    layers=(ENTITIES, COREFERENCE),
)
