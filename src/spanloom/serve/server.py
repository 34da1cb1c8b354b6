"""Run the server: a socket, uvicorn, two queues, and an end in time that answers open requests."""

import asyncio
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from spanloom.errors import ModelError
from spanloom.serve.app import application
from spanloom.serve.batcher import Lanes
from spanloom.serve.engine import Engine
from spanloom.serve.limits import Limits
from spanloom.serve.messages import Hello
from spanloom.serve.request_queue import QueueLimits

_BACKLOG = 2048  # connections that the system holds
_UNREAD = 2**18  # bytes of a reply that the system holds; with more, slow reading looks like none
_CLOSE = (b"connection", b"close")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_KILLED = 1  # exit code of a server that did not end in time


@dataclass(frozen=True, slots=True)
class ShutdownTimes:
    """When the steps of the end are due, in seconds from the signal.

    Connections without a request are kept for ``idle``, because one may be on its way. Requests
    have until ``compute``, replies until ``replies``; at ``kill`` the process is ended.
    """

    idle: float = 0.5
    compute: float = 6.0
    replies: float = 8.0
    kill: float = 9.5


def start(
    engines: tuple[Sequence[Engine], Engine],
    hello: Hello,
    listener: socket.socket,
    *,
    token: str | None = None,
    limits: Limits = Limits(),
    times: ShutdownTimes = ShutdownTimes(),
) -> None:
    """Serve a model until SIGTERM or SIGINT, then until all open requests are answered.

    ``engines`` are some for short requests and one for long ones; ``hello`` is from the first of
    them, which is running. Requests that are not computed in time are refused; after ``times.kill``
    seconds the process exits with code 1. Raises ``ModelError`` if an engine was lost for good.
    """
    limits = limits.within(hello.speed, processes=len(engines[0]))
    is_lost = threading.Event()

    def die() -> None:
        is_lost.set()
        server.should_exit = True

    def kill() -> None:
        lanes.abort()
        sys.stderr.flush()
        os._exit(_KILLED)

    lanes = Lanes(*engines, queue_limits(limits), die)
    is_local = ip_address(listener.getsockname()[0]).is_loopback
    app = application(lanes, hello.model, limits, token=token, is_local=is_local)
    server = create_server(app, limits, times)
    server.on_late, server.on_stuck = lanes.abort, kill
    with lanes:
        run(server, listener)
        lanes.abort()
    if is_lost.is_set():
        raise ModelError("the model process ended, and cannot be begun anew")


def queue_limits(limits: Limits) -> QueueLimits:
    """Return the limits of a queue."""
    return QueueLimits(requests=limits.waiting, queued=limits.queued, patience=limits.compute / 4)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 is any free one.

    Raises ``OSError``, for a port that is in use with what to do.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        problem = f"{host}:{port}: address already in use; --port 0 takes a free one"
        raise OSError(error.errno, problem) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn with an end in bounded time.

    At the due times, ``on_late`` must fail what is still computed and ``on_stuck`` end the process.
    """

    def __init__(self, config: uvicorn.Config, times: ShutdownTimes) -> None:
        super().__init__(config)
        self.times = times
        self.on_late: Callable[[], None] = lambda: None
        self.on_stuck: Callable[[], None] = lambda: None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Announce the end on every connection, then shut down."""
        watchdog = threading.Timer(self.times.kill, self.on_stuck)
        watchdog.daemon = True
        watchdog.start()
        late = asyncio.get_running_loop().call_later(self.times.compute, self.on_late)
        for listener in self.servers:
            listener.close()
        headers = [*self.server_state.default_headers, _CLOSE]
        self.server_state.default_headers = headers
        for connection in self.server_state.connections:
            if isinstance(connection, _TimedProtocol):
                connection.set_headers(headers)
        await asyncio.sleep(self.times.idle)
        await super().shutdown(sockets)
        late.cancel()
        watchdog.cancel()


def create_server(app: ASGIApp, limits: Limits, times: ShutdownTimes = ShutdownTimes()) -> Server:
    """Return a server that is not running yet; its end answers the requests it has."""

    class Protocol(_TimedProtocol):
        seconds = limits.receipt

    # a float works as well as the int that uvicorn declares
    timeout: dict[str, Any] = {"timeout_graceful_shutdown": times.replies - times.idle}
    config = uvicorn.Config(
        app,
        **timeout,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    return Server(config, times)


def run(server: Server, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, then until the last request is answered."""
    with _ended_by_signals(server):
        server.run(sockets=[listener])


@contextmanager
def _ended_by_signals(server: Server) -> Iterator[None]:
    """Let signals end the server also before and after uvicorn's own handlers.

    uvicorn raises the signals again at the end, which would end the process as if it had failed.
    """

    def end(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    previous = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _TimedProtocol(H11Protocol):
    """Closes a connection if the head of a request does not arrive within ``seconds``.

    It closes one, too, whose client reads none of a reply for as long. uvicorn itself waits
    forever, so a few clients could hold all connections, and as many replies in memory.
    """

    seconds: float
    _timer: asyncio.TimerHandle | None = None
    _reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Stop the timer once the head is complete; the body is timed by the application."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_timer()
        self._stop_reader_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Watch whether the client reads."""
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop watching: the client has read nearly all."""
        self._stop_reader_timer()
        super().resume_writing()

    def set_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Set the default headers of the reply under way, unless it has started."""
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.default_headers = headers

    def _watch_reader(self, unread: int) -> None:
        """End the connection in ``seconds``, unless fewer than ``unread`` bytes are left then."""

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left < unread:
                self._watch_reader(left)
            else:
                self.transport.abort()

        self._reader_timer = self.loop.call_later(self.seconds, look)

    def _stop_reader_timer(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
        self._reader_timer = None

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
