"""Errors of the HTTP API as problem JSON (RFC 9457), with the location in the request."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

from starlette.responses import Response

MEDIA = "application/problem+json"
CLIENT_GONE = 499  # nobody is there to read it, but it is counted


class Problem(Exception):
    """Why a request is refused.

    ``location`` is the part of the request (``texts[3]: character 17``), ``headers`` are added to
    the reply (``Retry-After``).
    """

    def __init__(
        self,
        status: int,
        what: str,
        *,
        location: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.location, self.headers = status, location, dict(headers or {})
        self.detail = what if location is None else f"{location}: {what}"
        super().__init__(self.detail)

    @property
    def title(self) -> str:
        """The name of the status."""
        is_gone = self.status == CLIENT_GONE
        return "Client Went Away" if is_gone else HTTPStatus(self.status).phrase

    def response(self, **headers: str) -> Response:
        """Return the reply, with additional headers."""
        fields = {"type": "about:blank", "title": self.title, "status": self.status}
        body = json.dumps({**fields, "detail": self.detail, "where": self.location})
        return Response(body, self.status, {**self.headers, **headers}, MEDIA)


SERVER_ERROR = Problem(500, "the server failed; the request was not at fault")


def error_location(error: BaseException) -> str:
    """Return the type of an error and the line that raised it.

    The message is left out, because it may contain a part of somebody's text.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    file = Path(trace.tb_frame.f_code.co_filename).name
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"
