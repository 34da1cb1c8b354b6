"""The page at ``/docs``: the OpenAPI description as HTML, without scripts and from here alone."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from spanloom.viewer.html import style
from spanloom.viewer.script import policy

Json = Mapping[str, Any]
_WIDTH = 88  # characters of a line of JSON


def render(description: Json) -> tuple[str, str]:
    """Return the page of an OpenAPI description, and its content security policy."""
    css = _css()
    endpoints = [
        (method.upper(), path, endpoint)
        for path, methods in description["paths"].items()
        for method, endpoint in methods.items()
    ]
    links = "\n".join(
        f'<a href="#{_anchor(path)}">{method} {escape(path)}</a>' for method, path, _ in endpoints
    )
    sections = "\n".join("\n".join(_section(*endpoint)) for endpoint in endpoints)
    title = escape(f"{description['info']['title']}: the HTTP API")
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{title}</title>\n<link rel="icon" href="/favicon.svg" type="image/svg+xml">\n'
        f"<style>{css}</style></head>\n<body><main><h1>{title}</h1>\n"
        f"<p>{escape(description['info']['description'])} Programs read "
        '<a href="/openapi.json">/openapi.json</a>.</p>\n'
        f'<nav aria-label="Endpoints">{links}</nav>\n{sections}\n</main></body></html>\n'
    )
    return page, policy("", css)


@cache
def _css() -> str:
    """Return the style of the page."""
    own = files("spanloom.serve").joinpath("site", "api.css").read_text(encoding="utf-8")
    return style() + own


def _anchor(path: str) -> str:
    """Return the name of an endpoint's section."""
    return escape(path.strip("/").replace("/", "-")) or "page"


def _section(method: str, path: str, endpoint: Json) -> Iterator[str]:
    """Yield the HTML of one endpoint."""
    yield f'<section><h2 id="{_anchor(path)}"><code>{method} {escape(path)}</code></h2>'
    yield f"<p>{escape(endpoint['summary'])}</p>"
    if "requestBody" in endpoint:
        yield from _request(path, endpoint["requestBody"])
    replies = {int(status): reply for status, reply in endpoint["responses"].items()}
    yield from _reply(replies[200])
    failures = [(status, reply) for status, reply in sorted(replies.items()) if status >= 400]
    if failures:
        yield "<h3>Errors</h3><dl>"
        for status, reply in failures:
            yield f"<dt>{status}</dt><dd>{escape(reply['description'])}</dd>"
        yield "</dl>"
    yield "</section>"


def _request(path: str, request: Json) -> Iterator[str]:
    """Yield what an endpoint takes, with a command that calls it."""
    ((_, content),) = request["content"].items()
    yield "<h3>Request</h3><dl>"
    for name, schema in content["schema"]["properties"].items():
        yield f"<dt>{escape(name)}</dt><dd>{escape(_describe(schema))}</dd>"
    yield "</dl>"
    body = json.dumps(content["example"], ensure_ascii=False)
    yield _block(f"curl --json '{body}' http://127.0.0.1:8000{path}")


def _reply(reply: Json) -> Iterator[str]:
    """Yield the example of a reply, and its schema to unfold."""
    for media, content in reply.get("content", {}).items():
        yield f"<h3>Reply, {escape(media)}</h3>"
        example = content["example"]
        is_text = isinstance(example, str)
        yield _block(example if is_text else _pretty(example))
        if not is_text:
            schema = _block(_pretty(content["schema"]))
            yield f"<details><summary>schema</summary>{schema}</details>"


def _describe(schema: Json) -> str:
    """Return a schema of a request's key in words."""
    if "enum" in schema:
        kind = f"one of {', '.join(schema['enum'])}; default {schema['default']}"
    elif schema["type"] == "array":
        longest = f", up to {schema['maxItems']}" if "maxItems" in schema else ""
        kind = f"list of {schema['items']['type']}s{longest}"
    else:
        kind = schema["type"]
    description = schema.get("description", schema.get("items", {}).get("description"))
    return f"{kind}; {description}" if description else kind


def _pretty(value: Any, indent: str = "") -> str:
    """Return JSON in which a list or object that fits on one line stays on it."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not isinstance(value, dict | list):
        return line
    deeper = indent + "  "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_pretty(item, deeper)}" for key, item in value.items()]
        opening, closing = "{}"
    else:
        items = [_pretty(item, deeper) for item in value]
        opening, closing = "[]"
    body = ",\n".join(deeper + item for item in items)
    return f"{opening}\n{body}\n{indent}{closing}"


def _block(text: str) -> str:
    """Return code that can be scrolled with the keyboard."""
    return f'<pre tabindex="0">{escape(text)}</pre>'
