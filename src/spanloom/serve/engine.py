"""A model process as the server holds it: started, used, stopped, ended, started again."""

import json
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Protocol

from spanloom.cancellation import Cancelled
from spanloom.document import Document
from spanloom.errors import ModelError
from spanloom.serve.jobs import AnnotateRequest, ChoicesRefused
from spanloom.serve.messages import Hello, Message, encode, format_batch, parse_hello

_TICK = 0.02  # seconds between two checks whether a batch is still wanted
_GRACE = 2.0  # seconds until a stopped batch must reach its next checkpoint
_PAUSES = (0.0, 1.0, 5.0)  # seconds before each attempt to start


class ProcessLost(Exception):
    """The model process has ended; another can be started."""


class BatchFailed(Exception):
    """The model could not annotate a batch; the message is the error's location, without text."""


class Engine(Protocol):
    """Annotates batches: a model process, or a replacement in tests."""

    def begin(self) -> Hello:
        """Return when the model is warm; raises ``ProcessLost`` if it cannot be started."""

    def annotate(
        self,
        request: AnnotateRequest,
        documents: Sequence[Document],
        is_over: Callable[[], bool],
    ) -> list[str]:
        """Annotate and format some documents of a request.

        Raises ``Cancelled`` once ``is_over`` returns true, ``BatchFailed`` if the model fails,
        ``ChoicesRefused`` if the choices do not suit it, ``ProcessLost`` if the process has ended.
        """

    def end(self) -> None:
        """End it immediately and for good; any thread may call this."""


class Process:
    """A model process that is started when needed, and again after it was lost."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        grace: float = _GRACE,
    ) -> None:
        """``command`` starts the process, in an ``environment``; ``grace`` is in seconds."""
        self._command, self._environment, self._grace = list(command), environment, grace
        self._numbers = count(1)
        self._child: _Child | None = None
        self._hello: Hello | None = None
        self._ended = threading.Event()

    def begin(self) -> Hello:
        """Start the process and wait until the model is warm.

        Raises ``ModelError`` if the first start is refused, ``ProcessLost`` after three failures.
        """
        for pause in _PAUSES:
            if self._ended.wait(pause):
                break
            try:
                return self._start()
            except ProcessLost:
                self._kill()
        raise ProcessLost

    def annotate(
        self,
        request: AnnotateRequest,
        documents: Sequence[Document],
        is_over: Callable[[], bool],
    ) -> list[str]:
        """Send a batch and wait for the replies, see ``Engine``; for one thread at a time."""
        try:
            return self._request(format_batch(next(self._numbers), request, documents), is_over)
        except ProcessLost:
            self._kill()
            raise

    def end(self) -> None:
        """End the process."""
        self._ended.set()
        self._kill()

    def _start(self) -> Hello:
        if self._child is None or self._hello is None:
            self._child = _Child(self._command, self._environment)
            while (message := self._child.receive(_TICK)) is None:
                if self._ended.is_set():
                    raise ProcessLost
            if "refused" in message:
                raise ModelError(message["refused"]) if self._hello is None else ProcessLost
            self._hello = parse_hello(message)
        return self._hello

    def _request(self, batch: Message, is_over: Callable[[], bool]) -> list[str]:
        child = self._child
        if child is None:
            raise ProcessLost
        child.send(batch)
        deadline: float | None = None
        while (message := child.receive(_TICK)) is None:
            if deadline is None and is_over():
                child.send({"stop": batch["number"]})
                deadline = monotonic() + self._grace
            if deadline is not None and monotonic() > deadline:
                raise ProcessLost
        if "failed" in message:
            raise BatchFailed(message["failed"])
        if "wrong_choices" in message:
            raise ChoicesRefused(message["wrong_choices"])
        if "stopped" in message:
            raise Cancelled
        replies: list[str] = message["replies"]
        return replies

    def _kill(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()


class _Child:
    """The operating system's process, and a thread that reads its output."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None) -> None:
        pipe = subprocess.PIPE
        # In a session of its own: Ctrl-C goes to the server alone, which then ends its processes.
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True
        )
        self._messages: SimpleQueue[Message | None] = SimpleQueue()
        threading.Thread(target=self._read, name="listener", daemon=True).start()

    def send(self, message: Message) -> None:
        """Send a message; raises ``ProcessLost``."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encode(message))
            self._process.stdin.flush()
        except (OSError, ValueError) as error:  # a pipe without a reader, or a closed one
            raise ProcessLost from error

    def receive(self, seconds: float) -> Message | None:
        """Return the next message, None if there is none in time; raises ``ProcessLost``."""
        try:
            message = self._messages.get(timeout=seconds)
        except Empty:
            return None
        if message is None:
            raise ProcessLost
        return message

    def kill(self) -> None:
        """End the process immediately."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):  # unsent output
            self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                if line.endswith(b"\n"):  # the last one may be incomplete
                    self._messages.put(json.loads(line))
        self._messages.put(None)
