"""A thread that empties the queue of requests with one model process.

A cancelled request is not computed any further. A batch that nobody waits for, or that one text
makes slow, is stopped, and its texts are annotated one by one. If the model process is lost,
another is started.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass

from spanloom.cancellation import Cancelled
from spanloom.errors import ModelError
from spanloom.serve.engine import BatchFailed, Engine, ProcessLost
from spanloom.serve.jobs import ChoicesRefused, Text
from spanloom.serve.request_queue import RequestQueue

_OVERDUE = 1.0  # seconds for which a stopped batch may run on until its thread is not ready
_LOG = logging.getLogger("spanloom.serve")


class AnnotationFailed(Exception):
    """The model could not annotate a text; ``index`` is the text's position in its request."""

    def __init__(self, index: int) -> None:
        super().__init__(f"text {index} could not be annotated")
        self.index = index


@dataclass(slots=True)
class Tally:
    """Counts of what the thread has done; no other thread writes them."""

    batches: int = 0
    texts: int = 0
    failed: int = 0
    stopped: int = 0
    lost: int = 0
    seconds: float = 0.0


def sum_tallies(tallies: Iterable[Tally]) -> Tally:
    """Return the sums of some tallies."""
    return Tally(*map(sum, zip(*map(astuple, tallies), strict=True)))


class ModelThread:
    """Annotates batches of a queue until that is closed; ends the engine."""

    def __init__(
        self,
        engine: Engine,
        queue: RequestQueue,
        on_death: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """``on_death`` is called if the engine cannot be started, or the thread fails."""
        self.tally = Tally()
        self._engine, self._queue, self._on_death, self._clock = engine, queue, on_death, clock
        self._is_warm = self._is_aborted = self._is_lost = False
        self._over_at: float | None = None  # when the batch under way was stopped
        self._thread = threading.Thread(target=self._work, name="batcher", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the thread, then end the engine."""
        self._thread.join()
        self._engine.end()

    def abort(self) -> None:
        """End the engine; what it does is lost."""
        self._is_aborted = True
        self._engine.end()

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not ended."""
        return self._thread.is_alive()

    @property
    def is_ready(self) -> bool:
        """Whether the model is warm, alive and not stuck."""
        over_at = self._over_at
        is_stuck = over_at is not None and self._clock() - over_at > _OVERDUE
        return self._is_warm and self._thread.is_alive() and not is_stuck

    @property
    def is_live(self) -> bool:
        """Whether a model exists or is started for the first time, not replaced after a loss."""
        return self._thread.is_alive() and not self._is_lost

    def _work(self) -> None:
        """Run the thread; if the model is gone for good, close the queue."""
        try:
            self._begin()
            while batch := self._queue.take_batch(id(self)):
                start = self._clock()
                for texts in _compatible(batch):
                    self._answer(texts)
                self.tally.seconds += self._clock() - start
        except (ProcessLost, ModelError):
            if not self._is_aborted:
                _LOG.error("the model process cannot be begun")
        finally:
            if self._queue.is_open:
                self._queue.close()
                self._on_death()

    def _begin(self) -> None:
        """Start the engine; raises ``ProcessLost``."""
        self._engine.begin()
        self._is_warm, self._is_lost = True, False

    def _answer(self, texts: Sequence[Text], *, is_retry: bool = False) -> None:
        """Annotate compatible texts in one batch; if that fails, one by one.

        ``is_retry``: a process was lost with them before.
        """
        texts = [text for text in texts if text.is_wanted]
        if not texts:
            return
        try:
            replies = self._annotate(texts)
        except Cancelled:
            self.tally.stopped += 1
            self._answer_singly(texts)
        except BatchFailed as error:
            self._answer_singly(texts, str(error))
        except ChoicesRefused as error:  # equal for all texts of a batch, and no fault of a text
            for text in texts:
                text.job.fail(ChoicesRefused(str(error)))
        except ProcessLost:
            self._replace_process(texts)
            self._retry(texts, is_retry=is_retry)
        else:
            self.tally.batches += 1  # first, as clients with a reply may ask for the tally next
            self.tally.texts += len(texts)
            for text, reply in zip(texts, replies, strict=True):
                text.job.add_reply(text.index, reply)

    def _annotate(self, texts: Sequence[Text]) -> list[str]:
        """Annotate a batch; stop it if nobody waits or if several texts take too long."""
        deadline = self._clock() + self._queue.limits.patience

        def is_over() -> bool:
            if self._over_at is None:
                is_late = len(texts) > 1 and self._clock() > deadline
                if is_late or not any(text.is_wanted for text in texts):
                    self._over_at = self._clock()
            return self._over_at is not None

        try:
            documents = [text.document for text in texts]
            return self._engine.annotate(texts[0].job.request, documents, is_over)
        finally:
            self._over_at = None

    def _answer_singly(self, texts: Sequence[Text], failure: str | None = None) -> None:
        """Annotate the texts of a batch one by one, short ones first; a single one fails."""
        if len(texts) > 1:
            for text in _by_size(texts):
                self._answer([text])
        elif failure is not None:
            self._fail(texts[0], failure)

    def _retry(self, texts: Sequence[Text], *, is_retry: bool) -> None:
        """Annotate texts one by one after a process was lost with them; the second time fails one.

        Anyone may have killed the process, so each text has a retry.
        """
        if is_retry and len(texts) == 1:
            self._fail(texts[0], "it ended the model process twice")
            return
        for text in _by_size(texts):
            self._answer([text], is_retry=True)

    def _replace_process(self, texts: Sequence[Text]) -> None:
        """Start another process after one was lost with a batch; raises ``ProcessLost``."""
        self.tally.lost += 1
        self._is_warm, self._is_lost = False, True
        if not self._is_aborted:
            _LOG.error("the model process was lost with %d texts; another is begun", len(texts))
        self._begin()

    def _fail(self, text: Text, failure: str) -> None:
        """Fail the request of a text."""
        _LOG.error("a text of %d characters could not be annotated: %s", text.size, failure)
        self.tally.failed += 1
        text.job.fail(AnnotationFailed(text.index))


def _by_size(texts: Sequence[Text]) -> list[Text]:
    """Return texts, short ones first."""
    return sorted(texts, key=lambda text: text.size)


def _compatible(batch: Sequence[Text]) -> Iterator[list[Text]]:
    """Yield groups of texts with equal tasks, formats and choices."""
    groups: dict[tuple[object, ...], list[Text]] = {}
    for text in batch:
        request = text.job.request
        key = request.tasks, request.with_tokens, request.format, request.choices
        groups.setdefault(key, []).append(text)
    yield from groups.values()
