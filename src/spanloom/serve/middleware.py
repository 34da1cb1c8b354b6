"""The layers that every request passes: headers, problems, token, body, load shedding."""

import asyncio
import hmac
import logging
from collections.abc import Collection, Iterable
from contextlib import suppress
from ipaddress import ip_address
from itertools import cycle
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spanloom.serve.batcher import Lanes
from spanloom.serve.limits import Limits
from spanloom.serve.problem import SERVER_ERROR, Problem, error_location

SECURITY = {
    "content-security-policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_HEALTH = "/health/"  # monitoring needs no token
_LINGER = 1.0  # seconds for which the rest of a refused request is read
# Seconds until a client shall try again, in turn: clients refused together do not return together.
_RETRY_AFTER = cycle("123")
_LOG = logging.getLogger("spanloom.serve")


class HttpMiddleware:
    """Base of the layers: hands HTTP requests to ``handle``, everything else to the next layer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one connection event."""
        await (self.handle if scope["type"] == "http" else self.app)(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        await self.app(scope, receive, send)


class HeadAsGet(HttpMiddleware):
    """Answers HEAD as GET, where that is answered; the web server leaves out the body."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self.app({**scope, "method": method}, receive, send)


class SecurityHeaders(HttpMiddleware):
    """Adds ``SECURITY`` to every reply; a header that the reply already has is kept."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_secured)


class Problems(HttpMiddleware):
    """Replies with the ``Problem`` raised inside, and with a plain 500 for any other error.

    A problem raised before the body was read leaves the rest unread, so the connection is closed.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        is_started = False

        async def send_and_note(message: Message) -> None:
            nonlocal is_started
            is_started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Problem as problem:
            await _refuse(problem, scope, receive, send)
        except Exception as error:  # our fault: log its location, never its message
            _LOG.error("a request failed: %s", error_location(error))
            if not is_started:
                await SERVER_ERROR.response()(scope, receive, send)


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Reply, read on for a moment, and close the connection.

    A connection that is closed with unread bytes is reset, and the reply could be lost.
    """

    async def send_unfinished(message: Message) -> None:
        await send({**message, "more_body": True} if "body" in message else message)

    await problem.response(connection="close")(scope, receive, send_unfinished)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER):
            while (await receive()).get("more_body"):
                pass
    await send({"type": "http.response.body", "body": b""})


class Access(HttpMiddleware):
    """Accepts requests with ``Authorization: Bearer TOKEN``, and those for health or open paths.

    Raises ``Problem`` 401 for all others.
    """

    def __init__(self, app: ASGIApp, token: str, open_paths: Collection[str]) -> None:
        super().__init__(app)
        self.expected = f"Bearer {token}".encode()
        self.open_paths = open_paths

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        is_open = scope["path"] in self.open_paths or scope["path"].startswith(_HEALTH)
        credentials = Headers(scope=scope).get("authorization", "").encode("latin-1")
        if not (is_open or hmac.compare_digest(credentials, self.expected)):  # in constant time
            expected = "expected Bearer and the token of this server"
            challenge = {"WWW-Authenticate": "Bearer"}
            raise Problem(401, expected, location="header authorization", headers=challenge)
        await self.app(scope, receive, send)


class LocalNames(HttpMiddleware):
    """Accepts requests for ``localhost`` or an address; raises ``Problem`` 421 for other names.

    The page of another site, whose name its owner lets point to this machine, would else be of the
    server's own origin, and could read its replies (DNS rebinding).
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        host = Headers(scope=scope).get("host", "")
        if host and not _is_local(host):
            expected = "expected localhost or an address; a server with a token answers to any name"
            raise Problem(421, f"{expected}, got {host[:60]!r}", location="header host")
        await self.app(scope, receive, send)


def _is_local(host: str) -> bool:
    """Return whether a host with or without a port is this machine's own name, or an address."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or name.endswith(".localhost") or ip_address(name) is not None
    except ValueError:
        return False


class BodyReader(HttpMiddleware):
    """Reads bodies of up to ``limits.body`` bytes that arrive within ``limits.receipt`` seconds.

    The body is passed on as one message; if the client disconnects, nothing is. Raises ``Problem``
    413 as soon as a body is announced or known to be larger, 408 if it is late.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        super().__init__(app)
        self.limits = limits

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal():  # the server checks that the body has this length
            self._check(int(announced[:20]))
        try:
            async with asyncio.timeout(self.limits.receipt):
                body = await self._read(receive)
        except TimeoutError as error:
            expected = f"expected all of it within {self.limits.receipt:g} seconds"
            raise Problem(408, expected, location="body") from error
        if body is None:
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        await self.app(scope, replay, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """Return the body, None if the client disconnects before its end."""
        chunks, size, has_more = [], 0, True
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            self._check(size)
            has_more = message.get("more_body", False)
        return b"".join(chunks)

    def _check(self, size: int) -> None:
        if size > self.limits.body:
            what = f"expected up to {self.limits.body} bytes, got {size} or more; send fewer texts"
            raise Problem(413, what, location="body")


class LoadShedding(HttpMiddleware):
    """Replies 503 to requests for the model if its queue is full.

    Under overload most requests end here, before anything is parsed or routed. The body has been
    read, so the connection stays usable.
    """

    def __init__(self, app: ASGIApp, lanes: Lanes, paths: Iterable[str]) -> None:
        """``paths`` are the endpoints that use the model."""
        super().__init__(app)
        self.lanes, self.paths = lanes, frozenset(paths)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        needs_model = scope["method"] == "POST" and scope["path"] in self.paths
        app = busy().response() if needs_model and self.lanes.is_full else self.app
        await app(scope, receive, send)


def busy() -> Problem:
    """Return the refusal of a request because of a full queue, with the time to try again."""
    what = "too many requests wait; try again"
    return Problem(503, what, headers={"Retry-After": next(_RETRY_AFTER)})
