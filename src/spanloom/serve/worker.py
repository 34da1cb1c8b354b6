"""The model process: reads batches, writes formatted documents, until the server is gone.

    python -m spanloom.serve.worker '{"model": "runs/wlp", "device": null, …}'

The server starts one for short and one for long requests. Whatever a text does to a model (a crash,
an endless loop, all memory taken) happens here, where the server can end it.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle, islice
from queue import SimpleQueue
from time import thread_time
from typing import BinaryIO

from spanloom import freed_memory, plugins
from spanloom.annotation.choices import Choices
from spanloom.cancellation import Cancelled, cancellable, checkpoint
from spanloom.document import Document, Query
from spanloom.errors import DataError, SpanloomError
from spanloom.serve.jobs import AnnotateRequest, ChoicesRefused
from spanloom.serve.messages import Hello, Message, encode, format_hello, parse_batch
from spanloom.serve.model_info import ModelInfo
from spanloom.serve.problem import error_location
from spanloom.serve.replies import WARNING, ReplyFormat
from spanloom.workers.process import module_command

Annotate = Callable[[Sequence[Document], tuple[str, ...], bool, Choices | None], Iterable[Document]]
"""Annotates documents with the named tasks, and with words and sentences if the flag is set; the
tasks choose among the choices, if there are any. Raises ``ChoicesRefused``."""

_SAMPLE = (
    "The engineer from London said that some of these bridges were built near the old river and"
)
_SAMPLE_WORDS = 200  # per line of the timed text; it has no full stop, the slowest case
_SAMPLE_LINES = 2
_MIN_SECONDS = 1e-4  # resolution of the clock
_LOWEST_PRIORITY = 19


@dataclass(frozen=True, slots=True)
class Options:
    """Which model a process loads and how; in the ``background`` it has the lowest priority."""

    model: str | None
    device: str | None
    precision: str
    background: bool
    plugins: tuple[str, ...] = ()  # modules to load before the model

    def command(self) -> list[str]:
        """Return the command that starts the process."""
        return module_command("spanloom.serve.worker", json.dumps(asdict(self)))


def work(load: Callable[[], tuple[Annotate, ModelInfo]], stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Load a model, warm it, and annotate batches until the input ends."""

    def send(message: Message) -> None:
        stdout.write(encode(message))
        stdout.flush()

    try:
        annotate, model = load()
        send(format_hello(Hello(model, _speed(annotate, model))))
    except (SpanloomError, OSError) as error:  # users can fix these, so one line is enough
        send({"refused": str(error)})
        return
    receiver = _Receiver(stdin)
    receiver.start()
    while True:
        batch = receiver.batches.get()
        send({"number": batch["number"], **_outcome(annotate, batch, receiver)})


def _outcome(annotate: Annotate, batch: Message, receiver: "_Receiver") -> Message:
    """Annotate a batch; report whatever happens to it, and live on."""
    try:
        with cancellable(lambda: receiver.last_stopped >= batch["number"]):
            return {"replies": list(_replies(annotate, parse_batch(batch)))}
    except Cancelled:
        return {"stopped": True}
    except ChoicesRefused as error:
        return {"wrong_choices": str(error)}
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # a panic in a tokenizer's Rust code is no Exception
        return {"failed": error_location(error)}


def _replies(annotate: Annotate, request: AnnotateRequest) -> Iterable[str]:
    annotated = annotate(request.documents, request.tasks, request.with_tokens, request.choices)
    for document in annotated:
        checkpoint()
        yield request.format(document)


class _Receiver(threading.Thread):
    """Receives messages from the server, also while the model computes."""

    def __init__(self, stdin: BinaryIO) -> None:
        super().__init__(name="receiver", daemon=True)
        self.stdin, self.last_stopped = stdin, 0
        self.batches: SimpleQueue[Message] = SimpleQueue()

    def run(self) -> None:
        """Receive messages until the server is gone, then end the process."""
        for line in self.stdin:
            message = json.loads(line)
            if "stop" in message:
                self.last_stopped = message["stop"]
            else:
                self.batches.put(message)
        os._exit(0)


def _speed(annotate: Annotate, model: ModelInfo) -> float:
    """Warm all tasks that need one text only; return the speed in characters per second.

    Processor time is measured, because other load during the start does not last. Of two runs the
    faster one counts; the first warms up.
    """
    tasks = (*model.annotating(), *model.answering(), *model.judging(pair=False))
    line = " ".join(islice(cycle(_SAMPLE.split()), _SAMPLE_WORDS))
    text = "\n\n".join([line] * _SAMPLE_LINES)
    document = Document(text, queries=(Query("Q1", "What was built?"),))
    request = AnnotateRequest((document,), tuple(dict.fromkeys(tasks)), ReplyFormat("json"))
    seconds = []
    for _ in range(2):
        start = thread_time()
        list(_replies(annotate, request))
        seconds.append(thread_time() - start)
    return len(text) / max(min(seconds), _MIN_SECONDS)


def _load(options: Options) -> tuple[Annotate, ModelInfo]:
    """Load the model; raises ``SpanloomError``."""
    from spanloom.model import serialization
    from spanloom.model.asking import with_choices
    from spanloom.serve.model_info import model_info

    plugins.load(*options.plugins)
    freed_memory.keep()
    model = serialization.load(options.model, device=options.device, precision=options.precision)
    name, known = options.model or serialization.DEFAULT, model.known_language()

    def annotate(
        documents: Sequence[Document],
        tasks: tuple[str, ...],
        with_tokens: bool,
        choices: Choices | None,
    ) -> Iterable[Document]:
        try:
            chooser = model if choices is None else with_choices(model, choices)
        except DataError as error:
            raise ChoicesRefused(str(error)) from error
        for document in chooser.annotate(documents, tasks, with_tokens=with_tokens):
            warning = known.warning([model.tokenize(document)]) if known else None
            meta = () if warning is None else ((WARNING, warning),)
            yield replace(document, meta=document.meta + meta) if meta else document

    return annotate, model_info(model, name, serialization.card_of(options.model))


def pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return binary stdin and stdout; whatever is printed goes to stderr from then on."""
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return stdin, stdout


def main() -> None:
    """Run the process that the server started."""
    options = Options(**json.loads(sys.argv[1]))
    if options.background and hasattr(os, "nice"):
        os.nice(_LOWEST_PRIORITY)
    work(lambda: _load(options), *pipes())


if __name__ == "__main__":
    main()
