"""JSON schemas of the replies, as OpenAPI 3.1 has them."""

from dataclasses import MISSING, fields
from typing import Any

from spanloom.document import (
    Annotation,
    Attribute,
    Equivalence,
    Event,
    Normalization,
    Note,
    Query,
    Relation,
    Span,
)

Schema = dict[str, Any]


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map(values: Schema) -> Schema:
    """Describe an object with any keys."""
    return {"type": "object", "additionalProperties": values}


def _record(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Describe an object with these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _pair(items: Schema) -> Schema:
    return {**_array(items), "minItems": 2, "maxItems": 2}


STRING: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer", "minimum": 0}
_SCORE: Schema = {"type": ["number", "null"], "description": "of the prediction; higher is surer"}
_FRAGMENTS: Schema = {
    **_array(_pair(_WHOLE)),
    "description": "[start, end) in code points of the text",
}
_FIELDS: dict[str, Schema] = {
    "fragments": _FRAGMENTS,
    "score": _SCORE,
    "roles": _pair(STRING),
    "arguments": {**_array(_pair(STRING)), "description": "role, and id of a span or event"},
    "value": {"type": ["string", "null"]},
    "members": _array(STRING),
}  # of annotations; those not listed are strings


def _annotation(cls: type[Annotation]) -> Schema:
    """Describe an annotation as JSON lines have it: without fields of default value."""
    properties = {field.name: _FIELDS.get(field.name, STRING) for field in fields(cls)}
    optional = tuple(field.name for field in fields(cls) if field.default is not MISSING)
    return _record(properties, optional=optional)


_KINDS: dict[str, type[Annotation]] = {
    "spans": Span,
    "relations": Relation,
    "events": Event,
    "attributes": Attribute,
    "normalizations": Normalization,
    "notes": Note,
    "equivalences": Equivalence,
}
_LAYER = _record(
    {"name": STRING, **{kind: _array(_annotation(cls)) for kind, cls in _KINDS.items()}},
    optional=tuple(kind for kind in _KINDS if kind not in ("spans", "relations")),
)
_QUERY = _record({field.name: STRING for field in fields(Query)})
_JSON = _record(
    {
        "name": STRING,
        "text": STRING,
        "meta": _array(_pair(STRING)),
        "queries": _array(_QUERY),
        "layers": _array(_LAYER),
    },
    optional=("meta", "queries"),
)
_BRAT = _record({"txt": STRING, "ann": STRING, "words": STRING}, optional=("ann", "words"))
_CONLLU = _record({"conllu": STRING, "warnings": _array(STRING)}, optional=("warnings",))
_PAGE: Schema = {
    "type": "object",
    "required": ["title", "sides", "layers", "documents", "differences"],
    "properties": {"warnings": _array(STRING)},
    "description": "the data of the viewer; warnings if the model hardly knows the language",
}
_FORMATS = {"json": _JSON, "brat": _BRAT, "conllu": _CONLLU, "page": _PAGE}

ANNOTATE: Schema = {
    "oneOf": [
        _record({"format": {"const": name}, "documents": _array(document)})
        for name, document in _FORMATS.items()
    ]
}
_ANSWER = _record({"text": STRING, "fragments": _FRAGMENTS, "score": _SCORE})
ASK = _record(
    {
        "answers": _array(
            _record(
                {
                    "question": STRING,
                    "answers": {
                        **_map({"oneOf": [_ANSWER, {"type": "null"}]}),
                        "description": "by task; null where the text has no answer",
                    },
                }
            )
        )
    }
)
_CLASS = _record({"label": STRING, "value": {"type": ["number", "null"]}, "score": _SCORE})
CLASSIFY = _record(
    {
        "classifications": _array(
            {
                **_map({"oneOf": [_CLASS, {"type": "null"}]}),
                "description": "by task; null where no class fits",
            }
        )
    }
)
_TASK = _record(
    {
        "name": STRING,
        "kind": STRING,
        "layer": STRING,
        "on_request": {"type": "boolean"},
        "labels": _map(_array(STRING)),
        "endpoints": _array(STRING),
        "analysis": STRING,
        "about": STRING,
        "color": {"type": "integer"},
        "doubt": {
            "type": ["string", "null"],
            "description": "the score of a task that is wrong more often than right",
        },
    }
)
MODEL = _record(
    {
        "name": STRING,
        "compute": STRING,
        "license": {"type": ["string", "null"]},
        "language": {"type": ["string", "null"]},
        "analyses": _array(_record({"key": STRING, "title": STRING, "about": STRING})),
        "tasks": _array(_TASK),
        "scores": _array(_map(STRING)),
        "licenses": _map(STRING),
        "training": {
            **_map(STRING),
            "description": "commands that train a model for question, labels and range",
        },
        "limits": _map({"type": "number"}),
    }
)
STATUS = _record({"status": STRING})
