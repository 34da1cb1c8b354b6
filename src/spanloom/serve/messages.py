"""What the server and its model processes say to each other: one JSON object a line.

The server sends batches and, later, that one is no longer wanted. A model process first says what
it is (or why there is no model), then one outcome a batch.

::

    {"number": 1, "documents": "…\\n", "tasks": ["ner"], "cuts": false, "spell": ["json", []]}
    {"stop": 1}

    {"about": {…}, "speed": 9000.0}      {"refused": "runs/x: no recipe.yaml"}
    {"number": 1, "answers": ["{…}"]}    {"number": 1, "failed": "ValueError at crf.py:9"}
    {"number": 1, "stopped": true}
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from spanloom.document import Document
from spanloom.formats import jsonl
from spanloom.serve.jobs import AnnotateRequest
from spanloom.serve.model_info import ModelInfo
from spanloom.serve.replies import FORMS, Answers, Classifications

Said = dict[str, Any]
_ABOUT = TypeAdapter(ModelInfo)
_BY_LAYERS: dict[str, Callable[[Any], Callable[[Document], str]]] = {
    "answers": Answers,
    "classifications": Classifications,
}


@dataclass(frozen=True, slots=True)
class Hello:
    """What a model process says when it is warm: the model, characters a second of a long text."""

    about: ModelInfo
    speed: float


def line(said: Said) -> bytes:
    """Return a message as it goes through a pipe."""
    return json.dumps(said).encode() + b"\n"


def format_batch(number: int, wish: AnnotateRequest, documents: Sequence[Document]) -> Said:
    """Return the message that asks for some documents as a request wants them."""
    return {
        "number": number,
        "documents": jsonl.dumps(documents),
        "tasks": wish.tasks,
        "cuts": wish.cuts,
        "spell": _spell_out(wish.format),
    }


def wished(said: Said) -> AnnotateRequest:
    """Return what a batch asks for."""
    documents = tuple(jsonl.loads(said["documents"]))
    return AnnotateRequest(documents, tuple(said["tasks"]), _spell_in(*said["spell"]), said["cuts"])


def hello(told: Hello) -> Said:
    """Return the first message of a model process."""
    return {"about": _ABOUT.dump_python(told.about, mode="json"), "speed": told.speed}


def greeted(said: Said) -> Hello:
    """Return what the first message says."""
    return Hello(_ABOUT.validate_python(said["about"]), said["speed"])


def _spell_out(spell: Callable[[Document], str]) -> tuple[str, Any]:
    if isinstance(spell, Answers):
        return "answers", spell.layers
    if isinstance(spell, Classifications):
        return "classifications", spell.layers
    (name,) = (name for name, each in FORMS.items() if each is spell)
    return name, ()


def _spell_in(name: str, layers: Sequence[Sequence[str]]) -> Callable[[Document], str]:
    if name in _BY_LAYERS:
        return _BY_LAYERS[name](tuple((task, layer) for task, layer in layers))
    return FORMS[name]
