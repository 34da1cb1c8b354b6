"""TACRED: one JSON list of sentences, each with a subject, an object and how they are related.

::

    [{"id": "a", "docid": "D1", "relation": "per:title",
      "token": ["Ada", "is", "a", "poet"], "subj_start": 0, "subj_end": 0, "obj_start": 3,
      "obj_end": 3, "subj_type": "PERSON", "obj_type": "TITLE", "stanford_pos": ["NNP", …],
      "stanford_ner": […], "stanford_head": [4, …], "stanford_deprel": […]}]

Ends are the last words. A document is a sentence: given words; in layer ``entities`` the subject,
the object, both labelled with their types, and the relation between them (``no_relation`` too).
What a parser said of the words are their attributes ``pos``, ``ner``, ``head`` and ``deprel``; the
head is a word from 1, 0 for the root. (Zhang et al., 2017)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.config.options import Options
from spanloom.document import WORDS, Document, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._json import a_list, a_number, a_string, an_object, elements, only, value_of
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing

LAYER = "entities"
DOCID = "docid"
PARSED = ("pos", "ner", "head", "deprel")  # attributes of words; in the file ``stanford_pos`` …

_ENDS = ("subj", "obj")
_PLACES = [f"{end}_{side}" for end in _ENDS for side in ("start", "end")]
_TYPES = [f"{end}_type" for end in _ENDS]
_COLUMNS = [f"stanford_{name}" for name in PARSED]
_HEAD = "head"  # the one column of numbers
_NUMBER = re.compile(r"[0-9]{1,9}")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield a document a sentence; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    for line, value in elements(text, path):
        try:
            yield _document(value, names)
        except ValueError as error:
            raise FormatError(path, line, str(error)) from error


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the list, on one line; only a sentence with a relation has a place in it."""
    said = (found for each in documents for found in _said(each))
    return json.dumps(list(said)) + "\n"


def _document(value: Any, names: Names) -> Document:
    """Return the document of a sentence; raises ``ValueError``."""
    said = an_object(value)
    only(said, "id", DOCID, "relation", "token", *_PLACES, *_TYPES, *_COLUMNS)
    made = names.making(a_string(value_of(said, "id")))
    if DOCID in said:
        made.meta.append((DOCID, a_string(said[DOCID])))
    words = [a_string(each) for each in a_list(value_of(said, "token"))]
    if not words or not all(words):
        raise ValueError(f"token: expected words, got {words!r:.60}")
    made.sentence(words)
    for name, key in zip(PARSED, _COLUMNS, strict=True):
        if key in said:
            _column(made, name, a_list(said[key]))
    ends = []
    for end in _ENDS:
        first, last = (a_number(value_of(said, f"{end}_{side}")) for side in ("start", "end"))
        if not 0 <= first <= last < len(words):
            problem = f"{end}_start, {end}_end: expected words in [0, {len(words)})"
            raise ValueError(f"{problem}, got {first!r:.30} and {last!r:.30}")
        ends.append(made.over(LAYER, a_string(value_of(said, f"{end}_type")), first, last + 1))
    made.relation(LAYER, a_string(value_of(said, "relation")), *ends)
    return made.done()


def _column(made: Making, name: str, values: list[Any]) -> None:
    """Add what a parser said of each word."""
    if len(values) != len(made.words):
        problem = f"stanford_{name}: expected a value for each of {len(made.words)} words"
        raise ValueError(f"{problem}, got {len(values)}")
    for word, value in zip(made.words, values, strict=True):
        plain = str(_counted(value)) if name == _HEAD else a_string(value)
        made.attribute(WORDS, name, word, plain)


def _counted(value: Any) -> int:
    """Return a number that may be a word's."""
    if not 0 <= a_number(value) < 10**9:
        raise ValueError(f"stanford_head: expected a word's number, got {value!r:.30}")
    return a_number(value)


def _said(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the sentence of a document for each of its relations between whole words."""
    laid = Laid(document)
    places: dict[str, tuple[int, int, int, Span]] = {}  # sentence, first and last word
    for number, spans in enumerate(laid.by_sentence(LAYER)[0]):
        places |= {span.id: (number, start, end - 1, span) for start, end, span in spans}
    for each in document[LAYER].relations if document.has(LAYER) else ():
        if each.head in places and each.tail in places:
            head, tail = places[each.head], places[each.tail]
            if head[0] == tail[0]:
                yield _item(laid, each, head, tail)


def _item(
    laid: Laid,
    relation: Relation,
    head: tuple[int, int, int, Span],
    tail: tuple[int, int, int, Span],
) -> dict[str, Any]:
    """Return a relation with its sentence."""
    first, end = laid.words.sentences[head[0]]
    places = (head[1], head[2], tail[1], tail[2])
    said: dict[str, Any] = {"id": own(laid.document)}
    meta = dict(laid.document.meta)
    said |= {DOCID: meta[DOCID]} if DOCID in meta else {}
    said |= {"relation": relation.label, "token": laid.forms[first:end]}
    said |= dict(zip(_PLACES, places, strict=True))
    said |= dict(zip(_TYPES, (head[3].label, tail[3].label), strict=True))
    return said | _columns(laid, first, end)


def _columns(laid: Laid, first: int, end: int) -> dict[str, list[Any]]:
    """Return what attributes say of the words, those that all of them have."""
    every = laid.values(WORDS)
    values = [every.get(row, []) for row in range(first, end)]
    words = [{each.label: each.value for each in said if each.value is not None} for said in values]
    found: dict[str, list[Any]] = {}
    for name, key in zip(PARSED, _COLUMNS, strict=True):
        column = [word[name] for word in words if name in word]
        if len(column) == len(words) and (name != _HEAD or all(map(_NUMBER.fullmatch, column))):
            found[key] = [int(each) for each in column] if name == _HEAD else column
    return found


def _lost(document: Document, options: Options) -> Losses:
    """Count all but relations within a sentence, their entities, and what a parser said."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the keys of the first sentence."""
    start = head[:20_000]
    return (
        re.match(r"\s*\[\s*\{", start) is not None
        and '"subj_start"' in start
        and '"token"' in start
    )


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".json",),
    '[{"id": "e1", "docid": "D1", "relation": "per:title", "token": ["Ada", "is", "a", "good", '
    '"poet"], "subj_start": 0, "subj_end": 0, "obj_start": 3, "obj_end": 4, "subj_type": "PERSON", '
    '"obj_type": "TITLE", "stanford_pos": ["NNP", "VBZ", "DT", "JJ", "NN"], "stanford_ner": '
    '["PERSON", "O", "O", "O", "O"], "stanford_head": [5, 5, 5, 5, 0], "stanford_deprel": '
    '["nsubj", "cop", "det", "amod", "ROOT"]}, {"id": "e2", "relation": "no_relation", "token": '
    '["He", "ran"], "subj_start": 1, "subj_end": 1, "obj_start": 0, "obj_end": 1, "subj_type": '
    '"ACT", "obj_type": "PERSON"}]\n',
)
