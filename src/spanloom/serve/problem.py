"""What is wrong with a request, or with us: JSON in the form of RFC 9457, with the place."""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MEDIA = "application/problem+json"
GONE = 499  # a client that went away; nobody is there to read it, but it is counted
_LINGER = 1.0  # seconds
_LOG = logging.getLogger("spanloom.serve")


class Problem(Exception):
    """Why a request is not answered as it asks to be.

    ``where`` is the place in the request (``texts[3]: character 17``), ``headers`` are what the
    reply says beside (``Retry-After``).
    """

    def __init__(
        self,
        status: int,
        what: str,
        *,
        where: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.where, self.headers = status, where, dict(headers or {})
        self.detail = what if where is None else f"{where}: {what}"
        super().__init__(self.detail)

    @property
    def title(self) -> str:
        """What the status is called."""
        return "Client Went Away" if self.status == GONE else HTTPStatus(self.status).phrase

    def response(self, **headers: str) -> Response:
        """Return the reply, with some headers more."""
        said = {"type": "about:blank", "title": self.title, "status": self.status}
        body = json.dumps({**said, "detail": self.detail, "where": self.where})
        return Response(body, self.status, {**self.headers, **headers}, MEDIA)


BROKEN = Problem(500, "the server failed; the request was not at fault")


class Problems:
    """Answers with the problem that is raised inside, and with a plain 500 for any other failure.

    What is raised before a body was read leaves the rest of it unread, so the connection ends.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = _Sent(send)
        try:
            await self.app(scope, receive, sent)
        except Problem as problem:
            await _refuse(problem, scope, receive, send)
        except Exception as error:  # a fault of ours: told by its place, never by its message
            _LOG.error("a request failed: %s", told(error))
            if not sent.started:
                await BROKEN.response()(scope, receive, send)


class _Sent:
    """Knows whether an answer was begun."""

    def __init__(self, send: Send) -> None:
        self.send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        self.started = True
        await self.send(message)


def told(error: BaseException) -> str:
    """Return the kind of an error and the line it came from.

    Its message is left out: it may hold a part of somebody's text.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    file = Path(trace.tb_frame.f_code.co_filename).name
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer, read on for a moment, and close.

    A connection that is closed with bytes unread is reset, and the answer could be lost.
    """

    async def unfinished(message: Message) -> None:
        await send({**message, "more_body": True} if "body" in message else message)

    await problem.response(connection="close")(scope, receive, unfinished)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER):
            while (await receive()).get("more_body"):
                pass
    await send({"type": "http.response.body", "body": b""})
