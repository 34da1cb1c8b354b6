"""How annotated documents are spelled in a reply: each is one JSON value, as a string.

What spells is a value that compares, so that texts which are spelled alike go through together.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from spanloom.annotation.queries import answers
from spanloom.annotation.text_pairs import VALUE
from spanloom.document import WORDS, Document, Layer, Relation, Span
from spanloom.formats import conllu, jsonl
from spanloom.formats.brat import write as brat
from spanloom.viewer.data import drawing

Layers = tuple[tuple[str, str], ...]  # the names of tasks, each with the layer that it writes


def as_json(document: Document) -> str:
    """Return a document as JSON lines have it; offsets are code points of the text that came."""
    return jsonl.dumps([document]).rstrip("\n")


def as_brat(document: Document) -> str:
    """Return the files of a brat collection by suffix: txt, and ann and words where needed."""
    files = {".txt": document.text, **brat.parts(document)}
    return json.dumps({suffix.removeprefix("."): text for suffix, text in files.items()})


def as_conllu(document: Document) -> str:
    """Return the file, with the ids and texts of sentences that UD asks for."""
    complete = conllu.Columns(complete=True, contractions=True)
    return json.dumps({"conllu": conllu.dumps([document], options=complete)})


def as_page(document: Document) -> str:
    """Return what the page draws: each sentence opens a line, and words are not drawn."""
    kept = tuple(layer for layer in document.layers if layer.name != WORDS)
    return json.dumps(drawing([replace(document, layers=kept)], title=document.name))


FORMS = {"json": as_json, "brat": as_brat, "conllu": as_conllu, "page": as_page}
CUT = frozenset({"conllu", "page"})  # forms that need words or sentences


@dataclass(frozen=True, slots=True)
class Answers:
    """Spells what each task answers to the query of a document, null for "no answer"."""

    layers: Layers

    def __call__(self, document: Document) -> str:
        """Return the question with its answers, by task."""
        (query,) = document.queries
        found = {task: _answer(document, layer, query.id) for task, layer in self.layers}
        return json.dumps({"question": query.prompt, "answers": found})


@dataclass(frozen=True, slots=True)
class Classifications:
    """Spells what each task says of a text, or of two: label, number, score."""

    layers: Layers

    def __call__(self, document: Document) -> str:
        """Return the classifications by task, null where nothing is said."""
        return json.dumps({task: _classification(document[layer]) for task, layer in self.layers})


def _answer(document: Document, layer: str, query: str) -> dict[str, Any] | None:
    for span in answers(document, layer)[query]:
        said = {"text": document.text_of(span), "fragments": span.fragments, "score": span.score}
        return said
    return None


def _classification(layer: Layer) -> dict[str, Any] | None:
    numbers = {each.target: each.value for each in layer.attributes if each.label == VALUE}
    said: tuple[Span | Relation, ...] = (*layer.spans, *layer.relations)
    for each in said:
        number = numbers.get(each.id)
        value = None if number is None else float(number)
        return {"label": each.label, "value": value, "score": each.score}
    return None
