"""Format annotated documents as the JSON values of replies."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from spanloom.annotation.queries import answers
from spanloom.annotation.text_pairs import VALUE
from spanloom.document import WORDS, Document, Layer, Relation, Span
from spanloom.formats import conllu, jsonl
from spanloom.formats._base import describe_losses
from spanloom.formats.brat import write as brat
from spanloom.viewer.data import drawing

Layers = tuple[tuple[str, str], ...]  # pairs of a task and the layer that it predicts
FORMATS = ("json", "brat", "conllu", "page")  # of /v1/annotate
WARNING = "warning"  # in the meta of a document: its text is none that the model knows
NEED_TOKENS = frozenset({"conllu", "page"})  # formats that show words or sentences


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """Formats a document as one JSON value; equal formats can share a batch.

    ``name`` is one of ``FORMATS``, ``answers`` or ``classifications``; these two read ``layers``.
    """

    name: str
    layers: Layers = ()

    def __call__(self, document: Document) -> str:
        """Return the JSON of a document; offsets are code points of its text."""
        return _FORMATTERS[self.name](document, self.layers)


def _json(document: Document, layers: Layers) -> str:
    """Return a document as in JSON lines."""
    return jsonl.dumps([document]).rstrip("\n")


def _brat(document: Document, layers: Layers) -> str:
    """Return the files of a brat collection by suffix: txt, and ann and words if needed."""
    files = {".txt": brat.text_file(document), **brat.parts(document, list_layers=True)}
    return json.dumps({suffix.removeprefix("."): text for suffix, text in files.items()})


def _conllu(document: Document, layers: Layers) -> str:
    """Return the CoNLL-U file, with the sentence ids and texts that UD requires.

    Warnings say what it has no place for, as spans that are no trees of words.
    """
    options = conllu.Columns(add_sent_metadata=True, infer_mwt=True)
    reply: dict[str, Any] = {"conllu": conllu.dumps([document], options=options)}
    if warnings := describe_losses("conllu", conllu.KIND.count_lost(document, options)):
        reply["warnings"] = warnings
    return json.dumps(reply)


def _page(document: Document, layers: Layers) -> str:
    """Return what the page draws; sentences start lines, words are not drawn."""
    drawn = tuple(layer for layer in document.layers if layer.name != WORDS)
    page = drawing([replace(document, layers=drawn)], title=document.name)
    warnings = [value for key, value in document.meta if key == WARNING]
    return json.dumps(page | {"warnings": warnings} if warnings else page)


def _answers(document: Document, layers: Layers) -> str:
    """Return the question with the answer of each task, null for "no answer"."""
    (query,) = document.queries
    by_task = {task: _answer(document, layer, query.id) for task, layer in layers}
    return json.dumps({"question": query.prompt, "answers": by_task})


def _answer(document: Document, layer: str, query: str) -> dict[str, Any] | None:
    for span in answers(document, layer)[query]:
        text = document.text_of(span)
        return {"text": text, "fragments": span.fragments, "score": span.score}
    return None


def _classifications(document: Document, layers: Layers) -> str:
    """Return label, number and score of a text or a pair of texts by task, null for none."""
    return json.dumps({task: _classification(document[layer]) for task, layer in layers})


def _classification(layer: Layer) -> dict[str, Any] | None:
    numbers = {item.target: item.value for item in layer.attributes if item.label == VALUE}
    annotations: tuple[Span | Relation, ...] = (*layer.spans, *layer.relations)
    for annotation in annotations:
        number = numbers.get(annotation.id)
        value = None if number is None else float(number)
        return {"label": annotation.label, "value": value, "score": annotation.score}
    return None


_FORMATTERS: dict[str, Callable[[Document, Layers], str]] = {
    "json": _json,
    "brat": _brat,
    "conllu": _conllu,
    "page": _page,
    "answers": _answers,
    "classifications": _classifications,
}
