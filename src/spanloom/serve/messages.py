"""Messages between the server and its model processes: one JSON object per line.

The server sends batches, and the number of a batch that is no longer wanted. A model process first
sends what it is (or why it has no model), then one outcome per batch.

::

    {"number": 1, "documents": "…\\n", "tasks": ["ner"], "with_tokens": false,
     "format": ["json", []], "choices": null}
    {"stop": 1}

    {"model": {…}, "speed": 9000.0}      {"refused": "runs/x: no recipe.yaml"}
    {"number": 1, "replies": ["{…}"]}    {"number": 1, "failed": "ValueError at crf.py:9"}
    {"number": 1, "stopped": true}       {"number": 1, "wrong_choices": "the encoder reads …"}
"""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from pydantic import TypeAdapter

from spanloom.annotation.choices import Choices
from spanloom.document import Document
from spanloom.formats import jsonl
from spanloom.serve.jobs import AnnotateRequest
from spanloom.serve.model_info import ModelInfo
from spanloom.serve.replies import ReplyFormat

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a model process: its model, its speed in characters per second."""

    model: ModelInfo
    speed: float


_HELLO = TypeAdapter(Hello)


def encode(message: Message) -> bytes:
    """Return the line of a message."""
    return json.dumps(message).encode() + b"\n"


def format_batch(number: int, request: AnnotateRequest, documents: Sequence[Document]) -> Message:
    """Return the message that requests some documents of a request."""
    return {
        "number": number,
        "documents": jsonl.dumps(documents),
        "tasks": request.tasks,
        "with_tokens": request.with_tokens,
        "format": astuple(request.format),
        "choices": None if request.choices is None else astuple(request.choices),
    }


def parse_batch(message: Message) -> AnnotateRequest:
    """Return the request of a batch."""
    name, layers = message["format"]
    reply_format = ReplyFormat(name, tuple((task, layer) for task, layer in layers))
    documents = tuple(jsonl.loads(message["documents"]))
    tasks, with_tokens = tuple(message["tasks"]), message["with_tokens"]
    return AnnotateRequest(
        documents, tasks, reply_format, with_tokens, _parse_choices(message["choices"])
    )


def _parse_choices(message: list[Any] | None) -> Choices | None:
    """Return the choices of a batch, None for none."""
    if message is None:
        return None
    labels, bounds = message
    return Choices(tuple(labels), None if bounds is None else (bounds[0], bounds[1]))


def format_hello(hello: Hello) -> Message:
    """Return the first message of a model process."""
    message: Message = _HELLO.dump_python(hello, mode="json")
    return message


def parse_hello(message: Message) -> Hello:
    """Return the content of the first message."""
    return _HELLO.validate_python(message)
