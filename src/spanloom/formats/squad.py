"""Read and write SQuAD 1.1 and 2.0: articles of paragraphs, with questions and their answers.

::

    {"version": "v2.0", "data": [{"title": "Rivers", "paragraphs": [{"context": "The Po is …",
     "qas": [{"id": "q1", "question": "What is the Po?",
      "answers": [{"text": "a river", "answer_start": 10}], "is_impossible": false}]}]}]}

A paragraph is a document, named by title and number. Each annotator's answer is a span of the layer
``answers``; the same characters given twice are two spans. ``plausible_answers`` make the layer
``plausible``. All other keys are kept in the document's meta as JSON. JSON written back equals the
JSON read; its keys come in the order above. An article without paragraphs makes no document.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from spanloom.annotation.queries import ANSWER, QUERY, answers
from spanloom.config.options import Options
from spanloom.document import Document, Query
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format, Losses, lost_in_roundtrip
from spanloom.formats._document_builder import DocumentBuilder, Names, usable
from spanloom.formats._json import (
    JsonObject,
    an_object,
    format_path,
    line_at,
    list_of,
    number_of,
    objects_of,
    parse_json,
    string_of,
)

LAYER, PLAUSIBLE = "answers", "plausible"

_KEYS = {LAYER: "answers", PLAUSIBLE: "plausible_answers"}  # the key of each layer in a question
_IMPOSSIBLE = "is_impossible"
_TITLE, _VERSION = "title", "version"
_OTHER = "other"  # an attribute: further keys of an answer
_QUESTION = "question {}"  # in meta: differences from a question's default record

JsonPath = list[str | int]  # keys and indices down to the value being read


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every paragraph.

    Raises ``FormatError`` with the line of the paragraph or question: missing keys or values of
    another type, two questions with the same id in a paragraph, an answer that differs from the
    text at its offset.
    """
    root, json_path = parse_json(text.removeprefix("\ufeff"), path), JsonPath()
    try:
        yield from _parse_articles(an_object(root), json_path)
    except (ValueError, DocumentError) as error:
        location = f"{format_path(json_path)}: " if json_path else ""
        raise FormatError(path, line_at(text, json_path), f"{location}{error}") from error
    except RecursionError as error:
        raise FormatError(path, line_at(text, json_path), "nested too deeply") from error


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the JSON, on one line; consecutive paragraphs of an article stay together.

    The version is that of all documents if they agree, else 2.0 if a question has no answer.
    """
    document_list = list(documents)
    version = _file_version(document_list)
    data = [
        _article_record(title, list(paragraphs), version)
        for (title, _), paragraphs in groupby(document_list, _title_and_folder)
    ]
    root = {"data": data} if version is None else {_VERSION: version, "data": data}
    return json.dumps(
        root | (_from_meta(document_list[0], "file") if document_list else {}), ensure_ascii=False
    )


def count_lost(document: Document, options: Options = Options()) -> Losses:
    """Count the annotations that are not answers to questions."""
    reread = loads(dumps([document]))
    return lost_in_roundtrip(
        document, (_with_original_name(paragraph, document.name) for paragraph in reread)
    )


def sniff(head: str, name: str) -> bool:
    """Tell whether the text is JSON with the keys of articles, paragraphs and questions."""
    keys = ("data", "paragraphs", "context", "qas")
    return head.lstrip("\ufeff \t\r\n")[:1] == "{" and all(f'"{key}"' in head for key in keys)


def _parse_articles(root: JsonObject, json_path: JsonPath) -> Iterator[Document]:
    """Yield the documents; ``json_path`` always holds the path of the value being read."""
    names = Names()
    meta = [(_VERSION, string_of(root, _VERSION))] if _VERSION in root else []
    meta += _to_meta("file", _other_keys(root, _VERSION, "data"))
    for number, record in enumerate(list_of(root, "data")):
        json_path[:] = ["data", number]
        article = an_object(record)
        title = string_of(article, _TITLE)
        folder = names.of(usable(title.replace("/", "_")))
        article_meta = [*meta, (_TITLE, title)]
        article_meta += _to_meta("article", _other_keys(article, _TITLE, "paragraphs"))
        for index, paragraph in enumerate(list_of(article, "paragraphs")):
            json_path[:] = ["data", number, "paragraphs", index]
            builder = DocumentBuilder(f"{folder}/{index + 1:03}", [*article_meta])
            yield _parse_paragraph(builder, an_object(paragraph), json_path)


def _parse_paragraph(builder: DocumentBuilder, record: JsonObject, json_path: JsonPath) -> Document:
    """Return the document of a paragraph."""
    context = string_of(record, "context")
    builder.add_text(context)
    builder.meta += _to_meta("paragraph", _other_keys(record, "context", "qas"))
    questions_path = [*json_path, "qas"]
    questions = objects_of(record, "qas", [])
    present = [
        layer for layer, key in _KEYS.items() if any(key in question for question in questions)
    ]
    if "qas" in record and not questions:
        present = [LAYER]
    for layer in present:
        builder.layer(layer)
    version = dict(builder.meta).get(_VERSION)
    for index, question in enumerate(questions):
        json_path[:] = [*questions_path, index]
        _add_question(builder, question, context, present, version)
    return builder.build()


def _add_question(
    builder: DocumentBuilder,
    record: JsonObject,
    context: str,
    present: list[str],
    version: str | None,
) -> None:
    """Add a question and its answers; raises ``ValueError``."""
    query = Query(string_of(record, "id"), string_of(record, "question"))
    if type(record.get(_IMPOSSIBLE, False)) is not bool:
        value = f"{record[_IMPOSSIBLE]!r:.60}"
        raise ValueError(f"expected true or false for {_IMPOSSIBLE!r}, got {value}")
    builder.queries.append(query)
    answers_of_layer = {layer: list_of(record, _KEYS[layer], []) for layer in present}
    for layer, alternatives in answers_of_layer.items():
        for answer in alternatives:
            _add_answer(builder, layer, query.id, an_object(answer), context)
    default_record = _question_record(query, answers_of_layer, version)
    differences = {
        key: record.get(key)
        for key in default_record
        if key not in record or record[key] != default_record[key]
    }
    differences |= _other_keys(record, *default_record)
    builder.meta += _to_meta(_QUESTION.format(query.id), differences)


def _add_answer(
    builder: DocumentBuilder, layer: str, query: str, record: JsonObject, context: str
) -> None:
    """Add an answer; raises ``ValueError`` if the text at its offset differs."""
    text, start = string_of(record, "text"), number_of(record, "answer_start")
    end = start + len(text)
    if not 0 <= start <= len(context) or context[start:end] != text:
        offset = context.find(text)
        hint = f" (it stands at {offset})" if offset >= 0 else ""
        actual = f"{context[max(0, start) : max(0, end)]!r:.60}"
        raise ValueError(f"expected the answer {text!r:.60} at {start}, got {actual}{hint}")
    span = builder.span(layer, ANSWER, (start, end))
    builder.attribute(layer, QUERY, span, query)
    for label, value in _to_meta(_OTHER, _other_keys(record, "text", "answer_start")):
        builder.attribute(layer, label, span, value)


def _question_record(
    query: Query, answers_of_layer: dict[str, list[JsonObject]], version: str | None
) -> JsonObject:
    """Return the default record of a question, given the answers of each present layer."""
    record: JsonObject = {"id": query.id, "question": query.prompt}
    if LAYER in answers_of_layer:
        record["answers"] = answers_of_layer[LAYER]
        if _is_version_2(version):
            record[_IMPOSSIBLE] = not answers_of_layer[LAYER]
    if answers_of_layer.get(PLAUSIBLE):
        record[_KEYS[PLAUSIBLE]] = answers_of_layer[PLAUSIBLE]
    return record


def _article_record(title: str, documents: list[Document], version: str | None) -> JsonObject:
    """Return the record of an article."""
    paragraphs = [_paragraph_record(document, version) for document in documents]
    return {_TITLE: title, "paragraphs": paragraphs} | _from_meta(documents[0], "article")


def _paragraph_record(document: Document, version: str | None) -> JsonObject:
    """Return the record of a paragraph with its questions."""
    record: JsonObject = {"context": document.text}
    kept = dict(document.meta)
    present = [layer for layer in _KEYS if document.has_layer(layer)]
    if document.queries or present:
        answers_of_layer = {layer: _answer_records(document, layer) for layer in present}
        record["qas"] = [
            _with_kept_keys(
                _question_record(
                    query,
                    {layer: of_query[query.id] for layer, of_query in answers_of_layer.items()},
                    version,
                ),
                _parse_object(kept.get(_QUESTION.format(query.id))),
            )
            for query in document.queries
        ]
    return record | _from_meta(document, "paragraph")


def _answer_records(document: Document, layer: str) -> dict[str, list[JsonObject]]:
    """Return the answer records of a layer by query; spans of several fragments are left out."""
    other_keys = {
        attribute.target: attribute.value
        for attribute in document[layer].attributes
        if attribute.label == _OTHER
    }
    return {
        query: [
            {"text": document.text[span.start : span.end], "answer_start": span.start}
            | _parse_object(other_keys.get(span.id))
            for span in spans
            if len(span.fragments) == 1
        ]
        for query, spans in answers(document, layer).items()
    }


def _with_kept_keys(default_record: JsonObject, kept: JsonObject) -> JsonObject:
    """Return a question's record with its kept differences; current answers stay."""
    record = dict(default_record)
    for key, value in kept.items():
        if isinstance(default_record.get(key), list) and default_record[key]:
            continue
        if value is None and key in default_record:
            del record[key]
        else:
            record[key] = value
    return record


def _title_and_folder(document: Document) -> tuple[str, str]:
    """Return the title of a document's article, and the folder that separates equal titles."""
    folder = document.name.rpartition("/")[0]
    return dict(document.meta).get(_TITLE, folder or document.name), folder


def _file_version(documents: list[Document]) -> str | None:
    """Return the version of a file; None where it had none."""
    versions = {dict(document.meta).get(_VERSION) for document in documents}
    has_titles = any(_TITLE in dict(document.meta) for document in documents)
    if len(versions) == 1 and (has_titles or None not in versions):
        return versions.pop()
    is_version_2 = any(
        document.has_layer(PLAUSIBLE) or _has_unanswered(document) for document in documents
    )
    return "v2.0" if is_version_2 else "1.1"


def _has_unanswered(document: Document) -> bool:
    """Tell whether the layer of answers has none for some query."""
    return document.has_layer(LAYER) and not all(answers(document, LAYER).values())


def _is_version_2(version: str | None) -> bool:
    """Tell whether questions of this version have ``is_impossible``."""
    return version is not None and version.lstrip("v").startswith("2")


def _with_original_name(document: Document, name: str) -> Document:
    """Return a document under its original name if only the paragraph's number differs."""
    folder, _, number = name.rpartition("/")
    is_same_folder = document.name.rpartition("/")[0] == folder and number.isdecimal()
    return replace(document, name=name) if is_same_folder else document


def _other_keys(record: JsonObject, *known_keys: str) -> JsonObject:
    """Return the entries of a record under other keys."""
    return {key: value for key, value in record.items() if key not in known_keys}


def _to_meta(name: str, record: JsonObject) -> list[tuple[str, str]]:
    """Return a record as an entry of meta, if not empty; raises ``ValueError`` for infinity."""
    return [(name, json.dumps(record, ensure_ascii=False, allow_nan=False))] if record else []


def _from_meta(document: Document, name: str) -> JsonObject:
    """Return the record that an entry of meta keeps."""
    return _parse_object(dict(document.meta).get(name))


def _parse_object(text: str | None) -> JsonObject:
    """Return a JSON object; an empty one if the text is not an object."""
    try:
        record = parse_json(text or "{}", "")
    except FormatError:
        return {}
    return record if isinstance(record, dict) else {}


_EXAMPLE = {
    _VERSION: "v2.0",
    "data": [
        {
            _TITLE: "Po (river)",
            "paragraphs": [
                {
                    "context": "The Po is a river. It ends in the Adriatic Sea, near Venice.",
                    "qas": [
                        {
                            "id": "q1",
                            "question": "Where does the Po end?",
                            "answers": [
                                {"text": "the Adriatic Sea", "answer_start": 30},
                                {"text": "in the Adriatic Sea, near Venice", "answer_start": 27},
                                {"text": "the Adriatic Sea", "answer_start": 30},
                            ],
                            _IMPOSSIBLE: False,
                        },
                        {
                            "id": "q2",
                            "question": "Where does the Tiber end?",
                            "answers": [],
                            _IMPOSSIBLE: True,
                            "plausible_answers": [{"text": "near Venice", "answer_start": 48}],
                        },
                    ],
                },
                {"context": "Nobody asks about this paragraph.", "qas": []},
            ],
        }
    ],
}

KIND = Format(
    loads,
    dumps,
    sniff,
    (".json",),
    json.dumps(_EXAMPLE, ensure_ascii=False),
    lost_counter=count_lost,
)
