"""SQuAD 1.1 and 2.0: articles of paragraphs, each with its questions and their answers.

::

    {"version": "v2.0", "data": [{"title": "Rivers", "paragraphs": [{"context": "The Po is …",
     "qas": [{"id": "q1", "question": "What is the Po?",
      "answers": [{"text": "a river", "answer_start": 10}], "is_impossible": false}]}]}]}

A paragraph is a document, named by title and number; each annotator's answer is a span of the layer
``answers``, the same characters given twice are two. ``plausible_answers`` make the layer
``plausible``. What else there is stands in the document's meta as JSON. JSON written back equals
what was read; its keys come in the order above. An article without paragraphs says nothing.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from spanloom.config.options import Options
from spanloom.document import Document, Query
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._address import line_at, spelled
from spanloom.formats._base import Format, Losses
from spanloom.formats._json import a_list, a_number, a_string, an_object, parsed, value_of
from spanloom.formats._making import Making
from spanloom.formats._names import Names, usable
from spanloom.formats._regained import missing
from spanloom.forms.queries import ANSWER, QUERY, answers

LAYER, PLAUSIBLE = "answers", "plausible"

_KEYS = {LAYER: "answers", PLAUSIBLE: "plausible_answers"}  # what the layers are called there
_IMPOSSIBLE = "is_impossible"
_TITLE, _VERSION = "title", "version"
_OTHER = "other"  # an attribute: further keys of an answer
_QUESTION = "question {}"  # in meta: what a question says else

Said = dict[str, Any]
Where = list[str | int]  # keys and places that lead to what is being read


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every paragraph.

    Raises ``FormatError``, its line that of the paragraph or question: keys that are missing or of
    another kind, two questions of one id in a paragraph, an answer that does not stand in the text
    where it says.
    """
    root, where = parsed(text.removeprefix("\ufeff"), path), Where()
    try:
        yield from _articles(an_object(root), where)
    except (ValueError, DocumentError) as error:
        place = f"{spelled(where)}: " if where else ""
        raise FormatError(path, line_at(text, where), f"{place}{error}") from error
    except RecursionError as error:
        raise FormatError(path, line_at(text, where), "nested too deeply") from error


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the JSON, on one line; paragraphs of one article follow each other.

    The version is the one that all documents name, else 2.0 where a question has no answer.
    """
    every = list(documents)
    version = _version(every)
    data = [_article(title, list(each), version) for (title, _), each in groupby(every, _titled)]
    root = {"data": data} if version is None else {_VERSION: version, "data": data}
    return json.dumps(root | (_kept(every[0], "file") if every else {}), ensure_ascii=False)


def lost(document: Document, options: Options = Options()) -> Losses:
    """Count what is no answer to a question."""
    again = loads(dumps([document]))
    return missing(document, (_renumbered(each, document.name) for each in again))


def looks(head: str, name: str) -> bool:
    """Whether it is JSON with the keys of articles, paragraphs and questions."""
    keys = ("data", "paragraphs", "context", "qas")
    return head.lstrip("\ufeff \t\r\n")[:1] == "{" and all(f'"{key}"' in head for key in keys)


def _articles(root: Said, where: Where) -> Iterator[Document]:
    """Yield the documents, ``where`` telling all the while what is being read."""
    names = Names()
    meta = [(_VERSION, a_string(root[_VERSION]))] if _VERSION in root else []
    meta += _noted("file", _beside(root, _VERSION, "data"))
    for number, said in enumerate(a_list(value_of(root, "data"))):
        where[:] = ["data", number]
        article = an_object(said)
        title = a_string(value_of(article, _TITLE))
        folder = names.of(usable(title.replace("/", "_")))
        about = [*meta, (_TITLE, title)]
        about += _noted("article", _beside(article, _TITLE, "paragraphs"))
        for place, paragraph in enumerate(a_list(value_of(article, "paragraphs"))):
            where[:] = ["data", number, "paragraphs", place]
            making = Making(f"{folder}/{place + 1:03}", [*about])
            yield _read(making, an_object(paragraph), where)


def _read(making: Making, said: Said, where: Where) -> Document:
    """Return the document of a paragraph."""
    context = a_string(value_of(said, "context"))
    making.raw(context)
    making.meta += _noted("paragraph", _beside(said, "context", "qas"))
    paragraph = [*where, "qas"]
    asked = [an_object(each) for each in a_list(said.get("qas", []))]
    present = [layer for layer, key in _KEYS.items() if any(key in each for each in asked)]
    if "qas" in said and not asked:
        present = [LAYER]
    for layer in present:
        making.layer(layer)
    for place, each in enumerate(asked):
        where[:] = [*paragraph, place]
        _ask(making, each, context, present)
    return making.done()


def _ask(making: Making, said: Said, context: str, present: list[str]) -> None:
    """Add a question and its answers."""
    query = Query(a_string(value_of(said, "id")), a_string(value_of(said, "question")))
    if type(said.get(_IMPOSSIBLE, False)) is not bool:
        got = f"{said[_IMPOSSIBLE]!r:.60}"
        raise ValueError(f"expected true or false for {_IMPOSSIBLE!r}, got {got}")
    making.queries.append(query)
    found = {layer: a_list(said.get(_KEYS[layer], [])) for layer in present}
    for layer, alternatives in found.items():
        for each in alternatives:
            _answer(making, layer, query.id, an_object(each), context)
    usual = _question(query, found, dict(making.meta).get(_VERSION))
    differs = {key: said.get(key) for key in usual if key not in said or said[key] != usual[key]}
    differs |= _beside(said, *usual)
    making.meta += _noted(_QUESTION.format(query.id), differs)


def _answer(making: Making, layer: str, query: str, said: Said, context: str) -> None:
    """Add an answer."""
    text, start = a_string(value_of(said, "text")), a_number(value_of(said, "answer_start"))
    end = start + len(text)
    if not 0 <= start <= len(context) or context[start:end] != text:
        place = context.find(text)
        hint = f" (it stands at {place})" if place >= 0 else ""
        got = f"{context[max(0, start) : max(0, end)]!r:.60}"
        raise ValueError(f"expected the answer {text!r:.60} at {start}, got {got}{hint}")
    span = making.span(layer, ANSWER, (start, end))
    making.attribute(layer, QUERY, span, query)
    for label, value in _noted(_OTHER, _beside(said, "text", "answer_start")):
        making.attribute(layer, label, span, value)


def _question(query: Query, found: dict[str, list[Said]], version: str | None) -> Said:
    """Return what a question usually says, by what the layers that are there say of it."""
    said: Said = {"id": query.id, "question": query.prompt}
    if LAYER in found:
        said["answers"] = found[LAYER]
        if _newer(version):
            said[_IMPOSSIBLE] = not found[LAYER]
    if found.get(PLAUSIBLE):
        said[_KEYS[PLAUSIBLE]] = found[PLAUSIBLE]
    return said


def _article(title: str, documents: list[Document], version: str | None) -> Said:
    """Return an article."""
    paragraphs = [_paragraph(each, version) for each in documents]
    return {_TITLE: title, "paragraphs": paragraphs} | _kept(documents[0], "article")


def _paragraph(document: Document, version: str | None) -> Said:
    """Return a paragraph with its questions."""
    said: Said = {"context": document.text}
    present = [layer for layer in _KEYS if document.has(layer)]
    if document.queries or present:
        found = {layer: _answers(document, layer) for layer in present}
        said["qas"] = [
            _differing(
                _question(query, {layer: each[query.id] for layer, each in found.items()}, version),
                _kept(document, _QUESTION.format(query.id)),
            )
            for query in document.queries
        ]
    return said | _kept(document, "paragraph")


def _answers(document: Document, layer: str) -> dict[str, list[Said]]:
    """Return the answers of a layer by query; one in several fragments has no place."""
    other = {each.target: each.value for each in document[layer].attributes if each.label == _OTHER}
    return {
        query: [
            {"text": document.text[span.start : span.end], "answer_start": span.start}
            | _object(other.get(span.id))
            for span in spans
            if len(span.fragments) == 1
        ]
        for query, spans in answers(document, layer).items()
    }


def _differing(usual: Said, differs: Said) -> Said:
    """Return what a question says that differs from the usual; answers that came since stay."""
    said = dict(usual)
    for key, value in differs.items():
        if isinstance(usual.get(key), list) and usual[key]:
            continue
        if value is None and key in usual:
            del said[key]
        else:
            said[key] = value
    return said


def _titled(document: Document) -> tuple[str, str]:
    """Return the title of a document's article, and the folder that tells it from namesakes."""
    folder = document.name.rpartition("/")[0]
    return dict(document.meta).get(_TITLE, folder or document.name), folder


def _version(documents: list[Document]) -> str | None:
    """Return the version of a file; None where it had none."""
    said = {dict(each.meta).get(_VERSION) for each in documents}
    titled = any(_TITLE in dict(each.meta) for each in documents)
    if len(said) == 1 and (titled or None not in said):
        return said.pop()
    newer = any(each.has(PLAUSIBLE) or _unanswered(each) for each in documents)
    return "v2.0" if newer else "1.1"


def _unanswered(document: Document) -> bool:
    """Whether the layer of answers has none to some query."""
    return document.has(LAYER) and not all(answers(document, LAYER).values())


def _newer(version: str | None) -> bool:
    """Whether questions of that version say whether they are impossible."""
    return version is not None and version.lstrip("v").startswith("2")


def _renumbered(again: Document, name: str) -> Document:
    """Return a document under its name if that differs by the paragraph's number alone."""
    folder, _, number = name.rpartition("/")
    same = again.name.rpartition("/")[0] == folder and number.isdecimal()
    return replace(again, name=name) if same else again


def _beside(said: Said, *known: str) -> Said:
    """Return what stands under other keys."""
    return {key: value for key, value in said.items() if key not in known}


def _noted(name: str, said: Said) -> list[tuple[str, str]]:
    """Return an entry of meta, if there is anything to note; raises ``ValueError`` for infinity."""
    return [(name, json.dumps(said, ensure_ascii=False, allow_nan=False))] if said else []


def _kept(document: Document, name: str) -> Said:
    """Return what an entry of meta keeps."""
    return _object(dict(document.meta).get(name))


def _object(written: str | None) -> Said:
    """Return a JSON object, empty where a stranger wrote something else."""
    try:
        said = parsed(written or "{}", "")
    except FormatError:
        return {}
    return said if isinstance(said, dict) else {}


_SAMPLE = {
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
    lost,
    looks,
    (".json",),
    json.dumps(_SAMPLE, ensure_ascii=False),
)
