"""Bodies are read here, counted as they come, and whole before the application sees them."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spanloom.serve.limits import Limits
from spanloom.serve.problem import Problem


class BodyReader:
    """Lets through bodies of up to ``limits.body`` bytes that come within ``limits.receipt``.

    Raises ``Problem``: 413 as soon as a body says or shows that it is larger, 408 for a late one.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then pass it on in one piece; a client that went away gets nothing."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self._check_said(Headers(scope=scope).get("content-length", ""))
        try:
            async with asyncio.timeout(self.limits.receipt):
                body = await self._read(receive)
        except TimeoutError as error:
            expected = f"expected all of it within {self.limits.receipt:g} seconds"
            raise Problem(408, expected, where="body") from error
        if body is not None:
            await self.app(scope, _replayed(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        """Return the body, None where the client goes away before its end."""
        pieces, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            self._check(size)
            more = message.get("more_body", False)
        return b"".join(pieces)

    def _check_said(self, length: str) -> None:
        """Refuse by what the head says; a server has checked that the body keeps to it."""
        if length.isdecimal():
            self._check(int(length[:20]))

    def _check(self, size: int) -> None:
        if size > self.limits.body:
            what = f"expected up to {self.limits.body} bytes, got {size} or more; send fewer texts"
            raise Problem(413, what, where="body")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives the body first, and after it what comes of the connection."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay
