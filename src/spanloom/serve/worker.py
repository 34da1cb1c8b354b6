"""A process that owns a model: batches come in, spelled documents go out, until nobody asks.

    python -m spanloom.serve.worker '{"model": "runs/wlp", "device": null, …}'

The server starts one for short requests and one for long ones. Whatever a text does to a model (a
crash, an endless loop, all memory taken), it does it here, where the server can end it.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from queue import SimpleQueue
from time import thread_time
from typing import BinaryIO

from spanloom import plugins
from spanloom.cancellation import Cancelled, cancellable, checkpoint
from spanloom.document import Document, Query
from spanloom.errors import SpanloomError
from spanloom.serve.jobs import AnnotateRequest
from spanloom.serve.messages import Hello, Said, hello, line, wished
from spanloom.serve.model_info import ModelInfo
from spanloom.serve.problem import told
from spanloom.serve.replies import as_json

Annotate = Callable[[Sequence[Document], tuple[str, ...], bool], Iterable[Document]]
"""Documents, names of tasks, whether words and sentences are wanted: the documents annotated."""

_LINE = "The engineer from London said that some of these bridges were built near the old river and"
_WORDS = 200  # of a line of the text that is timed; without a full stop, as that takes the longest
_LINES = 2
_LEAST = 1e-4  # seconds that a clock can tell from none
_LOWEST = 19  # of the priorities of processes


@dataclass(frozen=True, slots=True)
class Options:
    """Which model a process loads and how; in the ``background`` others are computed first."""

    model: str | None
    device: str | None
    precision: str
    background: bool
    plugins: tuple[str, ...] = ()  # modules to load before the model

    def command(self) -> list[str]:
        """Return the command that starts the process."""
        return [sys.executable, "-m", "spanloom.serve.worker", json.dumps(asdict(self))]


def work(load: Callable[[], tuple[Annotate, ModelInfo]], inbox: BinaryIO, outbox: BinaryIO) -> None:
    """Load a model, warm it, and annotate whatever comes until the inbox ends."""

    def say(said: Said) -> None:
        outbox.write(line(said))
        outbox.flush()

    try:
        annotate, about = load()
        say(hello(Hello(about, _speed(annotate, about))))
    except (SpanloomError, OSError) as error:  # what a user can mend is told in one line
        say({"refused": str(error)})
        return
    inward = _Inward(inbox)
    inward.start()
    while True:
        said = inward.batches.get()
        say({"number": said["number"], **_outcome(annotate, said, inward)})


def _outcome(annotate: Annotate, said: Said, inward: "_Inward") -> Said:
    """Annotate a batch; whatever happens to it is told, and the process lives on."""
    try:
        with cancellable(lambda: inward.stopped >= said["number"]):
            return {"answers": list(_spelled(annotate, wished(said)))}
    except Cancelled:
        return {"stopped": True}
    except (SystemExit, KeyboardInterrupt):
        raise
    except (
        BaseException
    ) as error:  # a panic of a tokenizer's Rust is no Exception; it is one text's
        return {"failed": told(error)}


def _spelled(annotate: Annotate, wish: AnnotateRequest) -> Iterable[str]:
    for each in annotate(wish.documents, wish.tasks, wish.cuts):
        checkpoint()
        yield wish.format(each)


class _Inward(threading.Thread):
    """Hears what the server says, also while the model computes."""

    def __init__(self, inbox: BinaryIO) -> None:
        super().__init__(name="inward", daemon=True)
        self.inbox, self.stopped = inbox, 0
        self.batches: SimpleQueue[Said] = SimpleQueue()

    def run(self) -> None:
        """Take messages until the server has gone; nobody would hear the rest."""
        for each in self.inbox:
            said = json.loads(each)
            if "stop" in said:
                self.stopped = said["stop"]
            else:
                self.batches.put(said)
        os._exit(0)


def _speed(annotate: Annotate, about: ModelInfo) -> float:
    """Warm the model with each task that one text is enough for, then time it; characters a second.

    It is the processor's time, as what else goes on while a machine starts does not last; of two
    goes the better one, as the first makes ready.
    """
    tasks = (*about.annotating(), *about.answering(), *about.judging(pair=False))
    text = "\n\n".join([" ".join(islice(cycle(_LINE.split()), _WORDS))] * _LINES)
    document = Document(text, queries=(Query("Q1", "What was built?"),))
    wish = AnnotateRequest((document,), tuple(dict.fromkeys(tasks)), as_json)
    seconds = []
    for _ in range(2):
        began = thread_time()
        list(_spelled(annotate, wish))
        seconds.append(thread_time() - began)
    return len(text) / max(min(seconds), _LEAST)


def _loaded(options: Options) -> tuple[Annotate, ModelInfo]:
    """Load the model; raises ``SpanloomError``."""
    from spanloom.model import serialization
    from spanloom.serve.model_info import about

    for module in options.plugins:
        plugins.load(module)
    model = serialization.load(options.model, device=options.device, precision=options.precision)
    name = options.model or serialization.DEFAULT

    def annotate(
        documents: Sequence[Document], tasks: tuple[str, ...], cuts: bool
    ) -> Iterable[Document]:
        return model.annotate(documents, tasks, with_tokens=cuts)

    return annotate, about(model, name, serialization.card_of(options.model))


def pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return what this process was started with to be spoken to; what else is printed is a log."""
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return inbox, outbox


def main() -> None:
    """Be the process that the server started."""
    options = Options(**json.loads(sys.argv[1]))
    if options.background and hasattr(os, "nice"):
        os.nice(_LOWEST)
    work(lambda: _loaded(options), *pipes())


if __name__ == "__main__":
    main()
