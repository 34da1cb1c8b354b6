"""Describe the endpoints for OpenAPI; the examples run as tests against a small model."""

from typing import Any, TypedDict

from spanloom.annotation.choices import MAX_LABELS
from spanloom.config.abilities import ANSWERS
from spanloom.serve import reply_schemas
from spanloom.serve.reply_schemas import STRING, Schema

SUMMARY = (
    "Texts in, annotation out. Offsets are code points of the text that was sent, ends exclusive. "
    "Errors are application/problem+json; their key where names the place in the request."
)


class RouteOptions(TypedDict):
    """The keyword arguments of a route."""

    summary: str
    responses: dict[int | str, dict[str, Any]]
    openapi_extra: dict[str, Any]


_TASKS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "names; if left out, all but those that are on_request",
}
_TEXT = {"type": "string", "description": "Unicode text, neither NUL nor half a character in it"}
_TEXTS = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 256}
_PROBLEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "where": {"type": ["string", "null"]},
    },
}
_ERRORS = {
    400: "the body is no JSON",
    404: "the model has no such task",
    408: "the body came too slowly",
    413: "a body or a text is too long, or all texts are",
    415: "the body does not say that it is JSON",
    422: "JSON, but no request that is known here",
    500: "the model failed on a text, which where names",
    503: "too much waits already, or there is no model; Retry-After says when to try again",
    504: "not done in time",
}


def _problem(what: str) -> dict[str, Any]:
    return {"description": what, "content": {"application/problem+json": {"schema": _PROBLEM}}}


def _post(
    summary: str,
    keys: dict[str, Any],
    example: dict[str, Any],
    reply: dict[str, Any],
    reply_schema: Schema,
) -> RouteOptions:
    """Describe an endpoint that uses the model."""
    schema = {"type": "object", "properties": keys, "additionalProperties": False}
    content = {"schema": schema, "example": example}
    answer = {
        "description": "done",
        "content": {"application/json": {"schema": reply_schema, "example": reply}},
    }
    responses: dict[int | str, dict[str, Any]] = {200: answer}
    responses |= {status: _problem(what) for status, what in _ERRORS.items()}
    return {
        "summary": summary,
        "responses": responses,
        "openapi_extra": {
            "requestBody": {"required": True, "content": {"application/json": content}}
        },
    }


def _get(
    summary: str,
    media: str,
    example: Any,
    schema: Schema = STRING,
    *,
    unavailable: str | None = None,
) -> RouteOptions:
    """Describe an endpoint about the server."""
    answer = {"description": "done", "content": {media: {"schema": schema, "example": example}}}
    responses: dict[int | str, dict[str, Any]] = {200: answer}
    if unavailable is not None:
        responses[503] = _problem(unavailable)
    return {"summary": summary, "responses": responses, "openapi_extra": {}}


ANNOTATE = _post(
    "Annotate a text, or up to 256 of them, with the tasks that need nothing but a text.",
    {
        "text": _TEXT,
        "texts": _TEXTS,
        "tasks": _TASKS,
        "format": {"enum": ["json", "brat", "conllu", "page"], "default": "json"},
    },
    {"text": "Ada met Bob."},
    {
        "format": "json",
        "documents": [
            {
                "name": "text",
                "text": "Ada met Bob.",
                "layers": [
                    {
                        "name": "names",
                        "spans": [
                            {"id": "T1", "label": "Name", "fragments": [[0, 3]], "score": 0.9},
                            {"id": "T2", "label": "Name", "fragments": [[8, 11]], "score": 0.9},
                        ],
                        "relations": [],
                    }
                ],
            }
        ],
    },
    reply_schemas.ANNOTATE,
)
ASK = _post(
    "Answer a question, or up to 256 of them, with a piece of the text, or with null.",
    {"text": _TEXT, "question": _TEXT, "questions": _TEXTS, "tasks": _TASKS},
    {"text": "Ada met Bob.", "question": "Who met Bob?"},
    {
        "answers": [
            {
                "question": "Who met Bob?",
                "answers": {"questions": {"text": "Ada", "fragments": [[0, 3]], "score": 0.9}},
            }
        ]
    },
    reply_schemas.ASK,
)
CLASSIFY = _post(
    "Say of what class a text is, or what holds of two texts (text and text_pair).",
    {
        "text": _TEXT,
        "texts": _TEXTS,
        "text_pair": _TEXT,
        "tasks": _TASKS,
        "labels": {
            "type": "array",
            "items": _TEXT,
            "minItems": 2,
            "maxItems": MAX_LABELS,
            "description": "choose one of these; for models that extract classes",
        },
        "range": {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 2,
            "maxItems": 2,
            "description": "choose a number from low to high; for models that extract numbers",
        },
    },
    {"text": "Ada met Bob."},
    {"classifications": [{"mood": {"label": "calm", "value": None, "score": 0.9}}]},
    reply_schemas.CLASSIFY,
)
MODEL = _get(
    "The model: tasks, layers, labels, measured scores, licences; the limits of this server.",
    "application/json",
    {
        "name": "spanloom-en",
        "compute": "cpu, bf16",
        "license": "cc-by-sa-4.0",
        "language": "en",
        "analyses": [{"key": "names", "title": "Names", "about": "names of people and places"}],
        "tasks": [],
        "scores": [],
        "licenses": {},
        "training": {"question": ANSWERS.command},
        "limits": {"texts": 256},
    },
    reply_schemas.MODEL,
)
LIVE = _get(
    "Whether the server answers, and has a model.",
    "application/json",
    {"status": "live"},
    reply_schemas.STATUS,
    unavailable="the model has ended and is not replaced yet",
)
READY = _get(
    "Whether the model takes requests.",
    "application/json",
    {"status": "ready"},
    reply_schemas.STATUS,
    unavailable="the model is not warm yet, is stuck, or has ended",
)
PAGE = _get("The page: texts annotated and drawn in a browser.", "text/html", "<!DOCTYPE html>")
API_PAGE = _get("This description as a page, without scripts.", "text/html", "<!DOCTYPE html>")
ICON = _get("The icon of the pages.", "image/svg+xml", "<svg></svg>")
METRICS = _get("Counters and times for Prometheus.", "text/plain", "spanloom_ready 1\n")

MODEL_PATHS = ("/v1/annotate", "/v1/ask", "/v1/classify")  # endpoints that use the model
# A browser cannot send a token with an address: these hold no data, and are shown without one.
OPEN_PATHS = ("/", "/docs", "/favicon.svg")
PATHS = (
    *(*MODEL_PATHS, "/v1/model"),
    *("/health/live", "/health/ready", "/metrics", "/openapi.json", *OPEN_PATHS),
)
