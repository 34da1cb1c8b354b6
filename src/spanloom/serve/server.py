"""A socket, uvicorn on it, and an end that loses no request that was taken."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from spanloom.serve.limits import Limits

_BACKLOG = 2048  # connections that the system holds for us
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one. Raises ``OSError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def address(listener: socket.socket) -> str:
    """Return the address of a listening socket as a browser wants it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server(app: ASGIApp, limits: Limits) -> uvicorn.Server:
    """Return the server, still to be run.

    When it is told to end it takes no new connections, and answers the requests it has.
    """

    class Timely(_Timely):
        seconds = limits.receipt

    config = uvicorn.Config(
        app,
        http=Timely,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(limits.receipt + limits.compute) + 5,
    )
    return uvicorn.Server(config)


def run(made: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, then until the last request is answered."""
    with _ended_by_signals(made):
        made.run(sockets=[listener])


@contextmanager
def _ended_by_signals(made: uvicorn.Server) -> Iterator[None]:
    """Have signals end the server, before and after its own handlers stand too.

    uvicorn raises the signals it got once more when all is done, which would end the process as if
    it had failed.
    """

    def end(number: int, frame: FrameType | None) -> None:
        made.should_exit = True

    before = {each: signal.signal(each, end) for each in _SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class _Timely(H11Protocol):
    """Closes a connection on which the head of a request does not come within ``seconds``.

    uvicorn waits for it for ever, so that a few clients could hold all connections.
    """

    seconds: float
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Stop waiting when the head is there; what comes after it is the application's."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.seconds, self.transport.close)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = None
