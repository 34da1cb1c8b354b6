"""A loaded model, a socket: the parts put together and run until the end."""

import socket
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from spanloom.document import Document, Query
from spanloom.serve.about import About
from spanloom.serve.app import application
from spanloom.serve.batcher import Batcher, Room, Wish
from spanloom.serve.limits import Limits
from spanloom.serve.replies import as_json
from spanloom.serve.server import run, server

if TYPE_CHECKING:
    from spanloom.model.model import Model

# Seconds that the model thread computes on while another waits for its turn. Those who knock need
# several turns each, one a call of the system: at Python's 5 ms, hundreds could wait for seconds.
_TURN = 1e-4
_FIRST = Document("A first text warms the model.", queries=(Query("Q1", "What does it warm?"),))


def start(
    model: "Model",
    about: About,
    listener: socket.socket,
    *,
    token: str | None = None,
    limits: Limits = Limits(),
) -> None:
    """Serve a model until SIGTERM or SIGINT, and end when the requests it has are answered."""

    def annotate(
        documents: Sequence[Document], tasks: tuple[str, ...], cuts: bool
    ) -> Iterable[Document]:
        return model.annotate(documents, tasks, cuts=cuts)

    sys.setswitchinterval(_TURN)
    with Batcher(annotate, room(limits), warm=first(about)) as batcher:
        run(server(application(batcher, about, limits, token=token), limits), listener)


def room(limits: Limits) -> Room:
    """Return how much may wait by these limits."""
    return Room(requests=limits.waiting, queued=limits.queued)


def first(about: About) -> Wish:
    """Return what a model does before it is ready: each task that one text is enough for, once."""
    tasks = (*about.annotating(), *about.answering(), *about.judging(pair=False))
    return Wish((_FIRST,), tuple(dict.fromkeys(tasks)), as_json)
