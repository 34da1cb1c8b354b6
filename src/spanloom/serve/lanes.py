"""Two queues with a model process each, so that short requests never wait for a long one."""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import fields
from types import TracebackType

from spanloom.serve.batcher import Batcher, QueueLimits, Tally
from spanloom.serve.engine import Engine
from spanloom.serve.jobs import AnnotateRequest

SHORT = 2_000  # characters of a text that is computed in a moment, even as one sentence


class Lanes:
    """The queue of short requests and that of long ones; use it in a ``with``.

    What is said of health is said of the short ones: who sends a text that the model does not
    survive must not have all others sent away.
    """

    def __init__(
        self,
        short: Engine,
        long: Engine,
        room: QueueLimits,
        on_death: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_death`` is called where one of the engines is lost for good."""
        self.short = Batcher(short, room, on_death=on_death)
        self.long = Batcher(long, room, on_death=on_death)
        self._most = room.characters
        self._stack = ExitStack()

    def __enter__(self) -> "Lanes":
        """Start both."""
        self._stack.enter_context(self.short)
        self._stack.enter_context(self.long)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End both, as ``Batcher`` does."""
        self._stack.__exit__(kind, error, trace)

    def submit(self, wish: AnnotateRequest) -> Future[tuple[str, ...]]:
        """Put a request in its queue; raises what ``Batcher.submit`` raises."""
        is_short = wish.longest <= SHORT and wish.size <= self._most
        return (self.short if is_short else self.long).submit(wish)

    def cut(self) -> None:
        """End both at once; who waits is told."""
        self.short.cut()
        self.long.cut()

    @property
    def is_ready(self) -> bool:
        """Whether short requests are taken and answered."""
        return self.short.is_ready

    @property
    def is_live(self) -> bool:
        """Whether short requests have a model, or are about to have their first."""
        return self.short.is_live

    @property
    def is_full(self) -> bool:
        """Whether no request is taken, however small it is."""
        return self.short.is_full

    @property
    def waiting(self) -> int:
        """How many requests wait in both."""
        return self.short.waiting + self.long.waiting

    @property
    def tally(self) -> Tally:
        """What both have done."""
        one, other = self.short.tally, self.long.tally
        names = [each.name for each in fields(Tally)]
        return Tally(*(getattr(one, name) + getattr(other, name) for name in names))
