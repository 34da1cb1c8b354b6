"""A model process as the server holds it: begun, asked, told to stop, ended, begun anew."""

import json
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Protocol

from spanloom.cancellation import Cancelled
from spanloom.document import Document
from spanloom.errors import ModelError
from spanloom.serve.jobs import AnnotateRequest
from spanloom.serve.messages import Hello, Said, format_batch, greeted, line

_TICK = 0.02  # seconds between two looks at whether a batch is still wanted
_GRACE = 2.0  # seconds for the next checkpoint of a batch that is not
_PAUSES = (0.0, 1.0, 5.0)  # seconds before each try to begin


class Lost(Exception):
    """The model process is gone; a new one may be begun."""


class Unable(Exception):
    """The model could not annotate a batch; says the kind of error and its line, no text."""


class Engine(Protocol):
    """What annotates: a model process, or whatever a test has in its place."""

    def begin(self) -> Hello:
        """Have it ready and warm; at once where it is. Raises ``Lost`` where that cannot be."""

    def annotate(
        self, wish: AnnotateRequest, documents: Sequence[Document], is_over: Callable[[], bool]
    ) -> list[str]:
        """Annotate and spell documents as a request wants it.

        Raises ``Cancelled`` once ``is_over``, ``Unable`` where the model fails, ``Lost`` where
        there is no model any more.
        """

    def end(self) -> None:
        """End it at once, whatever it does; it cannot be begun anew. Any thread may ask for it."""


class Process:
    """A model process, begun when it is needed and again when it was lost."""

    def __init__(self, command: Sequence[str], *, grace: float = _GRACE) -> None:
        """``command`` starts it; ``grace`` is how long a batch may go on that is over."""
        self._command, self._grace = list(command), grace
        self._numbers = count(1)
        self._child: _Child | None = None
        self._hello: Hello | None = None
        self._ended = threading.Event()

    def begin(self) -> Hello:
        """Start the process and wait until it is warm.

        Raises ``ModelError`` where it never was and says why, ``Lost`` where it fails three times.
        """
        for pause in _PAUSES:
            if self._ended.wait(pause):
                break
            try:
                return self._greeted()
            except Lost:
                self._drop()
        raise Lost

    def annotate(
        self, wish: AnnotateRequest, documents: Sequence[Document], is_over: Callable[[], bool]
    ) -> list[str]:
        """Hand a batch over and wait; see ``Engine``. One thread at a time may ask."""
        try:
            return self._asked(format_batch(next(self._numbers), wish, documents), is_over)
        except Lost:
            self._drop()
            raise

    def end(self) -> None:
        """End the process."""
        self._ended.set()
        self._drop()

    def _greeted(self) -> Hello:
        if self._child is None or self._hello is None:
            self._child = _Child(self._command)
            while (said := self._child.heard(_TICK)) is None:
                if self._ended.is_set():
                    raise Lost
            if "refused" in said:
                raise ModelError(said["refused"]) if self._hello is None else Lost
            self._hello = greeted(said)
        return self._hello

    def _asked(self, asked: Said, is_over: Callable[[], bool]) -> list[str]:
        child = self._child
        if child is None:
            raise Lost
        child.tell(asked)
        last: float | None = None
        while (said := child.heard(_TICK)) is None:
            if last is None and is_over():
                child.tell({"stop": asked["number"]})
                last = monotonic() + self._grace
            if last is not None and monotonic() > last:
                raise Lost
        return _answers(said)

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()


class _Child:
    """The process itself, and a thread that listens to it."""

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        # A session of its own: Ctrl-C is for the server alone, which then ends its processes.
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
        self._said: SimpleQueue[Said | None] = SimpleQueue()
        threading.Thread(target=self._listen, name="listener", daemon=True).start()

    def tell(self, said: Said) -> None:
        """Say something; raises ``Lost``."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line(said))
            self._process.stdin.flush()
        except (OSError, ValueError) as error:  # a pipe without a reader, or one that is closed
            raise Lost from error

    def heard(self, seconds: float) -> Said | None:
        """Return what it says within some seconds, None for nothing; raises ``Lost``."""
        try:
            said = self._said.get(timeout=seconds)
        except Empty:
            return None
        if said is None:
            raise Lost
        return said

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):  # what was still to be said
            self._process.stdin.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as outbox:
            for each in outbox:
                if each.endswith(b"\n"):  # the last one may be cut off
                    self._said.put(json.loads(each))
        self._said.put(None)


def _answers(said: Said) -> list[str]:
    if "failed" in said:
        raise Unable(said["failed"])
    if "stopped" in said:
        raise Cancelled
    answers: list[str] = said["answers"]
    return answers
