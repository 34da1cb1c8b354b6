"""A socket, uvicorn on it, and an end in time that loses no request that was read."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from spanloom.serve.limits import Limits

_BACKLOG = 2048  # connections that the system holds for us
_CLOSE = (b"connection", b"close")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one. Raises ``OSError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def address(listener: socket.socket) -> str:
    """Return the address of a listening socket as a browser wants it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass(frozen=True, slots=True)
class Ending:
    """How long the end may take, in seconds from the signal.

    Connections without a request are kept for ``idle``, as one may be on its way. Requests are
    waited for until ``answers``, their replies until ``replies``; at ``all`` the process is ended.
    """

    idle: float = 0.5
    answers: float = 6.0
    replies: float = 8.0
    all: float = 9.5


class Server(uvicorn.Server):
    """uvicorn with an end that is bounded, whoever computes or holds a connection.

    ``on_late`` has what is computed then answered at once, ``on_stuck`` ends the process.
    """

    def __init__(self, config: uvicorn.Config, ending: Ending) -> None:
        """Take the times of the end."""
        super().__init__(config)
        self.ending = ending
        self.on_late: Callable[[], None] = lambda: None
        self.on_stuck: Callable[[], None] = lambda: None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say on every connection that no further request is answered there, then end."""
        watchdog = threading.Timer(self.ending.all, self.on_stuck)
        watchdog.daemon = True
        watchdog.start()
        late = asyncio.get_running_loop().call_later(self.ending.answers, self.on_late)
        for listening in self.servers:
            listening.close()
        closing = [*self.server_state.default_headers, _CLOSE]
        self.server_state.default_headers = closing
        for connection in self.server_state.connections:
            if isinstance(connection, _Timely):
                connection.tell(closing)
        await asyncio.sleep(self.ending.idle)
        await super().shutdown(sockets)
        late.cancel()
        watchdog.cancel()


def server(app: ASGIApp, limits: Limits, ending: Ending = Ending()) -> Server:
    """Return the server, still to be run.

    When it is told to end it takes no new connections, and answers the requests it has.
    """

    class Timely(_Timely):
        seconds = limits.receipt

    last: dict[str, Any] = {"timeout_graceful_shutdown": ending.replies - ending.idle}
    config = uvicorn.Config(
        app,
        **last,  # a float is as good as the int that it asks for
        http=Timely,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    return Server(config, ending)


def run(made: Server, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, then until the last request is answered."""
    with _ended_by_signals(made):
        made.run(sockets=[listener])


@contextmanager
def _ended_by_signals(made: Server) -> Iterator[None]:
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

    def tell(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Have the reply that is still to come say these, too."""
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.default_headers = headers

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.seconds, self.transport.close)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = None
