"""Read and write CommonsenseQA (Talmor et al. 2019): a question per line, and its choices.

::

    {"answerKey": "B", "id": "a1", "question": {"question_concept": "river",
     "choices": [{"label": "A", "text": "desk"}, {"label": "B", "text": "valley"}],
     "stem": "Where does a river run?"}}

A document has a choice per line; its query is the question. The right choice is a span of the layer
``answers``, which is absent where the line has no ``answerKey``, as in the test data. Labels of
choices and the concept are kept in the document's meta.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import count
from string import ascii_uppercase
from typing import Any

from spanloom.annotation.queries import ANSWER, QUERY, answers
from spanloom.config.options import Options
from spanloom.document import Document, Fragment, Query
from spanloom.formats._base import Format
from spanloom.formats._document_builder import Names, id_in_file
from spanloom.formats._json import an_object, object_of, objects_of, only, parse_json, string_of
from spanloom.formats._text import errors_at, lines

LAYER = "answers"
CONCEPT, LABELS = "question_concept", "labels of choices"

_KEY = "answerKey"
_QUERY = "Q1"


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of each line; raises ``FormatError`` with the line."""
    names = Names()
    for number, line in lines(text.removeprefix("\ufeff")):
        if line.strip():
            with errors_at(path, number):
                yield _document(an_object(parse_json(line, path, number)), names)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return a line per query, whose choices are the lines of the document's text."""
    records = (record for document in documents for record in _records(document))
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def sniff(head: str, name: str) -> bool:
    """Tell whether the first line has the keys of a question with choices."""
    first = head.lstrip("\ufeff\r\n").partition("\n")[0]
    return all(f'"{key}"' in first for key in ("question", "choices", "stem"))


def _document(record: dict[str, Any], names: Names) -> Document:
    """Return the document of a line; raises ``ValueError``."""
    only(record, _KEY, "id", "question")
    question = object_of(record, "question")
    only(question, CONCEPT, "choices", "stem")
    builder = names.making(string_of(record, "id"))
    if CONCEPT in question:
        builder.meta.append((CONCEPT, string_of(question, CONCEPT)))
    labels, bounds = [], []
    for choice in objects_of(question, "choices"):
        only(choice, "label", "text")
        text = string_of(choice, "text")
        if not text.strip() or len(text.splitlines()) != 1:
            raise ValueError(f"expected a choice of one line, got {text!r:.60}")
        labels.append(string_of(choice, "label"))
        start = builder.add_text(text)
        bounds.append((start, start + len(text)))
    if len(set(labels)) < len(labels) or not labels:
        raise ValueError(f"expected choices with labels of their own, got {labels!r:.60}")
    builder.meta.append((LABELS, json.dumps(labels)))
    builder.queries.append(Query(_QUERY, string_of(question, "stem")))
    if _KEY in record:
        right = string_of(record, _KEY)
        if right not in labels:
            raise ValueError(f"{_KEY}: expected one of {', '.join(labels):.60}, got {right!r:.60}")
        builder.layer(LAYER)
        span = builder.span(LAYER, ANSWER, bounds[labels.index(right)])
        builder.attribute(LAYER, QUERY, span, _QUERY)
    return builder.build()


def _records(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the record of each query."""
    bounds = [*_choices(document.text)]
    choices = [document.text[start:end] for start, end in bounds]
    meta = dict(document.meta)
    labels = _labels(meta.get(LABELS, ""), len(choices))
    spans_of = answers(document, LAYER) if document.has_layer(LAYER) else {}
    for query in document.queries if choices else ():
        gold = {span.fragments for span in spans_of.get(query.id, ())}
        right = [label for label, choice in zip(labels, bounds, strict=True) if (choice,) in gold]
        question: dict[str, Any] = {CONCEPT: meta[CONCEPT]} if CONCEPT in meta else {}
        question["choices"] = [
            {"label": label, "text": text} for label, text in zip(labels, choices, strict=True)
        ]
        question["stem"] = query.prompt
        record: dict[str, Any] = {_KEY: right[0]} if right else {}
        yield record | {"id": id_in_file(document), "question": question}


def _choices(text: str) -> Iterator[Fragment]:
    """Yield the bounds of each line that is not blank, without its line break."""
    start = 0
    for line in text.splitlines(keepends=True):
        (choice,) = line.splitlines()
        if choice.strip():
            yield start, start + len(choice)
        start += len(line)


def _labels(stored: str, size: int) -> list[str]:
    """Return the labels of choices that meta keeps, or letters, then numbers."""
    try:
        labels = json.loads(stored or "null")
    except ValueError:
        labels = None
    if isinstance(labels, list) and len(set(map(str, labels))) == len(labels) == size:
        return [str(label) for label in labels]
    letters = [*ascii_uppercase[:size]]
    return letters + [str(number) for number, _ in zip(count(27), range(size - 26), strict=False)]


KIND = Format(
    loads,
    dumps,
    sniff,
    (".jsonl",),
    '{"answerKey": "B", "id": "a1", "question": {"question_concept": "river", "choices": '
    '[{"label": "A", "text": "desk"}, {"label": "B", "text": "a wide valley"}], "stem": "Where '
    'does a river run?"}}\n'
    '{"id": "a2", "question": {"choices": [{"label": "A", "text": "run"}, {"label": "B", "text": '
    '"sleep"}], "stem": "What does one do at night?"}}\n',
)
