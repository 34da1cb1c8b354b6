"""Requests of the model that come to a full queue: refused before anything is parsed or routed."""

from collections.abc import Iterable
from itertools import cycle

from starlette.types import ASGIApp, Receive, Scope, Send

from spanloom.serve.lanes import Lanes
from spanloom.serve.problem import Problem

# Seconds until a client shall come again, by turns: who goes together does not come back together.
_LATER = cycle("123")


def busy() -> Problem:
    """Return why a request is not taken, and when to come again."""
    what = "too many requests wait; try again"
    return Problem(503, what, headers={"Retry-After": next(_LATER)})


class LoadShedding:
    """Answers 503 where the queue takes no request, however small; all else is passed on.

    Most requests of a crowd end here, and each holds up all others, so little is done for one. Its
    body has been read, so that the connection stays as it is.
    """

    def __init__(self, app: ASGIApp, lanes: Lanes, paths: Iterable[str]) -> None:
        """``paths`` are the addresses that ask the model."""
        self.app, self.lanes, self.paths = app, lanes, frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        asks = scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in self.paths
        if asks and self.lanes.is_full:
            await busy().response()(scope, receive, send)
        else:
            await self.app(scope, receive, send)
