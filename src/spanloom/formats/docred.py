"""Read and write DocRED's JSON: entities with all their names, and relations between entities.

::

    [{"title": "Ada", "vertexSet": [
        [{"name": "Ada", "pos": [0, 1], "sent_id": 0, "type": "PER", "global_pos": [0, 0],
          "index": "0_0"}, …],
        [{"name": "London", "pos": [3, 4], "sent_id": 0, "type": "LOC", …}]],
      "labels": [{"h": 0, "t": 1, "r": "P19", "evidence": [0]}],
      "sents": [["Ada", "left", "for", "London"], …]}]

A document is named by its title and has given words. An entity is a list of mentions, ``pos`` their
words ``[start, end)`` in their sentence. In layer ``entities`` mentions have their types; in layer
``coreference`` each ``mention`` of an entity but the first has a relation ``coref`` to the one
before it, as in ``dygie``. A relation between two entities is one between two of their mentions:
the first ones that the file names, or the nearest (``relation_ends``); written back, it is one
between entities again. Its evidence, if any, is a note with the numbers of sentences. A name that
is not its words, and a ``global_pos`` or ``index`` that is not the usual one, is a note of its
mention. Without ``labels`` (test data), ``labels`` in meta is ``absent``. JSON written back equals
the JSON read; its keys come in the order above. (Yao et al., 2019; Re-DocRED: Tan et al., 2022)
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Literal, NamedTuple

from pydantic import Field

from spanloom.annotation.connected_spans import connected_spans
from spanloom.config.options import Options
from spanloom.document import Document, Layer
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, id_in_file
from spanloom.formats._json import (
    JsonObject,
    a_list,
    a_number,
    a_string,
    an_object,
    format_path,
    line_at,
    list_of,
    number_of,
    only,
    parse_json,
    string_of,
)
from spanloom.formats._word_view import WordView

ENTITIES, COREFERENCE = "entities", "coreference"
MENTION, COREF = "mention", "coref"
EVIDENCE = "evidence"  # a note of a relation
LABELS, ABSENT = "labels", "absent"  # in meta

_KEYS = ("title", "vertexSet", LABELS, "sents")
_MENTION_KEYS = ("name", "pos", "sent_id", "type", "global_pos", "index")
_RELATION_KEYS = ("h", "t", "r", EVIDENCE)
_NUMBERS = re.compile(r"[0-9]{1,9}( [0-9]{1,9})*")

JsonPath = list[str | int]  # keys and indices down to the value being read


class DocREDOptions(Options):
    """Options: which mentions relations connect, and what mentions say when written."""

    relation_ends: Literal["first", "nearest"] = Field(
        default="first",
        description="relations connect the first mentions of their entities, or the nearest two",
    )
    positions: bool = Field(
        default=True,
        description="whether written mentions have global_pos and index, as in Re-DocRED",
    )


class _Sentence(NamedTuple):
    """A sentence: the number of its first word in the document, its words."""

    first: int
    words: list[str]


class _Mention(NamedTuple):
    """A mention: its span in layer ``entities``, its sentence, its words in the document."""

    span: str
    sentence: int
    start: int
    end: int


def loads(
    text: str, *, path: str = "<string>", options: DocREDOptions = DocREDOptions()
) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError`` with the line and the path of the value."""
    if not text.strip():
        return
    root, json_path, names = parse_json(text, path), JsonPath(), Names()
    try:
        for number, record in enumerate(a_list(root)):
            json_path[:] = [number]
            yield _build_document(an_object(record), names, json_path, options)
    except (ValueError, DocumentError) as error:
        location = f"{format_path(json_path)}: " if json_path else ""
        raise FormatError(path, line_at(text, json_path), f"{location}{error}") from error


def dumps(documents: Iterable[Document], *, options: DocREDOptions = DocREDOptions()) -> str:
    """Return the list, on one line without an end, as in the release."""
    return json.dumps([_format_document(document, options) for document in documents])


def _build_document(
    record: JsonObject, names: Names, json_path: JsonPath, options: DocREDOptions
) -> Document:
    """Return a document; ``json_path`` always holds the path of the value being read."""
    only(record, *_KEYS)
    base = [*json_path]
    builder = names.making(string_of(record, "title"))
    sentences: list[_Sentence] = []
    for number, sentence in enumerate(list_of(record, "sents")):
        json_path[:] = [*base, "sents", number]
        words = [a_string(word) for word in a_list(sentence)]
        if not words or not all(words):
            raise ValueError(f"expected words, got {words!r:.60}")
        sentences.append(_Sentence(builder.sentence(words).start, words))
    json_path[:] = base
    builder.layer(ENTITIES)
    builder.layer(COREFERENCE)
    entities: list[list[_Mention]] = []
    for number, entity in enumerate(list_of(record, "vertexSet")):
        json_path[:] = [*base, "vertexSet", number]
        entities.append(_add_entity(builder, sentences, a_list(entity), json_path))
    json_path[:] = base
    if LABELS not in record:
        builder.meta.append((LABELS, ABSENT))
    for number, relation in enumerate(list_of(record, LABELS, [])):
        json_path[:] = [*base, LABELS, number]
        _add_relation(builder, an_object(relation), entities, len(sentences), options)
    json_path[:] = base
    return builder.build()


def _add_entity(
    builder: DocumentBuilder, sentences: list[_Sentence], records: list[Any], json_path: JsonPath
) -> list[_Mention]:
    """Add an entity's mentions to both layers; ``json_path`` is that of the entity."""
    if not records:
        raise ValueError("expected mentions in every entity, got []")
    *base, number = json_path
    mentions: list[_Mention] = []
    for index, record in enumerate(records):
        json_path[:] = [*base, number, index]
        mentions.append(_add_mention(builder, sentences, an_object(record), f"{number}_{index}"))
    _add_chain(builder, mentions)
    return mentions


def _add_mention(
    builder: DocumentBuilder, sentences: list[_Sentence], record: JsonObject, usual_index: str
) -> _Mention:
    """Add a mention to layer ``entities``; raises ``ValueError``."""
    only(record, *_MENTION_KEYS)
    number = number_of(record, "sent_id")
    if not 0 <= number < len(sentences):
        problem = f"sent_id: expected a sentence in [0, {len(sentences)})"
        raise ValueError(f"{problem}, got {number!r:.30}")
    (first, words), pos = sentences[number], list_of(record, "pos")
    if len(pos) != 2 or not 0 <= a_number(pos[0]) < a_number(pos[1]) <= len(words):
        raise ValueError(f"pos: expected words [start, end) in [0, {len(words)}], got {pos!r:.60}")
    start, end = first + pos[0], first + pos[1]
    span = builder.add_word_span(ENTITIES, string_of(record, "type"), start, end)
    texts = {"name": string_of(record, "name")}
    if "global_pos" in record:
        texts["global_pos"] = _format_numbers(record, "global_pos")
    if "index" in record:
        texts["index"] = string_of(record, "index")
    usual_name = " ".join(words[pos[0] : pos[1]])
    usual = {"name": usual_name, "global_pos": f"{start} {start}", "index": usual_index}
    for key, text in texts.items():
        if text != usual[key]:
            builder.note(ENTITIES, key, span, text)
    return _Mention(span, number, start, end)


def _add_chain(builder: DocumentBuilder, mentions: list[_Mention]) -> None:
    """Add an entity's mentions to layer ``coreference``, each related to the one before it."""
    chain = [
        (
            (mention.start, mention.end),
            builder.add_word_span(COREFERENCE, MENTION, mention.start, mention.end),
        )
        for mention in mentions
    ]
    chain.sort(key=lambda item: item[0])
    for (_, antecedent), (_, mention) in zip(chain, chain[1:], strict=False):
        builder.relation(COREFERENCE, COREF, mention, antecedent)


def _add_relation(
    builder: DocumentBuilder,
    record: JsonObject,
    entities: list[list[_Mention]],
    num_sentences: int,
    options: DocREDOptions,
) -> None:
    """Add a relation between mentions of two entities; raises ``ValueError``."""
    only(record, *_RELATION_KEYS)
    for key in ("h", "t"):
        if not 0 <= number_of(record, key) < len(entities):
            problem = f"{key}: expected an entity in [0, {len(entities)})"
            raise ValueError(f"{problem}, got {record[key]!r:.30}")
    head, tail = entities[record["h"]], entities[record["t"]]
    ends = (head[0], tail[0]) if options.relation_ends == "first" else _nearest(head, tail)
    label = string_of(record, "r")
    relation = builder.relation(ENTITIES, label, ends[0].span, ends[1].span)
    evidence = _format_numbers(record, EVIDENCE)
    if not all(int(number) < num_sentences for number in evidence.split()):
        problem = f"{EVIDENCE}: expected sentences in [0, {num_sentences})"
        raise ValueError(f"{problem}, got {record[EVIDENCE]!r:.60}")
    if evidence:
        builder.note(ENTITIES, EVIDENCE, relation, evidence)


def _nearest(head: list[_Mention], tail: list[_Mention]) -> tuple[_Mention, _Mention]:
    """Return the two mentions with the fewest sentences, then words, between them."""

    def distance(pair: tuple[_Mention, _Mention]) -> tuple[int, int]:
        first, second = pair
        words = max(first.start, second.start) - min(first.end, second.end)
        return abs(first.sentence - second.sentence), max(0, words)

    return min(product(head, tail), key=distance)


def _format_numbers(record: JsonObject, key: str) -> str:
    """Return a list of whole numbers, with blanks between them; raises ``ValueError``."""
    numbers = list_of(record, key)
    text = " ".join(str(a_number(number)) for number in numbers)
    if numbers and not _NUMBERS.fullmatch(text):
        raise ValueError(f"{key}: expected numbers from 0, got {numbers!r:.60}")
    return text


def _format_document(document: Document, options: DocREDOptions) -> JsonObject:
    """Return the record of a document."""
    view = WordView(document)
    layer = document.layer_or_empty(ENTITIES)
    entities = _entities(view, layer)
    entity_of_span = {
        mention.span: number for number, entity in enumerate(entities) for mention in entity
    }
    notes = {(note.target, note.label): note.text for note in layer.notes}
    labels = {span.id: span.label for span in layer.spans}
    record: JsonObject = {"title": id_in_file(document)}
    record["vertexSet"] = [
        [
            _mention_record(view, mention, labels[mention.span], notes, f"{number}_{index}")
            for index, mention in enumerate(entity)
        ]
        for number, entity in enumerate(entities)
    ]
    if not options.positions:
        for mention in (mention for entity in record["vertexSet"] for mention in entity):
            del mention["global_pos"], mention["index"]
    relations = [
        {
            "h": entity_of_span[relation.head],
            "t": entity_of_span[relation.tail],
            "r": relation.label,
            EVIDENCE: _evidence(notes.get((relation.id, EVIDENCE), ""), len(view.words.sentences)),
        }
        for relation in layer.relations
        if relation.head in entity_of_span and relation.tail in entity_of_span
    ]
    if relations or dict(document.meta).get(LABELS) != ABSENT:
        record[LABELS] = relations
    record["sents"] = [view.tokens[first:end] for first, end in view.words.sentences]
    return record


def _entities(view: WordView, layer: Layer) -> list[list[_Mention]]:
    """Return the mentions of each entity, in the order of layer ``entities``.

    Mentions that are not whole words of one sentence are left out. A mention that is in no chain of
    layer ``coreference`` is an entity by itself.
    """
    chains = _chains(view)
    positions = _positions(view, ENTITIES)
    entities: dict[str | int, list[_Mention]] = {}
    for span in layer.spans:
        if span.id in positions:
            mention = positions[span.id]
            same_words = chains.get((mention.start, mention.end))
            key = same_words.pop(0) if same_words else span.id
            entities.setdefault(key, []).append(mention)
    return list(entities.values())


def _chains(view: WordView) -> dict[tuple[int, int], list[str | int]]:
    """Return the chains of the mentions of layer ``coreference`` by their words, in their order."""
    if not view.document.has_layer(COREFERENCE):
        return {}
    layer, positions = view.document[COREFERENCE], _positions(view, COREFERENCE)
    chain_of_span = {
        span: number for number, group in enumerate(connected_spans(layer)) for span in group
    }
    chains: dict[tuple[int, int], list[str | int]] = {}
    for span in layer.spans:
        if span.id in positions:
            mention = positions[span.id]
            words = mention.start, mention.end
            chains.setdefault(words, []).append(chain_of_span.get(span.id, span.id))
    return chains


def _positions(view: WordView, name: str) -> dict[str, _Mention]:
    """Return the spans of a layer that cover words of one sentence, by id."""
    positions: dict[str, _Mention] = {}
    for number, spans in enumerate(view.by_sentence(name)[0]):
        first = view.words.sentences[number][0]
        positions |= {
            span.id: _Mention(span.id, number, first + start, first + end)
            for start, end, span in spans
        }
    return positions


def _mention_record(
    view: WordView,
    mention: _Mention,
    label: str,
    notes: Mapping[tuple[str, str], str],
    usual_index: str,
) -> JsonObject:
    """Return the record of a mention."""
    first = view.words.sentences[mention.sentence][0]
    tokens = " ".join(view.tokens[mention.start : mention.end])
    global_pos = notes.get((mention.span, "global_pos"), "")
    return {
        "name": notes.get((mention.span, "name"), tokens),
        "pos": [mention.start - first, mention.end - first],
        "sent_id": mention.sentence,
        "type": label,
        "global_pos": _parse_numbers(global_pos) or [mention.start] * 2,
        "index": notes.get((mention.span, "index"), usual_index),
    }


def _evidence(text: str, num_sentences: int) -> list[int]:
    """Return the sentences that a note names, none if it names others than there are."""
    numbers = _parse_numbers(text)
    return numbers if all(number < num_sentences for number in numbers) else []


def _parse_numbers(text: str) -> list[int]:
    """Return whole numbers with blanks between them; none for another text."""
    return [int(number) for number in text.split()] if _NUMBERS.fullmatch(text) else []


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the key of its entities."""
    return re.match(r"\s*\[\s*\{", head) is not None and '"vertexSet"' in head


def _sniff_options(head: str) -> dict[str, bool]:
    """Tell whether mentions have their positions in the document."""
    return {"positions": '"global_pos"' in head}


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".json",),
    '[{"title": "Ada (poet)", "vertexSet": [[{"name": "She", "pos": [0, 1], "sent_id": 1, "type": '
    '"PER", "global_pos": [6, 6], "index": "0_0"}, {"name": "Ada \\" A \\" Byron", "pos": [0, 2], '
    '"sent_id": 0, "type": "PER", "global_pos": [0, 0], "index": "0_1"}], [{"name": "London", '
    '"pos": [4, 5], "sent_id": 0, "type": "LOC", "global_pos": [4, 4], "index": "1_0"}], '
    '[{"name": "London", "pos": [4, 5], "sent_id": 0, "type": "MISC", "global_pos": [4, 4], '
    '"index": "3_0"}]], "labels": [{"h": 0, "t": 1, "r": "P551", "evidence": [0, 1]}, {"h": 2, '
    '"t": 0, "r": "P17", "evidence": []}], "sents": [["Ada", "Byron", "left", "for", "London", '
    '"."], ["She", "stayed", "."]]}, {"title": "A/B", "vertexSet": [], "sents": [["Yes"]]}]',
    DocREDOptions,
    sniff_options=_sniff_options,
    layers=(ENTITIES, COREFERENCE),
)
