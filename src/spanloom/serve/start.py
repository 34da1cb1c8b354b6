"""Two model processes, a socket: the parts put together and run until the end."""

import os
import socket
import sys
import threading

from spanloom.errors import ModelError
from spanloom.serve.app import application
from spanloom.serve.batcher import QueueLimits
from spanloom.serve.engine import Engine
from spanloom.serve.lanes import Lanes
from spanloom.serve.limits import Limits
from spanloom.serve.messages import Hello
from spanloom.serve.server import Ending, run, server

_CUT = 1  # the exit code where the end had to be cut short


def start(
    engines: tuple[Engine, Engine],
    hello: Hello,
    listener: socket.socket,
    *,
    token: str | None = None,
    limits: Limits = Limits(),
    ending: Ending = Ending(),
) -> None:
    """Serve a model until SIGTERM or SIGINT, and end when the requests it has are answered.

    ``engines`` are for short requests and for long ones; the first was begun and said ``hello``.
    What cannot be answered in ``ending.answers`` seconds is told so; after ``ending.all`` the
    process ends, with exit code 1. Raises ``ModelError`` where an engine was lost and cannot be
    begun anew.
    """
    limits = limits.within(hello.speed)
    lost = threading.Event()

    def die() -> None:
        lost.set()
        made.should_exit = True

    def kill() -> None:
        lanes.cut()
        sys.stderr.flush()
        os._exit(_CUT)

    lanes = Lanes(*engines, queue_limits(limits), die)
    made = server(application(lanes, hello.about, limits, token=token), limits, ending)
    made.on_late, made.on_stuck = lanes.cut, kill
    with lanes:
        run(made, listener)
        lanes.cut()
    if lost.is_set():
        raise ModelError("the model process ended, and cannot be begun anew")


def queue_limits(limits: Limits) -> QueueLimits:
    """Return how much may wait by these limits."""
    return QueueLimits(requests=limits.waiting, queued=limits.queued, patience=limits.compute / 4)
