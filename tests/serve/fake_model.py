"""A model without torch that recognises capitals, and is as slow or broken as a test wants."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace

import httpx

from spanloom.annotation.choices import Choices
from spanloom.annotation.queries import answer_layer
from spanloom.annotation.text_pairs import TEXT_PAIR, classify
from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Layer, Relation, Span
from spanloom.serve.app import application
from spanloom.serve.batcher import Lanes
from spanloom.serve.engine import BatchFailed
from spanloom.serve.jobs import ChoicesRefused
from spanloom.serve.limits import Limits
from spanloom.serve.messages import Hello
from spanloom.serve.model_info import ModelInfo, TaskInfo
from spanloom.serve.problem import error_location
from spanloom.serve.replies import WARNING
from spanloom.serve.request_queue import QueueLimits
from spanloom.serve.server import (
    Server,
    ShutdownTimes,
    create_server,
    listen,
    queue_limits,
    url_of,
)
from spanloom.tokenization import fine_words

POISON, DEADLY = "poison", "deadly"
CYRILLIC = "The text is in Cyrillic letters, which the model does not know."
TWINS = Choices(("😀", "🤖")), Choices(bounds=(1e15, 1e15 + 1))  # which the model reads alike
NAMES, MOOD, WHO, ALIKE = "names", "mood", "who", "alike"
ABOUT = ModelInfo(
    "fake",
    "nothing",
    (
        TaskInfo(NAMES, "relations", NAMES, {"spans": ("Name",)}),
        TaskInfo(MOOD, "extractive_classification", "moods", {"labels": ("calm", "loud")}),
        TaskInfo(WHO, "extractive_qa", "answers", {}),
        TaskInfo(ALIKE, "extractive_regression", "likeness", {}, (TEXT_PAIR,)),
    ),
    "cc-by-4.0",
    ({"task": NAMES, "dataset": "people", "license": "cc-by-4.0", "test": "f1 99.00"},),
    "en",
)


class Ids:
    """New ids above those of a document."""

    def __init__(self, document):
        self.taken = set(document.annotations())

    def __call__(self, letter):
        number = 1
        while f"{letter}{number}" in self.taken:
            number += 1
        self.taken.add(f"{letter}{number}")
        return f"{letter}{number}"


def names(document, new_id):
    """Return capitalised words as names, and a relation of each to the one before."""
    names = [word for word in fine_words(document.text) if document.text[word[0]].isupper()]
    spans = tuple(Span(new_id("T"), "Name", (name,), 0.5) for name in names)
    pairs = zip(spans[1:], spans, strict=False)
    return Layer(NAMES, spans, tuple(Relation(new_id("R"), "knows", a.id, b.id) for a, b in pairs))


def moods(document, new_id):
    """Return loud for a text that ends in "!", calm for others, nothing for an empty one."""
    if not document.text.strip():
        return Layer("moods")
    loud = document.text.rstrip().endswith("!")
    return classify(document, "moods", "loud" if loud else "calm", None, new_id, 0.75)


def answers(document, new_id):
    """Answer every query with the first word, if there is one."""
    bounds = fine_words(document.text)[:1]
    spans = [(query.id, (bounds[0],), 0.25) for query in document.queries if bounds]
    return answer_layer("answers", spans, new_id)


def likeness(document, new_id):
    return classify(document, "likeness", "alike", 2.5, new_id, 0.5)


def tokens_of(document, new_id):
    """Yield the layer of words, and that of sentences, one per line."""
    words = fine_words(document.text)
    yield Layer(WORDS, tuple(Span(new_id("T"), WORD, (word,)) for word in words))
    lines, start = [], 0
    for line in document.text.splitlines(keepends=True):
        inside = [word for word in words if start <= word[0] < start + len(line)]
        if inside:
            lines.append((inside[0][0], inside[-1][1]))
        start += len(line)
    yield Layer(SENTENCES, tuple(Span(new_id("T"), SENTENCE, (bounds,)) for bounds in lines))


WRITERS = {NAMES: names, MOOD: moods, WHO: answers, ALIKE: likeness}


def annotated(document, tasks, with_tokens):
    new_id = Ids(document)
    layers = [WRITERS[task](document, new_id) for task in tasks]
    bounds = tokens_of(document, new_id) if with_tokens else ()
    strange = any("\u0400" <= letter <= "\u04ff" for letter in document.text)
    meta = (*document.meta, (WARNING, CYRILLIC)) if strange else document.meta
    return replace(document, layers=(*bounds, *layers), meta=meta)


class Fake:
    """The model as the queue calls it; while ``door`` is closed it does not return."""

    def __init__(self):
        self.door, self.batches = threading.Event(), []
        self.door.set()

    def __call__(self, documents, tasks, with_tokens, choices=None):
        self.batches.append([document.text for document in documents])
        self.door.wait()
        if choices in TWINS:
            raise ChoicesRefused("the choices are alike")
        for document in documents:
            if POISON in document.text:
                raise ValueError(f"no pot for {document.text}")
            if DEADLY in document.text:
                raise SystemExit
        return [annotated(document, tasks, with_tokens) for document in documents]

    @property
    def texts(self):
        """The texts that were annotated."""
        return [text for batch in self.batches for text in batch]


class Direct:
    """An engine in the calling thread, instead of a process."""

    def __init__(self, annotate):
        self.annotate_all = annotate

    def begin(self):
        return Hello(ABOUT, 1e9)

    def annotate(self, request, documents, is_over):
        try:
            annotated = self.annotate_all(
                documents, request.tasks, request.with_tokens, request.choices
            )
        except ChoicesRefused:
            raise
        except Exception as error:
            raise BatchFailed(error_location(error)) from error
        return [request.format(document) for document in annotated]

    def end(self):
        pass


@dataclass
class Served:
    """A running server, its parts, and a client of it for any number of threads."""

    client: httpx.Client
    port: int
    fake: Fake
    lanes: Lanes
    server: Server
    thread: threading.Thread

    def end(self):
        """End the server as a signal would, without waiting."""
        self.server.should_exit = True


def until(condition, seconds=30.0):
    """Wait for a condition; a test fails that waits too long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def laned(annotate, limits=QueueLimits()):
    """Return both lanes, which share a model."""
    return Lanes([Direct(annotate)], Direct(annotate), limits)


def client_of(url):
    """Return a client without encryption, which starts faster."""
    return httpx.Client(base_url=url, verify=False, timeout=60, trust_env=False)


@contextmanager
def serving(limits=Limits(), times=ShutdownTimes(), annotate=None, **how):
    """Run a real server on a free port of this machine, in a thread."""
    fake = Fake()
    with (
        laned(annotate or fake, queue_limits(limits)) as lanes,
        listen("127.0.0.1", 0) as listener,
    ):
        server = create_server(application(lanes, ABOUT, limits, **how), limits, times)
        server.on_late = lanes.abort
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started and lanes.is_ready)
            with client_of(url_of(listener)) as client:
                yield Served(client, port, fake, lanes, server, thread)
        finally:
            fake.door.set()
            server.should_exit = True
            thread.join()
